"""The audit: what is wrong shows, what is right does not, and it stays small."""

import pickle
from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.stub import Stubber

from tests.support.audit_tables import Item, Tables, audited, findings, only
from tests.support.canned_aws import aws_client
from ticketctl.audit.audit import audit_tables
from ticketctl.audit.findings import Finding, Kind
from ticketctl.audit.reading import MAX_DOUBTS, AuditPlan, AuditReading
from ticketctl.audit.report import print_report, report_json
from ticketctl.audit.results import AuditReport, ProjectAudit
from ticketctl.audit.table_reader import TableReader
from ticketctl.cli.errors import InputError
from ticketctl.system.rate_limiter import Pace

MONTH = timedelta(days=30)


def days_ago(days: int) -> str:
    """Return a time as items hold it."""
    return (datetime.now(UTC) - timedelta(days=days)).isoformat()


def sequence(*numbers: int) -> Tables:
    """Return tables of one project, A, with these numbers."""
    tables = Tables()
    for number in numbers:
        tables.both("A", number)
    return tables


def reserved(tables: Tables, number: int, up_to: int) -> None:
    """Put in a number that a seed up to another one reserved."""
    tables.ticket("A", number, None, status="reserved", origin="elsewhere")
    tables.items["tickets"]["A", str(number)]["reserved_up_to"] = {"N": str(up_to)}


def two_lone_tickets(tables: Tables) -> None:
    """Put in tickets of one key that is not recorded."""
    tables.ticket("A", 3, "lone")
    tables.ticket("A", 4, "lone")


# Each is wrong in one way; what the audit must say of it.
Flaw = tuple[Callable[[Tables], None], str, tuple[int, ...], str]
FLAWS: dict[str, Flaw] = {
    "duplicate": (
        lambda tables: tables.ticket("A", 3, "key-2"),
        Kind.DUPLICATE,
        (2, 3),
        "key-2",
    ),
    "no key": (
        lambda tables: tables.ticket("A", 3, "lone"),
        Kind.TICKET_WITHOUT_KEY,
        (3,),
        "lone",
    ),
    "no key, twice": (two_lone_tickets, Kind.DUPLICATE, (3, 4), "lone"),
    "another number": (
        lambda tables: tables.key("A", 1, "key-2"),
        Kind.MISMATCH,
        (2,),
        "key-2",
    ),
    "a number that is not there": (
        lambda tables: tables.key("A", 9, "key-2"),
        Kind.MISMATCH,
        (2,),
        "key-2",
    ),
    "no ticket": (
        lambda tables: tables.key("A", 9, "lone"),
        Kind.KEY_WITHOUT_TICKET,
        (9,),
        "lone",
    ),
    "a ticket of another key": (
        lambda tables: tables.key("A", 2, "lone"),
        Kind.KEY_WITHOUT_TICKET,
        (2,),
        "lone",
    ),
}


class TestSequences:
    """Numbers are 1..n, and missing ones are told apart."""

    @pytest.mark.parametrize("page", [1, 2, 100])
    def test_audit_is_clean_when_numbers_are_one_to_n(self, page: int) -> None:
        tables = Tables(page=page)
        for project, number in (("B", 1), ("A", 2), ("A", 10), *(("A", 1),)):
            tables.both(project, number)
        for number in range(3, 10):
            tables.both("A", number, status="voided")

        report = audited(tables)

        first, second = report.projects
        assert report.is_clean
        assert (first.project_id, first.numbers) == ("A", tuple(range(1, 11)))
        assert (second.first, second.last, first.voided) == (1, 1, 7)
        assert (report.tickets_read, report.keys_read) == (11, 11)

    @pytest.mark.parametrize(
        ("numbers", "gaps"),
        [
            ([2], ((1, 1),)),
            ([1, 3], ((2, 2),)),
            ([4, 1, 9], ((2, 3), (5, 8))),
            ([1, 1000], ((2, 999),)),
        ],
    )
    def test_audit_finds_gaps_as_ranges(
        self, numbers: list[int], gaps: tuple[tuple[int, int], ...]
    ) -> None:
        report = audited(sequence(*numbers))

        assert only(report).gaps == gaps
        assert not report.is_clean

    def test_audit_reads_numbers_in_any_order(self) -> None:
        """DynamoDB's own order is that of the numbers; an emulator's may not be."""
        tables = Shuffled(sequence(1, 2, 3, 5).items)

        assert only(audited(tables)).gaps == ((4, 4),)
        assert only(audited(tables)).numbers == (1, 2, 3, 5)

    def test_numbers_are_explained_when_both_neighbours_are_from_elsewhere(
        self,
    ) -> None:
        """Another system gave them; those after its last one are missing."""
        tables = sequence(1, 2, 12)
        reserved(tables, 3, up_to=10)
        reserved(tables, 10, up_to=10)

        project = only(audited(tables))

        assert project.elsewhere == ((4, 9),)
        assert project.gaps == ((11, 11),)
        assert (project.from_elsewhere, project.reserved) == (2, 2)
        assert project.tickets == len(project.numbers) - 2
        assert [finding.kind for finding in project.findings] == [Kind.GAP]

    def test_ticket_is_missing_when_it_was_lost_right_before_a_seed(self) -> None:
        """A seed reserves the number after the last one, so nothing is between."""
        tables = sequence(1, 2)
        reserved(tables, 4, up_to=10)
        reserved(tables, 10, up_to=10)

        assert only(audited(tables)).gaps == ((3, 3),)

    def test_seed_is_unfinished_when_the_number_after_an_earlier_seed_is_free(
        self,
    ) -> None:
        """Both its neighbours are from elsewhere, and a worker may still take it."""
        tables = Tables()
        for number in (1, 4, 9):
            reserved(tables, number, up_to=max(number, 4))

        project = only(audited(tables))

        assert [*findings(audited(tables))] == [(Kind.UNFINISHED_SEED, (5, 8), "")]
        assert project.elsewhere == ((2, 3),)

    @pytest.mark.parametrize("before", [[], [1, 2]], ids=["new", "numbered"])
    @pytest.mark.parametrize("is_imported", [True, False])
    def test_seed_is_unfinished_when_the_number_after_the_sequence_is_free(
        self, before: list[int], *, is_imported: bool
    ) -> None:
        """A worker may still take it, so it is not explained; and how to fix it."""
        tables = sequence(*before)
        if is_imported:
            tables.both("A", 10, origin="elsewhere")
        else:
            reserved(tables, 10, up_to=10)

        project = only(audited(tables))

        [finding] = project.findings
        assert finding.kind is Kind.UNFINISHED_SEED
        assert finding.numbers == (len(before) + 1, 9)
        assert "run it again: ticketctl seed A --last 10;" in str(finding)
        assert (project.elsewhere, project.gaps) == ((), ())


class Shuffled(Tables):
    """A client whose scan returns all items, the last one first."""

    def __init__(self, items: dict[str, dict[tuple[str, ...], Item]]) -> None:
        super().__init__(items)

    def scan(self, **request: Any) -> dict[str, Any]:
        """Return the whole table."""
        return {"Items": [*self.items[request["TableName"]].values()][::-1]}


class TestKeys:
    """Each key has one ticket, and each names the other."""

    @pytest.mark.parametrize("flaw", FLAWS.values(), ids=FLAWS)
    def test_audit_finds_what_is_wrong_once(self, flaw: Flaw) -> None:
        spoil, *finding = flaw
        tables = sequence(1, 2)
        spoil(tables)

        report = audited(tables)

        assert [*findings(report)] == [tuple(finding)]
        assert not report.is_clean

    def test_audit_names_a_key_when_its_project_has_no_tickets(self) -> None:
        tables = Tables()
        tables.key("B", 1, "x")

        assert [*findings(audited(tables))] == [(Kind.KEY_WITHOUT_TICKET, (1,), "x")]

    def test_finding_is_one_line_that_says_where_to_look(self) -> None:
        line = str(Finding(Kind.MISMATCH, "A", (2,), "x", recorded=7))

        assert "A-2: the ticket's key x is recorded for A-7" in line
        assert "docs/operations.md" in line
        assert "A-4 to A-6: missing" in str(Finding(Kind.GAP, "A", (4, 6)))


class TestMalformedItems:
    """Whatever somebody wrote is named, and the rest is read."""

    @pytest.mark.parametrize("number", ["1.5", "0", "-3", "9" * 30])
    @pytest.mark.parametrize("projects", [(), ("A",)])
    def test_audit_goes_on_when_an_item_is_malformed(
        self, number: str, projects: tuple[str, ...]
    ) -> None:
        tables = sequence(1)
        tables.ticket("A", number, "x")
        tables.ticket("A", 2, None)
        tables.key("A", 1, "odd")
        tables.items["keys"][("A#odd",)]["project_id"] = {"S": "B"}
        no_ticket = set() if projects else {"the record A#odd"}

        project = only(audited(tables, *projects))

        assert {finding.item for finding in project.findings} == no_ticket | {
            f"the ticket A, {number}",
            "the ticket A, 2",
        }

    @pytest.mark.parametrize(
        "key", ["k" * 129, "k" * 3000, "two words", "ü", ""], ids=len
    )
    @pytest.mark.parametrize("projects", [(), ("A",)])
    def test_key_is_never_looked_up_when_no_request_can_have_it(
        self, key: str, projects: tuple[str, ...]
    ) -> None:
        """DynamoDB would refuse it if it is long, and the audit would end."""
        tables = sequence(1, 3)
        tables.ticket("A", 2, key)

        project = only(audited(tables, *projects))

        assert [finding.item for finding in project.findings] == ["the ticket A, 2"]
        assert project.numbers == (1, 2, 3)

    @pytest.mark.parametrize("flaw", [{"fingerprint": "x"}, {"fingerprint": ""}])
    def test_record_is_malformed_when_its_fingerprint_cannot_be_checked(
        self, flaw: dict[str, str]
    ) -> None:
        """The worker would fail every repeat of the request."""
        tables = sequence(1, 2)
        tables.key("A", 2, "key-2", **flaw)

        for projects in ((), ("A",)):
            [finding] = only(audited(tables, *projects)).findings

            assert (finding.kind, finding.item) == (
                Kind.MALFORMED,
                "the record A#key-2",
            )

    def test_item_is_malformed_when_no_project_can_have_its_name(self) -> None:
        tables = sequence(1)
        tables.both("P" * 65, 1)

        found = [finding.kind for finding in audited(tables).findings]

        assert found == [Kind.MALFORMED] * 2

    def test_malformed_ticket_is_not_missing_when_its_number_can_be_read(self) -> None:
        """Only the numbers beside it are; its key's record need not be told, too."""
        tables = sequence(1, 4)
        tables.both("A", 2)
        tables.ticket("A", 2, None)

        project = only(audited(tables))

        assert [finding.kind for finding in project.findings] == [
            Kind.GAP,
            Kind.MALFORMED,
        ]
        assert project.gaps == ((3, 3),)

    def test_malformed_ticket_explains_numbers_before_it_as_another_would(self) -> None:
        tables = sequence(1)
        reserved(tables, 2, up_to=5)
        tables.ticket("A", 5, None, origin="elsewhere")

        assert only(audited(tables)).elsewhere == ((3, 4),)


class TestLiveSystem:
    """An audit of a system at work has no false alarm."""

    def test_ticket_is_no_finding_when_it_was_numbered_between_the_scans(self) -> None:
        """Its key is seen, and its ticket was not yet there; that is not even odd."""
        tables = sequence(1, 2)
        tables.on_pause = pytest.fail
        tables.after["tickets"] = lambda: tables.both("A", 3)

        report = audited(tables)

        assert report.is_clean
        assert report.keys_read == 3

    @pytest.mark.parametrize("projects", [(), ("A",)])
    @pytest.mark.parametrize(
        "see_half",
        [
            lambda _: None,
            lambda tables: tables.ticket("A", 2, "key-2"),
            lambda tables: tables.key("A", 2, "key-2"),
        ],
        ids=["gap", "ticket without key", "key without ticket"],
    )
    def test_transaction_is_no_finding_when_it_was_seen_half_way(
        self, projects: tuple[str, ...], see_half: Callable[[Tables], None]
    ) -> None:
        """Number 3 showed before all of number 2; a moment later both are there."""
        tables = sequence(1, 3)
        see_half(tables)
        tables.on_pause = lambda: tables.both("A", 2)

        report = audited(tables, *projects)

        assert only(report).numbers == (1, 2, 3)
        assert report.is_clean

    def test_malformed_ticket_is_told_when_it_shows_late(self) -> None:
        tables = sequence(1, 3)
        tables.on_pause = lambda: tables.ticket("A", 2, None)

        [finding] = only(audited(tables)).findings

        assert finding.item == "the ticket A, 2"

    def test_audit_does_not_pause_when_nothing_looks_wrong(self) -> None:
        tables = sequence(1, 2)
        tables.on_pause = pytest.fail

        assert audited(tables).is_clean

    def test_long_gap_is_looked_up_by_its_range(self) -> None:
        """Not number by number."""
        tables = sequence(1, 500)
        tables.on_pause = lambda: tables.both("A", 2)

        report = audited(tables)

        assert only(report).gaps == ((3, 499),)
        assert len(tables.requests) < 20


class TestExpiredKeys:
    """Where keys are kept for a time only, an old ticket needs none."""

    def test_ticket_without_key_is_counted_when_the_key_has_expired(self) -> None:
        tables = sequence(2)
        tables.ticket("A", 1, "old", assigned_at=days_ago(31))

        report = audited(tables, retention=MONTH)

        assert report.is_clean
        assert only(report).expired == 1

    @pytest.mark.parametrize("assigned_at", [days_ago(29), "", "31 days ago"])
    def test_ticket_without_key_is_found_when_the_key_has_not_expired(
        self, assigned_at: str
    ) -> None:
        """Nor where nobody can tell."""
        tables = sequence(2)
        tables.ticket("A", 1, "young", assigned_at=assigned_at)

        report = audited(tables, retention=MONTH)

        assert [*findings(report)] == [(Kind.TICKET_WITHOUT_KEY, (1,), "young")]

    @pytest.mark.parametrize(
        ("first", "again", "clean"), [(41, 10, True), (20, 10, False)]
    )
    def test_key_used_again_is_no_finding_only_after_it_expired(
        self, first: int, again: int, *, clean: bool
    ) -> None:
        tables = Tables()
        tables.ticket("A", 1, "x", assigned_at=days_ago(first))
        tables.both("A", 2, "x", assigned_at=days_ago(again))

        assert audited(tables, retention=MONTH).is_clean is clean

    def test_old_ticket_without_key_is_found_when_keys_are_kept_for_ever(self) -> None:
        tables = Tables()
        tables.ticket("A", 1, "old", assigned_at=days_ago(4000))

        assert not audited(tables).is_clean


class TestSingleProjects:
    """A project's partition and the keys that its tickets name."""

    def test_only_the_project_is_read(self) -> None:
        tables = sequence(1, 2)
        tables.both("B", 7)

        report = audited(tables, "A")

        assert only(report).numbers == (1, 2)
        assert report.is_clean
        assert "scan" not in " ".join(tables.requests)

    @pytest.mark.parametrize("name", FLAWS.keys() - {"no ticket"})
    def test_what_its_tickets_show_is_found(self, name: str) -> None:
        """A key that names no ticket, or another's, cannot be seen from here."""
        spoil, kind, *_ = FLAWS[name]
        tables = sequence(1, 2)
        spoil(tables)

        found = {finding.kind for finding in audited(tables, "A").findings}

        assert found == (set() if kind is Kind.KEY_WITHOUT_TICKET else {kind})

    def test_project_without_tickets_is_a_finding(self) -> None:
        """Most likely its name is wrong."""
        assert [*findings(audited(Tables(), "Z"))] == [(Kind.NO_TICKETS, (), "")]

    def test_reserved_number_has_no_key_to_read(self) -> None:
        tables = Tables()
        reserved(tables, 1, up_to=1)

        assert audited(tables, "A").is_clean

    def test_keys_are_read_again_when_dynamodb_was_too_busy(self) -> None:
        """What a BatchGetItem leaves out is asked for until it is there."""
        tables = sequence(*range(1, 151))
        tables.busy = True
        tables.page = 150

        report = audited(tables, "A")

        assert report.is_clean
        assert report.keys_read == 150


@dataclass
class Generated:
    """A client with tables of so many tickets, which exist only page by page."""

    count: int
    tables: tuple[str, ...] = ("tickets", "keys")
    """The others are empty."""
    looked_up: int = 0

    def scan(self, **request: Any) -> dict[str, Any]:
        """Return the next 100 items."""
        table = request["TableName"]
        start = int(request.get("ExclusiveStartKey", {}).get("at", 1))
        end = min(start + 100, self.count + 1)
        page = {"Items": self._items(table, range(start, end))}
        return page | ({"LastEvaluatedKey": {"at": end}} if end <= self.count else {})

    def batch_get_item(self, **request: Any) -> dict[str, Any]:
        """Return the items that are there."""
        [(table, wanted)] = request["RequestItems"].items()
        self.looked_up += len(wanted["Keys"])
        numbers = [
            int(key["number"]["N"] if "number" in key else key["id"]["S"].split("-")[1])
            for key in wanted["Keys"]
        ]
        return {"Responses": {table: self._items(table, numbers)}}

    def sleep(self, _: float) -> None:
        """Let time pass."""

    def _items(self, table: str, numbers: Iterable[int]) -> list[Item]:
        one = Tables()
        one.both("A", 1)
        [item] = one.items[table].values()
        return [
            item
            | {
                "number": {"N": str(number)},
                "id": {"S": f"A#key-{number}"},
                "idempotency_key": {"S": f"key-{number}"},
            }
            for number in numbers
            if table in self.tables
        ]


class TestLargeTables:
    """An audit stays small, and reads as fast as it may."""

    def test_memory_grows_by_few_bytes_a_ticket(self) -> None:
        """What an audit keeps of the tables while it reads is all that it keeps."""
        count = 100_000
        tables = Generated(count)
        reading = AuditReading(TableReader(tables), AuditPlan("tickets", "keys"))

        reading.read()

        kept = reading.projects, reading.doubts, reading.malformed
        assert (reading.tickets_read, reading.keys_read) == (count, count)
        assert len(pickle.dumps(kept)) < 20 * count

    @pytest.mark.parametrize("table", ["tickets", "keys"])
    def test_audit_stops_looking_when_too_much_is_wrong(self, table: str) -> None:
        """The other table is a wrong one, say: it says so, and ends."""
        tables = Generated(2 * MAX_DOUBTS, (table,))

        report = audited(tables)

        assert sum(1 for _ in report.findings) == MAX_DOUBTS
        assert not report.is_complete
        assert tables.looked_up < 4 * MAX_DOUBTS

    @pytest.mark.parametrize("projects", [(), ("A",)])
    def test_audit_takes_its_time_when_a_rate_is_given(
        self, projects: tuple[str, ...]
    ) -> None:
        """A second for every ten read units, whatever it reads."""
        tables = sequence(*range(1, 30))
        clock = Clock()
        reader = TableReader(tables, Pace(10, clock), clock.sleep)

        audit_tables(reader, AuditPlan("tickets", "keys", projects))

        assert reader.units >= 58
        assert clock.now == pytest.approx(reader.units / 10)


@dataclass
class Clock:
    """A clock that moves when somebody sleeps."""

    now: float = 0.0

    def __call__(self) -> float:
        """Tell the time."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


WHEN = datetime(2026, 11, 21, 5, 53, tzinfo=UTC)


def report(*projects: ProjectAudit, is_complete: bool = True) -> AuditReport:
    """Return a report on these projects."""
    plan = AuditPlan("tickets", "keys")
    return AuditReport(plan, projects, is_complete, WHEN, WHEN, 7, 6, 5.0)


def clean(name: str) -> ProjectAudit:
    """Return a project in which nothing is wrong."""
    return ProjectAudit(name, array("Q", [1, 2]))


class TestReport:
    """People see what matters, and scripts everything."""

    def test_table_shows_fifty_projects_and_those_in_which_something_is_wrong(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        projects = [clean(f"P{serial:03}") for serial in range(80)]
        gap = Finding(Kind.GAP, "ZZZ", (1, 3))
        projects.append(ProjectAudit("ZZZ", array("Q", [4]), (gap,)))

        print_report(report(*projects), "eu-west-1")

        out = capsys.readouterr().out
        assert "P049" in out
        assert "P050" not in out
        assert "30 more projects, all clean" in out
        assert "1-3" in out
        assert str(gap) in out
        assert out.rstrip().endswith("NOT CLEAN: 1 finding")

    def test_table_shows_all_columns_when_the_terminal_is_narrow(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COLUMNS", "80")

        print_report(report(clean("P" * 64)), "here")

        out = capsys.readouterr().out
        assert max(map(len, out.partition("1 projects")[0].splitlines())) <= 80
        for name in ("gaps", "other", "count", "first", "last", "elsewhere", "voided"):
            assert f" {name} " in out

    def test_json_has_every_project(self) -> None:
        document = report_json(report(*[clean(f"P{n}") for n in range(80)]), "here")

        assert len(document["projects"]) == 80
        assert (document["clean"], document["region"]) == (True, "here")

    def test_finding_cannot_drive_the_terminal(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        evil = Finding(Kind.MALFORMED, "P\x1b[2J", item="[red]\x1b[2J")

        print_report(report(ProjectAudit("P\x1b[2J", findings=(evil,))), "here")

        assert "\x1b[2J" not in capsys.readouterr().out

    def test_report_is_not_clean_when_a_part_was_not_looked_at(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Nothing found is not the same as nothing there."""
        part = report(clean("P"), is_complete=False)

        print_report(part, "here")

        assert not part.is_clean
        assert "INCOMPLETE" in capsys.readouterr().out


class TestTables:
    """A wrong table is refused before it is read."""

    def test_table_is_named_with_its_region_when_it_is_not_there(self) -> None:
        """Most often the Region is wrong."""
        with pytest.raises(InputError, match="no table t in eu-west-1"):
            check_key(
                lambda stub: stub.add_client_error(
                    "describe_table", "ResourceNotFoundException"
                )
            )

    def test_table_is_refused_when_it_has_another_key(self) -> None:
        with pytest.raises(InputError, match="its key is id, not project_id, number"):
            check_key(lambda stub: describe(stub, "id"))

    def test_table_is_taken_when_it_has_the_key(self) -> None:
        check_key(lambda stub: describe(stub, "project_id", "number"))


def check_key(answer: Callable[[Stubber], None]) -> None:
    """Look at a table that answers so."""
    client = aws_client("dynamodb")
    with Stubber(client) as stub:
        answer(stub)
        TableReader(client).check_key("t", ("project_id", "number"))
    client.close()


def describe(stub: Stubber, *key: str) -> None:
    """Let a table have this key."""
    schema = [
        {"AttributeName": name, "KeyType": kind}
        for name, kind in zip(key, ("HASH", "RANGE"), strict=False)
    ]
    stub.add_response("describe_table", {"Table": {"KeySchema": schema}})
