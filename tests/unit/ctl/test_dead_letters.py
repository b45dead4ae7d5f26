"""Dead letters: their fields, their selection and their display."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from rich.console import Console

from simulation.aws.faults import Fault
from tests.support.dead_letter_queue import (
    Harness,
    dead_letter,
    dead_letters,
)
from tests.support.model_services import InTurn, ModelServices
from ticketctl.aws.queues import MAX_ENTRIES, RECEIVED_TOO_OFTEN, Received, Receiver
from ticketctl.cli.errors import InputError, NotThereError
from ticketctl.commands.dead_letters import delete, list_, redrive, show
from ticketctl.dead_letters.dead_letter import DeadLetter
from ticketctl.dead_letters.dead_letter_queue import (
    VISIBILITY_SECONDS,
    DeadLetterQueue,
    dead_letter_queue,
)
from ticketctl.dead_letters.selection import Selection, select
from ticketctl.dead_letters.views import age, print_table, print_whole


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
        with pytest.raises(InputError, match=r"^name ids, or "):
            selection.checked()

    def test_dead_letter_has_the_reason_of_sqs_when_it_shows_no_attributes(
        self,
    ) -> None:
        """SQS leaves a member out that has nothing in it."""
        letter = DeadLetter.of({"MessageId": "m", "Body": "{}"})

        assert letter.reason == RECEIVED_TOO_OFTEN
        assert letter.system == {}

    @pytest.mark.parametrize("limit", [1, 2, None])
    def test_selection_is_of_the_first_ones_when_there_is_a_limit(
        self, capsys: pytest.CaptureFixture[str], limit: int | None
    ) -> None:
        harness = Harness.of(*dead_letters(2))

        selected = select(harness, Selection(everything=True), limit)

        assert {one.message_id for one in selected} <= {*harness.ids}
        assert len(selected) == (limit or 2)
        assert not capsys.readouterr().err

    def test_reasons_are_named_as_they_are_typed_when_one_is_misspelt(self) -> None:
        """A typo would look like an empty queue."""
        reasons = r"'Mismatch'; .* IdempotencyMismatchError, .*, received-too-often$"
        with pytest.raises(InputError, match=reasons):
            list_(Harness.of(*dead_letters(1)).context, reason="Mismatch")

    def test_dead_letter_passes_when_project_and_reason_match(self) -> None:
        """SQS's own reason is written without quotes."""
        poison = dead_letter("A", ErrorType="InvalidMessageError")

        assert Selection(project_id="A", reason="invalidmessageerror").passes(poison)
        assert not Selection(project_id="B").passes(poison)
        assert not Selection(project_id="A", reason="TicketTooLargeError").passes(
            poison
        )
        assert Selection(reason="received-too-often").passes(dead_letter("A"))

    def test_dead_letters_of_one_key_are_listed_when_it_is_named(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        wanted, other = dead_letters(2)
        harness = Harness.of(wanted, other)

        list_(harness.context, project="PROJ", key=wanted.idempotency_key)

        [_, row] = capsys.readouterr().out.splitlines()
        assert row.startswith(f" {harness.ids[0]}")

    @pytest.mark.parametrize(
        "body", ["{", "[]", "null", '{"project_id": 7}', "[" * 50_000], ids=len
    )
    def test_project_is_unknown_when_the_body_does_not_have_it(self, body: str) -> None:
        unreadable = dead_letter(body=body)

        assert (unreadable.project_id, unreadable.idempotency_key) == (None, None)

    def test_dead_letter_is_found_once_when_its_id_is_abbreviated_twice(self) -> None:
        harness = Harness.of(*dead_letters(12))

        [found] = select(harness, Selection(["DEAD-12", "dead-12"]))

        assert found.body == harness.left[-1]

    @pytest.mark.parametrize(("there", "start"), [(2, "dead"), (1, "")])
    def test_id_is_refused_when_it_names_no_single_dead_letter(
        self, there: int, start: str
    ) -> None:
        with pytest.raises(InputError, match=f"begins with '{start}'"):
            select(Harness.of(*dead_letters(there)), Selection([start]))

    def test_id_is_reported_when_no_dead_letter_has_it(self) -> None:
        with pytest.raises(NotThereError, match="dddd in 2 of about 2 dead letters"):
            select(Harness.of(*dead_letters(2)), Selection(["dddd"]))

    @pytest.mark.parametrize(
        ("command", "options"),
        [(list_, {}), *[(one, {"everything": True}) for one in (redrive, delete)]],
    )
    def test_command_says_so_when_there_is_no_dead_letter(
        self,
        capsys: pytest.CaptureFixture[str],
        command: Callable[..., None],
        options: dict[str, bool],
    ) -> None:
        command(Harness().context, **options)

        assert re.search("nothing|empty", capsys.readouterr().out)

    def test_nothing_is_redriven_silently_when_another_consumer_holds_all(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        harness = Harness.of(*dead_letters(2))
        harness.hold(*harness.ids)

        redrive(harness.context, everything=True, yes=True)

        assert "hidden for up to 60 s: 2" in capsys.readouterr().err


class TestVisibility:
    """No dead letter is hidden from others for longer than a minute."""

    def test_every_dead_letter_is_seen_once_and_visible_afterwards(self) -> None:
        harness = Harness.of(*dead_letters(25))

        with dead_letter_queue(harness) as queue:
            seen = [found.message_id for found in queue.receive()]

        assert sorted(seen) == sorted(harness.ids)
        assert harness.hidden == []
        asked = harness.requests["receive_message"]
        assert all(request["VisibilityTimeout"] <= 60 for request in asked)

    @pytest.mark.parametrize(
        ("there", "approximate", "receives"), [(4, 4, 2), (3, 4, 4), (0, 1, 3)]
    )
    def test_receiving_ends_when_all_were_seen_or_three_answers_are_empty(
        self, there: int, approximate: int, receives: int
    ) -> None:
        """An empty answer says nothing while more are due."""
        harness, seconds = Harness.of(*dead_letters(there)), iter(range(100))
        receiver = Receiver(harness.services.sqs, "dead", 60)
        queue = DeadLetterQueue(receiver, approximate, clock=lambda: next(seconds))

        assert len([*queue.receive()]) == there

        assert len(harness.requests["receive_message"]) == receives

    def test_receiving_goes_on_for_three_empty_answers_after_each_news(self) -> None:
        services = ModelServices()
        receiver = Receiver(services.sqs, "dead", 60)
        queue = DeadLetterQueue(receiver, visible=9)
        arrive = partial(services.queues["dead"].send, "{}")
        services.sqs.before["receive_message"] = [int, int, arrive, int, int, arrive]

        assert len([*queue.receive()]) == 2

    def test_dead_letter_is_seen_once_when_sqs_delivers_it_twice(self) -> None:
        services = Harness.of(*dead_letters(1)).services
        receiver = Receiver(services.sqs, "dead", 60)

        assert len(receiver.receive()) == 1
        services.wait(60)
        assert receiver.receive() == []
        assert services.queues["dead"].messages["dead-1"].receives == 2

    def test_receiving_ends_before_the_first_one_would_come_again(self) -> None:
        seconds = iter(range(0, 1000, 20))
        harness = Harness.of(*dead_letters(100))
        receiver = Receiver(harness.services.sqs, "dead", 60)
        queue = DeadLetterQueue(receiver, 100, clock=lambda: next(seconds))

        seen = list(queue.receive())

        assert 10 <= len(seen) < 100
        receives = len(harness.requests["receive_message"])
        assert receives * 20 <= VISIBILITY_SECONDS

    def test_command_says_so_when_an_answer_of_200_names_failures(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """In each batch; an entry that failed may be visible all the same."""
        faults = InTurn({"change_message_visibility_batch": [Fault.PARTIAL] * 2})
        services = ModelServices(faults=faults)
        harness = Harness.of(*dead_letters(MAX_ENTRIES + 1), services=services)

        list_(harness.context)

        remarks = capsys.readouterr().err
        [said] = re.findall(r"hidden for up to 60 s: (\d+) messages\n", remarks)
        assert int(said) >= len(harness.hidden) > 1


def test_attribute_is_empty_when_it_is_no_text() -> None:
    message = {"MessageId": "1", "Body": "{}"}
    binary = {"MessageAttributes": {"a": {"BinaryValue": b"x"}}}

    assert Received.of(message) == Received("1", "{}")
    assert Received.of(message | binary) == Received("1", "{}", {"a": ""})


class TestShown:
    """People and scripts get all of a message, and terminals nothing to obey."""

    def test_list_says_how_many_there_are_when_it_does_not_show_all(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        harness = Harness.of(*dead_letters(5))
        harness.hold(harness.ids[4])

        list_(harness.context, limit=3)

        shown = capsys.readouterr()
        assert len(shown.out.splitlines()) == 1 + 3
        assert "3 of about 5 dead letters; hidden for up to 60 s: 1\n" in shown.err
        assert harness.hidden == harness.ids[4:]

    def test_list_says_how_many_there_are_when_it_shows_none(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        list_(Harness.of(*dead_letters(2)).context, project="OTHER")

        assert "0 of about 2 dead letters\n" in capsys.readouterr().err

    def test_list_is_one_json_document_when_a_script_reads(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        why = {"ErrorType": "InvalidMessageError", "ErrorMessage": "title: no"}
        poison = dead_letter("A", **why)
        harness = Harness.of(poison, dead_letter("B"), dead_letter("C"))
        harness.hold(harness.ids[2])

        list_(harness.context, reason=why["ErrorType"], as_json=True)

        assert json.loads(capsys.readouterr().out) == {
            "approximate_total": 3,
            "dead_letters": [
                {
                    "message_id": harness.ids[0],
                    "reason": why["ErrorType"],
                    "error_message": why["ErrorMessage"],
                    "project_id": "A",
                    "idempotency_key": poison.idempotency_key,
                    "sent_at": "2026-11-18T11:06:40.000Z",
                    "body": poison.body,
                    "attributes": poison.attributes,
                    "system_attributes": {
                        "ApproximateReceiveCount": "1",
                        "SentTimestamp": "1795000000000",
                    },
                }
            ],
        }

    def test_row_has_a_cell_for_each_column_when_nothing_is_known(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        unknown = dead_letter(body="{ü")

        print_table(Console(), [unknown])

        head, row = (
            re.split(" {2,}", line.strip())
            for line in capsys.readouterr().out.splitlines()
        )
        assert head == ["message id", "age", "project", "key", "bytes", "reason"]
        assert row == [unknown.message_id, *"---3", unknown.reason]

    def test_id_is_short_when_a_terminal_shows_it(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        [found] = dead_letters(1)

        print_table(Console(width=200, force_terminal=True), [found])

        out = capsys.readouterr().out
        assert found.message_id.split("-")[0] in out
        assert found.message_id not in out

    def test_every_attribute_is_shown_when_one_dead_letter_is(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        binary = {"raw": {"DataType": "Binary", "BinaryValue": b"\x00"}}
        full = dead_letter(own="text")
        full = replace(
            full, attributes={**full.attributes, **binary}, system={"Count": "7"}
        )
        bare = dead_letter(body="{")

        for one in (full, bare):
            print_whole(Console(), one)

        text = capsys.readouterr().out
        lines = re.findall(r"^(\S.*\S) {2,}(\S.*)$", text, re.MULTILINE)
        names, values = zip(*lines, strict=True)
        key, size = full.idempotency_key, str(len(full.body))
        assert names[:6] == ("message id", "reason", "project", "key", "age", "bytes")
        assert [*values] == [
            *(full.message_id, full.reason, "PROJ", key, "-", size),
            *("text", r"b'\x00'", "7"),
            *(bare.message_id, bare.reason, *"---1"),
        ]
        assert text.endswith("\n{\n")

    def test_body_is_exact_when_a_script_reads(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        body = "\ufeff { \r\t\n\u202e\x1b "
        harness = Harness.of(dead_letter(body=body))

        show(harness.context, harness.ids[0], as_json=True)

        assert json.loads(capsys.readouterr().out)["body"] == body

    def test_terminal_obeys_nothing_of_a_message(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        evil = "\x1b[2J\x9b\u202e"
        body = json.dumps({"project_id": evil, "title": evil}, ensure_ascii=False)
        harness = Harness.of(dead_letter(body=body, ErrorType=evil, own=evil))

        list_(harness.context)
        show(harness.context, harness.ids[0])

        out = capsys.readouterr().out
        assert not set("\x1b\x9b\u202e") & set(out)
        # The body's are spelled, because they may be its mistake.
        assert "[2J\\x9b\\u202e" in out

    def test_lines_are_whole_when_a_pipe_reads_them(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        long = dead_letter("P" * 99, ErrorType="Error", ErrorMessage="why " * 50)

        print_table(Console(width=80), [long])

        _, line = capsys.readouterr().out.splitlines()
        assert line.startswith(f" {long.message_id} ")
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
