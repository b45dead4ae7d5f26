"""Items are parsed once into their kinds, and one judge has all findings."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

import pytest

from tests.support.builders import ASSIGNED_AT, CALLER, create_ticket
from ticket_numbering.allocation.block import Block
from ticket_numbering.contract import dynamodb_items
from ticket_numbering.contract.dynamodb_items import (
    EXTERNAL,
    RESERVED,
)
from ticket_numbering.contract.errors import DamagedKeyRecordError
from ticket_numbering.contract.head import Head
from ticket_numbering.contract.messages import Assignment, CreateTicket, RequestKey
from ticketctl import PROGRAM
from ticketctl.aws.items import plain, serialized
from ticketctl.importing.judging import MISSING, Judge
from ticketctl.importing.lines import ExternalTicket
from ticketctl.ledger.database import AuditDatabase, Read
from ticketctl.ledger.findings import Finding, FindingKind, TicketProblem
from ticketctl.ledger.item import Item, ItemKind, Malformed, Ticket, parse
from ticketctl.ledger.judge import Window, judge, new_findings
from ticketctl.ledger.record import KeyRecord, MalformedRecord, parse_record
from ticketctl.ledger.sequence import SequenceCheck, is_given_here
from ticketctl.ledger.standing import OF_CONTENT, Neighbours, problem_of

SEED = {"status": RESERVED, "origin": EXTERNAL}


def number_of(number: object, **more: Any) -> dict[str, Any]:
    return {"project_id": "A", "number": number, **more}


def ticket_of(number: object, **more: Any) -> dict[str, Any]:
    own = {"idempotency_key": f"k-{number}", "title": "t", "priority": "medium"}
    return number_of(number, **own, assigned_at=ASSIGNED_AT, **more)


KINDS: dict[ItemKind, list[dict[str, Any]]] = {
    ItemKind.NUMBERED: [
        ticket_of(5),
        ticket_of(5, chain="v1:x"),
        ticket_of(5, status=3),
    ],
    ItemKind.VOIDED: [ticket_of(5, status="voided")],
    ItemKind.ERASED: [ticket_of(5, status="erased")],
    ItemKind.IMPORTED: [
        ticket_of(5, origin=EXTERNAL),
        ticket_of(5, origin=EXTERNAL, status="erased"),
        ticket_of(5, origin="?"),
    ],
    ItemKind.IMPORTED_GUARD: [ticket_of(5, origin=EXTERNAL, reserved_up_to=6)],
    ItemKind.IMPORTED_END: [ticket_of(5, origin=EXTERNAL, reserved_up_to=5)],
    ItemKind.GUARD: [number_of(5, **SEED, reserved_up_to=6)],
    ItemKind.END: [number_of(5, **SEED, reserved_up_to=5)],
    ItemKind.RESERVED: [
        number_of(5, **SEED),
        number_of(5, **SEED, reserved_up_to=4),
        number_of(1, **SEED),
        number_of(5, **SEED, reserved_up_to=True),
        number_of(5, **SEED, reserved_up_to="6"),
        number_of(5, **SEED, chain="damaged"),
    ],
    ItemKind.LOST: [number_of(5, **SEED, reserved_up_to=5, chain="v1:x")],
    ItemKind.MALFORMED: [
        number_of(5),
        number_of(5, status=RESERVED),
        number_of(5, **SEED, title="t"),
        number_of(5, **SEED, salt="s"),
        ticket_of(0),
        ticket_of(10**18),
        ticket_of(5) | {"idempotency_key": "with a blank"},
        ticket_of(5) | {"idempotency_key": None},
        ticket_of(5) | {"number": 5.5},
    ],
}
"""Attributes, by the kind of the item that they are."""


class TestKinds:
    """An item is parsed once; then its kind decides, not its attributes."""

    def test_item_is_of_the_kind_that_its_attributes_say(self) -> None:
        kinds = {
            kind: {parse(fields).kind for fields in items}
            for kind, items in KINDS.items()
        }

        assert kinds == {kind: {kind} for kind in ItemKind}

    def test_item_of_a_table_is_of_the_kind_of_its_exported_line(self) -> None:
        """DynamoDB's numbers are decimal, those of JSON are not."""
        lines = [
            fields
            for items in KINDS.values()
            for fields in items
            if not isinstance(fields["number"], float)
        ]

        kinds = [parse(plain(serialized(fields))).kind for fields in lines]

        assert kinds == [parse(fields).kind for fields in lines]

    def test_item_has_its_project_its_number_and_its_valid_hash(self) -> None:
        lines = [fields for items in KINDS.values() for fields in items]

        items = [
            (item.project_id, item.number, item.chain) for item in map(parse, lines)
        ]

        assert items == [
            ("A", int(line["number"]), line.get("chain", "").replace("damaged", ""))
            for line in lines
        ]

    def test_worker_gave_the_numbers_that_no_seed_and_no_import_took(self) -> None:
        own = {ItemKind.NUMBERED, ItemKind.VOIDED, ItemKind.ERASED, ItemKind.MALFORMED}

        assert {kind for kind in ItemKind if is_given_here(kind)} == own

    def test_ticket_with_other_attributes_is_the_item_that_they_are(self) -> None:
        [ticket], _ = chained(5)
        marks: list[dict[str, Any]] = [
            *({}, {"status": "voided"}, {"status": "erased"}, {"chain": "damaged"}),
            *({"origin": EXTERNAL, "reserved_up_to": end} for end in (4, 5, 6)),
        ]
        changed = [{**ticket.fields, **mark} for mark in marks]

        assert isinstance(ticket, Ticket)
        assert [ticket.having(fields) for fields in changed] == [*map(parse, changed)]

    def test_malformed_item_takes_its_number_if_it_can_be_one(self) -> None:
        items = [parse(number_of(number)) for number in (0, 1, 10**18 - 1, 10**18)]

        assert {type(item) for item in items} == {Malformed}
        assert [item.has_number for item in items] == [False, True, True, False]


class TestRecords:
    """A record is usable if its id, its key and its number are a request's."""

    @pytest.mark.parametrize(
        ("changes", "number", "is_usable"),
        [
            ({}, 1, True),
            ({}, 10**18 - 1, True),
            ({}, 10**18, False),
            ({}, None, False),
            ({"project_id": "B"}, 1, False),
            ({"idempotency_key": "other"}, 1, False),
            ({"id": "A#a b", "idempotency_key": "a b"}, 1, False),
        ],
    )
    def test_record_is_usable_when_the_worker_can_use_it(
        self, changes: dict[str, Any], number: int | None, *, is_usable: bool
    ) -> None:
        own = {"id": "A#k", "project_id": "A", "idempotency_key": "k"}
        fields = own | changes
        read: Assignment | DamagedKeyRecordError = DamagedKeyRecordError()
        if number is not None:
            read = Assignment(number, "v1:x", ASSIGNED_AT)

        record = parse_record(fields, read)

        if is_usable:
            assert record == KeyRecord("A", "k", number or 0, fields)
        else:
            assert record == MalformedRecord(fields["id"])


class TestSequences:
    """An item is judged by the one before it, if that has the number before."""

    @pytest.mark.parametrize(
        ("date", "number", "misdated"),
        [
            ("2020-01-01T00:00:00.000Z", 2, [(1, 1)]),
            ("2026-11-21T05:59:59.999Z", 2, [(2, 2)]),
            (ASSIGNED_AT, 2, []),
            ("2020-01-01T00:00:00.000Z", 3, []),
        ],
    )
    def test_date_is_compared_with_that_of_the_number_before(
        self, date: str, number: int, misdated: list[tuple[int, int]]
    ) -> None:
        items, _ = chained(1, number)
        check = SequenceCheck(before=items[0].head)

        check.follow(parse({**items[1].fields, "assigned_at": date}))

        assert check.runs[FindingKind.MISDATED] == misdated

    def test_item_that_comes_late_is_not_judged(self) -> None:
        items, _ = chained(1, 2)
        for item in items:
            check = SequenceCheck(before=items[1].head)

            is_judged = check.follow(parse({**item.fields, "title": "other"}))

            assert (is_judged, check.suspect_count) == (False, 0)
            assert check.is_out_of_order is True

    def test_text_is_for_the_chain_to_judge_when_the_ticket_has_a_hash(self) -> None:
        items, _ = chained(1, 2)
        changed = parse({**items[1].fields, "title": "other"})
        verdicts = [
            SequenceCheck(before=items[0].head).follow(item)
            for item in (items[1], changed, parse(ticket_of(2)))
        ]

        assert verdicts == [False, True, False]


OPEN = {ItemKind.IMPORTED, ItemKind.IMPORTED_GUARD, ItemKind.GUARD, ItemKind.RESERVED}
"""The kinds behind which another system's numbers may follow."""
BASELINES = {ItemKind.IMPORTED, ItemKind.IMPORTED_END, ItemKind.END, ItemKind.RESERVED}
"""The kinds before which another system's numbers may be."""


class TestHoles:
    """Missing numbers are explained by the items below and above them, or are not."""

    @pytest.mark.parametrize("above", ItemKind)
    @pytest.mark.parametrize("below", [None, *ItemKind])
    def test_hole_is_explained_by_external_items_on_both_sides(
        self, below: ItemKind | None, above: ItemKind
    ) -> None:
        under = [] if below is None else [moved(KINDS[below][0], 2)]
        items = [*under, moved(KINDS[above][0], 5)]

        first = parse(ticket_of(1)) if under else None
        findings = judge(Window("A", items, first))

        kind = None
        if above in BASELINES:
            kind = None if below in OPEN else FindingKind.UNFINISHED_SEED
        elif not (above is ItemKind.MALFORMED and below in OPEN):
            kind = FindingKind.GAP
        missing = (3, 4) if under else (1, 4)
        holes = {
            finding
            for finding in findings
            if finding.recorded is None and finding.kind in HOLES
        }
        assert holes == ({Finding(kind, "A", missing)} if kind else set())

    @pytest.mark.parametrize("kind", [ItemKind.GUARD, ItemKind.IMPORTED_GUARD])
    def test_guard_without_its_end_is_an_unfinished_seed(self, kind: ItemKind) -> None:
        """A worker takes the number behind it."""
        guard = parse(KINDS[kind][0] | {"number": 2, "reserved_up_to": 9})
        below = parse(ticket_of(1))
        end = parse(number_of(9, **SEED, reserved_up_to=9))

        alone, finished, elsewhere = (
            judge(Window("A", items, below, last=last))
            for items, last in (([guard], 0), ([guard, end], 0), ([guard], 9))
        )

        assert alone == [Finding(FindingKind.UNFINISHED_SEED, "A", (2, 2), recorded=9)]
        assert finished == elsewhere == []
        assert "seed A --last 9;" in alone[0].line(PROGRAM)


HOLES = {FindingKind.GAP, FindingKind.UNFINISHED_SEED}


def moved(fields: dict[str, Any], number: int) -> Item:
    """Return the item of these attributes at another number, with its seed."""
    end = fields.get("reserved_up_to")
    more = {"reserved_up_to": end - 5 + number} if type(end) is int else {}
    return parse(fields | {"number": number} | more)


def chained(*numbers: int) -> tuple[list[Item], dict[RequestKey, KeyRecord | None]]:
    """Return tickets as the worker numbers them, and the records of their keys."""
    requests = [
        CreateTicket(project_id="A", idempotency_key=f"k-{number}", title="t")
        for number in range(1, max(numbers) + 1)
    ]
    block = Block.of(Head(), requests, ASSIGNED_AT, lambda: "s" * 22)
    items: list[Item] = []
    records: dict[RequestKey, KeyRecord | None] = {}
    for request, assignment, salt in block.tickets:
        if assignment.number in numbers:
            items.append(parse(dynamodb_items.ticket_item(request, assignment, salt)))
            fields = dynamodb_items.key_item(request.key, assignment, None)
            records[request.key] = KeyRecord(*request.key, assignment.number, fields)
    return items, records


def window(*numbers: int, **more: Any) -> Window:
    items, records = chained(*numbers)
    return Window("A", items, records=records, **more)


class TestWindow:
    """A line may be written only if the tables with it have no new finding."""

    def test_window_is_clean_when_the_worker_wrote_it(self) -> None:
        assert judge(window(1, 2, 3)) == []

    def test_ticket_in_its_hole_brings_nothing_new_and_ends_the_gap(self) -> None:
        items, records = chained(1, 2, 3)
        before = Window("A", [items[0], items[2]], records=records)

        after = before.having(items[1])

        assert kinds_of(before) == [
            (FindingKind.GAP, 2, 2),
            (FindingKind.KEY_WITHOUT_TICKET, 2),
        ]
        assert judge(after) == []

    def test_ticket_that_halves_a_gap_brings_nothing_new(self) -> None:
        items, records = chained(1, 4, 9)
        before = Window("A", [items[0], items[2]], records=records)

        assert new_findings(judge(before), judge(before.having(items[1]))) == []

    def test_ticket_above_a_hole_is_new(self) -> None:
        items, records = chained(1, 2, 4)
        before = Window("A", items[:2], records=records)

        new = new_findings(judge(before), judge(before.having(items[2])))

        assert new == [Finding(FindingKind.GAP, "A", (3, 3))]

    def test_ticket_of_another_history_breaks_the_one_above(self) -> None:
        """Its own hash may be right: it covers that of the ticket below."""
        items, records = chained(1, 2, 3)
        other = ticket_of(2, origin=EXTERNAL)
        before = Window("A", [items[0], items[2]], records=records)

        after = before.having(parse(other))

        new = new_findings(judge(before), judge(after))
        assert {finding.kind for finding in new} == {
            *(FindingKind.CHANGED, FindingKind.DIFFERING),
        }

    def test_number_that_another_key_s_record_names_is_taken(self) -> None:
        items, records = chained(1, 2)
        [own, other] = records
        named = {own: records[own], other: records[other]}
        before = Window("A", items[:1], records=named)
        foreign = parse(ticket_of(2) | {"idempotency_key": "k-9"})

        new = new_findings(judge(before), judge(before.having(foreign)))

        assert (FindingKind.GIVEN_TWICE, (2,)) in {
            (finding.kind, finding.numbers) for finding in new
        }

    def test_second_ticket_of_a_key_is_new(self) -> None:
        items, records = chained(1, 2)
        second = parse(ticket_of(3) | {"idempotency_key": "k-1"})
        before = Window("A", items, records=records)

        new = new_findings(judge(before), judge(before.having(second)))

        assert new == [Finding(FindingKind.DUPLICATE, "A", (1, 3), "k-1")]

    @pytest.mark.parametrize("has_record", [True, False])
    def test_ticket_whose_time_is_over_may_have_its_key_used_again(
        self, *, has_record: bool
    ) -> None:
        """Its own record still has to agree."""
        items, records = chained(1, 2)
        second = parse(ticket_of(3) | {"idempotency_key": "k-1"})
        [key, _] = records
        own = records[key]
        assert own
        known = {**records, key: own if has_record else None}
        window = Window("A", [*items, second], records=known, expired={3})
        other = replace(own, fields={**own.fields, "assigned_at": "?"})

        findings = judge(replace(window, expired={1, 3}))
        differing = judge(replace(window, records={key: other}, expired={1, 3}))

        assert findings == []
        assert (judge(window) == []) is has_record
        assert [finding.kind for finding in differing] == [FindingKind.DIFFERING]

    def test_item_elsewhere_is_the_ticket_of_a_record(self) -> None:
        """A window need not have the ticket that a record names."""
        items, records = chained(1, 2)
        second = parse(ticket_of(3) | {"idempotency_key": "k-1"})

        findings = judge(
            Window("A", [second], items[1], records=records, others={1: items[0]})
        )

        assert Finding(FindingKind.DUPLICATE, "A", (1, 3), "k-1") in findings

    def test_malformed_item_is_new_once(self) -> None:
        wrong = parse(number_of(2))
        before = window(1)
        after = before.having(wrong)

        new = new_findings(judge(before), judge(after))

        assert [finding.item for finding in new] == ["the ticket A, 2"]
        assert new_findings(judge(after), judge(after)) == []

    def test_changed_text_is_one_finding(self) -> None:
        """The record of its key need not say it, too."""
        items, records = chained(1, 2)
        changed = parse({**items[1].fields, "title": "other"})

        findings = judge(Window("A", [items[0], changed], records=records))

        assert findings == [Finding(FindingKind.CHANGED, "A", (2, 2))]

    def test_line_is_judged_with_the_record_that_is_made_of_it(self) -> None:
        items, records = chained(1, 2)
        [_, key] = records
        before = Window("A", items[:1], records={**records, key: None})

        alone, recorded = before.having(items[1]), before.having(items[1], records[key])

        assert kinds_of(alone) == [(FindingKind.TICKET_WITHOUT_KEY, 2)]
        assert judge(recorded) == []

    def test_first_item_is_judged_by_the_one_below_it(self) -> None:
        items, records = chained(1, 2, 3)

        assert judge(Window("A", items[1:], items[0], records=records)) == []
        without = judge(Window("A", items[1:], records=records))
        assert (FindingKind.GAP, (1, 1)) in {
            (finding.kind, finding.numbers) for finding in without
        }


UNDATED: dict[str, Any] = {"assigned_at": None}
CHANGED: dict[str, Any] = {"title": "other"}
UNKNOWN: dict[str, Any] = {"unheard_of": "x"}
ERASED: dict[str, Any] = {"status": "erased"}
OTHER_HASH = "v1:x"


class TestStanding:
    """A ticket vouches for a record unless it or the ticket before it is in doubt."""

    @pytest.mark.parametrize(
        ("number", "changes", "previous", "problem"),
        [
            (3, {}, "own", ""),
            (1, {}, "own", ""),
            (3, UNDATED, "own", "no date"),
            (3, CHANGED, "own", "the ticket before it"),
            (3, {}, OTHER_HASH, "the ticket before it"),
            (1, CHANGED, "", "the ticket before it"),
            (2, CHANGED, "", "A-1, which has no hash"),
            (3, {}, "", "A-2, which has no hash"),
            (3, {"origin": EXTERNAL}, "own", "the ticket before it"),
            (1, {"origin": EXTERNAL}, "", "the ticket before it"),
            (3, UNKNOWN, "own", "does not know"),
            (3, CHANGED | UNKNOWN, "own", "does not know"),
            (3, ERASED, "own", "erase it again"),
            (3, ERASED | UNKNOWN, "own", "erase it again"),
            (3, {}, None, "missing here and in this file"),
            (3, CHANGED, None, "missing here and in this file"),
        ],
    )
    def test_problem_is_the_first_that_casts_doubt_on_a_ticket(
        self, number: int, changes: dict[str, Any], previous: str | None, problem: str
    ) -> None:
        items, _ = chained(*range(1, number + 1))
        before = Head() if number == 1 else items[-2].head
        ticket = parse({**items[-1].fields, **changes})
        assert isinstance(ticket, Ticket)

        named = problem_of(ticket, before.chain if previous == "own" else previous)

        assert named.endswith(problem)
        assert bool(named) is bool(problem)

    def test_problem_of_a_ticket_is_of_its_content_or_of_its_place(self) -> None:
        of_place = {FindingKind.MISDATED, FindingKind.RESTARTED}

        assert {*get_args(TicketProblem)} - of_place == {*OF_CONTENT}, (
            "add it to OF_CONTENT if import and restore must refuse such a ticket"
        )

    def test_missing_ticket_is_no_problem_when_another_item_vouches(self) -> None:
        [ticket], _ = chained(3)
        assert isinstance(ticket, Ticket)

        assert problem_of(ticket, None, is_vouched=True) == ""
        assert problem_of(ticket, OTHER_HASH, is_vouched=True) != ""


def verdict(number: int, around: Neighbours, *, is_seeded: bool) -> str:
    """Judge a ticket of another system at a number."""
    request = create_ticket("A", f"old-{number}")
    ticket = ExternalTicket(1, number, request, ASSIGNED_AT, is_dated=True)
    return Judge(CALLER).result(ticket, around, None, is_seeded=is_seeded)


class TestExternalNumbers:
    """A ticket of another system stands where the judge has nothing to say."""

    @pytest.mark.parametrize("is_seeded", [True, False])
    @pytest.mark.parametrize("above", ItemKind)
    @pytest.mark.parametrize("below", [None, *ItemKind])
    def test_ticket_may_stand_in_a_hole_as_the_finding_about_it_says(
        self, below: ItemKind | None, above: ItemKind, *, is_seeded: bool
    ) -> None:
        """A first step of a seed lets it before the second."""
        under = moved(KINDS[below][0], 2) if below else None
        over = moved(KINDS[above][0], 6)
        holes = {
            finding.kind
            for finding in judge(Window("A", [over], under))
            if finding.kind in HOLES and finding.recorded is None
        }

        refusal = verdict(4, Neighbours(under, None, over), is_seeded=is_seeded)

        is_open = holes == {FindingKind.UNFINISHED_SEED} and not is_seeded
        assert (refusal == MISSING) is (not holes or is_open)

    @pytest.mark.parametrize("is_seeded", [True, False])
    def test_ticket_may_stand_above_all_items_until_the_seed_is_finished(
        self, *, is_seeded: bool
    ) -> None:
        """Then a worker can have the number; right behind the last one, too."""
        for number in (2, 3):
            around = Neighbours(parse(ticket_of(1)), None, None)

            refusal = verdict(number, around, is_seeded=is_seeded)

            assert (refusal == MISSING) is not is_seeded

    def test_ticket_takes_a_reserved_number_unless_its_seed_is_open(self) -> None:
        end = parse(number_of(6, **SEED, reserved_up_to=6))
        below, right = parse(ticket_of(2)), parse(ticket_of(5))

        verdicts = [
            verdict(6, Neighbours(under, end, None), is_seeded=seeded)
            for under in (below, right)
            for seeded in (True, False)
        ]

        assert [refusal == MISSING for refusal in verdicts] == [False, True, True, True]


class TestNewFindings:
    """A finding is new if it names a number that none of its kind named before."""

    @pytest.mark.parametrize(
        ("before", "after", "new"),
        [
            ([(2, 2)], (2, 2), 0),
            ([(2, 9)], (3, 8), 0),
            ([(2, 9)], (2, 9), 0),
            ([(2, 9)], (2, 10), 1),
            ([(2, 9)], (1, 9), 1),
            ([(2, 5), (6, 9)], (2, 9), 0),
            ([(6, 9), (2, 5)], (2, 9), 0),
            ([(2, 5), (7, 9)], (2, 9), 1),
            ([], (2, 2), 1),
        ],
    )
    def test_range_is_new_when_it_is_not_within_the_ranges_before(
        self, before: Sequence[tuple[int, int]], after: tuple[int, int], new: int
    ) -> None:
        gaps = [Finding(FindingKind.GAP, "A", ends) for ends in before]
        gap = Finding(FindingKind.GAP, "A", after)

        assert len(new_findings(gaps, [gap])) == new

    def test_kind_of_a_finding_counts(self) -> None:
        gap, seed = (Finding(kind, "A", (2, 3)) for kind in sorted(HOLES))

        assert new_findings([gap], [seed]) == [seed]


def kinds_of(window: Window) -> list[tuple[Any, ...]]:
    return [(finding.kind, *finding.numbers) for finding in judge(window)]


class TestNumbers:
    """The database counts items by their kinds, and expects keys of tickets alone."""

    def test_items_are_counted_and_tickets_without_a_record_are_named(self) -> None:
        items = [moved(KINDS[kind][0], place) for place, kind in enumerate(ItemKind, 1)]
        tickets = [item.number for item in items if isinstance(item, Ticket)]

        with AuditDatabase({}) as numbers:
            numbers.add(map(Read, items))
            counts = numbers.counts("A")
            unmatched = [*numbers.unmatched()]

        assert counts == (7, 1, len(ItemKind), 1, 3, 4)
        assert unmatched == [("A", number) for number in tickets]
