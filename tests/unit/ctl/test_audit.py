"""The audit finds every fault, raises no false alarm, and stays small."""

import pickle
import re
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import Barrier

import pytest
from rich.text import Text

from tests.support.audits import (
    BOTH_WAYS,
    MISSING,
    audited,
    findings_of,
    numbers_of,
    only,
    reader_of,
    seeded,
)
from tests.support.cases import cases, plain_id
from tests.support.seed_items import (
    Item,
    key_item,
    reserved_item,
    sequence,
    ticket_item,
)
from tests.support.steps import Steps
from tests.support.transcripts import FOLDER
from ticket_numbering.contract.dynamodb_items import ERASED, EXTERNAL, VOIDED
from ticket_numbering.contract.field_types import timestamp
from ticketctl import PROGRAM
from ticketctl.audit.audit import AuditReport, ProjectAudit, audit_checked
from ticketctl.audit.reading import MAX_DOUBTS, AuditPlan, AuditReading
from ticketctl.audit.report import print_report, report_json
from ticketctl.aws.table_reader import SEGMENTS, TableReader
from ticketctl.cli.errors import InputError
from ticketctl.cli.output import utc
from ticketctl.ledger import HIGHEST
from ticketctl.ledger.chain import ERASED_TITLE
from ticketctl.ledger.database import AuditDatabase
from ticketctl.ledger.findings import Finding, FindingKind

PATIENCE_SECONDS = 60


def days_ago(days: int) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).isoformat()


class TestSequences:
    """Numbers are 1..n, and missing ones are named by their kind."""

    @pytest.mark.parametrize(("items", "expected"), cases(MISSING))
    def test_missing_numbers_are_found_as_ranges(
        self,
        steps: Steps,
        items: list[Item],
        expected: list[tuple[FindingKind, int, int]],
    ) -> None:
        steps.put(*items)

        assert findings_of(steps) == expected

    @pytest.mark.parametrize(
        ("imported", "expected"),
        [((), 10), ((4, 10), 8), (range(1, 10), 1), (range(1, 11), 0)],
        ids=["seeded", "half", "all but the last", "all"],
    )
    def test_external_numbers_without_a_ticket_are_counted(
        self, steps: Steps, imported: Iterable[int], expected: int
    ) -> None:
        """A finished import has none; half of one is clean as well."""
        steps.put(*seeded(11, 12, seeds=[(1, 10), (10, 10)]))
        steps.put(*sequence("A", *imported, origin=EXTERNAL))

        project = only(audited(steps))

        assert (project.external, project.no_ticket) == (10, expected)
        assert project.is_clean


LONE = Finding(FindingKind.TICKET_WITHOUT_KEY, "A", (3,), "lone")
FLAWS: dict[str, tuple[list[Item], Finding]] = {
    "second ticket": (
        [ticket_item("A", 3, "key-2")],
        Finding(FindingKind.DUPLICATE, "A", (2, 3), "key-2"),
    ),
    "no key": ([ticket_item("A", 3, "lone")], LONE),
    **{
        f"no key, {status}": (
            [ticket_item("A", 3, "lone", status=status, title=ERASED_TITLE)],
            LONE,
        )
        for status in (VOIDED, ERASED)
    },
    "another's number": (
        [key_item("A", 1, "key-2")],
        Finding(FindingKind.MISMATCH, "A", (2,), "key-2", recorded=1),
    ),
    "a number that is not there": (
        [key_item("A", 9, "key-2")],
        Finding(FindingKind.MISMATCH, "A", (2,), "key-2", recorded=9),
    ),
    "no ticket": (
        [key_item("A", 9, "lone")],
        Finding(FindingKind.KEY_WITHOUT_TICKET, "A", (9,), "lone"),
    ),
    "a reserved number": (
        [reserved_item("A", 3, 3), key_item("A", 3, "lone")],
        Finding(FindingKind.KEY_WITHOUT_TICKET, "A", (3,), "lone"),
    ),
    "a ticket of another key": (
        [key_item("A", 2, "lone")],
        Finding(FindingKind.GIVEN_TWICE, "A", (2,), "lone"),
    ),
}
"""Items beside a sequence of two, and the one finding that the audit must have."""


class TestKeys:
    """Each key has one ticket, and each names the other."""

    @BOTH_WAYS
    @pytest.mark.parametrize(("items", "expected"), cases(FLAWS))
    def test_audit_finds_what_is_wrong_once(
        self,
        steps: Steps,
        items: list[Item],
        expected: Finding,
        projects: tuple[str, ...],
    ) -> None:
        """A single project's tickets do not show a key that names none of them."""
        steps.put(*sequence("A", 1, 2), *sequence("B", 1), *items)

        findings = audited(steps, *projects).findings

        is_of_key = expected.kind in {
            FindingKind.KEY_WITHOUT_TICKET,
            FindingKind.GIVEN_TWICE,
        }
        is_seen = not (projects and is_of_key)
        assert findings == ([expected] if is_seen else [])

    @pytest.mark.parametrize(
        ("first", "is_clean"),
        [
            (days_ago(41), True),
            (days_ago(29), False),
            ("", False),
            ("41 days ago", False),
        ],
        ids=["expired", "kept", "no-time", "malformed"],
    )
    def test_key_may_be_used_again_only_when_it_had_expired(
        self, steps: Steps, first: str, *, is_clean: bool
    ) -> None:
        again = {"assigned_at": days_ago(10)}
        steps.put(ticket_item("A", 1, "x", assigned_at=first))
        steps.put(ticket_item("A", 2, "x", **again), key_item("A", 2, "x", **again))

        assert only(audited(steps, retention_days=30)).is_clean is is_clean
        assert not only(audited(steps)).is_clean


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
        self, steps: Steps, number: str, key: str | None, projects: tuple[str, ...]
    ) -> None:
        """DynamoDB would refuse to look up a long key, and the audit would end."""
        steps.put(*sequence("A", 1), ticket_item("A", number, key))

        [finding] = audited(steps, *projects).findings

        assert (finding.kind, finding.item) == (
            FindingKind.MALFORMED,
            f"the ticket A, {number}",
        )

    @BOTH_WAYS
    @pytest.mark.parametrize(
        "flaw", [{"fingerprint": ""}, {"fingerprint": "x"}, {"project_id": "B"}]
    )
    def test_record_is_malformed_when_the_worker_cannot_use_it(
        self, steps: Steps, flaw: dict[str, str], projects: tuple[str, ...]
    ) -> None:
        """The worker would fail every repeat of the request."""
        steps.put(*sequence("A", 1), ticket_item("A", 2, "key#2"))
        steps.put(key_item("A", 2, "key#2", **flaw))

        [finding] = audited(steps, *projects).findings

        expected = Finding(FindingKind.MALFORMED, "A", item="the record A#key#2")
        assert finding == expected

    def test_malformed_ticket_is_not_missing_when_its_number_can_be_read(
        self, steps: Steps
    ) -> None:
        """It explains the numbers before it as another ticket would."""
        steps.put(*seeded(1, 4, seeds=[(5, 9)]), key_item("A", 2, "key-2"))
        steps.put(ticket_item("A", 2, None), ticket_item("A", 9, None, origin=EXTERNAL))

        project = only(audited(steps))

        assert project.gaps == ((3, 3),)
        assert [finding.kind for finding in project.findings] == [
            FindingKind.GAP,
            *[FindingKind.MALFORMED] * 2,
        ]


class TestLiveSystem:
    """An audit of a system at work has no false alarm."""

    def test_audit_does_not_even_pause_when_a_ticket_comes_between_the_scans(
        self, steps: Steps
    ) -> None:
        steps.put(*sequence("A", 1, 2))
        steps.services.dynamodb.page = 2
        steps.stage.on_pause = pytest.fail
        of_tickets: list[Callable[[], object]] = [lambda: None] * SEGMENTS
        new = partial(steps.put, *sequence("A", 3))
        steps.services.dynamodb.before["scan"] = [*of_tickets, new]

        report = audited(steps)

        assert not report.findings
        assert report.reading.keys_read == 3

    @BOTH_WAYS
    @pytest.mark.parametrize(
        "half",
        [[], sequence("A", 2)[:1], sequence("A", 2)[1:]],
        ids=["gap", "ticket without key", "key without ticket"],
    )
    def test_transaction_is_no_finding_when_it_was_seen_half_way(
        self, steps: Steps, projects: tuple[str, ...], half: list[Item]
    ) -> None:
        """Number 3 showed before all of number 2; a moment later both are there."""
        steps.put(*sequence("A", 1, 3), *half)
        steps.stage.on_pause = partial(steps.put, *sequence("A", 2))

        report = audited(steps, *projects)

        assert numbers_of(only(report)) == (1, 2, 3)
        assert report.reading.tickets_read == 3
        assert not report.findings

    def test_last_transaction_is_no_finding_when_its_record_showed_first(
        self, steps: Steps
    ) -> None:
        """No number behind it says that one is missing."""
        steps.put(*sequence("A", 1), key_item("A", 2, "key-2"))
        steps.stage.on_pause = partial(steps.put, *sequence("A", 2))

        assert not audited(steps).findings

    def test_long_gap_is_looked_up_by_its_range(self, steps: Steps) -> None:
        steps.put(*sequence("A", 1, HIGHEST))
        steps.stage.on_pause = partial(steps.put, *sequence("A", 2))

        report = audited(steps)

        assert only(report).gaps == ((3, HIGHEST - 1),)
        assert sum(map(len, steps.services.dynamodb.requests.values())) < 20


class TestLargeTables:
    """An audit stays small, and reads no faster than it may."""

    def test_memory_does_not_grow_with_the_tickets(self, steps: Steps) -> None:
        steps.put(*sequence("A", *range(1, 5_001)))
        steps.services.dynamodb.page = 1_000_000

        report = audited(steps)

        assert (report.reading.tickets_read, report.reading.keys_read) == (5_000, 5_000)
        kept = report.reading.chains, report.reading.doubts, report.projects
        assert len(pickle.dumps(kept)) < 5_000

    def test_segments_are_read_side_by_side(self, steps: Steps) -> None:
        """A page of one comes while another's is looked at."""
        meet = partial(Barrier(SEGMENTS).wait, PATIENCE_SECONDS)
        steps.services.dynamodb.before["scan"] = [meet] * SEGMENTS * 2

        assert audited(steps).findings == []
        assert steps.services.dynamodb.before["scan"] == []

    @pytest.mark.parametrize(
        ("wanted", "step"),
        [(slice(1, None, 2), 1), (slice(0, None, 2), 1), (slice(None), 2)],
        ids=["no tickets", "no records", "gaps"],
    )
    def test_audit_stops_when_the_tables_do_not_belong_together(
        self, steps: Steps, wanted: slice, step: int
    ) -> None:
        numbers = range(step, step * (MAX_DOUBTS + 2), step)
        steps.put(*sequence("A", *numbers)[wanted])
        steps.services.dynamodb.page = 1_000_000

        with pytest.raises(InputError, match="do the two tables belong together"):
            audited(steps)

    def test_keys_are_read_again_when_dynamodb_was_too_busy(self, steps: Steps) -> None:
        steps.put(*sequence("A", *range(1, 151)))
        steps.fails("batch_get_item", *("PARTIAL", "-") * 150)
        steps.services.dynamodb.page = 150

        report = audited(steps, "A")

        assert not report.findings
        assert report.reading.keys_read == 150


def report_of(*projects: ProjectAudit) -> AuditReport:
    started = datetime(2027, 1, 2, tzinfo=UTC)
    with AuditDatabase({}) as numbers:
        reader = TableReader(None, "t", "k")
        reading = AuditReading(reader, AuditPlan(), numbers, started=started)
    return AuditReport(reading, projects, started + timedelta(seconds=1))


class TestReport:
    """People see a summary, and scripts everything."""

    def test_table_has_fifty_projects_and_those_in_which_something_is_wrong(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        clean = [ProjectAudit(f"P{n:03}") for n in range(80)]
        gap = Finding(FindingKind.GAP, "ZZZ", (4, 6))
        report = report_of(*clean, ProjectAudit("ZZZ", findings=(gap,)))

        print_report(report, "here", PROGRAM)

        table, _, _ = capsys.readouterr().out.partition("30 more projects, all clean")
        shown = re.findall(r"P\d+|ZZZ", table)
        assert shown == [project.project_id for project in clean[:50]] + ["ZZZ"]
        assert len(report_json(report, "here", PROGRAM)["projects"]) == 81

    def test_scripts_get_both_times(self) -> None:
        times = report_json(report_of(), "here", PROGRAM)

        assert times["started_at"] == "2027-01-02T00:00:00Z"
        assert times["ended_at"] == "2027-01-02T00:00:01Z"

    @pytest.mark.parametrize(
        "kinds", [(), (FindingKind.NO_TICKETS,)], ids=["clean", "not"]
    )
    def test_each_line_has_a_style_on_a_terminal(
        self,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
        kinds: tuple[FindingKind, ...],
    ) -> None:
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        findings = tuple(Finding(kind, "A") for kind in kinds)

        print_report(report_of(ProjectAudit("A", findings=findings)), "here", PROGRAM)

        _, _, below = capsys.readouterr().out.partition("┘\n")
        assert all(line.spans for line in Text.from_ansi(below).split())

    @pytest.mark.parametrize("kind", FindingKind)
    def test_text_of_each_kind_is_in_a_transcript(self, kind: FindingKind) -> None:
        shown = (FOLDER / "audit.txt").read_text(encoding="utf-8")

        assert f": {kind}: " in shown, "show it in tests/transcripts/audit.txt"


def test_tickets_dated_ahead_of_this_clock_are_named(
    steps: Steps, capsys: pytest.CaptureFixture[str]
) -> None:
    """A clock of the network's time is right within a minute."""
    now = datetime.now(UTC)
    for project_id, ahead in (("A", 3600), ("B", 30), ("C", -3600)):
        date = timestamp(now + timedelta(seconds=ahead))
        steps.put(
            ticket_item(project_id, 1, "k", assigned_at=date),
            key_item(project_id, 1, "k", assigned_at=date),
        )

    report = audited(steps)
    print_report(report, "here", PROGRAM)

    assert report.is_clean
    said = " ".join(capsys.readouterr().out.split())
    assert re.search(
        r"dated ahead of this machine's clock[^:]*: A-1 by [01]:\d\d", said
    )
    assert said.count(" by ") == 1
    projects = report_json(report, "here", PROGRAM)["projects"]
    assert projects[2]["newest"] == utc(now - timedelta(hours=1))


def test_audit_says_how_far_it_is_of_about_how_much(steps: Steps) -> None:
    steps.put(*sequence("A", 1, 2))
    said: list[str] = []

    for projects in ((), ("A",)):
        audit_checked(reader_of(steps), AuditPlan(projects), said.append)

    whole, single = said[SEGMENTS * 2 + 1], said[-1]
    assert whole == f"{single} of about 2 and 2"


@pytest.mark.parametrize("command", ["audit", "export"])
def test_command_takes_its_time_when_it_has_a_rate(steps: Steps, command: str) -> None:
    steps.numbers("A", 1)
    started = steps.services.scheduler.now

    steps.stage.call(command, "--rate", "5")

    assert steps.services.scheduler.now - started > 1 / 5
