"""Operators look at dead letters, redrive, edit and delete them."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import System
from tests.e2e.worker.test_main_job import redrive_policy
from tests.support.builders import ticket_fields
from tests.support.ctl_process import Ctl
from tests.support.sns_gate import Manner, door
from ticketctl.local.artifact import ROOT

pytestmark = pytest.mark.emulator

PATIENCE_SECONDS = 30
MAX_ENTRIES = 10


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for a condition without touching the dead-letter queue's messages.

    Raises:
        TimeoutError: It did not come.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.05)


@dataclass
class DeadLetters:
    """The dead-letter queue, and what a test put there."""

    system: System
    project: str
    planted: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        """The queue's URL."""
        return self.system.stack.outputs["DeadLetterQueueUrl"]

    @property
    def sqs(self) -> Any:
        """A client."""
        return self.system.stack.client("sqs")

    def plant(
        self, body: str | dict[str, Any] | None = None, reason: str = "", **own: str
    ) -> str:
        """Put a dead letter there, as the worker does if a reason is given.

        Returns:
            Its id.
        """
        attributes = dict(own)
        if reason:
            attributes |= {
                "ErrorType": reason,
                "ErrorMessage": "title: wrong",
                "SourceMessageId": "source",
                "SentTimestamp": "1795000000000",
            }
        if body is None:
            body = ticket_fields(self.project)
        sent = self.sqs.send_message(
            QueueUrl=self.url,
            MessageBody=body if isinstance(body, str) else json.dumps(body),
            MessageAttributes={
                name: {"DataType": "String", "StringValue": value}
                for name, value in attributes.items()
            },
        )
        self.planted.append(sent["MessageId"])
        return self.planted[-1]

    def visible(self) -> dict[str, str]:
        """Return the bodies of the planted ones that anybody can receive now."""
        with self.taken() as messages:
            return {
                message["MessageId"]: message["Body"]
                for message in messages
                if message["MessageId"] in self.planted
            }

    def count(self) -> int:
        """Return about how many dead letters there are."""
        name = "ApproximateNumberOfMessages"
        attributes = self.sqs.get_queue_attributes(
            QueueUrl=self.url, AttributeNames=[name]
        )
        return int(attributes["Attributes"][name])

    @contextmanager
    def taken(self) -> Iterator[list[dict[str, Any]]]:
        """Hold everything that can be received, for the block."""
        messages: list[dict[str, Any]] = []
        while more := self.sqs.receive_message(
            QueueUrl=self.url, MaxNumberOfMessages=MAX_ENTRIES
        ).get("Messages"):
            messages += more
        try:
            yield messages
        finally:
            for message in messages:
                self.sqs.change_message_visibility(
                    QueueUrl=self.url,
                    ReceiptHandle=message["ReceiptHandle"],
                    VisibilityTimeout=0,
                )

    def remove_all(self) -> None:
        """Delete every dead letter, those of other tests too."""
        with self.taken() as messages:
            while messages:
                handle = messages.pop()["ReceiptHandle"]
                self.sqs.delete_message(QueueUrl=self.url, ReceiptHandle=handle)

    def numbers(self) -> tuple[int, ...]:
        """Return the project's numbers, if its tables are as they must be."""
        found = self.system.audit(self.project)
        assert found.is_clean
        return found.numbers


@pytest.fixture
def dead_letters(system: System, project: str) -> Iterator[DeadLetters]:
    """Return the dead-letter queue, which is empty before and after the test."""
    dead_letters = DeadLetters(system, project)
    dead_letters.remove_all()
    yield dead_letters
    dead_letters.remove_all()


@pytest.fixture
def editor(tmp_path: Path) -> Callable[[str], str]:
    """Return what makes an editor of Python code on `text`, which it replaces."""

    def make(code: str) -> str:
        script = tmp_path / "an editor.py"
        script.write_text(
            "import pathlib, sys\n"
            "path = pathlib.Path(sys.argv[1])\n"
            f"text = path.read_text()\n{code}\npath.write_text(text)\n"
        )
        return f"{sys.executable} '{script}'"

    return make


class TestLooking:
    """Whoever looks sees all, and hides nothing from others."""

    def test_list_shows_why_and_what_when_poison_went_through_the_system(
        self, system: System, dead_letters: DeadLetters, ctl: Ctl
    ) -> None:
        system.send(ticket_fields(dead_letters.project, "k-1", title=7))
        system.send(f"{{{dead_letters.project}")
        wait_until(lambda: dead_letters.count() >= 2)

        listed = ctl("dead-letters", "list", COLUMNS="80")

        assert listed.status == 0
        [line] = [line for line in listed.out.splitlines() if "k-1" in line]
        assert f" {dead_letters.project} " in line
        assert "InvalidMessageError: title: " in line
        assert "InvalidMessageError: body: not JSON" in listed.out

    def test_dead_letters_are_visible_at_once_when_the_list_ends(
        self, dead_letters: DeadLetters, ctl: Ctl
    ) -> None:
        planted = {dead_letters.plant() for _ in range(12)}

        listed = ctl("dead-letters", "list", "--limit", "11")

        assert len(listed.out.splitlines()) == 1 + 11
        assert dead_letters.visible().keys() == planted

    def test_body_is_printed_byte_for_byte_when_it_is_wanted_raw(
        self, dead_letters: DeadLetters, ctl: Ctl
    ) -> None:
        body = f"\ufeff {{ {dead_letters.project}\r\t\n\u202e "
        message_id = dead_letters.plant(body, "InvalidMessageError", trace="t")

        raw = ctl("dead-letters", "show", message_id[:13], "--raw")
        shown = ctl("dead-letters", "show", message_id)

        assert raw.out == body
        assert "InvalidMessageError: title: wrong" in shown.out
        assert "attribute trace" in shown.out


class TestRedriven:
    """What is sent back is numbered once, and gone from the dead letters."""

    def test_chosen_dead_letters_are_numbered_once(
        self, dead_letters: DeadLetters, ctl: Ctl
    ) -> None:
        for _ in range(3):
            dead_letters.plant(reason="TicketTooLargeError")
        other = dead_letters.plant()
        options = "--project", dead_letters.project, "--reason", "TicketTooLargeError"

        ended = ctl("dead-letters", "redrive", *options, "--yes")

        assert (ended.status, ended.out) == (0, "dead letters redriven: 3\n")
        wait_until(lambda: dead_letters.numbers() == (1, 2, 3))
        assert dead_letters.visible().keys() == {other}

    def test_request_is_numbered_once_when_it_lies_there_twice(
        self, dead_letters: DeadLetters, ctl: Ctl
    ) -> None:
        twice = ticket_fields(dead_letters.project)
        for body in (twice, twice, None):
            dead_letters.plant(body)

        ended = ctl("dead-letters", "redrive", "--all", "--yes")

        assert ended.status == 0
        wait_until(lambda: dead_letters.numbers() == (1, 2))
        assert dead_letters.visible() == {}

    @pytest.mark.parametrize(
        "options", [(), ("aaaa", "--all"), ("--all", "--rate", "501")], ids=" ".join
    )
    def test_status_is_2_when_the_options_make_no_sense(
        self, ctl: Ctl, options: tuple[str, ...]
    ) -> None:
        assert ctl("dead-letters", "redrive", *options).status == 2


class TestEdited:
    """An edited dead letter is numbered; nothing else is ever sent."""

    def test_dead_letter_is_numbered_when_an_editor_corrects_it(
        self, dead_letters: DeadLetters, ctl: Ctl, editor: Callable[[str], str]
    ) -> None:
        wrong = ticket_fields(dead_letters.project, "k-1", title=7)
        message_id = dead_letters.plant(wrong, "InvalidMessageError")

        ended = ctl(
            "dead-letters",
            "edit",
            message_id,
            VISUAL=editor("""text = text.replace(': 7', ': "Good"')"""),
        )

        assert ended.status == 0, ended.err
        wait_until(lambda: dead_letters.numbers() == (1,))
        assert dead_letters.visible() == {}

    def test_new_body_is_read_from_standard_input_when_its_key_was_taken(
        self, dead_letters: DeadLetters, ctl: Ctl
    ) -> None:
        fields = ticket_fields(dead_letters.project, "taken")
        message_id = dead_letters.plant(fields, "IdempotencyMismatchError")
        arguments = ["dead-letters", "edit", message_id, "--body", "-"]
        body = json.dumps(fields | {"title": "Another"})

        refused = ctl(*arguments, typed=body)
        ended = ctl(*arguments, "--new-key", typed=body)

        assert (refused.status, ended.status) == (2, 0)
        wait_until(lambda: dead_letters.numbers() == (1,))

    @pytest.mark.parametrize("content", [None, b"\xff", b"{}"], ids=str)
    def test_status_is_2_when_the_file_is_of_no_use(
        self,
        dead_letters: DeadLetters,
        ctl: Ctl,
        tmp_path: Path,
        content: bytes | None,
    ) -> None:
        message_id = dead_letters.plant()
        file = tmp_path / "body.json"
        if content is not None:
            file.write_bytes(content)

        ended = ctl("dead-letters", "edit", message_id, "--body", str(file))

        assert ended.status == 2
        assert dead_letters.visible().keys() == {message_id}


class TestAnnounced:
    """A number that was not announced is not lost with its dead letter."""

    def test_redrive_announces_the_number_when_edit_and_delete_were_refused(
        self, system: System, dead_letters: DeadLetters, ctl: Ctl, tmp_path: Path
    ) -> None:
        fields = ticket_fields(dead_letters.project)
        corrected = tmp_path / "corrected.json"
        corrected.write_text(json.dumps(fields | {"title": "Corrected"}))
        # SNS is down for so long that SQS moves the message.
        with (
            door(system.stack, Manner.REFUSE) as sns,
            system.queue_attributes(
                VisibilityTimeout="5", RedrivePolicy=redrive_policy(system, after=2)
            ),
            system.function_environment(AWS_ENDPOINT_URL_SNS=sns.url),
        ):
            [sent] = system.send(fields)
            wait_until(lambda: dead_letters.count() > 0)
        chosen = sent.message_id

        edited = ctl("dead-letters", "edit", chosen, "--body", str(corrected))
        deleted = ctl("dead-letters", "delete", chosen, "--yes")
        redriven = ctl("dead-letters", "redrive", chosen, "--yes")

        ticket_key = f"{dead_letters.project}-1"
        for refused in (edited, deleted):
            assert refused.status == 2
            assert f"{chosen}: has {ticket_key}" in refused.err
        assert redriven.status == 0
        [event] = system.wait_for(lambda: system.events(dead_letters.project))
        assert (event["id"], event["data"]["title"]) == (ticket_key, fields["title"])
        assert dead_letters.numbers() == (1,)


class TestDeleted:
    """Only what a person agreed to lose is lost."""

    @pytest.mark.parametrize(("answer", "left"), [("y", 0), ("n", 1)])
    def test_dead_letter_is_deleted_when_a_person_agrees(
        self, dead_letters: DeadLetters, ctl: Ctl, answer: str, left: int
    ) -> None:
        message_id = dead_letters.plant(reason="InvalidMessageError")

        said = at_terminal(ctl, answer, "dead-letters", "delete", message_id)

        assert "--save FILE keeps a copy" in said
        assert message_id in said
        assert len(dead_letters.visible()) == left

    def test_dead_letters_are_saved_when_they_are_deleted(
        self, dead_letters: DeadLetters, ctl: Ctl, tmp_path: Path
    ) -> None:
        dead_letters.plant(reason="InvalidMessageError", trace="t")
        dead_letters.plant()
        bodies = dead_letters.visible()
        file = tmp_path / "saved.jsonl"

        ended = ctl("dead-letters", "delete", "--all", "--yes", "--save", str(file))

        assert (ended.status, ended.out) == (0, "dead letters deleted: 2\n")
        saved = [json.loads(line) for line in file.read_text().splitlines()]
        assert {line["message_id"]: line["body"] for line in saved} == bodies
        assert dead_letters.visible() == {}


def at_terminal(ctl: Ctl, answer: str, *arguments: str) -> str:
    """Call a command whose standard input is a terminal; return what it says."""
    ours, theirs = os.openpty()
    environment = os.environ | {k: v for k, v in ctl.environment.items() if v}
    try:
        os.write(ours, f"{answer}\n".encode())
        # Our own command line.
        ended = subprocess.run(  # noqa: S603 - above.
            [sys.executable, "-m", "ticketctl", *arguments],
            stdin=theirs,
            capture_output=True,
            check=True,
            cwd=ROOT,
            env=environment,
            timeout=PATIENCE_SECONDS,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    return ended.stderr.decode()
