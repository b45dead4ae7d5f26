"""The promises, each of a step: the state before it, and the one after it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import z3

from induction import invariant
from induction.domain import KEY, NUMBER, Domain, Term
from induction.state import State
from induction.steps import Rules

OfStep = Callable[[State, State, Domain, Rules], Term]
"""A formula about the states before and after a step."""


@dataclass(frozen=True)
class Promise:
    """A promise; its conditions can be dropped, as rules can."""

    name: str
    holds: OfStep


def _of_state(name: str, holds: invariant.Property) -> Promise:
    return Promise(name, lambda _before, s, d, _rules: holds(s, d))


def _gapless(before: State, s: State, d: Domain, rules: Rules) -> Term:
    """A ticket comes after the number before it: a ticket's, or a seed's end.

    One that a restore puts back was given before.
    """

    def follows(n: Term) -> Term:
        end = z3.And(s.external(n - 1), s.ends(n - 1))
        is_new = z3.And(s.ticket(n), z3.Not(before.ticket(n)), z3.Not(s.back(n)))
        return z3.Implies(is_new, z3.Or(n == 1, s.given(n - 1), end))

    return d.every([NUMBER], follows)


def _a_number_stays(before: State, s: State, d: Domain, rules: Rules) -> Term:
    """A number is given once, and stays with its request."""

    def stays(n: Term) -> Term:
        return z3.Implies(
            before.given(n), z3.And(s.given(n), s.key(n) == before.key(n))
        )

    return d.every([NUMBER], stays)


def _one_number(_: State, s: State, d: Domain, rules: Rules) -> Term:
    """A key has one number, while records are kept."""

    def is_one(n: Term, m: Term) -> Term:
        same = z3.And(s.keyed(n), s.keyed(m), s.key(n) == s.key(m))
        expired = z3.And(rules.keeps("while records are kept"), s.expired(s.key(n)))
        return z3.Implies(same, z3.Or(n == m, expired))

    return d.every([NUMBER, NUMBER], is_one)


def _nothing_between(_: State, s: State, d: Domain, rules: Rules) -> Term:
    """A finished seed's gap has no ticket but those that a restore put there."""

    def is_free(m: Term, n: Term) -> Term:
        inside = z3.And(s.finished(m), s.base(m) < n, n < m)
        return z3.Implies(inside, z3.Or(z3.Not(s.ticket(n)), s.back(n)))

    return d.every([NUMBER, NUMBER], is_free)


def _refusals_stand(before: State, s: State, d: Domain, rules: Rules) -> Term:
    """A request refused at a cap gets no number up to it, once seeds are finished.

    One that a restore puts back had its number before.
    """

    def stands(k: Term, cap: Term) -> Term:
        n = s.record(k)
        is_new = z3.Or(z3.Not(before.refused(k, cap)), before.record(k) != n)
        own = z3.Not(s.back(n))
        contradicts = z3.And(
            s.refused(k, cap), n > 0, n <= cap, s.ticket(n), is_new, own
        )
        is_unfinished = z3.And(
            rules.keeps("until a seed is finished"),
            d.some(
                [NUMBER], lambda m: z3.And(is_end(s, m), m > n, z3.Not(s.finished(m)))
            ),
        )
        return z3.Implies(contradicts, is_unfinished)

    return d.every([KEY, NUMBER], stands)


def is_end(s: State, n: Term) -> Term:
    """Return whether a number is a seed's end that was the highest."""
    return z3.And(s.topped(n), z3.Or(z3.Not(s.lost(n)), s.filled(n)))


GAPLESS: Final = Promise("1 gapless and in order", _gapless)
A_NUMBER_STAYS: Final = Promise("1 a number stays with its request", _a_number_stays)
ONE_NUMBER: Final = Promise("2 one number for a key", _one_number)
CAPS: Final = _of_state("6 no number above a cap", invariant.no_number_is_above_its_cap)
REFUSALS_STAND: Final = Promise("6 a refusal at a cap stands", _refusals_stand)
CHAIN: Final = _of_state(
    "7 each ticket covers the one before", invariant.a_ticket_covers_the_one_before
)
DATES: Final = _of_state("7 dates do not run back", invariant.no_date_runs_back)
NOTHING_BETWEEN: Final = Promise("nothing comes into a finished gap", _nothing_between)

PROMISE_1: Final[Sequence[Promise]] = (GAPLESS, A_NUMBER_STAYS)
OTHERS_OF_STEPS: Final[Sequence[Promise]] = (REFUSALS_STAND,)
OF_STATES: Final[Sequence[Promise]] = (
    *(ONE_NUMBER, CAPS, CHAIN, DATES, NOTHING_BETWEEN),
)
"""The promises about a single state."""
