"""The known-bad rules: each breaks a promise on a path from empty tables.

A schedule names the steps of the path; which worker, number and key each of them takes
is for Z3 to find, and there is no such path while the rule is kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import z3

from induction.domain import NUMBER, YES, Domain, Term
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
from induction.state import IMPORTED, RESERVED, State
from induction.steps import Rules


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
    Rule("no mark without a ticket", GAPLESS, "block mark"),
    Rule("origin stays", GAPLESS, "jump read_above import mark"),
    Rule("no number above its cap", CAPS, "block"),
    Rule("no refusal of a numbered request", REFUSALS_STAND, "block learn refuse"),
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


def _anything(_: State, s: State, d: Domain, rules: Rules) -> Term:
    return YES


def _a_seed_below_another(_: State, s: State, d: Domain, rules: Rules) -> Term:
    """It began after the other one, or it would have been the highest."""

    def is_below(n: Term, m: Term) -> Term:
        return z3.And(n < m, s.finished(n), z3.Not(s.topped(n)), s.topped(m))

    return d.some([NUMBER, NUMBER], is_below)


def _over_a_reserved_number(before: State, s: State, d: Domain, rules: Rules) -> Term:
    def is_over(n: Term) -> Term:
        return z3.And(before.kind(n) == RESERVED, s.kind(n) == IMPORTED)

    return d.some([NUMBER], is_over)


PATHS: Final[Mapping[str, OfStep]] = {
    "block learn block mark lose tick expire refuse": _anything,
    "jump adopt look reserve again look look finish read_above import query": _anything,
    "jump jump look reserve finish": _a_seed_below_another,
    "jump read_above import": _over_a_reserved_number,
}
"""With every rule kept, each step is taken; and what the last one shows can happen."""
