"""`ticketctl import` writes a ticket with its key, once, or not at all."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from tests.support.builders import CALLER, create_ticket
from tests.support.canned_aws import client_error, failing
from tests.support.cases import plain_id
from tests.support.seed_items import Item, ticket_item
from tests.support.stage import Stage, cancelled, line
from ticket_numbering.contract.dynamodb_items import key_item
from ticketctl.aws.items import serialized
from ticketctl.cli.errors import BusyError, Status
from ticketctl.files.json_lines import json_lines
from ticketctl.files.lines import Problems
from ticketctl.importing.existing import Existing
from ticketctl.importing.judging import Known
from ticketctl.importing.lines import Defaults, check_lines

NOW = "2026-11-21T06:30:00.123Z"
RESERVED: Any = {"status": "reserved", "reserved_at": NOW, "reserved_by": CALLER}
RESERVED_LINE = RESERVED | {"project_id": "PROJ", "number": 9, "chain": "v1:c"}


@dataclass
class Noted(Problems):
    """Keeps the problems, too."""

    noted: list[tuple[int, str]] = field(default_factory=list)

    def add(self, line: int, why: str) -> None:
        self.noted.append((line, why))


def read(
    *lines: Any, project: str | None = None
) -> tuple[list[Existing], list[tuple[int, str]]]:
    """Read lines as a file holds them: the tickets, and the problems."""
    texts = [one if isinstance(one, str) else json.dumps(one) for one in lines]
    defaults, problems = Defaults(NOW, project), Noted("-")
    found = [*check_lines(json_lines(texts), defaults, problems)]
    return [one for one in found if isinstance(one, Existing)], problems.noted


TIMES = [
    ("2019-05-04t10:00:00.5z", "2019-05-04T10:00:00.500Z"),
    ("2019-05-04T10:00:00.123456789+02:00", "2019-05-04T08:00:00.123Z"),
]


class TestReading:
    """A file is read whole, and every bad line is named."""

    @pytest.mark.parametrize(
        ("bad", "start"),
        [
            *[
                (line(number), "number: ")
                for number in (None, "x1", "1.5", True, 0, 1.5, 10**15 + 1, 10**400)
            ],
            *[
                (line(assigned_at=time), "assigned_at: ")
                for time in (
                    *(1, "", "2019-05-04", "2019-05-04T10:00:00"),
                    *("2019-13-04T10:00:00Z", "0001-01-01T00:00:00+14:00"),
                )
            ],
            (line(title="two\nlines"), "title: "),
            (line(project_id="\u00e9#"), "project_id: "),
            (line(project_id=7), "project_id: "),
            ({"key": 7, "title": "t"}, "key: "),
            ({"key": "PROJ-8", "number": 8, "title": "t"}, "key: "),
            ({"key": "PROJ-8", "project_id": "PROJ", "title": "t"}, "key: "),
            ("[]", "body: "),
            ('{"number": 1, "number": 2}', "number: "),
            (line(status=["voided"]), "status: must be one of"),
            (line(status="voided", voided_at=NOW), "status: voided, without its time"),
            (line(status="erased", erased_reason="x"), "status: erased, without its"),
            ({"project_id": "PROJ"}, "number: "),
            (RESERVED_LINE | {"number": 0}, "number: "),
            (RESERVED_LINE | {"project_id": "#"}, "project_id: "),
        ],
        ids=plain_id,
    )
    def test_line_is_bad_when_it_is_no_ticket(self, bad: Any, start: str) -> None:
        [_], [(number, why)] = read(line(7), bad)

        assert number == 2
        assert why.startswith(start)

    @pytest.mark.parametrize(
        ("fields", "project_id", "number", "stored"),
        [
            (line(10**15), "PROJ", 10**15, NOW),
            ({"key": "A-1-42", "title": "t"}, "A-1", 42, NOW),
            *((line(assigned_at=given), "PROJ", 42, stored) for given, stored in TIMES),
        ],
        ids=plain_id,
    )
    def test_number_is_exact_and_its_time_as_the_worker_writes_it(
        self, fields: Any, project_id: str, number: int, stored: str
    ) -> None:
        """Number and project name the key."""
        [ticket], _ = read(fields, project="OTHER")

        assert (ticket.project_id, ticket.number) == (project_id, number)
        assert ticket.assigned_at == stored
        assert ticket.idempotency_key == f"import:{project_id}-{number}"

    def test_line_is_bad_when_number_or_key_stands_twice(self) -> None:
        """In one project; the first line is named, also one that reserves a number."""
        _, wrong = read(
            line(1, idempotency_key="a"),
            line(1, idempotency_key="b"),
            line(2, idempotency_key="a"),
            line(1, idempotency_key="a", project_id="OTHER"),
            RESERVED_LINE,
            line(9),
        )

        assert wrong == [
            (2, "number: line 1 has it, too"),
            (3, "idempotency_key: line 1 has it, too"),
            (6, "number: line 5 has it, too"),
        ]

    def test_project_is_for_those_that_name_none(self) -> None:
        without, reserved = {"number": 1, "title": "t"}, {"number": 1} | RESERVED
        other = line(2, project_id="OTHER")

        tickets, wrong = read(without, other, reserved, project="PROJ")

        assert [ticket.ticket_key for ticket in tickets] == ["PROJ-1", "OTHER-2"]
        assert wrong == [(3, "number: line 1 has it, too")]


EXPORTED: Any = (
    {"idempotency_key": "k", "assigned_at": NOW, "reserved_up_to": 9}
    | {"reserved_after": 2, "salt": "s", "chain": "v1:c", "commitment": "c"}
    | {"origin": "elsewhere", "imported_by": CALLER}
)
VOIDED: Any = {"status": "voided", "voided_at": NOW, "voided_by": CALLER}
ERASED: Any = {"status": "erased", "erased_at": NOW, "erased_by": CALLER}
VOIDED["voided_reason"] = ERASED["erased_reason"] = "asked to"


class TestExports:
    """The lines of an export are taken as they are, but for what a table adds."""

    @pytest.mark.parametrize("marks", [{}, VOIDED], ids=["plain", "voided"])
    def test_exported_ticket_is_the_same_request_under_the_same_key(
        self, marks: dict[str, str]
    ) -> None:
        [ticket], wrong = read(line(7, labels=["a"]) | EXPORTED | marks)

        assert wrong == []
        assert ticket.request == create_ticket(
            idempotency_key="k", title="t", labels=["a"]
        )
        assert (ticket.number, ticket.assigned_at) == (7, NOW)

    @pytest.mark.parametrize("name", ["unheard_of", "expires_at", "fingerprint"])
    def test_attribute_is_refused_when_no_export_has_it(self, name: str) -> None:
        """A misspelt field must not be lost in silence."""
        _, wrong = read(line(7) | EXPORTED | {name: "x"})

        assert wrong == [(1, f"{name}: Extra inputs are not permitted")]

    def test_request_of_an_erased_ticket_gets_no_second_number(
        self, stage: Stage
    ) -> None:
        """Its key is known at once, and trusted by itself once it is erased again."""
        path = stage.file(line(1, idempotency_key="k") | ERASED)

        stage.call("import", path)
        known = stage.records()["k"]["number"]
        stage.call("erase", "PROJ-1", "--reason", "asked to")

        assert known == 1
        assert stage.records()["k"]["fingerprint"] == "erased:"
        assert "there already 1" in stage.call("import", path).out

    def test_text_that_a_restore_brought_back_is_no_reason_to_refuse_its_erasure(
        self, stage: Stage
    ) -> None:
        """The printed command erases it again."""
        stage.put(1)
        own, other = (
            line(1, idempotency_key=key) | ERASED for key in ("key-1", "other")
        )

        refused = stage.call("import", stage.file(other))
        ended = stage.call("import", stage.file(own))

        assert "refused 1" in refused.out
        assert "there already 1, records written 1, refused 0" in ended.out
        assert " erase PROJ-1 --reason 'asked to' --yes" in ended.out

    def test_parts_of_a_file_are_imported_one_after_the_other(
        self, stage: Stage
    ) -> None:
        stage.put(1, 2)
        workers = [
            line(number, idempotency_key=f"key-{number}", title=f"Ticket {number}")
            for number in (1, 2)
        ]
        for part in ([*workers, 3], [RESERVED_LINE | {"number": 4}], [5, 6]):
            assert stage.call("import", stage.file(*part)).status == Status.OK

        assert stage.given() == [1, 2, 3, 5, 6]
        assert max(stage.tickets()) == 6

    def test_sequence_goes_on_when_all_numbers_are_reserved(self, stage: Stage) -> None:
        stage.call("import", stage.file(RESERVED_LINE))

        assert max(stage.tickets()) == 9


class TestRemedy:
    """What `convert --fit` can mend is said of no other line."""

    def test_remedy_is_named_when_texts_can_be_made_to_fit(self) -> None:
        """A hash covers a text as it is."""
        _, wrong = read(
            line(1, title="a\tb"),
            line(2, title="a\tb", color="red"),
            line(3, idempotency_key="k" * 129),
            line(4, title="a\tb") | EXPORTED,
        )

        assert ["convert --fit" in why for _, why in wrong] == [
            *(True, False, False, False)
        ]


def existing(number: int = 42, **fields: Any) -> Existing:
    [ticket], _ = read(line(number, **fields))
    return ticket


def write(stage: Stage, ticket: Existing, **retry: Any) -> str:
    return stage.importer(**retry).write(Known(ticket))


def record_of(ticket: Existing) -> Item:
    return serialized(key_item(ticket.request.key, ticket.assignment, None))


class TestImport:
    """A ticket is written with its key, or not at all."""

    def test_tickets_are_written_once_when_the_import_is_run_again(
        self, stage: Stage
    ) -> None:
        """After an interruption it goes on; the second run changes nothing.

        It reads the tickets that are there in pages.
        """
        states, writes = [], []
        for numbers_of_file in ([1, 2, 3, 70], range(1, 71), range(1, 71)):
            path = stage.file(*numbers_of_file)
            stage.dynamodb.requests.clear()
            ended = stage.call("import", path)
            states.append(stage.tickets())
            writes.append(stage.dynamodb.requests["transact_write_items"])

        first, second, third = states
        assert "imported 0, there already 70, refused 0" in ended.out
        assert {number: second[number] for number in first} == first
        assert third == second
        assert stage.given() == [*range(1, 71)]
        assert {item["origin"] for item in second.values()} == {"elsewhere"}
        assert {item["imported_by"] for item in second.values()} == {CALLER}
        assert stage.recorded() == [*range(1, 71)]
        assert len(stage.dynamodb.requests["query"]) < 70
        # The highest first: the end of a seed guards the numbers below it.
        last = [write["TransactItems"][0]["Put"]["Item"] for write in writes[1][-2:]]
        assert {item["number"]["N"] for item in last} == {"4", "5"}

    def test_own_tickets_are_there_already_when_they_are_imported(
        self, stage: Stage
    ) -> None:
        """With all that the worker, an import and a mark add to the request."""
        request = create_ticket(description="a text")
        stage.give(request, 1)
        stage.call("import", stage.file(2))
        for key in ("PROJ-1", "PROJ-2"):
            stage.call("void", key, "--reason", "spam")
        stage.call("erase", "PROJ-2", "--reason", "asked to")
        path = stage.file(request.content() | {"number": 1}, 2)

        ended = stage.call("import", path)

        assert "imported 0, there already 2, refused 0" in ended.out

    @pytest.mark.parametrize("days", [0, 40])
    def test_key_expires_when_the_system_keeps_keys_for_a_time(
        self, stage: Stage, days: int
    ) -> None:
        """From the import on: an old ticket's key would be gone at once otherwise."""
        stage.controls.parameters["IdempotencyRetentionDays"] = str(days)

        stage.call("import", stage.file(line(assigned_at="2001-01-01T00:00Z")))

        [record] = stage.records().values()
        now = datetime.now(UTC).timestamp()
        due = now + timedelta(days=days).total_seconds()
        assert ("expires_at" in record) == bool(days)
        assert abs(int(record.get("expires_at", now)) - due) < 60

    @pytest.mark.parametrize("number", [2, 3, 5, 6, 7, 9, 11])
    def test_ticket_is_refused_when_a_worker_has_or_may_take_its_number(
        self, stage: Stage, number: int
    ) -> None:
        """Among tickets, behind them, and behind a seed's end before an open seed."""
        stage.put(1, 4)
        stage.interrupt_seed(6, after=4)
        stage.interrupt_seed(9, after=6)
        stage.put(10, origin="elsewhere")
        stage.put(12)
        before = stage.tickets()

        result = write(stage, existing(number))

        assert "is not back: run this again" in result
        assert stage.tickets() == before
        assert stage.recorded() == []

    def test_ticket_in_a_seeds_place_says_what_the_seed_said(
        self, stage: Stage
    ) -> None:
        """So that a seed that is run again does not take it for another's."""
        stage.call("import", stage.file(1, 30))

        assert stage.call("seed", "PROJ", "--last", "30").status == Status.OK
        tickets = stage.tickets()
        assert [tickets[number]["reserved_up_to"] for number in (1, 30)] == [30, 30]
        assert sorted(tickets) == [1, 30] == stage.given()

    def test_ticket_stays_when_it_was_written_after_the_look(
        self, stage: Stage
    ) -> None:
        """The number was reserved, and is a ticket's by now."""
        stage.seed(5).apply()
        stage.before("transact_write_items", lambda: stage.put(5, title="Theirs"))
        stage.dynamodb.requests["query"].clear()

        result = write(stage, existing(5))

        assert result == "another ticket has this number"
        queries = stage.dynamodb.requests["query"]
        assert {query["Limit"] for query in queries} == {1, 2}
        assert stage.tickets()[5]["title"] == "Theirs"

    def test_hash_of_a_lost_ticket_stays_when_its_number_is_imported(
        self, stage: Stage
    ) -> None:
        """Also when the hash was put there after the look."""
        stage.call("import", stage.file(1, 9))
        lose = partial(stage.seed(5).item, 5)
        lost = lose() | {"chain": {"S": "v1:abc"}}
        stage.write(lose())
        late = partial(stage.dynamodb.put_item, TableName="tickets", Item=lost)
        stage.before("transact_write_items", late)

        path = stage.file(5)
        ended = stage.call("import", path)
        planned = stage.call("import", path, "--dry-run")

        assert f"{path}:1: PROJ-5: a lost ticket has this number" in ended.err
        assert planned.out.endswith("there already 0, missing 0, refused 1\n")
        assert stage.tickets()[5]["chain"] == "v1:abc"

    def test_ticket_is_retried_when_others_are_in_the_way(self, stage: Stage) -> None:
        """A conflict or a throttle says nothing about the ticket.

        Nor do no reasons, and a failed key that shows no record.
        """
        stage.seed(42).apply()
        conflict = cancelled("TransactionConflict", "None")
        throttled = cancelled("None", "ThrottlingError")
        unreasoned = failing(client_error("TransactionCanceledException"))
        hidden: list[dict[str, Any]] = [{}, {"Item": {}}, {"Item": None}]
        taken = [
            cancelled("None", {"Code": "ConditionalCheckFailed"} | record)
            for record in hidden
        ]
        stage.before(
            "transact_write_items", conflict, throttled, cancelled(), unreasoned, *taken
        )

        assert write(stage, existing()) == "written"
        stage.before("transact_write_items", *[conflict] * 3)
        with pytest.raises(BusyError, match=r"kept writing it, 3 .*; run it again"):
            write(stage, existing(1), attempts=3)

    @pytest.mark.parametrize(
        ("damage", "why"),
        [
            ({"fingerprint": {"S": "v1:another"}}, "is recorded for another text"),
            ({"fingerprint": {"S": "odd"}}, "is malformed; see: ticketctl audit"),
        ],
        ids=["another", "malformed"],
    )
    def test_ticket_is_refused_when_its_key_is_damaged(
        self, stage: Stage, damage: dict[str, Any], why: str
    ) -> None:
        stage.seed(42).apply()
        ticket = existing()
        stage.write(record_of(ticket) | damage)

        assert why in write(stage, ticket)
        assert stage.given() == []

    @pytest.mark.parametrize(
        ("in_the_way", "why"),
        [
            (
                [failing(client_error("TransactionConflictException"))] * 40,
                "others kept taking the next number",
            ),
            (["worker"], "another ticket has this number"),
        ],
        ids=["conflicts", "passed"],
    )
    def test_other_projects_are_imported_when_workers_keep_one_busy(
        self, stage: Stage, in_the_way: list[Any], why: str
    ) -> None:
        """A worker can also pass the number that was to be reserved."""
        passed = partial(
            stage.write, ticket_item("BUSY", 2, "k"), ticket_item("BUSY", 1, "j")
        )
        stage.before(
            "put_item", *(passed if act == "worker" else act for act in in_the_way)
        )

        ended = stage.call(
            "import", stage.file(line(2, project_id="BUSY"), line(1), line(2))
        )

        assert why in ended.err
        assert (ended.status, stage.given()[-2:]) == (Status.FOUND, [1, 2])
        assert "imported 2, there already 0, refused 1" in ended.out

    def test_import_ends_soon_when_interrupted(self, stage: Stage) -> None:
        """The written tickets stay."""
        stage.before(
            "transact_write_items", *[lambda: None] * 9, failing(KeyboardInterrupt())
        )

        ended = stage.call("import", stage.file(*range(1, 300)))

        assert ended.status == Status.INTERRUPTED
        assert 9 <= len(stage.given()) < 100

    def test_dry_run_counts_all_when_they_fill_several_pages(
        self, stage: Stage
    ) -> None:
        stage.put(*range(1, 61), *range(71, 111), 130)

        ended = stage.call("import", stage.file(*range(1, 132)), "--dry-run")

        assert "there already 0, missing 1, refused 130\n" in ended.out


def test_import_takes_its_time_when_it_has_a_rate(stage: Stage) -> None:
    """A key of its own is compared with those of the whole project."""
    stage.put(*range(1, 20))
    file = stage.file(line(30, idempotency_key="another's"))
    started = stage.services.scheduler.now

    stage.call("import", file, "--dry-run", "--rate", "5")

    assert stage.services.scheduler.now - started > 1 / 5
