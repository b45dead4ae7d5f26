"""`ticketctl send`, as a producer calls it, on the deployed system."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import System
from tests.support.builders import ticket_fields
from tests.support.ctl_process import Ctl, local_environment
from ticketctl.local.artifact import ROOT

pytestmark = pytest.mark.emulator

SECONDS_TO_END = 30


def keyless(title: str, **fields: Any) -> dict[str, Any]:
    """Return what a line of a file asks for, without a project and a key."""
    return {"title": title} | fields


def jsonl(*requests: Mapping[str, Any]) -> str:
    """Return a file of requests."""
    return "".join(f"{json.dumps(each)}\n" for each in requests)


def table(*requests: Mapping[str, str]) -> str:
    """Return a CSV file of requests that have the same fields."""
    text = io.StringIO()
    writer = csv.DictWriter(text, requests[0])
    writer.writeheader()
    writer.writerows(requests)
    return text.getvalue()


def write(path: Path, content: str) -> str:
    """Write a file, and return its path."""
    path.write_text(content)
    return str(path)


def ticket(system: System, project: str, number: int) -> dict[str, Any]:
    """Return a ticket, without what the system adds."""
    item = system.stack.client("dynamodb").get_item(
        TableName=system.stack.outputs["TicketsTableName"],
        Key={"project_id": {"S": project}, "number": {"N": str(number)}},
    )["Item"]
    return {name: next(iter(value.values())) for name, value in item.items()}


def settled(system: System, project: str, count: int) -> tuple[int, ...]:
    """Wait for so many announcements, and return the project's numbers."""
    system.wait_for(lambda: len(system.events(project)) >= count)
    system.settle()
    audit = system.audit(project)
    assert audit.is_clean
    return audit.numbers


def nothing_sent(system: System, project: str) -> bool:
    """Tell whether the project has no ticket."""
    system.settle()
    return not system.audit(project).numbers and not system.events(project)


def environment(system: System) -> dict[str, str]:
    """Return the environment of a process that meets the local system."""
    own = local_environment(system.stack.endpoint_url, system.stack.name)
    kept = {name: value for name, value in os.environ.items() if name not in own}
    return kept | {name: value for name, value in own.items() if value is not None}


class TestOneTicket:
    """Options describe a ticket; it is sent under a key that the producer knows."""

    def test_ticket_is_created_as_every_option_says(
        self, ctl: Ctl, system: System, project: str
    ) -> None:
        options = (
            *("--title", "Login flickers", "--key", "form-1"),
            *("--description", "a\nb", "--priority", "high", "--reporter", "Ada"),
            *("--label", "web", "--attribute", "room=7"),
        )

        ended = ctl("send", "--project", project, *options)

        assert ended.status == 0
        assert ended.out == "sent with the idempotency key form-1\n"
        assert settled(system, project, 1) == (1,)
        stored = ticket(system, project, 1)
        assert (stored["description"], stored["reporter"]) == ("a\nb", "Ada")
        assert (stored["title"], stored["priority"]) == ("Login flickers", "high")
        assert stored["attributes"] == {"room": {"S": "7"}}

    def test_key_is_made_and_printed_when_none_is_given(
        self, ctl: Ctl, system: System, project: str
    ) -> None:
        """A script learns it from the JSON, with the id of the message."""
        first, second = (
            ctl("send", "--project", project, "--title", "t", "--json").json
            for _ in range(2)
        )

        assert settled(system, project, 2) == (1, 2)
        keys = {first["idempotency_key"], second["idempotency_key"]}
        events = system.events(project)
        assert keys == {event["data"]["idempotency_key"] for event in events}
        assert first["message_id"] != second["message_id"]


class TestFile:
    """A file asks for a ticket a line."""

    def test_tickets_are_created_when_the_file_is_jsonl(
        self, ctl: Ctl, system: System, project: str, tmp_path: Path
    ) -> None:
        """Of the project of the line, or else of the option; printed as JSON lines."""
        other = f"{project}-other"
        lines = [keyless("a"), ticket_fields(other, "k"), keyless("b")]
        path = write(tmp_path / "my.jsonl", jsonl(*lines))

        ended = ctl("send-file", path, "--project", project, "--json")

        assert ended.status == 0
        projects = {line["line"]: line["project_id"] for line in ended.json_lines}
        assert projects == {1: project, 2: other, 3: project}
        assert ended.json_lines[1]["idempotency_key"] == "k"
        assert settled(system, project, 2) == (1, 2)
        assert settled(system, other, 1) == (1,)

    def test_nothing_is_created_twice_when_the_file_is_sent_again(
        self, ctl: Ctl, system: System, project: str, tmp_path: Path
    ) -> None:
        """The second run of a CSV file hears of replays alone."""
        rows = [
            {"title": f"t{serial}", "labels": "a;b", "attributes.room": "7"}
            for serial in range(12)
        ]
        path = write(tmp_path / "my.csv", table(*rows))

        first = ctl("send-file", path, "--project", project)
        numbers = settled(system, project, 12)
        second = ctl("send-file", path, "--project", project)

        assert (first.status, second.status) == (0, 0)
        assert first.out == second.out == "sent 12 of 12 messages\n"
        assert "keys made from my.csv" in first.err
        assert settled(system, project, 24) == numbers == tuple(range(1, 13))
        assert sorted(system.replays(project)) == [False] * 12 + [True] * 12

    def test_tickets_are_created_when_they_come_by_standard_input(
        self, ctl: Ctl, system: System, project: str
    ) -> None:
        """CSV too, if it is said; the same title asks for the same ticket."""
        options = ("--project", project, "--key-prefix", "night")

        as_json = ctl("send-file", "-", *options, typed=jsonl(keyless("a")))
        as_csv = ctl("send-file", "-", "--format", "csv", *options, typed="title\na\n")

        assert (as_json.status, as_csv.status) == (0, 0)
        assert settled(system, project, 2) == (1,)

    def test_every_line_is_a_ticket_when_sending_was_interrupted(
        self, ctl: Ctl, system: System, project: str, tmp_path: Path
    ) -> None:
        """Status 130 with a count; the second run creates the rest, and no more."""
        path = write(tmp_path / "my.jsonl", jsonl(*map(keyless, "abcdefghij")))
        command = ("send-file", path, "--project", project, "--json")

        with subprocess.Popen(  # noqa: S603 - our own command.
            [sys.executable, "-m", "ticketctl", *command, "--rate", "2"],
            env=environment(system),
            bufsize=0,  # Else `communicate` misses what `readline` read ahead.
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=SECONDS_TO_END)
        known_sent = 1 + out.count(b"\n")
        again = ctl(*command)

        assert (process.returncode, b"Traceback" in err) == (130, False), err
        assert f"sent {known_sent} of 10 messages; the same".encode() in err
        assert known_sent < 10
        assert again.status == 0
        assert settled(system, project, known_sent + 10) == tuple(range(1, 11))


class TestBadFiles:
    """Nothing of a bad file is sent, and each bad line is named."""

    def test_bad_lines_are_named_and_nothing_is_sent_when_there_are_some(
        self, ctl: Ctl, system: System, project: str, tmp_path: Path
    ) -> None:
        key = {"idempotency_key": "k"}
        lines = [
            *(keyless("good"), keyless(""), keyless("x", colour="red")),
            *(keyless("a", **key), keyless("b", **key)),
        ]
        path = write(tmp_path / "my.jsonl", jsonl(*lines) + "{nonsense\n")

        ended = ctl("send-file", path, "--project", project)

        assert (ended.status, ended.out) == (2, "")
        *remarks, error = ended.err.splitlines()
        starts = [line.removeprefix(f"{path}:").split(":")[:2] for line in remarks]
        assert starts == [
            ["2", " title"],
            ["3", " colour"],
            ["5", " idempotency_key"],
            ["6", " body"],
        ]
        assert "4 bad lines, so nothing is sent" in error
        assert nothing_sent(system, project)

    def test_good_lines_are_sent_when_bad_ones_may_be_skipped(
        self, ctl: Ctl, system: System, project: str, tmp_path: Path
    ) -> None:
        """Status 1, for something was wrong."""
        path = write(tmp_path / "my.csv", table({"title": "a"}, {"title": "x" * 201}))

        ended = ctl("send-file", path, "--project", project, "--skip-invalid")

        assert ended.status == 1
        assert f"{path}:3: title: " in ended.err
        assert settled(system, project, 1) == (1,)

    def test_bad_lines_end_as_dead_letters_when_they_are_sent_unchecked(
        self, ctl: Ctl, system: System, project: str, tmp_path: Path
    ) -> None:
        """What a producer with a bug sends can be tried."""
        good = ticket_fields(project)
        file = jsonl(good, good | {"priority": "soon", "idempotency_key": "bad"})

        ended = ctl("send-file", write(tmp_path / "all.jsonl", file), "--unchecked")

        assert ended.status == 0
        assert settled(system, project, 1) == (1,)
        [reason] = [
            letter.attributes["ErrorMessage"]
            for letter in system.dead_letters
            if project in letter.body
        ]
        assert reason.startswith("priority: ")


class TestWait:
    """Whoever waits is told the number of each ticket."""

    def test_numbers_are_printed_when_they_are_committed(
        self, ctl: Ctl, system: System, project: str, tmp_path: Path
    ) -> None:
        """A second run prints the same ones."""
        path = write(tmp_path / "my.jsonl", jsonl(*map(keyless, "ab")))
        command = ("send-file", path, "--project", project, "--wait")

        first = ctl(*command)
        second = ctl(*command, "--json")

        assert (first.status, second.status) == (0, 0)
        titles = {line.split()[0]: line.split()[2] for line in first.out.splitlines()}
        assert titles.keys() == {f"{project}-1", f"{project}-2"}
        assert {*titles.values()} == {"a", "b"}
        again = {line["ticket_key"]: line["title"] for line in second.json_lines}
        assert again == titles
        assert settled(system, project, 4) == (1, 2)

    def test_number_is_printed_when_nothing_can_be_announced(
        self, ctl: Ctl, system: System, project: str
    ) -> None:
        """It is committed before, and the table says so."""
        with (
            system.queue_attributes(VisibilityTimeout="5"),
            system.function_environment(ASSIGNMENTS_TOPIC_ARN="arn:aws:sns:x:1:none"),
        ):
            ended = ctl("send", "--project", project, "--title", "t", "--wait")

        assert ended.status == 0
        assert ended.out.startswith(f"{project}-1  ")
        assert settled(system, project, 1) == (1,)

    def test_status_is_1_when_the_key_is_that_of_another_ticket(
        self, ctl: Ctl, system: System, project: str
    ) -> None:
        """This one is a dead letter."""
        options = ("--project", project, "--key", "k", "--wait")
        first = ctl("send", "--title", "a", *options)

        second = ctl("send", "--title", "b", *options)

        assert (first.status, second.status) == (0, 1)
        assert second.out == ""
        assert f"k: the key is that of {project}-1, another ticket" in second.err
        assert settled(system, project, 1) == (1,)

    def test_status_is_1_when_no_number_comes_in_time(
        self, ctl: Ctl, system: System, project: str
    ) -> None:
        with system.queue_attributes(DelaySeconds="5"):
            ended = ctl(
                *("send", "--project", project, "--title", "t", "--key", "k"),
                *("--wait", "--timeout", "1"),
            )

        assert (ended.status, ended.out) == (1, "")
        assert f"no number yet: {project} k" in ended.err
        assert "1 of 1 number missing" in ended.err
        assert settled(system, project, 1) == (1,)


class TestExample:
    """The example is a producer."""

    def test_example_gets_one_ticket_for_a_key_when_run_twice(
        self, system: System, project: str
    ) -> None:
        """With boto3 alone, outside of this repository's tools."""
        url = system.stack.outputs["CreateTicketQueueUrl"]
        example = ROOT / "docs" / "examples" / "producer.py"
        command = [
            sys.executable,
            "-I",
            str(example),
            url,
            project,
            "A title",
            "order-1",
        ]
        for _ in range(2):
            ended = subprocess.run(  # noqa: S603 - our own example.
                command, env=environment(system), check=True, capture_output=True
            )
            assert ended.stdout.startswith(b"order-1 ")

        assert settled(system, project, 2) == (1,)
        assert sorted(system.replays(project)) == [False, True]
