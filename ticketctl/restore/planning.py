"""Plans a restore: a step for each number of the file, from the highest down."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from ticketctl.ledger.item import Item, Ticket
from ticketctl.ledger.sequence import explains_above, explains_below, is_given_here
from ticketctl.restore.database import Database, Slot
from ticketctl.restore.deciding import Candidate, Decider
from ticketctl.restore.objections import Stretch, blamed, new_in, without_doubtful
from ticketctl.restore.outlines import Outline
from ticketctl.restore.plan import OTHER, Order
from ticketctl.restore.steps import Form, Step, refused

_AT_A_TIME: Final = 500


@dataclass(frozen=True)
class Planner:
    """Plans the projects of a database."""

    database: Database
    decider: Decider

    def plan(self, outline: Outline) -> None:
        """Decide about each number of a project."""
        project_id, number = outline.project_id, outline.top
        above: Item | None = None
        order = Order()
        while slots := self.database.slots(project_id, number, _AT_A_TIME):
            number = slots[0].number - 1
            steps = self._decide(outline, self._stretch(project_id, slots, above))
            rows = [
                (slot.number, order.place(slot.number, slot.nearest), step)
                for slot in reversed(slots)
                for step in [steps[slot.number]]
            ]
            self.database.plan.set_steps(project_id, rows)
            above = self._result(slots[0], steps[slots[0].number])

    def judge_again(self, outline: Outline, number: int) -> Step:
        """Return a new step for a number, by the current state of the tables."""
        project_id = outline.project_id
        slot = self.database.slot(project_id, number)
        above = self.database.neighbour(project_id, number, ">")
        stretch = self._stretch(project_id, [slot], above)
        return self._decide(outline, stretch)[number]

    def _stretch(
        self, project_id: str, slots: list[Slot], above: Item | None
    ) -> Stretch:
        below = self.database.slots(project_id, slots[0].number - 1, 1)
        return Stretch(project_id, slots, below[0] if below else None, above)

    def _decide(self, outline: Outline, stretch: Stretch) -> dict[int, Step]:
        """Return the steps of a stretch, revised until no new finding results."""
        refusals: dict[int, Step] = {}
        while True:
            steps = self._steps(outline, stretch, refusals)
            if not any(step.is_due for step in steps.values()):
                return steps
            findings = new_in(self.database, self.decider, stretch, steps, outline.top)
            if outline.is_whole:
                outline.findings += findings
                return without_doubtful(findings, steps)
            new = blamed(findings, steps, outline.last)
            if not new:
                return steps
            refusals |= new

    def _steps(
        self, outline: Outline, stretch: Stretch, refusals: Mapping[int, Step]
    ) -> dict[int, Step]:
        """Return the steps of a stretch; each may vouch for the one below."""
        steps: dict[int, Step] = {}
        above, slots = stretch.above, stretch.slots
        before = [stretch.below, *slots[:-1]]
        for slot, lower in zip(reversed(slots), reversed(before), strict=True):
            step = refusals.get(slot.number)
            if step is None:
                step = self._step(outline, slot, lower, above)
            steps[slot.number] = step
            above = self._result(slot, step) or above
        return steps

    def _step(
        self, outline: Outline, slot: Slot, lower: Slot | None, above: Item | None
    ) -> Step:
        number, own, records = slot.number, slot.own, self.database.records
        if own and outline.other and number >= outline.other:
            return refused(OTHER)
        is_next = above is not None and above.number == number + 1
        kept = [*records.naming(outline.project_id, number, is_own=True)]
        candidate = Candidate(
            slot,
            above if is_next else None,
            lower if lower and lower.number == number - 1 else None,
            records.of_key(own.key) if isinstance(own, Ticket) else None,
            [*records.naming(outline.project_id, number, is_own=False)],
            kept,
            [record for record in kept if records.of_key(record.key) is None],
            self._rival(slot),
            outline.is_whole,
        )
        step = self.decider.step(candidate)
        if step.form is Form.NONE or is_next or above is None:
            return step
        return replace(step, reserves=self._reserves(slot, step, above))

    def _rival(self, slot: Slot) -> int:
        """Return the number of another ticket that gets the key's record; 0 if none.

        The later of two tickets of a key gets the record, unless it is missing and the
        other exists. A ticket whose record has expired gets none.
        """
        if not isinstance(slot.own, Ticket):
            return 0
        key, is_there = slot.own.key, isinstance(slot.there, Ticket)
        for number in self.database.of_key(key):
            is_later = number > slot.number
            if number == slot.number or (is_there and not is_later):
                continue
            other = self.database.slot(key.project_id, number)
            for item in (other.there, other.own if is_later else None):
                is_of_key = isinstance(item, Ticket) and item.key == key
                if item and is_of_key and self.decider.record_of(item):
                    return number
        return 0

    def _reserves(self, slot: Slot, step: Step, above: Item) -> int:
        """Return the end of the seed for which the next, free number is reserved.

        A slow worker increments past a ticket, never past a reserved number. After a
        seed's end it continues, unless another seed above has taken the next number.
        """
        item, there = self._result(slot, step), slot.there
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

    def _result(self, slot: Slot, step: Step) -> Item | None:
        """Return the item that a number has in the end."""
        return self.decider.terms.result(slot.own, slot.there, step)
