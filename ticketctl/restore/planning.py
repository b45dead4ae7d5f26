"""Plans a restore: each number of the file once, from the highest down.

The pure judge has the last word: a line may be written only if the audit of the tables
with the plan in its place has no finding that was not there before.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from ticket_numbering.contract.messages import RequestKey
from ticketctl.ledger.agreement import expiry_of
from ticketctl.ledger.findings import Finding, FindingKind
from ticketctl.ledger.item import Item, Ticket, parse
from ticketctl.ledger.judge import Window, judge, new_findings, ranges_of
from ticketctl.ledger.record import KeyRecord, MalformedRecord
from ticketctl.ledger.sequence import (
    explains_above,
    explains_below,
    guards_a_seed,
    is_given_here,
)
from ticketctl.restore.database import Database, Slot
from ticketctl.restore.deeds import Act, Deed, Form, refused
from ticketctl.restore.verdicts import Candidate, Verdicts

_AT_A_TIME: Final = 500
_HOLES: Final = {FindingKind.GAP, FindingKind.UNFINISHED_SEED}
_OF_CONTENT: Final = {
    *(
        FindingKind.CHANGED,
        FindingKind.NOT_VERIFIABLE,
        FindingKind.ERASED_WITH_TEXT,
        FindingKind.CHAINED_EXTERNAL,
    ),
}
"""Findings about a ticket's content, from which no record is made."""

OTHER: Final = "it is of another history"
"""Of a project such numbers are named once."""


@dataclass
class Outline:
    """What the tables have of a project, beside the file."""

    project_id: str
    last: int
    """The tables' highest number."""
    highest: int
    """The file's."""
    is_whole: bool = False
    """Whether the tables have nothing of it but a part that a restore put back."""
    other: int = 0
    """The first number of another history; 0 without one."""
    is_tied: bool = False
    """Whether a number that both have shows that they are of one history."""
    refusal: str = ""
    """Why nothing of the project goes back."""
    hole: tuple[int, int] | None = None
    """The first numbers above the last one that neither has; nothing goes above."""
    end: int = 0
    """The highest number that goes back, if it is above the last one."""
    findings: list[Finding] = field(default_factory=list)
    """Those of the file by itself, which come along into a project that is empty."""
    records_left: int = 0
    """The count of the file's records that go back with no item."""
    mark: int = 0
    """The number that a restore has reserved, and that goes back last."""

    @property
    def top(self) -> int:
        """The highest number that a window knows of."""
        return max(self.last, self.highest)


@dataclass
class _Run:
    """An unbroken run of external numbers, from its end down."""

    end: int = 0
    below: int = 0

    def order(self, slot: Slot) -> tuple[int, int]:
        """Return the place of a number among the writes: end, guards, the rest."""
        item = slot.own or slot.there
        if item is None or is_given_here(item.kind):
            self.below = 0
            return slot.number, 0
        if slot.number != self.below:
            self.end = slot.number
        self.below = slot.number - 1
        is_end = slot.number == self.end
        return self.end, 0 if is_end else 1 if guards_a_seed(item.kind) else 2


@dataclass(frozen=True)
class Planner:
    """Plans the projects of a database."""

    database: Database
    verdicts: Verdicts

    def plan(self, outline: Outline) -> None:
        """Decide about each number of a project."""
        project_id, number = outline.project_id, outline.top
        above: Item | None = None
        run = _Run()
        while slots := self.database.slots(project_id, number, _AT_A_TIME):
            number = slots[0].number - 1
            [*lower] = self.database.slots(project_id, number, 1)
            below = lower[0] if lower else None
            deeds = self._decide(outline, slots, below, above)
            orders = {slot.number: run.order(slot) for slot in reversed(slots)}
            rows = [
                (slot.number, orders[slot.number], deeds[slot.number])
                for slot in slots
                if slot.own or deeds[slot.number].is_due
            ]
            self.database.set_deeds(project_id, rows)
            above = self._result(slots[0], deeds[slots[0].number])

    def judge_again(self, outline: Outline, number: int) -> Deed:
        """Decide about one number anew, by what the tables have now."""
        project_id = outline.project_id
        slot = self.database.slot(project_id, number)
        [*lower] = self.database.slots(project_id, number - 1, 1)
        above = self.database.neighbour(project_id, number, ">")
        below = lower[0] if lower else None
        return self._decide(outline, [slot], below, above)[number]

    def _decide(
        self,
        outline: Outline,
        slots: Sequence[Slot],
        below: Slot | None,
        above: Item | None,
    ) -> dict[int, Deed]:
        """Decide about slots in ascending order until the judge finds nothing new."""
        refusals: dict[int, Deed] = {}
        while True:
            deeds = self._deeds(outline, slots, below, above, refusals)
            if not any(deed.is_due for deed in deeds.values()):
                return deeds
            findings = self._findings(outline, slots, below, above, deeds)
            if outline.is_whole:
                outline.findings += findings
                return _without_doubtful(findings, deeds)
            new = _blamed(findings, deeds, outline.last)
            if not new:
                return deeds
            refusals |= new

    def _deeds(
        self,
        outline: Outline,
        slots: Sequence[Slot],
        below: Slot | None,
        above: Item | None,
        refusals: Mapping[int, Deed],
    ) -> dict[int, Deed]:
        """Return the deeds, of which each may vouch for the one below."""
        deeds: dict[int, Deed] = {}
        before = [below, *slots[:-1]]
        for slot, lower in zip(reversed(slots), reversed(before), strict=True):
            number = slot.number
            deed = refusals.get(number)
            if deed is None:
                deed = self._deed(outline, slot, lower, above)
            deeds[number] = deed
            above = self._result(slot, deed) or above
        return deeds

    def _deed(
        self, outline: Outline, slot: Slot, lower: Slot | None, above: Item | None
    ) -> Deed:
        number, own = slot.number, slot.own
        is_other = bool(outline.other) and number >= outline.other
        if own and is_other:
            return refused(OTHER)
        database, project_id = self.database, outline.project_id
        key = own.key if isinstance(own, Ticket) else None
        is_next = above is not None and above.number == number + 1
        kept = [*database.naming(project_id, number, is_own=True)]
        known = Candidate(
            slot,
            above if is_next else None,
            lower if lower and lower.number == number - 1 else None,
            database.record(key) if key else None,
            [*database.naming(project_id, number, is_own=False)],
            kept,
            [
                dead_letter
                for dead_letter in kept
                if database.record(dead_letter.key) is None
            ],
            self._rival(slot),
            outline.is_whole,
        )
        deed = self.verdicts.deed(known)
        if deed.form is Form.NONE or is_next or above is None:
            return deed
        return replace(deed, reserves=self._reserves(slot, deed, above))

    def _rival(self, slot: Slot) -> int:
        """Return the number of a ticket that keeps a key's record from the slot's.

        Of two tickets of a key the later takes the record, unless it is missing and
        the other is there; one whose time is over takes none. 0 if there is none.
        """
        if not isinstance(slot.own, Ticket):
            return 0
        key, is_there = slot.own.key, isinstance(slot.there, Ticket)
        for number in sorted(self.database.of_key(key) - {slot.number}, reverse=True):
            if number < slot.number and is_there:
                return 0
            other = self.database.slot(key.project_id, number)
            items = [other.there, other.own if number > slot.number else None]
            for item in items:
                is_of_key = isinstance(item, Ticket) and item.key == key
                if item and is_of_key and self.verdicts.record_of(item):
                    return number
        return 0

    def _reserves(self, slot: Slot, deed: Deed, above: Item) -> int:
        """Return the end of the seed for which the next number, a free one, is taken.

        A slow worker increments past a ticket, never past a reserved number. Behind a
        seed's end it goes on, unless another seed above has taken the next number.
        """
        item, there = self._result(slot, deed), slot.there
        if item is None or explains_above(item.kind):
            return 0
        loses_origin = (
            there is not None
            and not is_given_here(there.kind)
            and is_given_here(item.kind)
        )
        if not (loses_origin or explains_below(above.kind)):
            return 0
        end = there.seed_end if there else 0
        return end if end > slot.number + 1 else above.number

    def _result(self, slot: Slot, deed: Deed) -> Item | None:
        """Return the item that a number has in the end."""
        if deed.form is Form.NONE or slot.own is None:
            return slot.there
        return self.verdicts.terms.formed(deed.form, slot.own, slot.there)

    def _findings(
        self,
        outline: Outline,
        slots: Sequence[Slot],
        below: Slot | None,
        above: Item | None,
        deeds: Mapping[int, Deed],
    ) -> list[Finding]:
        """Return the findings that the deeds would bring."""
        project_id, tables = outline.project_id, self.database.neighbour
        first = slots[0].number
        before = [slot.there for slot in slots if slot.there]
        results = [self._result(slot, deeds[slot.number]) for slot in slots]
        after = [item for item in results if item]
        for number, deed in deeds.items():
            if deed.reserves:
                place = project_id, number + 1
                kept = self.database.kept_hash(*place)
                guard = self.verdicts.terms.reserved(*place, deed.reserves, **kept)
                after.append(parse(guard))
        after.sort(key=lambda item: item.number)
        records = dict(self._records(project_id, [*before, *after]))
        written = dict(records)
        for number, deed in deeds.items():
            if deed.act is Act.PUT and deed.record:
                key = RequestKey(project_id, str(deed.record["idempotency_key"]))
                written[key] = KeyRecord(*key, number, deed.record)
        named = {record.number for record in records.values() if record}
        slots_named = (self.database.slot(project_id, number) for number in named)
        others = {slot.number: slot.there for slot in slots_named if slot.there}
        upper, end = tables(project_id, slots[-1].number, ">"), outline.top
        if upper:
            before.append(upper)
        if above:
            after.append(above)
        expired = {*self._expired([*before, *after])}
        lower = tables(project_id, first, "<")
        of_tables = Window(project_id, before, lower, end, records, others, expired)
        lower = below.nearest if below else None
        of_plan = Window(project_id, after, lower, end, written, others, expired)
        return new_findings(judge(of_tables), judge(of_plan))

    def _expired(self, items: Iterable[Item]) -> Iterator[int]:
        """Yield the numbers of tickets whose keys' time is over, as an audit says."""
        now, days = datetime.now(UTC), self.verdicts.terms.retention_days
        for item in items:
            expiry = expiry_of(item, days) if isinstance(item, Ticket) else None
            if expiry and expiry <= now:
                yield item.number

    def _records(
        self, project_id: str, items: Iterable[Item]
    ) -> Iterator[tuple[RequestKey, KeyRecord | None]]:
        """Yield the tables' records of tickets, and those that name their numbers.

        A key whose time is over may have none, or that of another ticket.
        """
        for item in items:
            for record in self.database.naming(project_id, item.number, is_own=False):
                yield record.key, record
        for item in items:
            if isinstance(item, Ticket) and self.verdicts.record_of(item):
                kept = self.database.record(item.key)
                if not isinstance(kept, MalformedRecord):
                    yield item.key, kept


def _blamed(
    findings: Iterable[Finding], deeds: Mapping[int, Deed], last: int
) -> dict[int, Deed]:
    """Return the refusals of the numbers that would bring findings.

    What a hole above the last number has behind it waits for the hole, and is named
    once.
    """
    due = sorted(number for number, deed in deeds.items() if deed.is_due)
    refusals: dict[int, Deed] = {}
    for finding in findings:
        is_hole = finding.kind in _HOLES and finding.recorded is None
        if is_hole and min(finding.numbers) > last:
            continue
        if finding.kind is FindingKind.DUPLICATE and not any(
            deeds[number].form for number in finding.numbers if number in deeds
        ):
            continue  # Both are there, and a record says which of them counts.
        for first, end in ranges_of(finding):
            within = [number for number in due if first <= number <= end]
            around = [
                number
                for number in due
                if first - 1 <= number + bool(deeds[number].reserves)
                and number <= end + 1
            ]
            for number in within or around:
                why = f"with it the tables would have a finding: {finding.kind}"
                refusals[number] = refused(why)
    return refusals


def _without_doubtful(
    findings: Iterable[Finding], deeds: Mapping[int, Deed]
) -> dict[int, Deed]:
    """Return the deeds without records that would be made of tickets in doubt."""
    doubts = [
        ends
        for finding in findings
        if finding.kind in _OF_CONTENT
        for ends in ranges_of(finding)
    ]
    return {
        number: replace(deed, act=Act.NONE, record=None)
        if deed.is_made and any(low <= number <= high for low, high in doubts)
        else deed
        for number, deed in deeds.items()
    }
