"""The audit and the verdict: what is wrong shows, and what is right does not."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from tests.support.audit_tables import Tables, audited, findings, only
from ticketctl.audit.audit import audit, judge
from ticketctl.audit.findings import Finding, Kind
from ticketctl.audit.plan import AuditPlan
from ticketctl.audit.read_meter import ReadMeter
from ticketctl.audit.reading import AuditReading
from ticketctl.audit.table_scan import TableReader
from ticketctl.audit.ticket_index import TicketIndex

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
    "no key, twice": (
        two_lone_tickets,
        Kind.DUPLICATE,
        (3, 4),
        "lone",
    ),
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

    def test_audit_is_clean_when_numbers_are_one_to_n(self) -> None:
        """Projects are told apart, whatever the order of the rows."""
        tables = Tables()
        for project, number in (("B", 1), ("A", 2), ("A", 1)):
            tables.both(project, number)

        first, second = audited(tables).projects

        assert (first.project_id, first.numbers) == ("A", (1, 2))
        assert (second.first, second.last) == (1, 1)
        assert first.is_clean
        assert second.is_clean

    def test_audit_returns_what_the_main_job_needs(self) -> None:
        """Without any options: the numbers of each project."""
        [project] = audit(sequence(*range(1, 12)), "tickets", "keys")

        assert (project.numbers, project.is_clean) == (tuple(range(1, 12)), True)

    @pytest.mark.parametrize("segments", [1, 3, 16])
    def test_audit_reads_everything_when_segments_share_the_work(
        self, segments: int
    ) -> None:
        """No item is left out or read twice."""
        tables = Tables()
        for project in "ABCDEF":
            for number in (1, 2, 3):
                tables.both(project, number)

        report = audited(tables, segments=segments)

        assert [each.numbers for each in report.projects] == [(1, 2, 3)] * 6
        assert (report.tickets_read, report.keys_read) == (18, 18)
        assert report.is_clean

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
        """A sequence that does not start at one has a gap, too."""
        report = audited(sequence(*numbers))

        assert only(report).gaps == gaps
        assert not report.is_clean

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
        assert [each.kind for each in project.findings] == [Kind.GAP]

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

        assert [(each.kind, each.numbers) for each in project.findings] == [
            (Kind.UNFINISHED_SEED, (5, 8))
        ]
        assert project.elsewhere == ((2, 3),)

    @pytest.mark.parametrize("before", [[], [1, 2]], ids=["new", "numbered"])
    @pytest.mark.parametrize("is_imported", [True, False])
    def test_seed_is_unfinished_when_the_number_after_the_sequence_is_free(
        self, before: list[int], *, is_imported: bool
    ) -> None:
        """A worker may still take it, so it is not explained; and how to mend it."""
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

    def test_voided_tickets_count_as_present(self) -> None:
        """They keep their numbers and their keys."""
        tables = sequence(1, 3)
        tables.both("A", 2, status="voided")

        project = only(audited(tables))

        assert (project.is_clean, project.voided, project.last) == (True, 1, 3)


class TestKeys:
    """Each key has one ticket, and each names the other."""

    @pytest.mark.parametrize("flaw", FLAWS.values(), ids=FLAWS)
    def test_audit_finds_what_is_wrong_once(self, flaw: Flaw) -> None:
        """One finding, however many ways lead to it."""
        spoil, *finding = flaw
        tables = sequence(1, 2)
        spoil(tables)

        report = audited(tables)

        assert [*findings(report)] == [tuple(finding)]
        assert not report.is_clean

    def test_audit_names_a_key_of_a_project_without_tickets(self) -> None:
        """It is a project, too."""
        tables = Tables()
        tables.key("B", 1, "x")

        assert [*findings(audited(tables))] == [(Kind.KEY_WITHOUT_TICKET, (1,), "x")]

    @pytest.mark.parametrize("number", ["1.5", "0", "-3", "9" * 30])
    @pytest.mark.parametrize("projects", [(), ("A",)])
    def test_audit_goes_on_when_an_item_is_malformed(
        self, number: str, projects: tuple[str, ...]
    ) -> None:
        """It is named, and the rest is read."""
        tables = sequence(1)
        tables.ticket("A", number, "x")
        tables.ticket("A", 2, None)
        tables.key("A", 1, "odd")
        tables.items["keys"][("A#odd",)]["project_id"] = {"S": "B"}
        no_ticket = set() if projects else {"the record A#odd"}

        project = only(audited(tables, *projects))

        assert {each.item for each in project.findings} == no_ticket | {
            f"the ticket A, {number}",
            "the ticket A, 2",
        }

    @pytest.mark.parametrize(
        "key", ["k" * 129, "k" * 3000, "two words", "ü", ""], ids=len
    )
    @pytest.mark.parametrize("projects", [(), ("A",)])
    def test_key_that_no_request_can_have_is_never_looked_up(
        self, key: str, projects: tuple[str, ...]
    ) -> None:
        """DynamoDB would refuse it if it is long, and the audit would end."""
        tables = sequence(1, 3)
        tables.ticket("A", 2, key)

        project = only(audited(tables, *projects))

        assert [each.item for each in project.findings] == ["the ticket A, 2"]
        assert project.numbers == (1, 2, 3)

    def test_item_of_no_possible_project_is_malformed(self) -> None:
        """Its keys could not be looked up, either."""
        tables = sequence(1)
        tables.both("P" * 65, 1)

        found = [each.kind for each in audited(tables).findings]

        assert found == [Kind.MALFORMED] * 2

    def test_malformed_ticket_is_not_missing_when_its_number_can_be_read(self) -> None:
        """Only the numbers beside it are; its key's record need not be told, too."""
        tables = sequence(1, 4)
        tables.both("A", 2)
        tables.ticket("A", 2, None)

        project = only(audited(tables))

        assert project.gaps == ((3, 3),)
        assert [each.kind for each in project.findings] == [Kind.GAP, Kind.MALFORMED]
        assert len(project.present) == 3

    def test_malformed_ticket_is_not_missing_when_it_shows_late(self) -> None:
        """It is seen when the gap is read again."""
        tables = sequence(1, 3)
        tables.before["get_item tickets"] = lambda: tables.ticket("A", 2, None)

        [finding] = only(audited(tables)).findings

        assert finding.item == "the ticket A, 2"

    def test_malformed_ticket_explains_numbers_before_it_as_another_would(self) -> None:
        """Its origin can be read."""
        tables = sequence(1)
        reserved(tables, 2, up_to=5)
        tables.ticket("A", 5, None, origin="elsewhere")

        assert only(audited(tables)).elsewhere == ((3, 4),)

    def test_finding_is_one_line_that_says_where_to_look(self) -> None:
        """With the ticket keys, and the manual."""
        line = str(Finding(Kind.MISMATCH, "A", (2,), "x", recorded=7))

        assert "A-2: the ticket's key x is recorded for A-7" in line
        assert "docs/operations.md" in line
        assert "A-4 to A-6: missing" in str(Finding(Kind.GAP, "A", (4, 6)))


class TestLiveSystem:
    """An audit of a system at work has no false alarm."""

    def test_ticket_numbered_between_the_scans_is_no_finding(self) -> None:
        """Its key is seen, and its ticket was not yet there."""
        tables = sequence(1, 2)
        tables.after["tickets"] = lambda: tables.both("A", 3)

        report = audited(tables)

        assert report.is_clean
        assert report.keys_read == 3

    def test_gap_is_no_finding_when_the_transaction_was_seen_half_way(self) -> None:
        """Number 3 showed before number 2; a moment later both are there."""
        tables = sequence(1, 3)
        tables.before["get_item tickets"] = lambda: tables.both("A", 2)

        report = audited(tables)

        assert only(report).numbers == (1, 2, 3)
        assert report.is_clean

    def test_long_gap_is_looked_up_by_its_range(self) -> None:
        """Not number by number."""
        tables = sequence(1, 500)
        tables.before["query tickets"] = lambda: tables.both("A", 2)

        report = audited(tables)

        assert only(report).gaps == ((3, 499),)
        assert len(tables.requests) < 20

    def test_key_is_no_finding_when_its_ticket_shows_late(self) -> None:
        """Even where the first look came too early."""
        tables = sequence(1)
        tables.key("A", 2, "key-2")
        tables.before["get_item keys"] = lambda: tables.both("A", 2)

        assert audited(tables).is_clean

    def test_ticket_is_no_finding_when_its_key_shows_late(self) -> None:
        """The transaction's other half."""
        tables = sequence(1)
        tables.ticket("A", 2, "key-2")
        tables.before["get_item tickets"] = lambda: tables.both("A", 2)

        assert audited(tables).is_clean

    def test_keys_that_share_a_digest_are_no_finding(self) -> None:
        """A digest only raises a suspicion."""
        reader = TableReader(sequence(1, 2, 3), ReadMeter())
        index = TicketIndex(digest=lambda _project_id, _key: 7)

        report = judge(AuditReading(reader, AuditPlan("tickets", "keys"), index=index))

        assert report.is_clean


class TestExpiredKeys:
    """Where keys are kept for a time only, an old ticket needs none."""

    def test_ticket_without_key_is_counted_when_the_key_has_expired(self) -> None:
        """Only if it is old enough."""
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
        ("again", "clean"), [(days_ago(10), True), (days_ago(15), False)]
    )
    def test_key_used_again_is_no_finding_only_after_it_expired(
        self, again: str, *, clean: bool
    ) -> None:
        """The first of the two had it for at least a month."""
        tables = Tables()
        tables.ticket("A", 1, "x", assigned_at=days_ago(41))
        tables.both("A", 2, "x", assigned_at=again)

        assert audited(tables, retention=MONTH).is_clean is clean

    def test_old_ticket_without_key_is_found_when_keys_are_kept_for_ever(self) -> None:
        """The default."""
        tables = Tables()
        tables.ticket("A", 1, "old", assigned_at=days_ago(4000))

        assert not audited(tables).is_clean


class TestSingleProjects:
    """A project's partition and the keys that its tickets name."""

    def test_only_the_project_is_read(self) -> None:
        """No scan, and nothing of the others."""
        tables = sequence(1, 2)
        tables.both("B", 7)

        report = audited(tables, "A")

        assert only(report).numbers == (1, 2)
        assert report.is_clean
        assert not [each for each in tables.requests if each.startswith("scan")]

    @pytest.mark.parametrize("name", FLAWS.keys() - {"no ticket"})
    def test_what_its_tickets_show_is_found(self, name: str) -> None:
        """A key that names no ticket, or another's, cannot be seen from here."""
        spoil, kind, *_ = FLAWS[name]
        tables = sequence(1, 2)
        spoil(tables)

        found = {each.kind for each in audited(tables, "A").findings}

        assert found == (set() if kind is Kind.KEY_WITHOUT_TICKET else {kind})

    def test_coverage_says_that_keys_without_ticket_were_not_looked_for(self) -> None:
        """A clean report must not claim what it did not check."""
        single, whole = audited(sequence(1), "A"), audited(sequence(1))

        assert Kind.KEY_WITHOUT_TICKET not in single.coverage.looked_for
        assert Kind.KEY_WITHOUT_TICKET in whole.coverage.looked_for

    def test_project_without_tickets_is_a_finding(self) -> None:
        """Most likely its name is wrong."""
        assert [each.kind for each in audited(Tables(), "Z").findings] == [
            Kind.NO_TICKETS
        ]

    def test_reserved_number_has_no_key_to_read(self) -> None:
        """It stands for a number that was used elsewhere."""
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
        assert "get_item keys" not in tables.requests


class TestBudget:
    """What was not read is not judged."""

    @pytest.mark.parametrize("most", [1, 3, 5, 6, 8, 10, 11])
    @pytest.mark.parametrize("flaw", [None, *FLAWS.values()], ids=[None, *FLAWS])
    def test_nothing_is_claimed_that_a_whole_audit_does_not_find(
        self, most: int, flaw: Flaw | None
    ) -> None:
        """Wherever it stops, and never is it called clean."""
        tables = sequence(1, 2, 3, 4, 5, 7)
        if flaw:
            flaw[0](tables)
        whole = {*findings(audited(tables))}

        report = audited(tables, most=most)

        assert {*findings(report)} <= whole
        assert not report.is_clean
        assert not report.coverage.is_complete
        assert report.coverage.budget_spent

    def test_gaps_are_not_claimed_when_not_all_tickets_were_read(self) -> None:
        """Only after the last ticket; keys come later."""
        tables = sequence(1, 3)

        [early, late] = [audited(tables, most=most) for most in (1, 3)]

        assert (early.coverage.looked_for, [*early.findings]) == ([], [])
        assert late.coverage.looked_for == [Kind.GAP, Kind.UNFINISHED_SEED]
        assert only(late).gaps == ((2, 2),)

    def test_gap_is_not_claimed_when_it_could_not_be_read_again(self) -> None:
        """It may be a transaction seen half-way."""
        report = audited(sequence(1, 3), most=2)

        assert report.tickets_read == 2
        assert [*report.findings] == []

    def test_reading_stops_when_the_budget_is_spent(self) -> None:
        """Page by page."""
        report = audited(sequence(*range(1, 100)), most=10)

        assert report.read_units == 10
        assert report.tickets_read == 10

    @pytest.mark.parametrize("projects", [(), ("A",)])
    @pytest.mark.parametrize("item_units", [0.1, 0.5, 1])
    @pytest.mark.parametrize("most", [1, 2, 7, 50, 101])
    def test_budget_is_not_exceeded_when_pages_are_large(
        self, projects: tuple[str, ...], item_units: float, most: int
    ) -> None:
        """They are as small as what is left; so are the batches of keys."""
        tables = sequence(*range(1, 600))
        tables.page, tables.item_units = 1000, item_units

        report = audited(tables, *projects, most=most)

        assert most - 1 < report.read_units <= most
        assert report.coverage.budget_spent

    def test_audit_is_complete_when_the_budget_suffices(self) -> None:
        """A budget alone changes nothing."""
        assert audited(sequence(1, 2), most=100).is_clean
