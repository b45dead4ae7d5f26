"""`ticketctl import` writes a ticket with its key, once, or not at all."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from tests.support.audits import audited
from tests.support.builders import CALLER, create_ticket
from tests.support.canned_aws import client_error, failing
from tests.support.cases import plain_id
from tests.support.seed_items import Item, ticket_item
from tests.support.stage import Stage, cancelled, line
from ticket_numbering.contract.dynamodb_items import key_item
from ticketctl.aws.items import serialized
from ticketctl.cli.errors import BusyError, InputError, Status
from ticketctl.files.json_lines import END, KIND, RECORD, json_lines
from ticketctl.files.lines import Problems
from ticketctl.importing.lines import Defaults, ExternalTicket, check_lines

NOW = "2026-11-21T06:30:00.123Z"


@dataclass
class Noted(Problems):
    """Keeps the problems, too."""

    noted: list[tuple[int, str]] = field(default_factory=list)

    def add(self, line: int, why: str) -> None:
        self.noted.append((line, why))


def read(
    *lines: Any, project: str | None = None
) -> tuple[list[ExternalTicket], list[tuple[int, str]]]:
    """Read lines as a file holds them: the tickets, and the problems."""
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    defaults, problems = Defaults(NOW, project), Noted("-")
    tickets = [*check_lines(json_lines(texts), defaults, problems)]
    return tickets, problems.noted


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
            (line(status="open"), "status: "),
            ({"project_id": "PROJ"}, "number: "),
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
        assert ticket.request.idempotency_key == f"import:{project_id}-{number}"

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
        without, other = {"number": 1, "title": "t"}, line(2, project_id="OTHER")

        tickets, _ = read(without, other, project="PROJ")

        assert [ticket.ticket_key for ticket in tickets] == ["PROJ-1", "OTHER-2"]


EXPORTED: dict[str, dict[str, Any]] = {
    "numbered": line(7, salt="s", chain="v1:c"),
    "imported": line(7, origin="elsewhere", imported_by=CALLER),
    "voided": line(7, status="voided", voided_at=NOW, voided_reason="spam"),
    "reserved": {"project_id": "PROJ", "number": 7, "origin": "elsewhere"},
    "record": {"kind": "record", "record": {"id": "PROJ#k"}},
    "end": {"kind": "end", "end": {"items": 0}},
}


class TestExports:
    """Exported lines are for `restore`, and none is imported."""

    @pytest.mark.parametrize("exported", EXPORTED.values(), ids=EXPORTED)
    def test_restore_is_named_when_a_line_is_of_an_export(
        self, exported: dict[str, Any]
    ) -> None:
        with pytest.raises(InputError, match=r"input:2: .* ticketctl restore -; "):
            read(line(1), exported)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            *[(name, "x") for name in ("unheard_of", "expires_at", "fingerprint")],
            ("unheard_of", None),
            # An export has these names, and another system can have them, too.
            *[(name, "x") for name in ("origin", "status", KIND, RECORD, END)],
            *[(KIND, kind) for kind in (RECORD, END)],
        ],
    )
    def test_field_is_refused_as_a_foreign_one_when_no_ticket_has_it(
        self, name: str, value: str | None
    ) -> None:
        """A misspelt field must not be lost in silence."""
        _, wrong = read(line(7) | {name: value})

        assert wrong == [(1, f"{name}: Extra inputs are not permitted")]


class TestRemedy:
    """Only a line that `convert --fit` can change names that remedy."""

    def test_remedy_is_named_when_texts_can_be_made_to_fit(self) -> None:
        _, wrong = read(
            line(1, title="a\tb"),
            line(2, title="a\tb", color="red"),
            line(3, idempotency_key="k" * 129),
        )

        assert ["convert --fit" in why for _, why in wrong] == [*(True, False, False)]


def external(number: int = 42, **fields: Any) -> ExternalTicket:
    [ticket], _ = read(line(number, **fields))
    return ticket


def write(stage: Stage, ticket: ExternalTicket, **retry: Any) -> str:
    """Write a ticket as an import does whose project is seeded."""
    importer = stage.importer(**retry)
    [judged] = importer.judged([ticket])
    return importer.write(judged)


def record_of(ticket: ExternalTicket) -> Item:
    return serialized(key_item(ticket.request.key, ticket.assignment, None))


class TestImport:
    """A ticket is written with its key, or not at all."""

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
        other = stage.call("import", stage.file(line(2, idempotency_key="other")))
        assert "PROJ-2: another ticket has this number" in other.err

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

    @pytest.mark.parametrize("numbers", [(3,), (9,), (3, 20), (9, 20)])
    def test_interrupted_seed_is_finished_when_a_number_lies_in_it(
        self, stage: Stage, numbers: tuple[int, ...]
    ) -> None:
        """Also where workers went on behind it."""
        stage.put(1)
        stage.interrupt_seed(9, after=1)
        if max(numbers) > 9:
            stage.put(10)

        ended = stage.call("import", stage.file(*numbers))

        assert ended.status == Status.OK
        assert stage.tickets()[2]["status"] == "reserved"

    def test_nothing_is_seeded_when_all_lines_of_a_project_are_refused(
        self, stage: Stage
    ) -> None:
        stage.give(request := create_ticket(), 1)
        before = stage.tickets()
        path = stage.file(line(9, idempotency_key=request.idempotency_key))

        ended = stage.call("import", path)

        assert ended.status == Status.PROBLEM
        assert stage.tickets() == before
        assert not stage.dynamodb.requests["put_item"]

    def test_no_number_is_reserved_in_a_gap_before_a_lost_one(
        self, stage: Stage
    ) -> None:
        """A lost number was given here, and ends no seed."""
        stage.call("import", stage.file(1))
        stage.write(stage.seed(5).item(5) | {"chain": {"S": "v1:abc"}})
        path = stage.file(1, 5)

        ended = stage.call("import", path)

        assert "PROJ-5: a lost ticket has this number; ticketctl restore" in ended.err
        assert sorted(stage.tickets()) == [1, 5]

    def test_ticket_in_a_seeds_place_says_what_the_seed_said(
        self, stage: Stage
    ) -> None:
        """So that a seed that is run again does not take it for another's."""
        stage.call("import", stage.file(1, 30))

        assert stage.call("seed", "PROJ", "--last", "30").status == Status.OK
        tickets = stage.tickets()
        assert [tickets[number]["reserved_up_to"] for number in (1, 30)] == [30, 30]
        assert sorted(tickets) == [1, 30] == stage.given()

    def test_ticket_is_refused_when_a_ticket_was_lost_at_its_number(
        self, stage: Stage
    ) -> None:
        """Nothing tells that the number was external, so `restore` is named."""
        stage.put(1, 4)

        planned = stage.call("import", stage.file(2, 3), "--dry-run")

        lost = "missing among numbers that were given here; ticketctl restore puts"
        assert planned.err.count(lost) == 2

    def test_ticket_stays_when_it_was_written_after_the_look(
        self, stage: Stage
    ) -> None:
        """The number was reserved, and is a ticket's by now."""
        stage.seed(5).apply()
        stage.before("transact_write_items", lambda: stage.put(5, title="Theirs"))
        stage.dynamodb.requests["query"].clear()

        result = write(stage, external(5))

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

    def test_ticket_is_there_already_when_another_import_was_quicker(
        self, stage: Stage
    ) -> None:
        path = stage.file(5)
        stage.before("transact_write_items", partial(stage.call, "import", path))

        ended = stage.call("import", path)

        assert ended.status == Status.OK
        assert "imported 0, there already 1, refused 0" in ended.out

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

        assert write(stage, external()) == "written"
        stage.before("transact_write_items", *[conflict] * 3)
        with pytest.raises(BusyError, match=r"kept writing it, 3 .*; run it again"):
            write(stage, external(1), attempts=3)

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
        assert (ended.status, stage.given()[-2:]) == (Status.PROBLEM, [1, 2])
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


RECORDS: dict[str, tuple[dict[str, Any], str]] = {
    "malformed": ({"fingerprint": "odd"}, "is malformed; see: ticketctl audit"),
    "another-text": ({"fingerprint": "v1:another"}, "is recorded for another text"),
    "later": ({"fingerprint": "v2:another"}, "is recorded for another text"),
    "erased": ({"fingerprint": "erased:"}, "its text was erased here; ticketctl rest"),
    "numbered-here": ({"chain": "v1:c"}, "it was numbered here; ticketctl restore"),
    "another-number": ({"number": 7}, "its idempotency_key is that of PROJ-7"),
}
"""The record of a line's key, and the reason of the refusal."""


class TestKeys:
    """A key has one ticket: the tables' records say which."""

    @pytest.mark.parametrize(("fields", "why"), RECORDS.values(), ids=RECORDS)
    def test_ticket_is_refused_when_its_key_is_recorded_for_another(
        self, stage: Stage, fields: dict[str, Any], why: str
    ) -> None:
        stage.seed(42).apply()
        ticket = external()
        stage.write(record_of(ticket) | serialized(fields))

        planned = stage.call("import", stage.file(42), "--dry-run")

        assert why in planned.err
        assert why in write(stage, ticket)
        assert stage.given() == []

    @pytest.mark.parametrize(
        ("fields", "why"),
        [
            ({"number": None}, "its idempotency_key has no record; see: ticketctl aud"),
            ({"number": 7}, "its idempotency_key is that of PROJ-7"),
        ],
        ids=["none", "another-number"],
    )
    def test_ticket_there_is_refused_without_its_record_unless_keys_expire(
        self, stage: Stage, fields: dict[str, Any], why: str
    ) -> None:
        """A key whose time is over has no record, or is another ticket's."""
        path = stage.file(1)
        stage.call("import", path)
        record = stage.read("PROJ", "import:PROJ-1")
        stage.lose("PROJ", "import:PROJ-1")
        if fields["number"]:
            stage.write(record | serialized(fields))

        refused = stage.call("import", path)
        stage.controls.parameters["IdempotencyRetentionDays"] = "40"
        over = stage.call("import", path)

        assert why in refused.err
        assert (refused.status, over.status) == (Status.PROBLEM, Status.OK)
        assert "without a record: 1 key, whose time may be over" in over.out

    def test_lost_ticket_has_the_date_that_its_key_recorded(self, stage: Stage) -> None:
        """The file says none: the first import took its own time."""
        path = stage.file(1, 2)
        stage.call("import", path)
        stage.change("PROJ", "import:PROJ-2", expires_at=4_000_000_000)
        before, records = stage.tickets(), stage.records()
        stage.lose("PROJ", 2)

        stage.call("import", path)

        assert stage.tickets()[2]["assigned_at"] == before[2]["assigned_at"]
        assert stage.records() == records
        assert not audited(stage).findings

    @pytest.mark.parametrize(
        ("fields", "why"),
        [
            ({"fingerprint": "erased:"}, "its text was erased here"),
            (None, "its idempotency_key is that of PROJ-7"),
        ],
        ids=["erased", "taken"],
    )
    def test_key_is_judged_again_when_it_changed_after_the_look(
        self, stage: Stage, fields: dict[str, Any] | None, why: str
    ) -> None:
        stage.seed(42).apply()
        ticket = external()
        if fields:
            stage.write(record_of(ticket))
        late = record_of(ticket) | serialized(fields or {"number": 7})
        stage.before("transact_write_items", partial(stage.write, late))

        assert why in write(stage, ticket)
        assert stage.given() == []

    def test_one_line_reads_its_own_neighbours_alone(self, stage: Stage) -> None:
        """Also with a key of its own: who has it is for the records to say."""
        stage.put(*range(1, 40))
        file = stage.file(line(42, idempotency_key="another's"))

        stage.call("import", file, "--dry-run")

        queries = stage.dynamodb.requests["query"]
        assert {query.get("Limit") for query in queries} == {1, 2}
        assert not stage.dynamodb.requests["scan"]


def test_import_takes_its_time_when_it_has_a_rate(stage: Stage) -> None:
    """It reads at this rate before the question, and again before it writes."""
    file, seconds = stage.file(*range(1, 31)), []
    for words in (["--dry-run"], []):
        started = stage.services.scheduler.now
        stage.call("import", file, *words, "--rate", "1")
        seconds.append(stage.services.scheduler.now - started)

    planned, both = seconds
    assert planned > 1
    assert both > 2.5 * planned
