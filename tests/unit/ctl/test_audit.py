"""The audit finds every fault, raises no false alarm, and stays small."""

import pickle
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import Barrier

import pytest
from rich.cells import cell_len
from rich.text import Text

from simulation.aws.faults import Fault
from tests.support.audit_tables import (
    BOTH_WAYS,
    MISSING,
    Tables,
    audited,
    found,
    only,
    sequence,
)
from tests.support.builders import create_ticket
from tests.support.cases import plain_id
from tests.support.command_harness import Harness
from tests.support.ctl_process import canned_stack
from tests.support.fakes import Clock
from ticket_numbering.contract.dynamodb_items import (
    ERASED,
    EXTERNAL,
    RESERVED,
    VOIDED,
)
from ticketctl.audit.audit import AuditReport, ProjectAudit, audit_stack, audit_tables
from ticketctl.audit.heads import Head
from ticketctl.audit.reading import MAX_DOUBTS, AuditPlan, AuditReading
from ticketctl.audit.report import print_projects, print_report, report_json
from ticketctl.aws.items import HIGHEST
from ticketctl.aws.rate_limiter import RateLimiter
from ticketctl.aws.table_reader import SEGMENTS, TableReader
from ticketctl.cli.errors import InputError, Status
from ticketctl.commands.audit import audit
from ticketctl.evidence.chain import ERASED_TITLE
from ticketctl.evidence.findings import Finding, Kind

PATIENCE_SECONDS = 60


def days_ago(days: int) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).isoformat()


class TestSequences:
    """Numbers are 1..n, and missing ones are named by their kind."""

    @pytest.mark.parametrize("page", [1, 100])
    def test_audit_is_clean_when_numbers_are_one_to_n(self, page: int) -> None:
        tables = Tables(page=page)
        tables.both("B", 1)
        for number in range(1, 11):
            tables.both("A", number, **({"status": "voided"} if number > 3 else {}))

        report = audited(tables)

        first, second = report.projects
        assert not report.findings
        assert (first.project_id, first.numbers) == ("A", tuple(range(1, 11)))
        assert (first.first, first.last, first.tickets) == (1, 10, 10)
        assert first.sequence.voided == 7
        assert (second.project_id, second.last) == ("B", 1)
        assert (report.reading.tickets_read, report.reading.keys_read) == (11, 11)

    @pytest.mark.parametrize(("tables", "expected"), MISSING.values(), ids=MISSING)
    def test_missing_numbers_are_found_as_ranges(
        self, tables: Tables, expected: tuple[tuple[Kind, int, int], ...]
    ) -> None:
        assert found(tables) == [*expected]

    @pytest.mark.parametrize(
        ("imported", "expected"),
        [((), 10), ((4, 10), 8), (range(1, 10), 1), (range(1, 11), 0)],
        ids=["seeded", "half", "all but the last", "all"],
    )
    def test_external_numbers_without_a_ticket_are_counted(
        self,
        capsys: pytest.CaptureFixture[str],
        imported: Iterable[int],
        expected: int,
    ) -> None:
        """A finished import has none; half of one is clean as well."""
        tables = sequence(11, 12, seeds=[(1, 10), (10, 10)])
        for number in imported:
            tables.both("A", number, origin="elsewhere")

        report = audited(tables)

        print_report(report, "here")
        [project] = report_json(report, "here")["projects"]
        assert (project["external"], project["no_ticket"]) == (10, expected)
        line = f"{expected} of 10 external numbers have no ticket"
        assert (line in capsys.readouterr().out) == bool(expected)
        assert only(report).is_clean

    def test_interrupted_import_says_how_to_go_on(self) -> None:
        tables = sequence(1)
        tables.both("A", 10, origin="elsewhere")

        [finding] = audited(tables).findings

        assert (finding.kind, finding.numbers) == (Kind.UNFINISHED_SEED, (2, 9))
        assert "run it again: ticketctl seed A --last 10;" in str(finding)


def reserved_for(tables: Tables, number: int, key: str) -> None:
    """Let a key's record name a reserved number."""
    tables.ticket("A", number, None, status=RESERVED, origin="elsewhere")
    tables.key("A", number, key)


# Each has one fault; the finding that the audit must have.
FLAWS: dict[str, tuple[Callable[[Tables], None], Finding]] = {
    "second ticket": (
        lambda tables: tables.ticket("A", 3, "key-2"),
        Finding(Kind.DUPLICATE, "A", (2, 3), "key-2"),
    ),
    "no key": (
        lambda tables: tables.ticket("A", 3, "lone"),
        Finding(Kind.TICKET_WITHOUT_KEY, "A", (3,), "lone"),
    ),
    **{
        f"no key, {status}": (
            partial(
                Tables.ticket,
                project="A",
                number=3,
                key="lone",
                status=status,
                title=ERASED_TITLE,
            ),
            Finding(Kind.TICKET_WITHOUT_KEY, "A", (3,), "lone"),
        )
        for status in (VOIDED, ERASED)
    },
    "another's number": (
        lambda tables: tables.key("A", 1, "key-2"),
        Finding(Kind.MISMATCH, "A", (2,), "key-2", recorded=1),
    ),
    "a number that is not there": (
        lambda tables: tables.key("A", 9, "key-2"),
        Finding(Kind.MISMATCH, "A", (2,), "key-2", recorded=9),
    ),
    "no ticket": (
        lambda tables: tables.key("A", 9, "lone"),
        Finding(Kind.KEY_WITHOUT_TICKET, "A", (9,), "lone"),
    ),
    "a reserved number": (
        lambda tables: reserved_for(tables, 3, "lone"),
        Finding(Kind.KEY_WITHOUT_TICKET, "A", (3,), "lone"),
    ),
    "a ticket of another key": (
        lambda tables: tables.key("A", 2, "lone"),
        Finding(Kind.GIVEN_TWICE, "A", (2,), "lone"),
    ),
}


class TestKeys:
    """Each key has one ticket, and each names the other."""

    @BOTH_WAYS
    @pytest.mark.parametrize(("spoil", "expected"), FLAWS.values(), ids=FLAWS)
    def test_audit_finds_what_is_wrong_once(
        self,
        spoil: Callable[[Tables], None],
        expected: Finding,
        projects: tuple[str, ...],
    ) -> None:
        """A single project's tickets do not show a key that names none of them."""
        tables = sequence(1, 2)
        tables.both("B", 1)
        spoil(tables)

        findings = audited(tables, *projects).findings

        is_of_key = expected.kind in {Kind.KEY_WITHOUT_TICKET, Kind.GIVEN_TWICE}
        is_seen = not (projects and is_of_key)
        assert findings == ([expected] if is_seen else [])

    def test_only_the_project_is_read_when_it_is_named(self) -> None:
        tables = sequence(1, 2)
        tables.both("B", 7)

        assert only(audited(tables, "A")).numbers == (1, 2)
        assert "scan" not in tables.dynamodb.requests

    def test_project_is_a_finding_when_it_has_no_tickets(self) -> None:
        """Most likely its name is wrong."""
        [finding] = audited(Tables(), "Z").findings

        assert finding.kind is Kind.NO_TICKETS

    @pytest.mark.parametrize(
        ("first", "again", "is_clean"),
        [
            (days_ago(41), days_ago(10), True),
            (days_ago(29), days_ago(10), False),
            ("", days_ago(10), False),
            ("41 days ago", days_ago(10), False),
        ],
        ids=["expired", "kept", "no-time", "malformed"],
    )
    def test_key_may_be_used_again_only_when_it_had_expired(
        self, first: str, again: str, *, is_clean: bool
    ) -> None:
        tables = Tables()
        tables.ticket("A", 1, "x", assigned_at=first)
        tables.both("A", 2, "x", assigned_at=again)

        assert only(audited(tables, retention_days=30)).is_clean is is_clean
        assert not only(audited(tables)).is_clean


class TestMalformedItems:
    """Malformed items are named, and the rest is read."""

    @BOTH_WAYS
    @pytest.mark.parametrize(
        ("number", "key"),
        [
            *[(number, "x") for number in ("1.5", "0", "-3", "9" * 30)],
            *[("2", key) for key in (None, "", "k" * 3000, "two words", "ü")],
        ],
        ids=plain_id,
    )
    def test_audit_goes_on_when_a_ticket_is_malformed(
        self, number: str, key: str | None, projects: tuple[str, ...]
    ) -> None:
        """DynamoDB would refuse to look up a long key, and the audit would end."""
        tables = sequence(1)
        tables.ticket("A", number, key)

        [finding] = audited(tables, *projects).findings

        assert (finding.kind, finding.item) == (
            Kind.MALFORMED,
            f"the ticket A, {number}",
        )

    @BOTH_WAYS
    @pytest.mark.parametrize(
        "flaw", [{"fingerprint": ""}, {"fingerprint": "x"}, {"project_id": "B"}]
    )
    def test_record_is_malformed_when_the_worker_cannot_use_it(
        self, flaw: dict[str, str], projects: tuple[str, ...]
    ) -> None:
        """The worker would fail every repeat of the request."""
        tables = sequence(1)
        tables.both("A", 2, "key#2")
        tables.key("A", 2, "key#2", **flaw)

        [finding] = audited(tables, *projects).findings

        expected = Finding(Kind.MALFORMED, "A", item="the record A#key#2")
        assert finding == expected

    def test_record_is_compared_when_one_before_it_is_malformed(self) -> None:
        tables = sequence(1)
        tables.dynamodb.page = 3
        tables.key("A", 2, "key-2", fingerprint="")
        tables.key("A", 3, "key-3")

        kinds = {kind for kind, *_ in found(tables)}
        assert kinds == {Kind.MALFORMED, Kind.KEY_WITHOUT_TICKET}

    def test_malformed_ticket_is_not_missing_when_its_number_can_be_read(self) -> None:
        """It explains the numbers before it as another ticket would."""
        tables = sequence(1, 4, seeds=[(5, 9)])
        tables.both("A", 2)
        tables.ticket("A", 2, None)
        tables.ticket("A", 9, None, origin="elsewhere")

        project = only(audited(tables))

        assert project.gaps == ((3, 3),)
        assert [finding.kind for finding in project.findings] == [
            Kind.GAP,
            *[Kind.MALFORMED] * 2,
        ]


class TestLiveSystem:
    """An audit of a system at work has no false alarm."""

    def test_audit_does_not_even_pause_when_a_ticket_comes_between_the_scans(
        self,
    ) -> None:
        tables = sequence(1, 2)
        tables.dynamodb.page = 2
        tables.on_pause = pytest.fail
        of_tickets: list[Callable[[], object]] = [lambda: None] * SEGMENTS
        tables.dynamodb.before["scan"] = [*of_tickets, lambda: tables.both("A", 3)]

        report = audited(tables)

        assert not report.findings
        assert report.reading.keys_read == 3

    @BOTH_WAYS
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
        assert report.reading.tickets_read == 3
        assert not report.findings

    def test_last_transaction_is_no_finding_when_its_record_showed_first(self) -> None:
        """No number behind it says that one is missing."""
        tables = sequence(1)
        tables.key("A", 2, "key-2")
        tables.on_pause = lambda: tables.both("A", 2)

        assert not audited(tables).findings

    def test_malformed_ticket_is_found_when_it_shows_late(self) -> None:
        tables = sequence(1, 3)
        tables.on_pause = lambda: tables.ticket("A", 2, None)

        [finding] = audited(tables).findings

        assert finding.item == "the ticket A, 2"

    def test_long_gap_is_looked_up_by_its_range(self) -> None:
        tables = sequence(1, HIGHEST)
        tables.on_pause = lambda: tables.both("A", 2)

        report = audited(tables)

        assert only(report).gaps == ((3, HIGHEST - 1),)
        assert sum(map(len, tables.dynamodb.requests.values())) < 20


class TestLargeTables:
    """An audit stays small, and reads no faster than it may."""

    def test_memory_grows_by_few_bytes_a_ticket(self) -> None:
        """An audit keeps nothing else of the tables."""
        tables = sequence(*range(1, 5_001))
        tables.dynamodb.page = 1_000_000
        reading = AuditReading(
            TableReader(tables.dynamodb), AuditPlan("tickets", "keys")
        )

        reading.read()

        kept = reading.projects, reading.doubts, reading.malformed
        assert (reading.tickets_read, reading.keys_read) == (5_000, 5_000)
        assert len(pickle.dumps(kept)) < 20 * 5_000

    def test_audit_says_after_each_page_how_far_it_is(self) -> None:
        tables, seen = sequence(1, 2), list[tuple[int, int]]()

        audit_tables(
            TableReader(tables.dynamodb),
            AuditPlan("tickets", "keys"),
            lambda reading: seen.append((reading.tickets_read, reading.keys_read)),
        )

        # Most segments are empty, and so are their pages.
        said = [*dict.fromkeys([(0, 0), *seen])]
        assert said == [(0, 0), (1, 0), (2, 0), (2, 1), (2, 2)]

    def test_segments_are_read_side_by_side(self) -> None:
        """A page of one comes while another's is looked at."""
        tables = Tables()
        meet = partial(Barrier(SEGMENTS).wait, PATIENCE_SECONDS)
        tables.dynamodb.before["scan"] = [meet] * SEGMENTS * 2

        assert audited(tables).findings == []
        assert tables.dynamodb.before["scan"] == []

    @pytest.mark.parametrize(
        ("put", "step"),
        [
            (lambda tables, number: tables.key("A", number, f"key-{number}"), 1),
            (lambda tables, number: tables.ticket("A", number, f"key-{number}"), 1),
            (lambda tables, number: tables.both("A", number), 2),
        ],
        ids=["no tickets", "no records", "gaps"],
    )
    def test_audit_stops_when_the_tables_do_not_belong_together(
        self, put: Callable[[Tables, int], None], step: int
    ) -> None:
        tables = Tables(page=1_000_000)
        for number in range(step, step * (MAX_DOUBTS + 2), step):
            put(tables, number)

        with pytest.raises(InputError, match="do the two tables belong together"):
            audited(tables)

    @BOTH_WAYS
    def test_audit_takes_its_time_when_a_rate_is_given(
        self, projects: tuple[str, ...]
    ) -> None:
        """A second for every ten read units."""
        clock = Clock()
        reader = TableReader(
            sequence(*range(1, 30)).dynamodb, RateLimiter(10, clock), clock.sleep
        )

        audit_tables(reader, AuditPlan("tickets", "keys", projects))

        assert reader.units >= 58
        assert clock.now == pytest.approx(reader.units / 10)

    def test_keys_are_read_again_when_dynamodb_was_too_busy(self) -> None:
        tables = sequence(*range(1, 151))
        tables.faults["batch_get_item"] = [Fault.PARTIAL, None] * 150
        tables.dynamodb.page = 150

        report = audited(tables, "A")

        assert not report.findings
        assert report.reading.keys_read == 150


def report_of(*projects: ProjectAudit) -> AuditReport:
    reading = AuditReading(TableReader(None), AuditPlan("t", "k"))
    return AuditReport(reading, projects, datetime.now(UTC))


def seeded(lost: int) -> Tables:
    """Return tables with everything that a row counts, and a lost ticket at the end."""
    tables = sequence(1, 2, 5, seeds=[(6, 9), (9, 9)])
    tables.both("A", 4, status=VOIDED)
    tables.both("A", 7, origin=EXTERNAL)
    tables.ticket("A", lost, None, status=RESERVED, origin=EXTERNAL, chain="v1:a")
    return tables


class TestReport:
    """People see a summary, and scripts everything."""

    def test_table_shows_fifty_projects_and_those_in_which_something_is_wrong(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COLUMNS", "80")
        gap = Finding(Kind.GAP, "ZZZ", (4, 6))
        clean = [ProjectAudit(f"{n:03}" + "P" * 61) for n in range(80)]
        report = report_of(*clean, ProjectAudit("ZZZ", findings=(gap,)))

        print_report(report, "eu-west-1")

        out = capsys.readouterr().out
        table, _, rest = out.partition("30 more projects, all clean")
        assert max(map(len, table.splitlines())) <= 80
        assert "049" in table
        assert "050" not in table
        for name in (
            "project",
            "gaps",
            "other",
            "count",
            "last",
            "external",
            "no ticket",
            "voided",
        ):
            assert f" {name} " in table
        assert "4-6" in table
        assert "ZZZ-4 to ZZZ-6: missing" in rest
        assert "see docs/recovery.md" in rest
        assert out.rstrip().endswith("NOT CLEAN: 1 finding")
        assert len(report_json(report, "here")["projects"]) == 81

    def test_lines_fit_a_terminal(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        names = ("numbers-TicketsTable-1A2B3C4D5E6F", "numbers-KeysTable-1A2B3C4D5E6F")
        plan = AuditPlan(*names, projects=("P" * 64,))
        findings = [Finding(kind, "P" * 64, (1, 2), "k", 3, "i", "d") for kind in Kind]
        projects = (ProjectAudit("P" * 64, findings=tuple(findings)),)
        reading = AuditReading(TableReader(None), plan)

        print_report(AuditReport(reading, projects, datetime.now(UTC)), "eu-north-1")

        lines = Text.from_ansi(capsys.readouterr().out).plain.splitlines()
        assert max(map(cell_len, lines)) <= 80
        said = " ".join(map(str.strip, lines))
        tickets, keys = names
        assert f"1 project: 0 items of {tickets} and 0 keys of {keys} in" in said
        assert ", 0 read units keys without" in said
        assert all(str(finding) in said for finding in findings)

    def test_scripts_get_the_whole_report(self) -> None:
        gap = Finding(Kind.GAP, "A", (3, 3))
        plan = AuditPlan("t", "k", ("A",), heads=[Head("A", 1, "v1")], since={"A": 0})
        started = datetime(2027, 1, 2, tzinfo=UTC)
        reading = AuditReading(TableReader(None, units=5.5), plan, started=started)
        reading.tickets_read, reading.keys_read = 8, 5
        projects = audited(seeded(lost=10)).projects

        report = AuditReport(reading, projects, started + timedelta(seconds=1))

        assert report_json(report, "here") == {
            "clean": False,
            "region": "here",
            "tickets_table": "t",
            "keys_table": "k",
            "single_projects": ["A"],
            "since": {"A": 0},
            "heads_checked": 1,
            "started_at": "2027-01-02T00:00:00Z",
            "ended_at": "2027-01-02T00:00:01Z",
            "tickets_read": 8,
            "keys_read": 5,
            "read_units": 5.5,
            "findings": [
                {
                    "kind": "gap",
                    "project_id": "A",
                    "numbers": (3, 3),
                    "idempotency_key": "",
                    "recorded": None,
                    "item": "",
                    "detail": "",
                    "message": str(gap),
                }
            ],
            "projects": [
                {
                    "project_id": "A",
                    "count": 5,
                    "first": 1,
                    "last": 10,
                    "next": 11,
                    "external": 5,
                    "no_ticket": 4,
                    "voided": 1,
                    "gaps": [[3, 3]],
                    "unchained": [[1, 9]],
                    "lost": [10],
                    "findings": 1,
                }
            ],
        }

    def test_numbers_of_the_table_are_whole_when_the_terminal_is_narrow(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """They stand to the right, on one line; other texts are folded, not cut."""
        monkeypatch.setenv("COLUMNS", "80")
        last = 1_000_000_000
        project = replace(only(audited(seeded(lost=last))), project_id="P" * 64)

        print_projects([project])

        lines = capsys.readouterr().out.splitlines()
        rows = [line.strip("│").split("│") for line in lines if line[0] == "│"]
        name, count, end, gaps, *others = zip(*rows, strict=True)
        assert "".join(map(str.strip, name)) == project.project_id
        assert "".join(map(str.strip, gaps)) == f"3-3,10-{last - 1}"
        numbers = [cell[0].removesuffix(" ").lstrip() for cell in (count, end, *others)]
        assert numbers == ["5", f"{last}", "0", "5", "4", "1"]

    @pytest.mark.parametrize(
        ("gaps", "shown"),
        [
            ([], "0"),
            ([(1, 1), (3, 4), (6, 6)], "1-1, 3-4, 6-6"),
            ([(1, 1), (3, 4), (6, 6), (8, 8)], "1-1, 3-4, 6-6 and 1 more"),
        ],
        ids=["none", "all", "more"],
    )
    def test_first_gaps_are_in_the_table(
        self,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
        gaps: list[tuple[int, int]],
        shown: str,
    ) -> None:
        monkeypatch.setenv("COLUMNS", "200")
        findings = tuple(Finding(Kind.GAP, "A", ends) for ends in gaps)

        print_projects([ProjectAudit("A", findings=findings)])

        *_, row, _ = capsys.readouterr().out.splitlines()
        assert row.split("│")[4].strip() == shown

    @pytest.mark.parametrize("kinds", [(), (Kind.NO_TICKETS,)], ids=["clean", "not"])
    def test_each_line_has_a_style_on_a_terminal(
        self,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
        kinds: tuple[Kind, ...],
    ) -> None:
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        findings = tuple(Finding(kind, "A") for kind in kinds)

        print_report(report_of(ProjectAudit("A", findings=findings)), "here")

        _, _, below = capsys.readouterr().out.partition("┘\n")
        lines = Text.from_ansi(below).split()
        assert (lines[-1].plain == "clean") is not bool(findings)
        assert [line.plain for line in lines if not line.spans] == []

    @pytest.mark.parametrize(
        ("finding", "named"),
        [
            (Finding(Kind.DUPLICATE, "A", (2, 3), "key"), "A-2, A-3"),
            (Finding(Kind.MISMATCH, "A", (2,), "key", recorded=9), "A-9"),
        ],
    )
    def test_finding_names_each_ticket(self, finding: Finding, named: str) -> None:
        assert named in str(finding)

    def test_finding_cannot_drive_the_terminal(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        evil = Finding(Kind.MALFORMED, "P\x1b[2J", item="[red]\x1b[2J")

        print_report(report_of(ProjectAudit("P\x1b[2J", findings=(evil,))), "here")

        assert "\x1b[2J" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("tables", "key"),
    [(("keys", "keys"), "id"), (("tickets", "tickets"), "project_id, number")],
)
def test_tables_are_refused_before_they_are_read_when_they_have_other_keys(
    tables: tuple[str, str], key: str
) -> None:
    client = sequence(1).dynamodb
    stack = canned_stack({}, dynamodb=client)

    with pytest.raises(InputError, match=f"key is {key}, not"):
        audit_stack(stack, AuditPlan(*tables))

    assert not client.requests


def test_audit_of_a_stack_has_its_rate_and_says_how_far_it_is() -> None:
    stack = canned_stack({}, dynamodb=sequence(1, 2).dynamodb)
    said: list[str] = []

    for projects in ((), ("A",)):
        plan = AuditPlan("tickets", "keys", projects)
        report = audit_stack(stack, plan, 5_000, said.append)
        assert report.reading.reader.limiter.rate == 5_000

    whole, single = said[SEGMENTS * 2 + 1], said[-1]
    assert whole == f"{single} of about 2 and 2"


def test_audit_takes_its_time_when_its_command_has_a_rate(harness: Harness) -> None:
    harness.give(create_ticket(), 1)
    started = time.monotonic()

    ended = harness.call(audit, rate=5)

    assert ended.status == Status.OK
    assert time.monotonic() - started > 1 / 5
