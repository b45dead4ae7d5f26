"""The state: the tables, workers, operators, and ghost variables of the proof.

Each field is a function of Python, so that a step states only its changes.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

import z3

from induction.domain import (
    HASH,
    KEY,
    NO,
    NO_CHAIN,
    NUMBER,
    OPERATOR,
    WORKER,
    Domain,
    Term,
)

NOTHING: Final = 0
TICKET: Final = 1
RESERVED: Final = 2
IMPORTED: Final = 3
"""The kinds of items; the last two have `origin`."""

IDLE: Final = 0
SCANNING: Final = 1
CLOSING: Final = 2
"""The phases of an operator's seed: after its first put it reads, then puts again."""

NO_DATE: Final = -1
DAY: Final = z3.Int("day")
"""In any unit."""

Of = Callable[[Term], Term]
Of2 = Callable[[Term, Term], Term]

INTEGER: Final = z3.IntSort()
BOOLEAN: Final = z3.BoolSort()


def of(*kinds: str, sort: Any = INTEGER, start: Term = None) -> Any:
    """Declare a function of the state; without a start it may be anything there."""
    return field(metadata={"kinds": (*kinds, sort), "start": start})


@dataclass(frozen=True)
class State:
    """A project's committed items and key records, and each actor's local state."""

    kind: Of = of(NUMBER, start=z3.IntVal(NOTHING))
    """The attributes of a number."""
    ends: Of = of(NUMBER, sort=BOOLEAN, start=NO)
    """Whether its item says that it ends a seed (`reserved_up_to` is itself)."""
    key: Of = of(NUMBER, sort=KEY)
    chain: Of = of(NUMBER, sort=HASH)
    date: Of = of(NUMBER)
    record: Of = of(KEY, start=z3.IntVal(0))
    """The number in a key's record; 0: there is none."""
    seen: Of = of(WORKER, start=z3.IntVal(0))
    """The number before the one that a worker tries next: the head's."""
    seen_chain: Of = of(WORKER, sort=HASH, start=NO_CHAIN)
    seen_date: Of = of(WORKER, start=z3.IntVal(NO_DATE))
    phase: Of = of(OPERATOR, start=z3.IntVal(IDLE))
    last: Of = of(OPERATOR)
    """The last number of an operator's seed."""
    cursor: Of = of(OPERATOR)
    """The item up to which, downwards, the operator has read."""
    due: Of2 = of(OPERATOR, NUMBER, sort=BOOLEAN, start=NO)
    """Whether the operator will reserve a number."""
    above: Of = of(OPERATOR, start=z3.IntVal(0))
    """The external item that an operator's import has read."""
    clock: Callable[[], Term] = of(start=z3.IntVal(0))
    """The earliest reading of any clock; the latest one is a day later."""

    # Ghosts, which no guard reads, but `lost`: a reserved item with a chain shows it.
    finished: Of = of(NUMBER, sort=BOOLEAN, start=NO)
    """Whether the seed that ends at a number is finished."""
    base: Of = of(NUMBER)
    """The last number of the old sequence, for a finished seed."""
    lost: Of = of(NUMBER, sort=BOOLEAN, start=NO)
    """Whether a reserved item stands for a ticket that was lost, and has its chain."""
    topped: Of = of(NUMBER, sort=BOOLEAN, start=NO)
    """Whether an external item ever was the highest of its kind: readable."""
    witness: Of = of(NUMBER)
    """An external item above one that never was the highest."""
    start: Of = of(NUMBER)
    """The head after which the run of tickets that a ticket belongs to starts."""
    low: Of2 = of(OPERATOR, NUMBER)
    high: Of2 = of(OPERATOR, NUMBER)
    """The stretch between two items in which an operator, reading, saw no other."""
    covers: Of = of(NUMBER, sort=HASH)
    """The chain that a ticket's own one covers."""
    filled: Of = of(NUMBER, sort=BOOLEAN, start=NO)
    """Whether a restore put the ticket where no worker of this history gave one."""
    kept: Of = of(NUMBER, sort=BOOLEAN, start=NO)
    """Whether a restore put the ticket in the place of an external item."""
    over: Of = of(NUMBER)
    """The seed's end up to which a ticket was filled in."""
    under: Of = of(NUMBER)
    """The last number of the old sequence below a ticket that was filled in."""
    expired: Of = of(KEY, sort=BOOLEAN, start=NO)
    """Whether a key's record was ever deleted."""
    cap: Of = of(NUMBER)
    """The cap of the request that a ticket answers."""
    refused: Of2 = of(KEY, NUMBER, sort=BOOLEAN, start=NO)
    """Whether a request of a key was refused at a cap."""
    refused_at: Of2 = of(KEY, NUMBER)
    """The head's number at that refusal."""

    def where(self, is_there: Callable[[Term], Term], **values: Term) -> "State":
        """Return a state with other values in some places."""

        def put(of: Of, value: Term) -> Of:
            return lambda x: z3.If(is_there(x), value, of(x))

        changes: Any = {n: put(getattr(self, n), value) for n, value in values.items()}
        return replace(self, **changes)

    def at(self, place: Term, **values: Term) -> "State":
        """Return a state with other values in one place."""
        return self.where(lambda x: x == place, **values)

    def along(self, first: Term, **rows: Of) -> "State":
        """Return a state with other rows of functions of two places."""

        def put(of: Of2, row: Of) -> Of2:
            return lambda x, y: z3.If(x == first, row(y), of(x, y))

        changes: Any = {n: put(getattr(self, n), row) for n, row in rows.items()}
        return replace(self, **changes)

    def ticket(self, n: Term) -> Term:
        """Whether a worker gave the number."""
        return self.kind(n) == TICKET

    def external(self, n: Term) -> Term:
        """Whether the number has an item with `origin`."""
        return z3.Or(self.kind(n) == RESERVED, self.kind(n) == IMPORTED)

    def item(self, n: Term) -> Term:
        """Whether the number has an item."""
        return self.kind(n) != NOTHING

    def given(self, n: Term) -> Term:
        """Whether a worker gave the number, and its ticket may be lost since."""
        return z3.Or(self.ticket(n), self.lost(n))

    def keyed(self, n: Term) -> Term:
        """Whether a request has the number."""
        return z3.Or(self.given(n), self.kind(n) == IMPORTED)

    def back(self, n: Term) -> Term:
        """Whether a restore put the ticket back."""
        return z3.Or(self.filled(n), self.kept(n))

    def placed(self, n: Term) -> Term:
        """Whether an operator's item is there, which no query misses."""
        return z3.Or(self.external(n), z3.And(self.ticket(n), self.kept(n)))

    def head(self, n: Term) -> Term:
        """Whether a worker can hold the number."""
        return z3.Or(n == 0, self.ticket(n), self.topped(n))

    def link(self, n: Term) -> Term:
        """Return the chain that the ticket after a number covers."""
        return z3.If(z3.And(n > 0, self.given(n)), self.chain(n), NO_CHAIN)


def any_state(domain: Domain) -> State:
    """Return a state of which nothing is known."""
    return State(
        **{
            attribute.name: domain.function(
                *attribute.metadata["kinds"], name=attribute.name
            )
            for attribute in fields(State)
        }
    )


def empty_tables(domain: Domain) -> State:
    """Return the state before the first message."""
    known = {
        attribute.name: (lambda *_, value=attribute.metadata["start"]: value)
        for attribute in fields(State)
        if attribute.metadata["start"] is not None
    }
    return replace(any_state(domain), **known)
