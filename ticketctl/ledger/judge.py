"""Judges items of a project, in ascending order, and returns findings, without I/O.

The audit judges the tables. A command that writes an item judges the tables with the
item in its place, and writes it only if no new finding results.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from operator import attrgetter

from ticket_numbering.contract.dynamodb_items import FINGERPRINT
from ticket_numbering.contract.messages import RequestKey
from ticketctl.ledger.agreement import record_problems, ticket_problems
from ticketctl.ledger.findings import RANGES, Finding, FindingKind, Range
from ticketctl.ledger.item import Item, Malformed, Ticket
from ticketctl.ledger.record import KeyRecord
from ticketctl.ledger.sequence import SequenceCheck, guards_a_seed, hole


@dataclass(frozen=True)
class Window:
    """Items of a project, and the other input of the rules."""

    project_id: str
    items: Sequence[Item]
    """In ascending order."""
    below: Item | None = None
    """The item below the first one; no finding is about this item alone."""
    last: int = 0
    """The project's highest number, if it is not among the items."""
    records: Mapping[RequestKey, KeyRecord | None] = field(default_factory=dict)
    """The records of the tickets' keys, and others with the items' numbers.

    None means a missing record; a key without an entry is not judged.
    """
    others: Mapping[int, Item] = field(default_factory=dict)
    """Other items with the records' numbers, by number."""
    expired: AbstractSet[int] = frozenset()
    """The numbers of tickets whose key records may have expired."""

    def having(self, item: Item, record: KeyRecord | None = None) -> "Window":
        """Return a copy with an item in its place, and with the record of its key."""
        others = [other for other in self.items if other.number != item.number]
        items = sorted([*others, item], key=attrgetter("number"))
        records = dict(self.records)
        if record:
            records[record.key] = record
        return replace(self, items=items, records=records)

    def item(self, number: int) -> Item | None:
        """Return the item of a number, if it is known."""
        known = [self.below, *self.items] if self.below else self.items
        there = (item for item in known if item.number == number)
        return next(there, self.others.get(number))


def judge(window: Window) -> list[Finding]:
    """Return the findings about a window's items and their records."""
    findings: list[Finding] = []
    guards: list[Range] = []
    check, below, kind = SequenceCheck(), 0, None
    if window.below:
        below, kind = window.below.number, window.below.kind
        check.before = window.below.head
    for item in window.items:
        if item.number > below + 1 and (missing := hole(kind, item.kind)):
            ends = below + 1, item.number - 1
            findings.append(Finding(missing, window.project_id, ends))
        is_judged = check.follow(item)
        findings += _of_item(window, item, is_judged=is_judged)
        below, kind = item.number, item.kind
        if guards_a_seed(item.kind):
            guards.append((item.number, item.seed_end))
    for guard in guards:
        findings += unfinished(window.project_id, guard, max(below, window.last))
    findings += [
        Finding(problem, window.project_id, ends) for problem, ends in check.suspects()
    ]
    return [*findings, *_of_other_records(window)]


def new_findings(before: Iterable[Finding], after: Iterable[Finding]) -> list[Finding]:
    """Return the findings with a number that no finding of their kind had before."""
    known: dict[FindingKind, list[Range]] = defaultdict(list)
    items = set[str]()
    for finding in before:
        known[finding.kind] += ranges_of(finding)
        items.add(finding.item)
    return [
        finding
        for finding in after
        if finding.item not in items
        or not all(_is_within(ends, known[finding.kind]) for ends in ranges_of(finding))
    ]


def ranges_of(finding: Finding) -> list[Range]:
    """Return the numbers of a finding as ranges."""
    if finding.kind in RANGES:
        first, last = finding.numbers
        return [(first, last)]
    return [(number, number) for number in finding.numbers]


def malformed(item: Malformed) -> Finding:
    """Return the finding about a malformed item of the Tickets table."""
    name = f"the ticket {item.project_id}, {item.fields['number']}"
    return Finding(FindingKind.MALFORMED, item.project_id, item=name)


def unfinished(project_id: str, guard: Range, last: int) -> Iterator[Finding]:
    """Yield the finding about the guard of a seed whose end is missing.

    The end is reserved first; without it a worker takes the numbers between. An end
    below the last number is in a gap, or has an item.
    """
    number, end = guard
    if end > last:
        ends = number, number
        yield Finding(FindingKind.UNFINISHED_SEED, project_id, ends, recorded=end)


def _of_item(window: Window, item: Item, *, is_judged: bool) -> Iterator[Finding]:
    """Yield the findings about an item alone, and about the record of its key.

    If the chain judges its text, the record need not.
    """
    if isinstance(item, Malformed):
        yield malformed(item)
    if not isinstance(item, Ticket):
        return
    if item.key in window.records:
        record = window.records[item.key]
        is_own = record is not None and record.number == item.number
        if item.number in window.expired and not is_own:
            return
        named = window.item(record.number) if record else None
        for finding in ticket_problems(item, record, named):
            if not (is_judged and finding.detail == FINGERPRINT):
                yield finding


def _of_other_records(window: Window) -> Iterator[Finding]:
    """Yield the findings about records of keys that no ticket of the window has."""
    own = {item.key for item in window.items if isinstance(item, Ticket)}
    for key, record in window.records.items():
        if record and key not in own:
            yield from record_problems(record, window.item(record.number))


def _is_within(ends: Range, known: Iterable[Range]) -> bool:
    """Return whether the union of known ranges has every number of a range."""
    first, last = ends
    for low, high in sorted(known):
        if low <= first <= high:
            first = high + 1
    return first > last
