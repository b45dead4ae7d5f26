"""The rules of a sequence: the numbers around an item, by its kind."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, assert_never

from ticket_numbering.contract.chain import MAX_AHEAD
from ticket_numbering.contract.dynamodb_items import ASSIGNED_AT, CHAIN
from ticket_numbering.contract.field_types import moment_of
from ticket_numbering.contract.head import Head
from ticketctl.ledger.chain import chain_problem, is_uncovered, of_erased, text_of
from ticketctl.ledger.findings import FindingKind, Range, TicketProblem, Unfit
from ticketctl.ledger.item import Item, ItemKind, Ticket

_JUDGED: Final = {FindingKind.CHANGED, FindingKind.NOT_VERIFIABLE}


def explains_below(kind: ItemKind) -> bool:
    """Return whether the numbers right before it may be external, without items.

    All numbers before a number of the worker, or of a seed's guard, have items.
    """
    match kind:
        case ItemKind.IMPORTED | ItemKind.IMPORTED_END:
            return True
        case ItemKind.END | ItemKind.RESERVED:
            return True
        case ItemKind.NUMBERED | ItemKind.VOIDED | ItemKind.ERASED | ItemKind.LOST:
            return False
        case ItemKind.GUARD | ItemKind.IMPORTED_GUARD | ItemKind.MALFORMED:
            return False
        case _:
            assert_never(kind)


def explains_above(kind: ItemKind) -> bool:
    """Return whether the numbers right after it may be external, without items.

    A lost ticket was numbered here, and a worker may continue after the end of a seed.
    """
    match kind:
        case ItemKind.IMPORTED | ItemKind.IMPORTED_GUARD:
            return True
        case ItemKind.GUARD | ItemKind.RESERVED:
            return True
        case ItemKind.NUMBERED | ItemKind.VOIDED | ItemKind.ERASED | ItemKind.LOST:
            return False
        case ItemKind.END | ItemKind.IMPORTED_END | ItemKind.MALFORMED:
            return False
        case _:
            assert_never(kind)


def is_given_here(kind: ItemKind) -> bool:
    """Return whether a worker assigned the number, as far as the item shows."""
    match kind:
        case ItemKind.NUMBERED | ItemKind.VOIDED | ItemKind.ERASED | ItemKind.MALFORMED:
            return True
        case ItemKind.IMPORTED | ItemKind.IMPORTED_GUARD | ItemKind.IMPORTED_END:
            return False
        case ItemKind.GUARD | ItemKind.END | ItemKind.RESERVED | ItemKind.LOST:
            return False
        case _:
            assert_never(kind)


def ends_a_seed(kind: ItemKind) -> bool:
    """Return whether a worker may write the number right after this external one."""
    return kind in {ItemKind.END, ItemKind.IMPORTED_END, ItemKind.LOST}


def guards_a_seed(kind: ItemKind) -> bool:
    """Return whether a seed reserved the number against a slow worker."""
    return kind in {ItemKind.GUARD, ItemKind.IMPORTED_GUARD}


def hole(below: ItemKind | None, above: ItemKind) -> FindingKind | None:
    """Return the finding about missing numbers between two items.

    None if both items explain the numbers.
    """
    is_external = explains_below(above)
    # Among external numbers only the malformed item is a finding, not its neighbours.
    is_open = below is not None and explains_above(below)
    if is_open and (is_external or above is ItemKind.MALFORMED):
        return None
    return FindingKind.UNFINISHED_SEED if is_external else FindingKind.GAP


@dataclass
class SequenceCheck:
    """Checks a project's items in ascending order, and collects runs of suspects.

    It keeps only the last item's head and the runs in memory.
    """

    before: Head = field(default_factory=Head)
    runs: dict[TicketProblem, list[Range]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """The ranges of tickets with a problem, by its kind."""
    unlinked: list[Range] = field(default_factory=list)
    """The tickets right after a missing one; their hashes are not checked."""
    is_out_of_order: bool = False
    """Whether an item came out of order: DynamoDB guarantees no order of a scan."""

    def follow(self, item: Item) -> bool:
        """Check the next item; return whether the chain judges its text.

        So a changed text counts once, and not also as a difference from the record.
        """
        if item.number <= self.before.number:
            self.is_out_of_order = True
            return False
        is_next = item.number == self.before.number + 1
        fit: Unfit | None = None
        if isinstance(item, Ticket):
            before = self.before if is_next else Head()
            fit = chain_problem(item, before.chain) if CHAIN in item.fields else None
            for kind in problems(item, before, fit):
                is_unlinked = kind is FindingKind.CHANGED and not is_next
                runs = self.unlinked if is_unlinked else self.runs[kind]
                _add(runs, self._place_of(kind, item))
        self.before = item.head
        return is_next and fit in _JUDGED

    @property
    def suspect_count(self) -> int:
        """The count of runs."""
        return sum(map(len, self.runs.values())) + len(self.unlinked)

    def suspects(self) -> Iterator[tuple[TicketProblem, Range]]:
        """Yield the runs."""
        for kind, runs in self.runs.items():
            for ends in runs:
                yield kind, ends

    def _place_of(self, kind: TicketProblem, item: Ticket) -> int:
        """Return the number of a problem: the item's, or the one before it.

        If two dates are in the wrong order, the first is wrong if no worker writes its
        form, or follows a date that far ahead.
        """
        if kind is not FindingKind.MISDATED:
            return item.number
        date = moment_of(self.before.assigned_at)
        after = moment_of(item.fields.get(ASSIGNED_AT))
        is_wrong = date is None or (after is not None and date - after > MAX_AHEAD)
        return item.number - is_wrong


def _add(runs: list[Range], number: int) -> None:
    """Add a number to the last run, or begin one."""
    if runs and number - runs[-1][1] <= 1:
        runs[-1] = runs[-1][0], number
    else:
        runs.append((number, number))


def problems(
    ticket: Ticket, before: Head, fit: Unfit | None
) -> Iterator[TicketProblem]:
    """Yield the problems of a ticket after the item before it.

    A date before the previous date is a problem of either ticket. The head is empty if
    the number before has no item; `fit` is the problem of the ticket's hash.
    """
    if ticket.is_erased:
        yield from of_erased(ticket)
    if CHAIN not in ticket.fields:
        return
    if not is_given_here(ticket.kind):
        yield FindingKind.CHAINED_EXTERNAL
    elif is_uncovered(ticket):
        yield FindingKind.NOT_VERIFIABLE
    # Dates of the one form that the worker writes sort as texts.
    date = text_of(ticket, ASSIGNED_AT)
    if date is not None and date < (before.assigned_at or ""):
        yield FindingKind.MISDATED
    if fit:
        yield fit
