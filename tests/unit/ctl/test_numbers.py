"""Commands that write tickets write what they must, once, whoever else writes."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import boto3
import pytest
import typer
from botocore.exceptions import ClientError
from moto import mock_aws

from tests.support.builders import create_ticket
from tests.support.canned_aws import parameters
from tests.support.ctl_process import Ended, command_context
from tests.support.seed_items import ticket_item
from tests.support.tables import create_table
from ticketctl.aws.items import plain
from ticketctl.cli.errors import BusyError, InputError, NotThereError, Status
from ticketctl.commands import sequences
from ticketctl.send.request_file import json_lines
from ticketctl.sequences.import_lines import Existing, check_lines
from ticketctl.sequences.importing import Import, key_item
from ticketctl.sequences.marking import KEPT, checked_reason
from ticketctl.sequences.retry import RetryPolicy
from ticketctl.sequences.seeding import Seed, given_between

NOW = "2026-11-21T06:30:00.123Z"
VOIDED_BEFORE = {"status": "voided", "voided_reason": "spam", "voided_at": NOW}
ERASED_BEFORE = {"status": "erased", "erased_reason": "asked to", "erased_at": NOW}
TOPIC = "arn:aws:sns:eu-west-1:123456789012:assignments"


@dataclass(frozen=True)
class OneAtATime:
    """A client of moto, whose tables are not made for threads."""

    real: Any
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return an operation that waits for those of other threads."""

        def operation(**request: Any) -> Any:
            with self.lock:
                return getattr(self.real, name)(**request)

        return operation


@dataclass
class Site:
    """A system with the tables of moto, and what it publishes."""

    dynamodb: Any
    folder: Path
    printed: pytest.CaptureFixture[str]
    topic: str = TOPIC
    published: list[dict[str, Any]] = field(default_factory=list)
    retention_days: int = 0

    def __post_init__(self) -> None:
        """Let threads share the client."""
        self.one_at_a_time = OneAtATime(self.dynamodb)

    @property
    def outputs(self) -> Mapping[str, str]:
        return {
            "TicketsTableName": "tickets",
            "IdempotencyKeysTableName": "keys",
            "AssignmentsTopicArn": self.topic,
        }

    def client(self, service_name: str) -> Any:
        """Return a client; SNS is played by the site itself."""
        return {"dynamodb": self.one_at_a_time, "sns": self}[service_name]

    def publish(self, **request: Any) -> None:
        self.published.append(request)

    def tickets(self) -> dict[int, dict[str, Any]]:
        items = map(plain, self.dynamodb.scan(TableName="tickets")["Items"])
        return {int(item["number"]): item for item in items}

    def recorded(self) -> list[int]:
        """Return the numbers that the records of keys name."""
        items = map(plain, self.dynamodb.scan(TableName="keys")["Items"])
        return sorted(int(item["number"]) for item in items)

    def given(self) -> list[int]:
        """Return the numbers that have a ticket, not only a reservation."""
        tickets = self.tickets().items()
        return sorted(n for n, item in tickets if item.get("status") != "reserved")

    def put(self, *numbers: int, **fields: str) -> None:
        """Write tickets as a worker does."""
        for number in numbers:
            item = ticket_item("PROJ", number, f"key-{number}", **fields)
            self.dynamodb.put_item(TableName="tickets", Item=item)

    def interrupt_seed(self, last: int, after: int) -> None:
        """Leave the tables as a seed does that is killed after its first step."""
        item = Seed(self, "PROJ", last).item(last, reserved_after=after)
        self.dynamodb.put_item(TableName="tickets", Item=item)

    def before(self, operation: str, *acts: Callable[[], object]) -> None:
        """Let something happen before the next calls of an operation."""
        waiting = [*acts]

        def act(**_: Any) -> None:
            if waiting:
                waiting.pop(0)()

        self.dynamodb.meta.events.register(f"before-call.dynamodb.{operation}", act)

    def file(self, *tickets: int | dict[str, Any]) -> str:
        """Write a file of tickets; a number alone is a ticket of the project."""
        path = self.folder / "tickets.jsonl"
        lines = [line(one) if isinstance(one, int) else one for one in tickets]
        path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
        return str(path)

    def call(
        self, command: Callable[..., None], *arguments: str, **options: Any
    ) -> Ended:
        status = Status.OK
        try:
            command(command_context(self), *arguments, **{"yes": True} | options)
        except typer.Exit as ended:
            status = Status(ended.exit_code)
        return Ended(status, *self.printed.readouterr())


@pytest.fixture(scope="module")
def session() -> Iterator[boto3.Session]:
    """Return a session that makes clients of moto, and reads their models once."""
    with mock_aws():
        yield boto3.Session()


@pytest.fixture
def site(
    session: boto3.Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Iterator[Site]:
    dynamodb = session.client("dynamodb")
    create_table(dynamodb, "tickets", project_id="S", number="N")
    create_table(dynamodb, "keys", id="S")
    yield Site(dynamodb, tmp_path, capsys)
    for table in ("tickets", "keys"):
        dynamodb.delete_table(TableName=table)


def line(number: Any = 42, **fields: Any) -> dict[str, Any]:
    return {"project_id": "PROJ", "number": number, "title": "t"} | fields


def cancel(*codes: str, **_: Any) -> None:
    """Fail as boto3 does when DynamoDB cancels a transaction.

    Raises:
        ClientError: Always.
    """
    answer: Any = {
        "Error": {"Code": "TransactionCanceledException"},
        "CancellationReasons": [{"Code": code} for code in codes],
    }
    raise ClientError(answer, "TransactWriteItems")


def interrupt(**_: Any) -> None:
    raise KeyboardInterrupt


class TestSeed:
    """A sequence goes on after the last number used elsewhere."""

    @pytest.mark.parametrize(
        ("tickets", "last", "reserved"),
        [(0, 1, [1]), (0, 100, [100, 1]), (1, 2, [2]), (2, 100, [100, 3])],
    )
    def test_seed_reserves_the_last_number_and_then_the_one_after_the_tickets(
        self, site: Site, tickets: int, last: int, reserved: list[int]
    ) -> None:
        """In the other order a worker could go on between the two."""
        site.put(*range(1, tickets + 1))
        calls = parameters(site.dynamodb)

        seeded = Seed(site, "PROJ", last, "moved").apply()

        puts = [call["Item"] for call in calls if "Item" in call]
        assert [int(item["number"]["N"]) for item in puts] == reserved
        assert all("ConditionExpression" in call for call in calls if "Item" in call)
        top = site.tickets()[last]
        assert (top["status"], top["origin"]) == ("reserved", "elsewhere")
        assert top["reserved_reason"] == "moved"
        assert site.given() == [*range(1, tickets + 1)]
        assert seeded.next == last + 1

    def test_second_seed_reserves_the_number_after_the_first(self, site: Site) -> None:
        Seed(site, "PROJ", 4).apply()

        Seed(site, "PROJ", 9).apply()

        assert sorted(site.tickets()) == [1, 4, 5, 9]

    @pytest.mark.parametrize("last", [1, 2, 3])
    def test_seed_is_refused_when_the_project_is_past_it(
        self, site: Site, last: int
    ) -> None:
        site.put(1, 2, 3)

        with pytest.raises(InputError, match="has numbers up to 3 already"):
            site.call(sequences.seed, "PROJ", last=last)

        assert sorted(site.tickets()) == [1, 2, 3]

    @pytest.mark.parametrize("last", [1, 99])
    def test_seed_is_refused_when_its_number_was_only_skipped(
        self, site: Site, last: int
    ) -> None:
        """Also where a ticket was imported at the number after the sequence."""
        site.call(sequences.seed, "PROJ", last=1234)
        site.call(sequences.import_tickets, site.file(1))

        with pytest.raises(InputError, match="has numbers up to 1234 already"):
            site.call(sequences.seed, "PROJ", last=last)

    def test_seed_changes_nothing_when_it_was_done_already(self, site: Site) -> None:
        """The answer to the first may have been lost; workers may have gone on."""
        site.call(sequences.seed, "PROJ", last=300)
        site.put(301)
        before = site.tickets()

        ended = site.call(sequences.seed, "PROJ", last=300)

        assert ended.status == Status.OK
        assert "was seeded already up to 300, and goes on with 302" in ended.out
        assert site.tickets() == before

    def test_seed_goes_on_when_it_was_killed_before_it_was_done(
        self, site: Site
    ) -> None:
        """What workers gave since is named, and they give no more of it."""
        site.put(1)
        site.interrupt_seed(300, after=1)
        site.put(2, 301)

        ended = site.call(sequences.seed, "PROJ", last=300)

        assert ended.status == Status.FOUND
        assert ended.err.endswith("being seeded: PROJ-2\n")
        assert sorted(site.tickets()) == [1, 2, 3, 300, 301]

    def test_seed_goes_on_from_tickets_that_come_in_between(self, site: Site) -> None:
        site.before("PutItem", lambda: None, lambda: site.put(1))

        seeded = Seed(site, "PROJ", 4, retry=RetryPolicy(sleep=lambda _: None)).apply()

        assert seeded.given_within == (1,)
        assert sorted(site.tickets()) == [1, 2, 4]

    def test_seed_is_refused_when_its_number_is_given_in_between(
        self, site: Site
    ) -> None:
        site.before("PutItem", lambda: site.put(3))

        with pytest.raises(InputError, match="has numbers up to 3 already"):
            Seed(site, "PROJ", 3, retry=RetryPolicy(sleep=lambda _: None)).apply()

        assert site.given() == [3] == sorted(site.tickets())

    @pytest.mark.parametrize(
        ("failure", "error"),
        [(partial(cancel, "None"), ClientError), (interrupt, KeyboardInterrupt)],
    )
    def test_seed_says_to_run_it_again_when_it_ends_in_between(
        self, site: Site, failure: Callable[[], None], error: type[BaseException]
    ) -> None:
        site.before("PutItem", lambda: None, failure)

        with pytest.raises(error):
            site.call(sequences.seed, "PROJ", last=300)

        said = site.printed.readouterr().err
        assert said == "PROJ may be seeded in part: run it again\n"

    def test_number_counts_as_given_when_its_ticket_is_not_visible_yet(
        self, site: Site
    ) -> None:
        """A read may see half a block; the ticket behind it is there."""
        site.put(6, 8)
        site.interrupt_seed(50, after=8)

        assert [*given_between(site, "PROJ", 5, 50)] == [6, 7, 8]


def read(
    *lines: Any, project: str | None = None
) -> tuple[list[Existing], list[tuple[int, str]]]:
    """Read lines as a file holds them: the tickets, and what is wrong."""
    texts = [one if isinstance(one, str) else json.dumps(one) for one in lines]
    return check_lines(json_lines("\n".join(texts)), NOW, project)


class TestReading:
    """A file is read whole, and every bad line is named."""

    @pytest.mark.parametrize(
        ("bad", "field_name"),
        [
            *[
                (line(number), "number")
                for number in (None, "1", True, 0, 1.5, 10**15 + 1, 10**400)
            ],
            *[
                (line(assigned_at=time), "assigned_at")
                for time in (
                    *(None, 1, "", "2019-05-04", "2019-05-04T10:00:00"),
                    *("2019-13-04T10:00:00Z", "0001-01-01T00:00:00+14:00"),
                )
            ],
            (line(title="two\nlines"), "title"),
            (line(color="red"), "color"),
            (line(project_id="\u00e9#"), "project_id"),
            (line(project_id=7), "project_id"),
            ("[]", "body"),
            ("{", "body"),
            ('{"number": 1, "number": 2}', "number"),
        ],
        ids=str,
    )
    def test_line_is_bad_when_it_is_no_ticket(self, bad: Any, field_name: str) -> None:
        [_], [(number, why)] = read(line(7), bad)

        assert number == 2
        assert why.startswith(f"{field_name}: ")

    def test_number_is_exact_and_names_the_key_when_there_is_none(self) -> None:
        [ticket], _ = read(line(10**15))

        assert (ticket.number, ticket.assigned_at) == (10**15, NOW)
        assert ticket.idempotency_key == f"import:PROJ-{10**15}"

    @pytest.mark.parametrize(
        ("given", "stored"),
        [
            ("2019-05-04t10:00:00.5z", "2019-05-04T10:00:00.500Z"),
            ("2019-05-04T10:00:00.123456789+02:00", "2019-05-04T08:00:00.123Z"),
        ],
    )
    def test_time_is_stored_as_the_worker_writes_it(
        self, given: str, stored: str
    ) -> None:
        [ticket], _ = read(line(assigned_at=given))

        assert ticket.assigned_at == stored

    def test_line_is_bad_when_number_or_key_stands_twice(self) -> None:
        """In one project; the first line is named."""
        _, wrong = read(
            line(1, idempotency_key="a"),
            line(1, idempotency_key="b"),
            line(2, idempotency_key="a"),
            line(1, idempotency_key="a", project_id="OTHER"),
        )

        assert wrong == [
            (2, "number: line 1 has it, too"),
            (3, "idempotency_key: line 1 has it, too"),
        ]

    def test_project_is_for_those_that_name_none(self) -> None:
        without = {"number": 1, "title": "t"}

        tickets, _ = read(without, line(2, project_id="OTHER"), project="PROJ")

        assert [ticket.ticket_key for ticket in tickets] == ["PROJ-1", "OTHER-2"]


def existing(number: int = 42, **fields: Any) -> Existing:
    return Existing(1, number, create_ticket(**fields), NOW)


class TestImport:
    """A ticket is written with its key, or not at all."""

    def test_tickets_are_written_once_when_the_import_is_run_again(
        self, site: Site
    ) -> None:
        """After an interruption it goes on; the second run changes nothing."""
        calls, states = [], []
        for numbers_of_file in ([1, 2, 3, 20], range(1, 21), range(1, 21)):
            path = site.file(*numbers_of_file)
            calls.append(site.call(sequences.import_tickets, path).out)
            states.append(site.tickets())

        first, second, third = states
        assert calls == [
            "imported 4, there already 0, refused 0; not announced\n",
            "imported 16, there already 4, refused 0; not announced\n",
            "imported 0, there already 20, refused 0; not announced\n",
        ]
        assert {number: second[number] for number in first} == first
        assert third == second
        assert site.given() == [*range(1, 21)]
        assert {item["origin"] for item in second.values()} == {"elsewhere"}
        assert site.recorded() == [*range(1, 21)]

    def test_each_project_is_seeded_when_a_file_has_several(self, site: Site) -> None:
        path = site.file(1, 4, line(2, project_id="OTHER"), line(9, project_id="THIRD"))

        ended = site.call(sequences.import_tickets, path)

        assert "imported 4, there already 0, refused 0" in ended.out

    @pytest.mark.parametrize("days", [0, 40])
    def test_key_expires_when_the_system_keeps_keys_for_a_time(
        self, site: Site, days: int
    ) -> None:
        site.retention_days = days

        site.call(sequences.import_tickets, site.file(1))

        [record] = site.dynamodb.scan(TableName="keys")["Items"]
        assert ("expires_at" in record) == bool(days)

    def test_others_are_imported_when_a_number_or_a_key_is_taken(
        self, site: Site
    ) -> None:
        site.put(1)
        record = key_item(existing(1, idempotency_key="taken"), 0)
        site.dynamodb.put_item(TableName="keys", Item=record)

        path = site.file(1, line(3, idempotency_key="taken"), 4)
        said = site.call(sequences.import_tickets, path)

        assert said.status == Status.FOUND
        assert "line 1: PROJ-1: another ticket has this number" in said.err
        assert "line 2: PROJ-3: its idempotency_key is that of PROJ-1" in said.err
        assert "imported 1, there already 0, refused 2; not announced" in said.out
        assert site.given() == [1, 4]

    def test_import_finishes_its_seed_when_it_was_killed_in_between(
        self, site: Site
    ) -> None:
        """Workers give no number of the file any more; what they gave is named."""
        site.put(1)
        site.interrupt_seed(99, after=1)
        site.put(2)

        ended = site.call(sequences.import_tickets, site.file(50, 99))

        assert "PROJ-2 was given by workers meanwhile" in ended.err
        assert site.given() == [1, 2, 50, 99]
        assert sorted(site.tickets()) == [1, 2, 3, 50, 99]

    @pytest.mark.parametrize("number", [2, 3, 5, 6, 7, 9, 11])
    def test_ticket_is_refused_when_a_worker_has_or_may_take_its_number(
        self, site: Site, number: int
    ) -> None:
        """Among tickets, behind them, and behind a seed's end before an open seed."""
        site.put(1, 4)
        site.interrupt_seed(6, after=4)
        site.interrupt_seed(9, after=6)
        site.put(10, origin="elsewhere")
        site.put(12)
        before = site.tickets()

        result = Import(site).write(existing(number))

        assert "missing among numbers that were given here" in result
        assert site.tickets() == before
        assert site.recorded() == []

    def test_ticket_in_a_seeds_place_says_what_the_seed_said(self, site: Site) -> None:
        """So that a seed that is run again does not take it for another's."""
        site.call(sequences.import_tickets, site.file(1, 30))

        assert site.call(sequences.seed, "PROJ", last=30).status == Status.OK
        tickets = site.tickets()
        assert [tickets[number]["reserved_up_to"] for number in (1, 30)] == [30, 30]
        assert sorted(tickets) == [1, 30] == site.given()

    def test_ticket_stays_when_it_was_written_after_the_look(self, site: Site) -> None:
        """The number was reserved, and is a ticket's by now."""
        Seed(site, "PROJ", 5).apply()
        site.before("TransactWriteItems", lambda: site.put(5, title="Theirs"))

        result = Import(site).write(existing(5))

        assert result == "another ticket has this number"
        assert site.tickets()[5]["title"] == "Theirs"

    def test_ticket_is_retried_when_others_are_in_the_way(self, site: Site) -> None:
        """A conflict or a throttle says nothing about the ticket."""
        Seed(site, "PROJ", 42).apply()
        conflict = partial(cancel, "TransactionConflict", "None")
        site.before(
            "TransactWriteItems", conflict, partial(cancel, "None", "ThrottlingError")
        )

        target = Import(site, retry=RetryPolicy(sleep=lambda _: None))

        assert target.write(existing()) == "written"
        site.before("TransactWriteItems", *[conflict] * 3)
        with pytest.raises(BusyError, match="3 times in a row; run it again"):
            Import(site, retry=RetryPolicy(attempts=3, sleep=lambda _: None)).write(
                existing(1)
            )

    @pytest.mark.parametrize(
        ("damage", "why"),
        [
            ({}, "is recorded without the ticket"),
            ({"fingerprint": {"S": "odd"}}, "is malformed; see: ticketctl audit"),
        ],
        ids=["lone", "malformed"],
    )
    def test_ticket_is_refused_when_its_key_is_damaged(
        self, site: Site, damage: dict[str, Any], why: str
    ) -> None:
        Seed(site, "PROJ", 42).apply()
        ticket = existing()
        site.dynamodb.put_item(TableName="keys", Item=key_item(ticket, 0) | damage)

        assert why in Import(site).write(ticket)
        assert site.given() == []

    def test_key_is_kept_from_the_import_on_when_keys_expire(self) -> None:
        """An old ticket's key would be gone at once, if its age counted."""
        old = Existing(1, 42, create_ticket(), "2001-01-01T00:00:00.000Z")

        expires_at = int(key_item(old, 30)["expires_at"]["N"])

        due = datetime.now(UTC) + timedelta(days=30)
        assert abs(expires_at - due.timestamp()) < 60

    def test_import_says_to_run_it_again_when_interrupted(self, site: Site) -> None:
        """Ctrl-C ends it soon, and what is written stays."""

        def interrupt() -> None:
            raise KeyboardInterrupt

        site.before("TransactWriteItems", *[lambda: None] * 9, interrupt)

        with pytest.raises(KeyboardInterrupt):
            site.call(sequences.import_tickets, site.file(*range(1, 300)))

        assert "run it again, and it goes on" in site.printed.readouterr().err
        assert 9 <= len(site.given()) < 100

    @pytest.mark.parametrize(
        ("content", "error"),
        [
            (f"{json.dumps(line(1))}\n{json.dumps(line(0))}\nno JSON", "2 bad lines"),
            ("\n", "holds no ticket"),
        ],
        ids=["bad lines", "empty"],
    )
    def test_nothing_is_written_when_the_file_is_of_no_use(
        self, site: Site, tmp_path: Path, content: str, error: str
    ) -> None:
        path = tmp_path / "tickets.jsonl"
        path.write_text(content)

        with pytest.raises(InputError, match=error):
            site.call(sequences.import_tickets, str(path))

        assert site.tickets() == {}

    def test_plan_is_printed_when_it_is_a_dry_run(self, site: Site) -> None:
        site.put(1)
        path = site.file(10**15, line(7, project_id="OTHER"))

        ended = site.call(sequences.import_tickets, path, dry_run=True, yes=False)

        assert ended.out == (
            f"PROJ: 1 tickets up to {10**15}; the last number is 1, "
            f"the next will be {10**15 + 1}\n"
            "OTHER: 1 tickets up to 7; the last number is none yet, "
            "the next will be 8\n"
            "PROJ: there already 0, missing 1, different 0\n"
            "OTHER: there already 0, missing 1, different 0\n"
        )
        assert sorted(site.tickets()) == [1]

    @pytest.mark.parametrize("imported", [[5], [1, 2, 5], [1, 2, 3, 4, 5]], ids=len)
    def test_dry_run_counts_what_is_missing_when_the_import_was_interrupted(
        self, site: Site, imported: list[int]
    ) -> None:
        site.call(sequences.import_tickets, site.file(*imported))
        path = site.file(5, 4, 3, 2, 1)

        ended = site.call(sequences.import_tickets, path, dry_run=True)

        already, missing = len(imported), 5 - len(imported)
        assert ended.out.endswith(
            f"PROJ: there already {already}, missing {missing}, different 0\n"
        )

    def test_dry_run_counts_all_when_they_fill_several_pages(self, site: Site) -> None:
        site.put(*range(1, 151), *range(200, 350))

        ended = site.call(
            sequences.import_tickets, site.file(*range(1, 401)), dry_run=True
        )

        assert ended.out.endswith("there already 0, missing 100, different 300\n")

    def test_dry_run_counts_as_the_import_does_when_numbers_are_taken(
        self, site: Site
    ) -> None:
        site.call(sequences.import_tickets, site.file(1, 2, 3, 9))
        site.call(sequences.erase, "PROJ-2", reason="asked to")
        path = site.file(1, 2, line(3, title="Changed"), 5, 9)

        planned = site.call(sequences.import_tickets, path, dry_run=True)
        ended = site.call(sequences.import_tickets, path)

        assert planned.out.endswith("there already 3, missing 1, different 1\n")
        assert "imported 1, there already 3, refused 1" in ended.out


class TestVoid:
    """What is recorded is announced, and nothing else is."""

    def test_ticket_is_marked_and_announced_and_again_when_run_again(
        self, site: Site
    ) -> None:
        """The first run may have died in between: the same event, as a repeat."""
        site.put(42, priority="urgent")
        site.topic += ".fifo"

        for _ in range(3):
            site.call(sequences.void, "PROJ-42", reason="doppelt, siehe \u00c4-1")

        ticket = site.tickets()[42]
        assert (ticket["status"], ticket["title"]) == ("voided", "Ticket 42")
        assert ticket["voided_reason"] == "doppelt, siehe \u00c4-1"
        [message] = {request["Message"] for request in site.published}
        event = json.loads(message)
        assert event["id"] == "PROJ-42/voided"
        assert event["data"]["voided_at"] == ticket["voided_at"]
        attributes = [request["MessageAttributes"] for request in site.published]
        assert attributes[0]["priority"]["StringValue"] == "urgent"
        replayed = [one["replayed"]["StringValue"] for one in attributes]
        assert replayed == ["false", "true", "true"]
        # SNS drops an id that it saw within five minutes.
        ids = {request["MessageDeduplicationId"] for request in site.published}
        assert len(ids) == 3

    @pytest.mark.parametrize(
        ("failure", "error"),
        [(partial(cancel, "None"), ClientError), (interrupt, KeyboardInterrupt)],
    )
    def test_failure_says_to_run_it_again_when_it_was_not_announced(
        self,
        site: Site,
        monkeypatch: pytest.MonkeyPatch,
        failure: Callable[..., None],
        error: type[BaseException],
    ) -> None:
        site.put(42)
        monkeypatch.setattr(site, "publish", failure)

        with pytest.raises(error):
            site.call(sequences.void, "PROJ-42", reason="spam")

        said = site.printed.readouterr().err
        assert said == "PROJ-42 is voided, perhaps not announced; run it again\n"

    def test_message_has_no_deduplication_id_when_the_topic_is_standard(
        self, site: Site
    ) -> None:
        site.put(42)

        site.call(sequences.void, "PROJ-42", reason="spam")

        [request] = site.published
        assert "MessageDeduplicationId" not in request
        assert request["MessageGroupId"] == "PROJ"

    @pytest.mark.parametrize("is_late", [False, True])
    def test_recorded_reason_stands_when_another_is_given(
        self, site: Site, *, is_late: bool
    ) -> None:
        """It is shown without escape sequences: its author may be anyone."""
        marks = {"voided_reason": "\x1b[2Jspam", "voided_at": NOW}
        void_it = partial(site.put, 42, status="voided", **marks)
        if is_late:
            site.put(42)
            site.before("UpdateItem", void_it)
        else:
            void_it()

        with pytest.raises(InputError, match=r"for another reason: .*spam") as stop:
            site.call(sequences.void, "PROJ-42", reason="other")

        assert "\x1b" not in str(stop.value)
        assert site.published == []

    @pytest.mark.parametrize(
        "wrong",
        [
            {"idempotency_key": "a key"},
            {"priority": "odd"},
            {"status": "lost"},
            {"status": "voided"},
            {"status": "voided", "voided_at": "x"},
            {"status": "voided", "voided_reason": "spam"},
        ],
        ids=str,
    )
    def test_ticket_is_not_voided_when_it_could_not_be_announced(
        self, site: Site, wrong: dict[str, str]
    ) -> None:
        """It would be voided for ever, without an announcement."""
        site.put(42, **wrong)
        before = site.tickets()

        with pytest.raises(NotThereError, match=r"malformed.* ticketctl show PROJ-42"):
            site.call(sequences.void, "PROJ-42", reason="spam")

        assert site.tickets() == before
        assert site.published == []

    def test_voiding_is_refused_when_there_is_no_ticket(self, site: Site) -> None:
        """An update would make an item that it does not find."""
        site.interrupt_seed(2, after=0)
        site.put(3)
        site.before("UpdateItem", partial(delete_ticket, site, 3))

        with pytest.raises(InputError, match="only reserved"):
            site.call(sequences.void, "PROJ-2", reason="spam")
        for key in ("PROJ-1", "PROJ-3"):
            with pytest.raises(NotThereError, match=f"there is no ticket {key}"):
                site.call(sequences.void, key, reason="spam")

        assert sorted(site.tickets()) == [2]

    @pytest.mark.parametrize("reason", ["", " ", "a\nb", "\x1b[2J", "x" * 501])
    def test_reason_is_refused_when_it_is_no_line(self, reason: str) -> None:
        """SNS takes no control characters, and people read lines."""
        with pytest.raises(InputError, match="--reason"):
            checked_reason(reason)


class TestErase:
    """The text goes; number, key and dates stay."""

    @pytest.mark.parametrize("status", [{}, VOIDED_BEFORE], ids=["plain", "voided"])
    def test_text_goes_and_the_rest_stays_when_a_ticket_is_erased_once_or_twice(
        self, site: Site, status: dict[str, str]
    ) -> None:
        text = {"description": "Ann is ill", "reporter": "Ann", "labels": "private"}
        site.put(42, priority="high", attributes="phone", **text, **status)
        before = site.tickets()[42]

        ended = site.call(sequences.erase, "PROJ-42", reason="asked to")

        after = site.tickets()[42]
        assert ended.out == "PROJ-42 is erased\n"
        assert before.keys() - after.keys() == {*text, "attributes"}
        changed = {name for name in after if after[name] != before.get(name)}
        assert changed == {"title", "status", "erased_at", "erased_reason"}
        assert (after["title"], after["status"]) == ("erased", "erased")
        [request] = site.published
        event = json.loads(request["Message"])
        assert (event["id"], event["data"]["reason"]) == ("PROJ-42/erased", "asked to")
        assert event["data"]["erased_at"] == after["erased_at"]
        assert "Ticket 42" not in request["Message"]
        again = site.call(sequences.erase, "PROJ-42", reason="asked to")
        assert "was erased already; announced again" in again.out
        assert site.tickets()[42] == after
        assert site.published[1]["Message"] == request["Message"]

    @pytest.mark.parametrize("status", [{}, ERASED_BEFORE], ids=["plain", "erased"])
    def test_attribute_goes_when_this_release_does_not_know_it(
        self, site: Site, status: dict[str, str]
    ) -> None:
        """Also what an earlier erasure left; its date stays."""
        site.put(42, **{"component": "Ann's laptop", "odd-name #1": "Ann"}, **status)

        for _ in range(2):
            site.call(sequences.erase, "PROJ-42", reason="asked to")

        ticket = site.tickets()[42]
        assert ticket.keys() <= KEPT
        assert status.items() <= ticket.items()
        replayed = [
            request["MessageAttributes"]["replayed"]["StringValue"]
            for request in site.published
        ]
        assert replayed == ["true" if status else "false", "true"]

    def test_seeds_end_stays_when_its_ticket_is_erased(self, site: Site) -> None:
        """Without it an audit would call the open place behind it explained."""
        site.call(sequences.import_tickets, site.file(30))
        before = site.tickets()[30]

        site.call(sequences.erase, "PROJ-30", reason="asked to")

        after = site.tickets()[30]
        for name in ("reserved_up_to", "reserved_after", "origin"):
            assert after[name] == before[name]

    def test_ticket_is_erased_when_it_is_voided_in_between(self, site: Site) -> None:
        site.put(42)
        site.before("UpdateItem", partial(site.put, 42, component="x", **VOIDED_BEFORE))

        ended = site.call(sequences.erase, "PROJ-42", reason="asked to")

        assert ended.out == "PROJ-42 is erased\n"
        ticket = site.tickets()[42]
        assert ticket.keys() <= KEPT
        assert ticket["voided_at"] == VOIDED_BEFORE["voided_at"]

    def test_recorded_reason_stands_when_another_erases_it_in_between(
        self, site: Site
    ) -> None:
        site.put(42, **VOIDED_BEFORE)
        site.before("UpdateItem", partial(site.put, 42, **ERASED_BEFORE))

        with pytest.raises(InputError, match="for another reason: asked to"):
            site.call(sequences.erase, "PROJ-42", reason="other")

    def test_erased_ticket_is_left_alone_when_it_is_imported_again(
        self, site: Site
    ) -> None:
        site.call(sequences.import_tickets, site.file(1))
        site.call(sequences.erase, "PROJ-1", reason="asked to")
        erased = site.tickets()

        ended = site.call(sequences.import_tickets, site.file(1))

        assert "imported 0, there already 1, refused 0" in ended.out
        assert site.tickets() == erased

    def test_erased_ticket_is_not_voided(self, site: Site) -> None:
        site.put(42)
        site.call(sequences.erase, "PROJ-42", reason="asked to")

        with pytest.raises(InputError, match="PROJ-42 is erased"):
            site.call(sequences.void, "PROJ-42", reason="spam")


def delete_ticket(site: Site, number: int) -> None:
    key = {"project_id": {"S": "PROJ"}, "number": {"N": str(number)}}
    site.dynamodb.delete_item(TableName="tickets", Key=key)


class TestConfirmed:
    """What cannot be undone is done only if a person wants it."""

    @pytest.mark.parametrize(
        "command",
        [
            partial(sequences.seed, project="PROJ", last=99),
            partial(sequences.void, ticket_key="PROJ-42", reason="spam"),
            partial(sequences.erase, ticket_key="PROJ-42", reason="spam"),
            sequences.import_tickets,
        ],
        ids=["seed", "void", "erase", "import"],
    )
    def test_nothing_is_written_when_it_was_not_confirmed(
        self, site: Site, command: Callable[..., None]
    ) -> None:
        site.put(42)
        before = site.tickets()
        if command is sequences.import_tickets:
            command = partial(command, file=site.file(7))

        with pytest.raises(InputError, match="--yes"):
            site.call(command, yes=False)

        assert site.tickets() == before
        assert site.published == []
