"""The known-bad rules: each breaks a promise on a path from empty tables.

A schedule names the steps of the path; which worker, number and key each of them takes
is for Z3 to find, and there is no such path while the rule is kept.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import z3

from induction.domain import KEY, NUMBER, OPERATOR, WORKER, YES, Domain, Term
from induction.promises import (
    A_NUMBER_STAYS,
    CAPS,
    CHAIN,
    DATES,
    GAPLESS,
    NOTHING_BETWEEN,
    ONE_NUMBER,
    REFUSALS_STAND,
    OfStep,
    Promise,
)
from induction.state import DAY, IDLE, IMPORTED, NOTHING, State


@dataclass(frozen=True)
class Rule:
    """A rule, and the path on which a promise is broken without it."""

    name: str
    breaks: Promise
    schedule: str


SEED: Final = "jump look reserve finish"

RULES: Final[Sequence[Rule]] = (
    # A number that was cached, or met a conflict, and may never be committed.
    Rule("only what is committed counts", GAPLESS, "learn block"),
    # Increment by the block's length.
    Rule("past the taken run alone", GAPLESS, "block learn block"),
    Rule("a number if it is free", A_NUMBER_STAYS, "block block"),
    Rule("a key if it has no record", ONE_NUMBER, "block learn block"),
    Rule("each ticket with its key", ONE_NUMBER, "block learn block"),
    Rule("not past reserved numbers", GAPLESS, f"{SEED} learn block"),
    Rule("not past imported numbers", GAPLESS, "jump read_above import learn block"),
    Rule("consistent read", GAPLESS, f"{SEED} query block"),
    Rule("a second put", NOTHING_BETWEEN, f"{SEED} block"),
    Rule("a failed put is none", NOTHING_BETWEEN, "jump look block reserve finish"),
    Rule(
        "every end is closed",
        NOTHING_BETWEEN,
        "jump query jump look look reserve finish block",
    ),
    Rule(
        "a lost number is an end",
        NOTHING_BETWEEN,
        "block learn lose jump look look finish block",
    ),
    Rule("no import over a ticket", A_NUMBER_STAYS, "block jump read_above import"),
    Rule("no import over a key", ONE_NUMBER, "block jump read_above import"),
    Rule("an import below a seed's end", GAPLESS, "import query block"),
    Rule(
        "a seed's marks stay",
        NOTHING_BETWEEN,
        "jump query read_above import jump look look reserve finish block",
    ),
    Rule("an external run end first", GAPLESS, "put_back_external query block"),
    Rule("the end before what goes back", CHAIN, "block learn put_back block"),
    Rule(
        "the next number is reserved", NOTHING_BETWEEN, f"{SEED} put_back learn block"
    ),
    Rule("no ticket back over another", A_NUMBER_STAYS, f"{SEED} put_back put_back"),
    Rule("a lost number to its own ticket", A_NUMBER_STAYS, "block lose put_back"),
    Rule("no ticket back over a key", ONE_NUMBER, f"{SEED} put_back put_back"),
    Rule("no ticket back unvouched", CHAIN, f"{SEED} put_back put_back"),
    Rule("no mark without a ticket", GAPLESS, "block mark"),
    Rule("origin stays", GAPLESS, "jump read_above import mark"),
    Rule("no number above its cap", CAPS, "block"),
    # A finished seed excuses nothing.
    Rule(
        "no refusal of a numbered request", REFUSALS_STAND, f"block learn {SEED} refuse"
    ),
    Rule("once the numbers have reached it", REFUSALS_STAND, "refuse block"),
    Rule("the head's own chain", CHAIN, "block learn block"),
    Rule("no date before the head's", DATES, "block learn block"),
)

CONDITIONS: Final[Sequence[Rule]] = (
    Rule("clocks within a day", DATES, "block learn block"),
    Rule("while records are kept", ONE_NUMBER, "block expire learn block"),
    Rule("until a seed is finished", REFUSALS_STAND, "jump query refuse block"),
)
"""They stand beside their promises in docs/proof.md."""


class Chosen:
    """Numbers, and who takes a step, which Z3 is free to choose."""

    def __init__(self, d: Domain) -> None:
        """Choose within a domain."""
        self.n, self.m, self.cap = (d.fresh(NUMBER) for _ in range(3))
        self.k, self.w, self.o = map(d.fresh, (KEY, WORKER, OPERATOR))


Shown = Callable[[State, State, Chosen], Sequence[Term]]
"""Formulas about the states before and after the last step of a path."""


def _is_inner(s: State, n: Term) -> Term:
    return z3.And(s.external(n), z3.Not(s.ends(n)), z3.Not(s.topped(n)))


PATHS: Final[Mapping[str, Shown]] = {
    "block learn block mark lose tick expire refuse": lambda *_: [YES],
    "jump adopt look reserve again look look finish read_above import query": (
        lambda *_: [YES]
    ),
    # Two tickets in a block.
    "block": lambda _, s, x: [x.n > 0, s.ticket(x.n), s.ticket(x.n + 1)],
    # A query that misses a ticket; a refusal by a head that is not the last ticket.
    "block query": lambda _, s, x: [s.seen(x.w) > 0, s.seen(x.w) < x.n, s.ticket(x.n)],
    "block learn refuse": lambda _, s, x: [
        *(x.cap > 0, s.refused(x.k, x.cap), s.ticket(x.n)),
        *(s.refused_at(x.k, x.cap) > x.cap, s.refused_at(x.k, x.cap) < x.n),
    ],
    # A ticket is lost beside a seed, and the last one before the next.
    "block jump lose": lambda _, s, x: [s.lost(x.n), x.n > 0, s.phase(x.o) != IDLE],
    "block learn lose block": lambda b, s, x: [
        *(x.n > 0, s.lost(x.n), s.ticket(x.n + 1), z3.Not(b.ticket(x.n + 1)))
    ],
    # A seed below a ticket, and one below another that is at work: it began later,
    # or it would have been the highest.
    "jump query block jump": lambda b, s, x: [
        *(s.external(x.n), z3.Not(b.external(x.n)), x.n < x.m, b.ticket(x.m))
    ],
    "jump jump look reserve finish": lambda _, s, x: [
        *(x.n < x.m, s.finished(x.n), z3.Not(s.topped(x.n)), s.topped(x.m)),
        *(s.phase(x.o) != IDLE, s.last(x.o) == x.m),
    ],
    # A seed up to a number that ends none; one that misses a ticket, or reads again.
    "jump look reserve adopt": lambda b, s, x: [
        *(_is_inner(s, s.last(x.o)), s.last(x.o) != b.last(x.o))
    ],
    "jump block look": lambda _, s, x: [s.due(x.o, 1), s.ticket(1)],
    "jump look again": lambda b, s, x: [b.cursor(x.o) < s.cursor(x.o)],
    # An import over a reserved number, below a ticket, below an item that ends no seed.
    "jump read_above import": lambda b, s, x: [b.ends(x.n), s.kind(x.n) == IMPORTED],
    "jump query block jump read_above import": lambda b, s, x: [
        *(s.kind(x.n) == IMPORTED, b.kind(x.n) != IMPORTED),
        *(x.n < x.m, s.ticket(x.m), x.m < s.above(x.o)),
    ],
    "jump look reserve read_above": lambda _, s, x: [_is_inner(s, s.above(x.o))],
    # A restore into a hole, over a guard, an end, an imported and a lost ticket.
    f"{SEED} put_back": lambda b, s, x: [
        *(x.n > 0, s.ticket(x.n), b.kind(x.n) == NOTHING)
    ],
    f"block {SEED} learn put_back": lambda b, s, x: [
        *(s.ticket(x.n), b.external(x.n), z3.Not(b.ends(x.n)), x.n > 1),
        *(s.external(x.n + 1), z3.Not(b.item(x.n + 1))),
    ],
    f"{SEED} query put_back": lambda b, s, x: [
        *(s.ticket(x.n), b.topped(x.n), z3.Not(b.lost(x.n)), s.seen(x.w) == x.n)
    ],
    f"{SEED} read_above import put_back": lambda b, s, x: [
        *(s.ticket(x.n), b.kind(x.n) == IMPORTED)
    ],
    "block learn lose query put_back": lambda b, s, x: [
        *(s.ticket(x.n), b.lost(x.n), s.seen(x.w) == x.n)
    ],
    # Two tickets in a row, the higher one first; a reserved number, and an inner end.
    f"{SEED} put_back put_back": lambda b, s, x: [
        *(x.n > 0, s.ticket(x.n), s.ticket(x.n + 1), b.ticket(x.n + 1))
    ],
    "jump read_above put_back_external": lambda b, s, x: [
        *(s.external(x.n), s.ends(x.n), z3.Not(b.item(x.n)))
    ],
    # Days without a message.
    "block tick": lambda b, s, _: [s.clock() > b.clock() + DAY],
}
"""With every rule kept, each step is taken, and the last one can have this effect.

A guard that asks for too much makes each proof easier, so these keep the model wide.
"""


def witness(shown: Shown) -> OfStep:
    """Return the formula that a path must fulfil, for values that Z3 chooses."""
    return lambda before, s, d, _rules: z3.And(*shown(before, s, Chosen(d)))
