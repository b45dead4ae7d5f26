"""What is known of dead letters, how they are selected, and how they are shown."""

import io
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from rich.console import Console

from tests.support.dead_letter_queue import (
    Site,
    Sqs,
    dead_letter,
    dead_letters,
)
from ticketctl.cli.errors import InputError, NotThereError
from ticketctl.commands.dead_letters import list_, show
from ticketctl.dead_letters.dead_letter import DeadLetter
from ticketctl.dead_letters.dead_letter_queue import (
    VISIBILITY_SECONDS,
    DeadLetterQueue,
    dead_letter_queue,
)
from ticketctl.dead_letters.selection import Selection, select
from ticketctl.dead_letters.views import age, print_table, print_whole


def with_ids(*starts: str) -> Sqs:
    """Return a queue of dead letters with ids that start so."""
    return Sqs([replace(dead_letter(), message_id=f"{start}-1") for start in starts])


class TestReason:
    """The worker's reason, or that SQS moved the message."""

    def test_reason_is_the_workers_when_it_gave_one(self) -> None:
        letter = dead_letter(ErrorType="InvalidMessageError", ErrorMessage="title: no")

        assert letter.explanation == "InvalidMessageError: title: no"

    def test_reason_is_received_too_often_when_sqs_moved_the_message(self) -> None:
        assert dead_letter().explanation == "received too often"

    @pytest.mark.parametrize(
        "body", ["{", "[]", "null", '{"project_id": 7}', "[" * 50_000]
    )
    def test_project_is_unknown_when_the_body_does_not_have_it(self, body: str) -> None:
        letter = dead_letter(body=body)

        assert (letter.project_id, letter.idempotency_key) == (None, None)


class TestSelection:
    """A command is about the dead letters that a person meant."""

    @pytest.mark.parametrize(
        "selection",
        [
            Selection(),
            Selection(["a"], everything=True),
            Selection(["a"], project_id="P"),
            Selection(project_id="P", everything=True),
        ],
    )
    def test_selection_is_refused_when_it_is_empty_or_ambiguous(
        self, selection: Selection
    ) -> None:
        with pytest.raises(InputError):
            selection.check()

    @pytest.mark.parametrize("reason", ["Error", "error", None])
    def test_dead_letter_passes_when_project_and_reason_match(
        self, reason: str | None
    ) -> None:
        letter = dead_letter("A", ErrorType="Error")

        assert Selection(project_id="A", reason=reason).passes(letter)
        assert not Selection(project_id="B", reason=reason).passes(letter)
        assert not Selection(project_id="A", reason="Other").passes(letter)

    def test_reason_of_sqs_is_written_without_quotes(self) -> None:
        assert Selection(reason="received-too-often").passes(dead_letter())

    def test_dead_letter_is_found_once_when_its_id_is_abbreviated_twice(self) -> None:
        site = Site(with_ids("aaa0", "aab0"))

        [found] = select(site, Selection(["AAB", "aab0"]))

        assert found.message_id == "aab0-1"

    @pytest.mark.parametrize(
        ("ids", "start"), [(("aaa0", "aab0"), "aa"), (("aaa0",), "")]
    )
    def test_id_is_refused_when_it_names_no_single_dead_letter(
        self, ids: tuple[str, ...], start: str
    ) -> None:
        with pytest.raises(InputError, match=f"begin with '{start}'"):
            select(Site(with_ids(*ids)), Selection([start]))

    def test_id_is_reported_when_no_dead_letter_has_it(self) -> None:
        with pytest.raises(NotThereError, match="dddd in 2 of about 2 dead letters"):
            select(Site(with_ids("aaa0", "aab0")), Selection(["dddd"]))


class TestVisibility:
    """Nobody waits longer than a minute for a dead letter that somebody looks at."""

    def test_every_dead_letter_is_seen_once_and_visible_afterwards(self) -> None:
        sqs = Sqs(dead_letters(25))

        with dead_letter_queue(Site(sqs)) as queue:
            seen = [letter.message_id for letter in queue.receive()]

        assert seen == sqs.ids
        assert sqs.hidden == set()
        assert sqs.longest_seconds <= 60

    @pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
    def test_dead_letters_are_visible_when_the_work_is_cut_short(
        self, error: type[BaseException]
    ) -> None:
        sqs = Sqs(dead_letters(3))

        def look_at_one() -> None:
            with dead_letter_queue(Site(sqs)) as queue:
                next(queue.receive())
                raise error

        with pytest.raises(error):
            look_at_one()

        assert sqs.hidden == set()

    def test_receiving_ends_before_the_first_one_would_come_again(self) -> None:
        seconds = iter(range(0, 1000, 20))
        sqs = Sqs(dead_letters(100))
        queue = DeadLetterQueue(sqs, "dead", lambda: next(seconds))

        seen = list(queue.receive())

        assert 3 <= len(seen) < 100
        assert len(sqs.calls) * 20 <= VISIBILITY_SECONDS

    def test_message_says_so_when_an_answer_of_200_names_failures(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        sqs = Sqs(dead_letters(2))
        sqs.never_restored = {sqs.ids[1]}

        with dead_letter_queue(Site(sqs)) as queue:
            list(queue.receive())

        assert "1 dead letters stay hidden for up to 60 s" in capsys.readouterr().err


class TestShown:
    """People and scripts get all of a message, and terminals nothing to obey."""

    def test_list_says_how_many_there_are_when_it_shows_fewer(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        sqs = Sqs(dead_letters(5))

        list_(Site(sqs).context, limit=4)

        said = capsys.readouterr()
        assert len(said.out.splitlines()) == 1 + 4
        assert said.err == "4 of about 5 dead letters\n"
        assert sqs.hidden == set()

    def test_list_says_how_many_cannot_be_seen_when_somebody_has_them(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        sqs = Sqs(dead_letters(3))
        sqs.hidden = set(sqs.ids[1:])

        list_(Site(sqs).context)

        assert "1 of about 3 dead letters; 2 are hidden" in capsys.readouterr().err

    def test_list_is_one_json_document_when_a_script_reads(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        site = Site(Sqs([dead_letter("A", ErrorType="Error"), dead_letter("B")]))

        list_(site.context, reason="error", as_json=True)

        answer = json.loads(capsys.readouterr().out)
        assert answer["approximate_total"] == 2
        [found] = answer["dead_letters"]
        assert (found["reason"], found["project_id"]) == ("Error", "A")

    @pytest.mark.parametrize("options", [{"raw": True}, {"as_json": True}])
    def test_body_is_exact_when_a_script_reads(
        self, capsysbinary: pytest.CaptureFixture[bytes], options: dict[str, bool]
    ) -> None:
        body = "\ufeff { \r\t\n\u202e\x1b "
        site = Site(Sqs([dead_letter(body=body)]))

        show(site.context, site.sqs.ids[0], **options)

        out = capsysbinary.readouterr().out.decode()
        assert (json.loads(out)["body"] if "as_json" in options else out) == body

    @pytest.mark.parametrize("printer", [print_whole, lambda c, x: print_table(c, [x])])
    def test_terminal_obeys_nothing_of_a_message(
        self, printer: Callable[[Console, DeadLetter], None]
    ) -> None:
        evil = "\x1b[2J\x9b\u202e"
        body = json.dumps({"project_id": evil, "title": evil}, ensure_ascii=False)
        letter = dead_letter(body=body, ErrorType=evil, own=evil)
        console = Console(file=io.StringIO(), width=200)

        printer(console, letter)

        assert isinstance(console.file, io.StringIO)
        assert not set("\x1b\x9b\u202e") & set(console.file.getvalue())

    def test_lines_are_whole_when_a_pipe_reads_them(self) -> None:
        letter = dead_letter("P" * 99, ErrorType="Error", ErrorMessage="why " * 50)
        console = Console(file=io.StringIO(), width=80)

        print_table(console, [letter])

        assert isinstance(console.file, io.StringIO)
        _, line = console.file.getvalue().splitlines()
        assert line.startswith(f" {letter.message_id} ")
        assert line.strip().endswith("Error: " + "why " * 49 + "why")

    @pytest.mark.parametrize(
        ("past", "shown"),
        [
            (timedelta(seconds=4), "0:00:04"),
            (timedelta(days=13, hours=2), "13 days, 2:00:00"),
            (-timedelta(hours=1), "0:00:00"),
        ],
    )
    def test_age_is_never_negative_when_a_clock_is_ahead(
        self, past: timedelta, shown: str
    ) -> None:
        sent = datetime.now(UTC) - past - timedelta(milliseconds=100)
        stamp = {"SentTimestamp": str(int(sent.timestamp() * 1000))}

        assert age(replace(dead_letter(), system=stamp)) == shown
        assert age(dead_letter()) == "-"
