"""The audit finds every fault, raises no false alarm, and stays small."""

import pickle
import re
import sys
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import Barrier

import pytest
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
from tests.support.transcripts import FOLDER
from ticket_numbering.contract.dynamodb_items import (
    ERASED,
    RESERVED,
    VOIDED,
)
from ticketctl.audit.audit import AuditReport, ProjectAudit, audit_stack, audit_tables
from ticketctl.audit.reading import MAX_DOUBTS, AuditPlan, AuditReading
from ticketctl.audit.report import print_report, report_json
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
        self, imported: Iterable[int], expected: int
    ) -> None:
        """A finished import has none; half of one is clean as well."""
        tables = sequence(11, 12, seeds=[(1, 10), (10, 10)])
        for number in imported:
            tables.both("A", number, origin="elsewhere")

        project = only(audited(tables))

        assert (project.external, project.no_ticket) == (10, expected)
        assert project.is_clean

    def test_interrupted_import_is_an_unfinished_seed(self) -> None:
        tables = sequence(1)
        tables.both("A", 10, origin="elsewhere")

        assert found(tables) == [(Kind.UNFINISHED_SEED, 2, 9)]


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
    started = datetime(2027, 1, 2, tzinfo=UTC)
    reading = AuditReading(TableReader(None), AuditPlan("t", "k"), started=started)
    return AuditReport(reading, projects, started + timedelta(seconds=1))


class TestReport:
    """People see a summary, and scripts everything."""

    def test_table_has_fifty_projects_and_those_in_which_something_is_wrong(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        clean = [ProjectAudit(f"P{n:03}") for n in range(80)]
        gap = Finding(Kind.GAP, "ZZZ", (4, 6))
        report = report_of(*clean, ProjectAudit("ZZZ", findings=(gap,)))

        print_report(report, "here")

        table, _, _ = capsys.readouterr().out.partition("30 more projects, all clean")
        shown = re.findall(r"P\d+|ZZZ", table)
        assert shown == [project.project_id for project in clean[:50]] + ["ZZZ"]
        assert len(report_json(report, "here")["projects"]) == 81

    def test_scripts_get_both_times(self) -> None:
        times = report_json(report_of(), "here")

        assert times["started_at"] == "2027-01-02T00:00:00Z"
        assert times["ended_at"] == "2027-01-02T00:00:01Z"

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
        assert all(line.spans for line in Text.from_ansi(below).split())

    @pytest.mark.parametrize("kind", Kind)
    def test_text_of_each_kind_is_in_a_transcript(self, kind: Kind) -> None:
        shown = (FOLDER / "audit.txt").read_text(encoding="utf-8")

        assert f": {kind}: " in shown


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
