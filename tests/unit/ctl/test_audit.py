"""What the audit prints, and how it keeps to budget and pace."""

from array import array
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from botocore.stub import Stubber

from tests.support.audit_tables import Tables, audited
from tests.support.canned_aws import aws_client
from ticketctl.audit.findings import Finding, Kind
from ticketctl.audit.plan import AuditPlan
from ticketctl.audit.read_meter import ReadingStoppedError, ReadMeter
from ticketctl.audit.reading_threads import side_by_side
from ticketctl.audit.report import print_report, report_json
from ticketctl.audit.results import AuditReport, Coverage, ProjectAudit
from ticketctl.audit.table_scan import TableReader
from ticketctl.cli.errors import InputError

WHEN = datetime(2026, 11, 21, 5, 53, tzinfo=UTC)


def report(*projects: ProjectAudit, coverage: Coverage | None = None) -> AuditReport:
    """Return a report on these projects."""
    whole = Coverage(
        tickets=True,
        keys=True,
        suspicions=True,
        single_projects=False,
        budget_spent=False,
    )
    plan = AuditPlan("tickets", "keys")
    return AuditReport(plan, coverage or whole, projects, WHEN, WHEN, 7, 6, 5.0)


def clean(name: str) -> ProjectAudit:
    """Return a project in which nothing is wrong."""
    return ProjectAudit(name, array("Q", [1, 2]))


@dataclass
class Clock:
    """A clock that tests move."""

    now: float = 0

    def __call__(self) -> float:
        """Tell the time."""
        return self.now


class TestReport:
    """People see what matters, and scripts everything."""

    def test_table_shows_fifty_projects_and_those_in_which_something_is_wrong(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """And says how many it leaves out."""
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

    @pytest.mark.parametrize(
        ("columns", "left_out"),
        [
            (90, ""),
            (80, "no room for: voided"),
            (60, "no room for: next, elsewhere, voided"),
            (20, "no room for: count"),
        ],
    )
    def test_table_keeps_the_findings_when_there_is_little_room(
        self,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
        columns: int,
        left_out: str,
    ) -> None:
        """The least important columns go, and are named."""
        monkeypatch.setenv("COLUMNS", str(columns))

        print_report(report(clean("PROJECT-IN-FULL"), clean("P" * 64)), "here")

        table = capsys.readouterr().out.partition("2 projects")[0]
        assert max(map(len, table.splitlines())) <= columns
        assert left_out in " ".join(table.split())
        assert ("no room" in table) is bool(left_out)
        if columns > 20:
            assert "┃ gaps ┃ other ┃ count ┃" in table

    def test_json_has_every_project(self) -> None:
        """However many there are."""
        document = report_json(report(*[clean(f"P{n}") for n in range(80)]), "here")

        assert len(document["projects"]) == 80
        assert (document["clean"], document["region"]) == (True, "here")

    def test_finding_cannot_drive_the_terminal(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A planted key may hold anything."""
        evil = Finding(Kind.MALFORMED, "P\x1b[2J", item="[red]\x1b[2J")

        print_report(report(ProjectAudit("P\x1b[2J", findings=(evil,))), "here")

        assert "\x1b[2J" not in capsys.readouterr().out

    @pytest.mark.parametrize("missing", ["tickets", "keys", "suspicions"])
    def test_report_is_not_clean_when_a_part_is_missing(
        self, capsys: pytest.CaptureFixture[str], missing: str
    ) -> None:
        """Nothing found is not the same as nothing there."""
        parts = {"tickets": True, "keys": True, "suspicions": True} | {missing: False}
        coverage = Coverage(**parts, single_projects=False, budget_spent=True)

        part = report(clean("P"), coverage=coverage)
        print_report(part, "here")

        assert not part.is_clean
        assert "INCOMPLETE" in capsys.readouterr().out


class TestMemory:
    """Where everything is wrong, the audit does not drown in it."""

    def test_audit_stops_looking_when_there_is_too_much(self) -> None:
        """The wrong keys' table, say: it says so, and ends."""
        tables = Tables(page=1000)
        for number in range(1, 12_000):
            tables.ticket("A", number, f"key-{number}")

        found = audited(tables)

        assert sum(1 for _ in found.findings) == 10_000
        assert not found.coverage.is_complete
        assert not found.coverage.budget_spent


class TestMeter:
    """Reading keeps to what it may take."""

    def test_turn_is_refused_when_the_budget_is_spent(self) -> None:
        """Not before: a read takes a unit."""
        meter = ReadMeter(most=10)
        meter.add(9)
        meter.wait_for_turn()
        meter.add(0.5)

        with pytest.raises(ReadingStoppedError):
            meter.wait_for_turn()

    @pytest.mark.parametrize(
        ("units", "now", "seconds"), [(0, 0, 0), (50, 0, 5), (50, 3, 2), (50, 9, 0)]
    )
    def test_next_turn_comes_when_the_pace_allows_it(
        self, units: float, now: float, seconds: float
    ) -> None:
        """On average since the start."""
        clock = Clock()
        meter = ReadMeter(per_second=10, clock=clock)
        meter.add(units)
        clock.now = now

        assert meter.seconds_to_wait == seconds

    def test_waiting_ends_when_it_is_told_to_stop(self) -> None:
        """Ctrl-C need not wait for the pace."""
        meter = ReadMeter(per_second=1)
        meter.add(100_000)
        meter.stop()

        with pytest.raises(ReadingStoppedError):
            meter.wait_for_turn()

    def test_page_is_no_larger_than_what_is_left_of_the_budget(self) -> None:
        """Each item takes a unit, unless it is larger than 4 KB."""
        meter = ReadMeter(most=25)
        meter.add(7.5)

        assert (meter.at_most(100), meter.at_most(9)) == (17, 9)
        assert ReadMeter().at_most(100) == 100

    def test_page_is_as_large_as_ever_when_the_pace_is_low(self) -> None:
        """Small pages would take more units; the pause comes after the page."""
        assert ReadMeter(per_second=1).at_most(100) == 100

    @pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
    def test_all_threads_stop_when_one_fails(self, error: type[BaseException]) -> None:
        """The others begin no further request."""
        meter = ReadMeter()

        def read(part: int) -> None:
            if part == 1:
                raise error
            while True:
                meter.wait_for_turn()

        with pytest.raises(error):
            side_by_side(meter, range(2), read, threads=2)


class TestTables:
    """A wrong table is refused before it is read."""

    def test_table_that_is_not_there_is_named_with_its_region(self) -> None:
        """Most often the Region is wrong."""
        with pytest.raises(InputError, match="no table t in eu-west-1"):
            expect(
                lambda stub: stub.add_client_error(
                    "describe_table", "ResourceNotFoundException"
                )
            )

    def test_table_of_another_key_is_refused(self) -> None:
        """It says what is there and what was meant."""
        with pytest.raises(InputError, match="its key is id, not project_id, number"):
            expect(lambda stub: describe(stub, "id"))

    def test_number_of_items_is_known_when_the_table_is_right(self) -> None:
        """For the progress bar."""
        assert expect(lambda stub: describe(stub, "project_id", "number")) == 12


def expect(answer: Callable[[Stubber], None]) -> int:
    """Look at a table that answers so."""
    client = aws_client("dynamodb")
    with Stubber(client) as stub:
        answer(stub)
        reader = TableReader(client, ReadMeter())
        found = reader.expect("t", ("project_id", "number"))
    client.close()
    return found


def describe(stub: Stubber, *key: str) -> None:
    """Let a table of 12 items have this key."""
    schema = [
        {"AttributeName": name, "KeyType": kind}
        for name, kind in zip(key, ("HASH", "RANGE"), strict=False)
    ]
    stub.add_response(
        "describe_table", {"Table": {"KeySchema": schema, "ItemCount": 12}}
    )
