"""What seed, import and void are made of, without a system."""

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import typer
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders import create_ticket
from tests.support.ctl_process import command_context
from ticket_numbering import dynamodb_items as ticket_items
from ticket_numbering.messages import CreateTicket
from ticketctl.cli.errors import BusyError, InputError, NotThereError, Status
from ticketctl.commands import numbers
from ticketctl.send.request_file import json_lines
from ticketctl.sequences.import_lines import Checked, Existing, check_lines
from ticketctl.sequences.import_run import import_all
from ticketctl.sequences.importing import Import, key_item, ticket_item
from ticketctl.sequences.retry import Retry
from ticketctl.sequences.seeding import given_between
from ticketctl.sequences.voiding import (
    Voided,
    announce,
    check_voidable,
    checked_reason,
)
from ticketctl.system.items import Ticket, plain

NOW = "2026-11-21T06:30:00.123Z"

WORDS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P")), min_size=1)
OPTIONAL = {
    "description": st.none()
    | st.text(st.characters(categories=("L", "Zs")), max_size=9),
    "priority": st.sampled_from(["low", "medium", "high", "urgent"]),
    "reporter": st.none() | WORDS.map(lambda text: text[:9]),
    "labels": st.lists(WORDS.map(lambda text: text[:9]), max_size=3),
    "attributes": st.dictionaries(WORDS.map(lambda text: text[:9]), WORDS, max_size=3),
}
REQUESTS = st.fixed_dictionaries(
    {
        "project_id": st.from_regex(r"[A-Za-z0-9._-]{1,9}", fullmatch=True),
        "idempotency_key": st.from_regex(r"[!-~]{1,9}", fullmatch=True),
        "title": WORDS.map(lambda text: text[:99]),
    },
    optional=OPTIONAL,
)


def existing(number: int = 42, **fields: Any) -> Existing:
    """Return a ticket to import."""
    return Existing(1, number, create_ticket(**fields), NOW)


class TestSameAsTheWorker:
    """What is imported is what the worker would have written."""

    @given(REQUESTS)
    def test_items_are_the_workers(self, fields: dict[str, Any]) -> None:
        request = CreateTicket.model_validate(fields)
        ticket = Existing(1, 42, request, NOW)

        expected = ticket_items.ticket_item(request, 42, NOW)
        assert plain(ticket_item(ticket)) == {**expected, "origin": "elsewhere"}
        assert plain(key_item(ticket, 0)) == ticket_items.key_item(
            request, 42, NOW, expires_at=None
        )

    def test_key_is_kept_from_the_import_on_when_keys_expire(self) -> None:
        """An old ticket's key would be gone at once, if its age counted."""
        old = Existing(1, 42, create_ticket(), "2001-01-01T00:00:00.000Z")

        expires_at = int(key_item(old, 30)["expires_at"]["N"])

        due = datetime.now(UTC) + timedelta(days=30)
        assert abs(expires_at - due.timestamp()) < 60


def read(*lines: Any, project: str | None = None) -> Checked:
    """Read lines as a file holds them."""
    texts = [each if isinstance(each, str) else json.dumps(each) for each in lines]
    return check_lines(json_lines("\n".join(texts)), NOW, project)


def line(number: Any = 42, **fields: Any) -> dict[str, Any]:
    """Return a line of an import."""
    return {"project_id": "PROJ", "number": number, "title": "t"} | fields


class TestReading:
    """A file is read whole, and every bad line is told."""

    @pytest.mark.parametrize("number", [None, "1", True, 0, 1.5, 10**15 + 1, 10**400])
    def test_line_is_bad_when_its_number_is_none(self, number: Any) -> None:
        [(_, why)] = read(line(number)).wrong

        assert why.startswith("number: ")

    @pytest.mark.parametrize("number", [1, 42, 10**15])
    def test_number_is_exact(self, number: int) -> None:
        [ticket] = read(line(number)).tickets

        assert ticket.number == number
        assert ticket.idempotency_key == f"import:PROJ-{number}"

    @pytest.mark.parametrize(
        ("given", "stored"),
        [
            ("2019-05-04T10:00:00Z", "2019-05-04T10:00:00.000Z"),
            ("2019-05-04t10:00:00.5z", "2019-05-04T10:00:00.500Z"),
            ("2019-05-04T10:00:00.123456789+02:00", "2019-05-04T08:00:00.123Z"),
        ],
    )
    def test_time_is_stored_as_the_worker_writes_it(
        self, given: str, stored: str
    ) -> None:
        [ticket] = read(line(assigned_at=given)).tickets

        assert ticket.assigned_at == stored

    @pytest.mark.parametrize(
        "time",
        [
            None,
            1,
            "",
            "2019-05-04",
            "2019-05-04T10:00:00",
            "20190504T100000Z",
            "2019-13-04T10:00:00Z",
            "0001-01-01T00:00:00+14:00",
        ],
    )
    def test_line_is_bad_when_its_time_is_none(self, time: Any) -> None:
        """RFC 3339 with an offset, and nothing else that Python reads."""
        [(_, why)] = read(line(assigned_at=time)).wrong

        assert why.startswith("assigned_at: ")

    def test_time_is_now_when_none_is_given(self) -> None:
        assert read(line()).tickets[0].assigned_at == NOW

    def test_line_is_bad_when_number_or_key_stands_twice(self) -> None:
        """In one project; the first line is named."""
        reading = read(
            line(1, idempotency_key="a"),
            line(1, idempotency_key="b"),
            line(2, idempotency_key="a"),
            line(1, idempotency_key="a", project_id="OTHER"),
        )

        assert reading.wrong == [
            (2, "number: line 1 has it, too"),
            (3, "idempotency_key: line 1 has it, too"),
        ]

    def test_project_is_for_those_that_name_none(self) -> None:
        without = {"number": 1, "title": "t"}

        reading = read(without, line(2, project_id="OTHER"), project="PROJ")

        assert [each.ticket_key for each in reading.tickets] == ["PROJ-1", "OTHER-2"]

    def test_line_is_bad_when_the_worker_would_refuse_it(self) -> None:
        reading = read(
            line(title="two\nlines"),
            line(color="red"),
            line(project_id="\u00e9#"),
            line(project_id=7),
            "[]",
            "{",
            '{"number": 1, "number": 2}',
        )

        assert [number for number, _ in reading.wrong] == [1, 2, 3, 4, 5, 6, 7]
        assert reading.tickets == []


def cancelled(*codes: str, **item: Any) -> ClientError:
    """Return what boto3 raises for a cancelled transaction."""
    reasons = [{"Code": code} for code in codes]
    reasons[-1] |= item
    answer: Any = {
        "Error": {"Code": "TransactionCanceledException"},
        "CancellationReasons": reasons,
    }
    return ClientError(answer, "TransactWriteItems")


@dataclass
class FakeDynamoDB:
    """Answers reads with one item, and transactions as told."""

    there: Mapping[str, Any] | None = None
    errors: list[ClientError] = field(default_factory=list)
    transactions: list[Any] = field(default_factory=list)
    on_write: Callable[[], None] = lambda: None

    def get_item(self, **_: Any) -> dict[str, Any]:
        """Return the item that is there."""
        return {"Item": self.there} if self.there else {}

    def query(self, **_: Any) -> dict[str, Any]:
        """Return the item that is there."""
        return {"Items": [self.there] if self.there else []}

    def transact_write_items(self, **request: Any) -> None:
        """Take it, or refuse it."""
        self.on_write()
        self.transactions.append(request["TransactItems"])
        if self.errors:
            raise self.errors.pop(0)


@dataclass
class FakeStack:
    """A stack of one client."""

    one: Any
    outputs: dict[str, str] = field(
        default_factory=lambda: {
            "TicketsTableName": "tickets",
            "IdempotencyKeysTableName": "keys",
            "AssignmentsTopicArn": "arn:aws:sns:eu-west-1:123456789012:assignments",
        }
    )

    parameters: dict[str, str] = field(default_factory=dict)

    def client(self, _: str) -> Any:
        """Return the client."""
        return self.one


ELSEWHERE = {"origin": {"S": "elsewhere"}}
RESERVED = {
    "project_id": {"S": "PROJ"},
    "number": {"N": "50"},
    "status": {"S": "reserved"},
    "origin": {"S": "elsewhere"},
}


LOST = "its idempotency_key is recorded without the ticket"


def importing(dynamodb: FakeDynamoDB, attempts: int = 3) -> Import:
    """Return an import that never really waits."""
    return Import(
        FakeStack(dynamodb), retry=Retry(attempts=attempts, sleep=lambda _: None)
    )


class TestImport:
    """A ticket is written with its key, or not at all."""

    def test_ticket_is_tried_again_when_somebody_is_in_the_way(self) -> None:
        """A conflict or a throttle says nothing about the ticket."""
        dynamodb = FakeDynamoDB(
            RESERVED,
            [
                cancelled("TransactionConflict", "None"),
                cancelled("None", "ThrottlingError"),
            ],
        )

        assert importing(dynamodb).write(existing()) == "written"
        assert len(dynamodb.transactions) == 3

    def test_import_gives_up_when_others_stay_in_the_way(self) -> None:
        dynamodb = FakeDynamoDB(
            RESERVED, [cancelled("TransactionConflict", "None")] * 3
        )

        with pytest.raises(BusyError, match="run it again"):
            importing(dynamodb).write(existing())

    def test_ticket_is_refused_when_its_key_has_another_number(self) -> None:
        record = key_item(existing(7), 0)
        error = cancelled("None", "ConditionalCheckFailed", Item=record)

        outcome = importing(FakeDynamoDB(RESERVED, [error])).write(existing())

        assert outcome == "its idempotency_key is that of PROJ-7"

    @pytest.mark.parametrize(
        ("times", "outcome"),
        [
            (5, "written"),
            (6, f"{LOST}; see: ticketctl audit"),
        ],
    )
    def test_ticket_is_refused_when_its_key_stays_there_without_it(
        self, times: int, outcome: str
    ) -> None:
        """Another import that commits just now may only be half seen, and soon is."""
        record = key_item(existing(), 0)
        errors = [cancelled("None", "ConditionalCheckFailed", Item=record)] * times

        told = importing(FakeDynamoDB(RESERVED, errors), 40).write(existing())

        assert told == outcome

    def test_ticket_is_refused_when_its_key_is_malformed(self) -> None:
        record = {"id": key_item(existing(), 0)["id"]}
        error = cancelled("None", "ConditionalCheckFailed", Item=record)

        outcome = importing(FakeDynamoDB(RESERVED, [error])).write(existing())

        assert "is malformed; see: ticketctl audit" in outcome

    def test_ticket_is_not_written_when_the_next_number_was_given_here(self) -> None:
        """Only numbers before one from elsewhere are explained."""
        lost = {"project_id": {"S": "PROJ"}, "number": {"N": "50"}}
        dynamodb = FakeDynamoDB(lost)

        outcome = importing(dynamodb).write(existing())

        assert "missing among numbers that were given here" in outcome
        assert dynamodb.transactions == []

    def test_import_says_to_run_it_again_when_interrupted(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Ctrl-C ends it soon, and what is written stays."""
        dynamodb = FakeDynamoDB(RESERVED)
        tickets = [existing(each) for each in range(1, 1_000)]

        def interrupt() -> None:
            if len(dynamodb.transactions) >= 100:
                raise KeyboardInterrupt

        dynamodb.on_write = interrupt
        reserved = RESERVED | {"number": {"N": "1000"}}
        dynamodb.there = reserved

        with pytest.raises(KeyboardInterrupt):
            import_all(importing(dynamodb), tickets)

        assert "run it again, and it goes on" in capsys.readouterr().err
        assert len(dynamodb.transactions) < 200


@dataclass
class HalfSeen:
    """Shows tickets 6 and 8 of a block that is being committed, and reserved ones."""

    def query(self, **request: Any) -> dict[str, Any]:
        """Return the items above a number."""
        above = int(request["ExpressionAttributeValues"][":number"]["N"])
        items = [
            {"project_id": {"S": "PROJ"}, "number": {"N": str(number)}, **more}
            for number, more in ((6, {}), (8, {}), (9, ELSEWHERE), (50, ELSEWHERE))
            if number > above
        ]
        return {"Items": items[: request["Limit"]]}


class TestGivenBetween:
    """Every number that a worker gave while it was being seeded is told."""

    def test_number_is_told_when_its_ticket_is_not_visible_yet(self) -> None:
        """The ticket behind it is, so it is decided."""
        found = given_between(FakeStack(HalfSeen()), "PROJ", 5, 50)

        assert [*found] == [6, 7, 8]


def voided_ticket(**fields: Any) -> Ticket:
    """Return a ticket that is voided."""
    all_fields = {
        "title": "t",
        "idempotency_key": "k",
        "priority": "high",
        "status": "voided",
        "voided_reason": "spam",
        "voided_at": NOW,
    } | fields
    return Ticket("PROJ", 42, all_fields)


@dataclass
class FakeSNS:
    """Remembers what was published."""

    published: list[dict[str, Any]] = field(default_factory=list)

    def publish(self, **request: Any) -> None:
        """Take it."""
        self.published.append(request)


class TestVoid:
    """What is recorded is announced, and nothing else is."""

    def test_repeat_is_heard_when_the_topic_is_fifo(self) -> None:
        """SNS drops an id that it saw within five minutes."""
        sns = FakeSNS()
        stack = FakeStack(sns)
        stack.outputs["AssignmentsTopicArn"] += ".fifo"
        ticket = voided_ticket()

        announce(stack, Voided(ticket, was_already=False))
        announce(stack, Voided(ticket, was_already=True))
        announce(stack, Voided(ticket, was_already=True))

        ids = [each["MessageDeduplicationId"] for each in sns.published]
        assert ids[0] == "PROJ-42/voided"
        assert len(set(ids)) == 3
        assert {each["MessageGroupId"] for each in sns.published} == {"PROJ"}
        assert len({each["Message"] for each in sns.published}) == 1

    def test_message_has_no_deduplication_id_when_the_topic_is_standard(self) -> None:
        sns = FakeSNS()

        announce(FakeStack(sns), Voided(voided_ticket(), was_already=False))

        assert "MessageDeduplicationId" not in sns.published[0]

    def test_recorded_reason_is_shown_without_escape_sequences(self) -> None:
        """It may be anybody's text."""
        ticket = voided_ticket(voided_reason="\x1b[2Jspam")

        with pytest.raises(InputError) as stop:
            check_voidable(ticket, "other")

        assert "\x1b" not in str(stop.value)
        assert "spam" in str(stop.value)

    @pytest.mark.parametrize("reason", ["", " ", "a\nb", "\x1b[2J", "x" * 501])
    def test_reason_is_refused_when_it_is_no_line(self, reason: str) -> None:
        """SNS takes no control characters, and people read lines."""
        with pytest.raises(InputError, match="--reason"):
            checked_reason(reason)

    def test_reason_is_taken_when_it_is_a_line(self) -> None:
        assert checked_reason("doppelt, siehe \u00c4-1") == "doppelt, siehe \u00c4-1"

    def test_unvoided_ticket_can_be_voided(self) -> None:
        fields = create_ticket().model_dump()

        check_voidable(Ticket("PROJ", 42, fields), "spam")

    @pytest.mark.parametrize(
        "wrong",
        [
            {"idempotency_key": None},
            {"idempotency_key": "a key"},
            {"idempotency_key": Decimal(1)},
            {"priority": Decimal(1)},
            {"priority": ""},
            {"status": "lost"},
            {"status": None},
            {"status": "voided", "voided_at": "x"},
            {"status": "voided", "voided_reason": "spam"},
        ],
        ids=str,
    )
    def test_ticket_cannot_be_voided_when_it_could_not_be_announced(
        self, wrong: dict[str, Any]
    ) -> None:
        """It would be voided for ever, and nobody would hear of it."""
        fields = create_ticket().model_dump() | wrong

        with pytest.raises(NotThereError, match=r"malformed.* ticketctl show PROJ-42"):
            check_voidable(Ticket("PROJ", 42, fields), "spam")


class Terminal(io.StringIO):
    """A person, who types."""

    def isatty(self) -> bool:
        """Return that it is one."""
        return True


class TestAsked:
    """What cannot be undone is done only if a person wants it."""

    def test_import_shows_its_plan_and_does_nothing_when_declined(
        self,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        tmp_path: Path,
    ) -> None:
        """Where each project goes to; a no is no failure."""
        monkeypatch.setattr("sys.stdin", Terminal("n\n"))
        file = tmp_path / "tickets.jsonl"
        far, near = line(10**15), line(7, project_id="OTHER")
        file.write_text(f"{json.dumps(far)}\n{json.dumps(near)}\n", encoding="utf-8")
        dynamodb = FakeDynamoDB(RESERVED)

        with pytest.raises(typer.Exit) as ended:
            numbers.import_tickets(command_context(FakeStack(dynamodb)), str(file))

        told = capsys.readouterr().err
        assert "PROJ: 1 tickets up to 1000000000000000; the last number is 50" in told
        assert "the next will be 1000000000000001\n" in told
        assert "the last number is 50, the next stays 51\n" in told
        assert "nothing was done" in told
        assert ended.value.exit_code == Status.OK
        assert dynamodb.transactions == []

    @pytest.mark.parametrize(
        "command",
        [
            partial(numbers.seed, project="PROJ", last=99),
            partial(numbers.void, ticket_key="PROJ-42", reason="spam"),
        ],
        ids=["seed", "void"],
    )
    def test_command_writes_nothing_when_declined(
        self, monkeypatch: pytest.MonkeyPatch, command: Callable[..., None]
    ) -> None:
        """A no is no failure; what could write is never called."""
        monkeypatch.setattr("sys.stdin", Terminal("n\n"))
        stack = FakeStack(FakeDynamoDB(ticket_item(existing())))

        with pytest.raises(typer.Exit) as ended:
            command(command_context(stack))

        assert ended.value.exit_code == Status.OK
