"""What is known of a dead letter, and how it looks."""

import io
from datetime import UTC, datetime, timedelta

import pytest
from rich.console import Console

from tests.support.dead_letter_queue import letter
from ticketctl.cli.errors import InputError
from ticketctl.dead_letters.choosing import Choice
from ticketctl.dead_letters.letters import Filter, Letter
from ticketctl.dead_letters.views import age, print_table, unmasked


class TestLetter:
    """A letter is read as far as it can be."""

    def test_reason_is_the_workers_where_it_gave_one(self) -> None:
        """Type and message."""
        dead = letter(ErrorType="InvalidMessageError", ErrorMessage="title: missing")

        assert dead.explanation == "InvalidMessageError: title: missing"

    def test_reason_is_told_when_sqs_moved_the_letter(self) -> None:
        """There is nothing beside the body."""
        assert letter().explanation == "received too often"

    @pytest.mark.parametrize("body", ["{", "[]", "null", '{"project_id": 7}'])
    def test_project_is_unknown_when_the_body_does_not_show_it(self, body: str) -> None:
        """And the key too."""
        dead = letter(body=body)

        assert (dead.project_id, dead.idempotency_key) == (None, None)

    def test_project_is_known_when_only_the_key_is_missing(self) -> None:
        """Half a body helps too."""
        assert letter(body='{"project_id": "P"}').project_id == "P"

    def test_size_is_counted_in_bytes(self) -> None:
        """As SQS counts."""
        assert letter(body="ü").size == 2

    @pytest.mark.parametrize(
        ("past", "shown"),
        [
            (timedelta(seconds=4), "4 s"),
            (timedelta(minutes=3, seconds=2), "3 min 2 s"),
            (timedelta(hours=5, minutes=6), "5 h 6 min"),
            (timedelta(days=13, hours=2), "13 d 2 h"),
            (-timedelta(hours=1), "0 s"),
        ],
    )
    def test_age_is_told_in_two_units(self, past: timedelta, shown: str) -> None:
        """A clock that is ahead is no reason to fail."""
        sent = datetime.now(UTC) - past - timedelta(milliseconds=100)
        stamp = {"SentTimestamp": str(int(sent.timestamp() * 1000))}

        assert age(Letter("id", "body", system=stamp)) == shown

    def test_age_is_unknown_when_sqs_does_not_tell(self) -> None:
        """No guess."""
        assert age(letter()) == "-"


class TestTable:
    """A line for each letter."""

    def test_lines_are_whole_when_nobody_but_a_pipe_reads_them(self) -> None:
        """For `grep`, however narrow the terminal was."""
        dead = letter("P" * 99, ErrorType="Error", ErrorMessage="why " * 50)
        console = Console(file=io.StringIO(), width=80)

        print_table(console, [dead])

        assert isinstance(console.file, io.StringIO)
        _, line = console.file.getvalue().splitlines()
        assert f" {dead.message_id} " in line
        assert f" {dead.project_id} " in line
        assert line.strip().endswith("Error: " + "why " * 49 + "why")


class TestChoice:
    """What is chosen is what was meant."""

    @pytest.mark.parametrize(
        "reason", ["InvalidMessageError", "invalidmessageerror", None]
    )
    def test_letter_passes_when_its_reason_is_the_one(self, reason: str | None) -> None:
        """However it is written."""
        assert Filter(None, reason).passes(letter(ErrorType="InvalidMessageError"))

    def test_letter_passes_when_sqs_moved_it_and_that_is_wanted(self) -> None:
        """A word for the command line."""
        assert Filter(None, "received-too-often").passes(letter())

    @pytest.mark.parametrize(
        "wanted", [Filter("A", "ErrorB"), Filter("B", None), Filter(None, "ErrorA")]
    )
    def test_letter_does_not_pass_when_anything_differs(self, wanted: Filter) -> None:
        """Project and reason must both be right."""
        assert not wanted.passes(letter("A", ErrorType="Error"))

    @pytest.mark.parametrize(
        "choice",
        [
            Choice((), everything=False, filter=Filter()),
            Choice(("a",), everything=True, filter=Filter()),
            Choice(("a",), everything=False, filter=Filter("P")),
        ],
    )
    def test_choice_is_refused_when_it_is_not_clear(self, choice: Choice) -> None:
        """Nothing, or two ways at once."""
        with pytest.raises(InputError):
            choice.check()


class TestSafeToShow:
    """A body is shown as it is, and obeyed by no terminal."""

    def test_control_characters_are_spelled(self) -> None:
        """Lines and tabs stay."""
        shown = unmasked("a\r\n\tb\x1b[2J\x9b\u202e\x00 ü🔑")

        assert shown == "a\\r\n\tb\\x1b[2J\\x9b\\u202e\\x00 ü🔑"
