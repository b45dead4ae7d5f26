"""Operators look at dead letters, send them back, mend and delete them."""

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
from ticketctl.audit.audit import audit
from ticketctl.local.artifact import ROOT
from ticketctl.local.stack import LocalStack

pytestmark = pytest.mark.emulator

PATIENCE_SECONDS = 30
MAX_ENTRIES = 10


def wait_until(what: Callable[[], bool]) -> None:
    """Wait for a condition without touching the dead-letter queue's messages.

    Raises:
        TimeoutError: It did not come.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not what():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.05)


@dataclass
class Letters:
    """The dead-letter queue, and what a test put there."""

    stack: LocalStack
    project: str
    planted: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        """The queue's URL."""
        return self.stack.outputs["DeadLetterQueueUrl"]

    @property
    def sqs(self) -> Any:
        """A client."""
        return self.stack.client("sqs")

    def plant(
        self, body: str | dict[str, Any] | None = None, reason: str = "", **own: str
    ) -> str:
        """Put a letter there, as the worker does if a reason is given.

        Returns:
            Its id.
        """
        if body is None:
            body = ticket_fields(self.project)
        attributes = dict(own)
        if reason:
            attributes |= {
                "ErrorType": reason,
                "ErrorMessage": "title: wrong",
                "SourceMessageId": "source",
                "SentTimestamp": "1795000000000",
            }
        sent = self.sqs.send_message(
            QueueUrl=self.url,
            MessageBody=body if isinstance(body, str) else json.dumps(body),
            MessageAttributes={
                name: {"DataType": "String", "StringValue": value}
                for name, value in attributes.items()
            },
        )
        message_id: str = sent["MessageId"]
        self.planted.append(message_id)
        return message_id

    def visible(self) -> dict[str, str]:
        """Return the bodies of the planted letters that anybody can receive now."""
        found: dict[str, str] = {}
        with self.taken() as messages:
            for each in messages:
                if each["MessageId"] in self.planted:
                    found[each["MessageId"]] = each["Body"]
        return found

    @contextmanager
    def taken(self) -> Iterator[list[dict[str, Any]]]:
        """Hold everything that can be received, for the block."""
        messages: list[dict[str, Any]] = []
        while more := self.sqs.receive_message(
            QueueUrl=self.url,
            MaxNumberOfMessages=MAX_ENTRIES,
            MessageAttributeNames=["All"],
        ).get("Messages"):
            messages += more
        try:
            yield messages
        finally:
            for each in messages:
                self.sqs.change_message_visibility(
                    QueueUrl=self.url,
                    ReceiptHandle=each["ReceiptHandle"],
                    VisibilityTimeout=0,
                )

    def remove(self) -> None:
        """Delete what is of the test: what it planted, and what came of it."""
        with self.taken() as messages:
            ours = [
                each
                for each in messages
                if each["MessageId"] in self.planted or self.project in each["Body"]
            ]
            for each in ours:
                self.sqs.delete_message(
                    QueueUrl=self.url, ReceiptHandle=each["ReceiptHandle"]
                )
                messages.remove(each)

    def numbers(self) -> tuple[int, ...]:
        """Return the project's numbers, if its tables are as they must be."""
        outputs = self.stack.outputs
        tables = outputs["TicketsTableName"], outputs["IdempotencyKeysTableName"]
        found = audit(self.stack.client("dynamodb"), *tables)
        ours = [each for each in found if each.project_id == self.project]
        assert all(each.is_clean for each in ours)
        return ours[0].numbers if ours else ()

    def wait_for_numbers(self, *numbers: int) -> None:
        """Wait until the project has these numbers and nothing is under way."""
        wait_until(lambda: self.numbers() == numbers)


@pytest.fixture
def letters(deployed: LocalStack, project: str) -> Iterator[Letters]:
    """Return the dead-letter queue; what the test leaves there is removed."""
    letters = Letters(deployed, project)
    yield letters
    letters.remove()


@pytest.fixture
def editor(tmp_path: Path) -> Callable[[str], str]:
    """Return what makes an editor of Python code on `text`, which it replaces."""

    def make(code: str) -> str:
        script = tmp_path / "an editor.py"
        script.write_text(
            "import pathlib, sys\n"
            "path = pathlib.Path(sys.argv[1])\n"
            "text = path.read_text()\n"
            f"{code}\n"
            "path.write_text(text)\n"
        )
        return f"{sys.executable} '{script}'"

    return make


class TestLooking:
    """Whoever looks learns all, and hides nothing from others for long."""

    def test_list_shows_why_and_what_when_poison_went_through_the_system(
        self, system: System, letters: Letters, ctl: Ctl
    ) -> None:
        """A ticket with a wrong field, and what is no JSON at all."""
        before = approximate(letters)
        system.send(ticket_fields(letters.project, "k-1", title=7))
        system.send(f"{{{letters.project}")
        wait_until(lambda: approximate(letters) >= before + 2)

        by_reason = "--reason", "invalidmessageerror"
        # A pipe gets whole lines, however narrow the terminal is.
        listed = ctl("dead-letters", "list", *by_reason, COLUMNS="80")
        shown = ctl("dead-letters", "list", "--project", letters.project, "--json")

        assert listed.status == 0
        [line] = [each for each in listed.out.splitlines() if "k-1" in each]
        assert f" {letters.project} " in line
        assert "InvalidMessageError: title: " in line
        assert " s " in line
        assert "InvalidMessageError: body: not JSON" in listed.out
        assert "dead letters" in listed.err
        [found] = shown.json["letters"]
        assert found["idempotency_key"] == "k-1"
        assert found["reason"] == "InvalidMessageError"
        assert found["bytes"] > 0
        assert found["sent_at"].endswith("+00:00")

    def test_letters_are_visible_to_others_at_once_after_a_list(
        self, letters: Letters, ctl: Ctl
    ) -> None:
        """More than fit one call of any kind, and fewer shown than there are."""
        planted = {letters.plant() for _ in range(12)}

        listed = ctl("dead-letters", "list", "--limit", "11")

        assert listed.status == 0
        assert len(listed.out.splitlines()) == 1 + 11
        assert "received too often" in listed.out
        assert letters.visible().keys() == planted

    def test_letter_is_shown_whole_when_its_id_is_abbreviated(
        self, letters: Letters, ctl: Ctl
    ) -> None:
        """Pretty, with its attributes, and nothing that a terminal would obey."""
        body = {"project_id": "\x1b[2J[red]" + letters.project, "title": "a\u202eb"}
        message_id = letters.plant(body, "InvalidMessageError", trace="\u009b2J")

        shown = ctl("dead-letters", "show", message_id[:13])

        assert shown.status == 0
        assert "InvalidMessageError: title: wrong" in shown.out
        assert '\n  "title": "a\\u202eb"\n}' in shown.out
        assert "[red]" in shown.out
        assert "trace = \ufffd2J (String)" in shown.out
        assert not {"\x1b", "\x9b", "\u202e"} & set(shown.out)

    def test_body_is_printed_byte_for_byte_when_it_is_wanted_raw(
        self, letters: Letters, ctl: Ctl
    ) -> None:
        """No line break more, no space less."""
        body = f"\ufeff {{ {letters.project}\r\t\n\u202e "
        message_id = letters.plant(body)

        shown = ctl("dead-letters", "show", message_id, "--raw")
        whole = ctl("dead-letters", "show", message_id, "--json")

        assert shown.out == body
        assert whole.json["body"] == body
        assert whole.json["system_attributes"]["ApproximateReceiveCount"] == "2"

    def test_status_is_1_when_no_letter_has_the_id(self, ctl: Ctl) -> None:
        """One line says so."""
        shown = ctl("dead-letters", "show", "zzzz")

        assert (shown.status, shown.out) == (1, "")
        assert "no dead letter zzzz" in shown.err

    def test_list_says_so_when_the_queue_is_empty(
        self, letters: Letters, ctl: Ctl
    ) -> None:
        """Nothing to do is no failure."""
        drain(letters)

        listed = ctl("dead-letters", "list")
        again = ctl("dead-letters", "redrive", "--all", "--yes")

        assert (listed.status, listed.out) == (0, "the dead-letter queue is empty\n")
        assert again.status == 0
        assert "nothing to send back" in again.out

    def test_status_is_3_when_there_is_no_such_stack(self, ctl: Ctl) -> None:
        """As for every command."""
        listed = ctl("--stack", "nowhere", "dead-letters", "list")

        assert listed.status == 3
        assert "no stack nowhere" in listed.err


class TestSentBack:
    """What is sent back is numbered once, and gone from the dead letters."""

    def test_chosen_letter_is_numbered_once(self, letters: Letters, ctl: Ctl) -> None:
        """The other stays where it is."""
        chosen, other = letters.plant(), letters.plant()

        ended = ctl("dead-letters", "redrive", chosen, "--yes")

        assert (ended.status, ended.out) == (
            0,
            "dead letters sent back: 1\n",
        )
        letters.wait_for_numbers(1)
        assert letters.visible().keys() == {other}

    def test_letters_that_pass_the_filter_are_numbered(
        self, letters: Letters, ctl: Ctl
    ) -> None:
        """By project and reason together; poison is warned of."""
        for _ in range(3):
            letters.plant(reason="TicketTooLargeError")
        other = letters.plant()
        options = "--project", letters.project, "--reason", "TicketTooLargeError"

        ended = ctl("dead-letters", "redrive", *options, "--yes")

        assert ended.status == 0
        assert "3 will come back unless the worker has changed" in ended.err
        letters.wait_for_numbers(1, 2, 3)
        assert letters.visible().keys() == {other}

    def test_all_are_numbered_once_when_one_has_its_number_already(
        self, letters: Letters, ctl: Ctl
    ) -> None:
        """Here one by one, for the emulator has no message move tasks."""
        drain(letters)
        twice = ticket_fields(letters.project)
        planted = [letters.plant(twice), letters.plant(twice), letters.plant()]

        ended = ctl("dead-letters", "redrive", "--all", "--yes")

        assert ended.status == 0
        assert "one by one" in ended.err
        letters.wait_for_numbers(1, 2)
        assert not letters.visible().keys() & set(planted)

    def test_nothing_is_sent_when_nobody_can_be_asked(
        self, letters: Letters, ctl: Ctl
    ) -> None:
        """A script must say --yes."""
        message_id = letters.plant()

        ended = ctl("dead-letters", "redrive", message_id, typed="y\n")

        assert ended.status == 2
        assert "--yes" in ended.err
        assert letters.visible().keys() == {message_id}

    @pytest.mark.parametrize(
        "options",
        [
            (),
            ("aaaa", "--all"),
            ("aaaa", "--project", "P"),
            ("--all", "--rate", "0"),
            ("--all", "--rate", "501"),
            ("--all", "--cancel"),
        ],
        ids=" ".join,
    )
    def test_status_is_2_when_the_choice_is_not_clear(
        self, ctl: Ctl, options: tuple[str, ...]
    ) -> None:
        """Before anything is looked at."""
        assert ctl("dead-letters", "redrive", *options).status == 2

    def test_status_is_1_when_there_is_nothing_to_cancel(self, ctl: Ctl) -> None:
        """Nor can there be, on the emulator."""
        assert ctl("dead-letters", "redrive", "--cancel").status == 1


class TestMended:
    """A letter that is mended is numbered; nothing else is ever sent."""

    def test_letter_is_numbered_when_an_editor_mends_it(
        self, letters: Letters, ctl: Ctl, editor: Callable[[str], str]
    ) -> None:
        """The key stays, and the letter is gone."""
        message_id = letters.plant(
            ticket_fields(letters.project, "k-1", title=7), "InvalidMessageError"
        )
        mend = editor(
            """assert '\\n  "title": 7' in text\n"""
            """text = text.replace(': 7', ': "Good"')"""
        )

        ended = ctl("dead-letters", "edit", message_id, VISUAL=mend)

        assert ended.status == 0, ended.err
        letters.wait_for_numbers(1)
        assert letters.visible() == {}

    def test_letter_stays_when_the_new_body_is_wrong_too(
        self, letters: Letters, ctl: Ctl, editor: Callable[[str], str]
    ) -> None:
        """The field is named, and the text not lost."""
        message_id = letters.plant(ticket_fields(letters.project, title=7))

        ended = ctl(
            "dead-letters", "edit", message_id, VISUAL=editor("text = text[:-2] + '8}'")
        )

        assert ended.status == 2
        assert "title: " in ended.err
        assert "nothing is sent" in ended.err
        assert kept_text(ended.err).endswith('"title": 78}')
        assert letters.visible().keys() == {message_id}

    def test_nothing_is_sent_when_the_body_is_unchanged(
        self, letters: Letters, ctl: Ctl, editor: Callable[[str], str]
    ) -> None:
        """Unless that is insisted on."""
        message_id = letters.plant()
        nothing = {"EDITOR": editor("pass"), "VISUAL": ""}

        ended = ctl("dead-letters", "edit", message_id, **nothing)

        assert ended.status == 1
        assert "unchanged" in ended.err
        assert letters.visible().keys() == {message_id}

        assert ctl("dead-letters", "edit", message_id, "--force", **nothing).status == 0
        letters.wait_for_numbers(1)

    @pytest.mark.parametrize(
        "variables",
        [
            {"VISUAL": "", "EDITOR": ""},
            {"VISUAL": "no-such-editor -w"},
            {"VISUAL": "'"},
            {"VISUAL": "false"},
        ],
        ids=str,
    )
    def test_status_is_2_when_there_is_no_editor(
        self, letters: Letters, ctl: Ctl, variables: dict[str, str]
    ) -> None:
        """One line says what to do; nothing is sent."""
        message_id = letters.plant()

        ended = ctl("dead-letters", "edit", message_id, **variables)

        assert ended.status == 2
        assert "error: " in ended.err
        kept_text(ended.err)
        assert letters.visible().keys() == {message_id}

    def test_new_body_is_taken_from_standard_input_with_a_new_key(
        self, letters: Letters, ctl: Ctl
    ) -> None:
        """A key that is taken is refused, unless a new one is put in."""
        fields = ticket_fields(letters.project, "taken")
        message_id = letters.plant(fields, "IdempotencyMismatchError")
        arguments = ["dead-letters", "edit", message_id, "--file", "-"]
        body = json.dumps(fields | {"title": "Another"})

        refused = ctl(*arguments, typed=body)
        ended = ctl(*arguments, "--new-key", typed=body)

        assert refused.status == 2
        assert "--new-key" in refused.err
        assert ended.status == 0
        letters.wait_for_numbers(1)
        assert letters.visible() == {}

    @pytest.mark.parametrize("content", [None, b"\xff", b"{}"], ids=str)
    def test_status_is_2_when_the_file_is_of_no_use(
        self, letters: Letters, ctl: Ctl, tmp_path: Path, content: bytes | None
    ) -> None:
        """Missing, not text, or no ticket."""
        message_id = letters.plant()
        file = tmp_path / "body.json"
        if content is not None:
            file.write_bytes(content)

        ended = ctl("dead-letters", "edit", message_id, "--file", str(file))

        assert ended.status == 2
        assert letters.visible().keys() == {message_id}


class TestNumberIsHeardOf:
    """A number that nobody has heard of is not lost with its letter."""

    def test_number_is_announced_by_a_redrive_when_edit_and_delete_were_refused(
        self, system: System, letters: Letters, ctl: Ctl, tmp_path: Path
    ) -> None:
        """SNS was down for so long that SQS moved the message."""
        fields, before = ticket_fields(letters.project), approximate(letters)
        mended = tmp_path / "mended.json"
        mended.write_text(json.dumps(fields | {"title": "Mended"}))
        with (
            door(system.stack, Manner.REFUSE) as sns,
            system.queue_attributes(
                VisibilityTimeout="5", RedrivePolicy=redrive_policy(system, after=2)
            ),
            system.function_environment(AWS_ENDPOINT_URL_SNS=sns.url),
        ):
            [sent] = system.send(fields)
            wait_until(lambda: approximate(letters) > before)
        chosen = sent.message_id

        edited = ctl("dead-letters", "edit", chosen, "--file", str(mended))
        deleted = ctl("dead-letters", "delete", chosen, "--yes")
        redriven = ctl("dead-letters", "redrive", chosen, "--yes")

        ticket_key = f"{letters.project}-1"
        for refused in (edited, deleted):
            assert refused.status == 2
            assert f"{chosen}: has {ticket_key}" in refused.err
        assert redriven.status == 0
        [event] = system.wait_for(lambda: system.events(letters.project))
        assert (event["id"], event["data"]["title"]) == (ticket_key, fields["title"])
        assert letters.numbers() == (1,)


class TestDeleted:
    """Only what somebody agreed to lose is lost."""

    @pytest.mark.parametrize(("answer", "left"), [("y", 0), ("n", 1), ("", 1)])
    def test_letter_is_deleted_when_a_person_agrees(
        self, letters: Letters, ctl: Ctl, answer: str, left: int
    ) -> None:
        """At a terminal, having seen what will be lost."""
        message_id = letters.plant(reason="InvalidMessageError")

        said = at_terminal(ctl, answer, "dead-letters", "delete", message_id)

        assert "--save FILE keeps a copy" in said
        assert f"{message_id}" in said
        assert ("nothing was done" in said) == bool(left)
        assert len(letters.visible()) == left

    def test_letters_are_saved_before_they_are_deleted(
        self, letters: Letters, ctl: Ctl, tmp_path: Path
    ) -> None:
        """A line each, with all that they were; never over another file."""
        planted = [
            letters.plant(reason="InvalidMessageError", trace="t"),
            letters.plant(),
        ]
        bodies = letters.visible()
        file = tmp_path / "letters.jsonl"
        arguments = ["dead-letters", "delete", "--project", letters.project, "--yes"]

        ended = ctl(*arguments, "--save", str(file))

        assert (ended.status, ended.out) == (0, "dead letters deleted: 2\n")
        saved = [json.loads(each) for each in file.read_text().splitlines()]
        assert {each["message_id"]: each["body"] for each in saved} == bodies
        [first] = [each for each in saved if each["message_id"] == planted[0]]
        assert first["attributes"]["trace"]["StringValue"] == "t"
        assert letters.visible() == {}

        letters.plant()
        again = ctl(*arguments, "--save", str(file))

        assert again.status == 2
        assert "is there already" in again.err
        assert len(letters.visible()) == 1

    @pytest.mark.parametrize(
        "options", [(), ("aaaa", "--all"), ("aaaa",)], ids=" ".join
    )
    def test_nothing_is_deleted_when_it_is_not_clear_or_nobody_agrees(
        self, letters: Letters, ctl: Ctl, options: tuple[str, ...]
    ) -> None:
        """Nothing named, two things named, or a letter that is not there."""
        message_id = letters.plant()

        assert ctl("dead-letters", "delete", *options).status in {1, 2}
        assert letters.visible().keys() == {message_id}


def kept_text(said: str) -> str:
    """Return the text that a command says it kept, if it did, and remove its file."""
    texts = []
    for line in said.splitlines():
        if line.startswith("your text is kept in "):
            file = Path(line.removeprefix("your text is kept in "))
            texts.append(file.read_text())
            file.unlink()
    return "".join(texts)


def approximate(letters: Letters) -> int:
    """Return how many messages the dead-letter queue has."""
    name = "ApproximateNumberOfMessages"
    attributes = letters.sqs.get_queue_attributes(
        QueueUrl=letters.url, AttributeNames=[name]
    )
    return int(attributes["Attributes"][name])


def drain(letters: Letters) -> None:
    """Delete what other tests left."""
    with letters.taken() as messages:
        letters.planted += [each["MessageId"] for each in messages]
    letters.remove()


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
