"""Obligations and paths, decided by Z3 within a limit of resources, never of time."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import z3

from induction.domain import NO, NUMBER, Domain, SmallDomain, Term
from induction.invariant import NUMBERS, OTHERS, Property
from induction.promises import OF_STATES, OTHERS_OF_STEPS, PROMISE_1, OfStep, is_end
from induction.rules import Rule
from induction.state import DAY, State, any_state, empty_tables
from induction.steps import STEPS, Rules

RESOURCES: Final = 100_000_000
"""Of one obligation; the longest takes a seventh."""

RESOURCES_OF_A_CONTROL: Final = 50_000
"""All but four of the obligations take less."""

PROVED: Final = "proved"

WITHOUT_KEYS: Final = frozenset(
    {"a key if it has no record", "no import over a key", "no ticket back over a key"}
)
"""Promise 1 needs no key records: its obligations drop their conditions."""


class UndecidedError(Exception):
    """Z3 found neither a path nor that there is none."""


@dataclass(frozen=True)
class Obligation:
    """A formula that must follow from what is known."""

    step: str
    name: str
    known: tuple[Term, ...]
    goal: Term
    resources: int = RESOURCES

    @property
    def is_known(self) -> bool:
        """Whether it is known as it stands: the step leaves it alone."""
        return any(map(self.goal.eq, self.known))

    def verdict(self) -> str:
        """Return whether it does: it is proved, refuted or unknown."""
        if self.is_known:
            return PROVED
        solver = decide([*self.known, z3.Not(self.goal)], self.resources)
        outcome = solver.check()
        if outcome == z3.unsat:
            return PROVED
        return "refuted" if outcome == z3.sat else "unknown"


def controls(of: Iterable[Obligation]) -> Collection[Obligation]:
    """Return what must not be proved: a contradiction, from all that is known."""
    return {
        one.known: replace(one, goal=NO, resources=RESOURCES_OF_A_CONTROL) for one in of
    }.values()


def decide(formulas: Sequence[Term], resources: int = RESOURCES) -> Any:
    """Return a solver with these formulas, which knows nothing of any others."""
    solver = z3.Solver(ctx=z3.Context())
    solver.set("random_seed", 1)
    solver.set("rlimit", resources)
    solver.add(*(one.translate(solver.ctx) for one in (DAY > 0, *formulas)))
    return solver


def obligations() -> Iterator[Obligation]:
    """Yield that all holds at the start and after each step, and what follows."""
    d = Domain()
    start, s = empty_tables(d), any_state(d)
    numbers = tuple(holds(s, d) for holds in NUMBERS)
    everything = (*numbers, *(holds(s, d) for holds in OTHERS))
    yield from _all_hold("start", NUMBERS + OTHERS, start, d, ())
    yield _lemma_proved(s, d, numbers)
    known = (*everything, _lemma(s, d))
    for name, action in STEPS.items():
        step = action(s, d, Rules(WITHOUT_KEYS))
        yield from _all_hold(name, NUMBERS, step.after, d, (*numbers, step.guard))
        for promise in PROMISE_1:
            kept = promise.holds(s, step.after, d, Rules())
            yield Obligation(name, promise.name, (*numbers, step.guard), kept)
        step = action(s, d, Rules())
        yield from _all_hold(name, OTHERS, step.after, d, (*everything, step.guard))
        for promise in OTHERS_OF_STEPS:
            kept = promise.holds(s, step.after, d, Rules())
            yield Obligation(name, promise.name, (*known, step.guard), kept)
    for promise in OF_STATES:
        kept = promise.holds(s, s, d, Rules())
        yield Obligation("promise", promise.name, everything, kept)


def _all_hold(
    step: str,
    properties: Sequence[Property],
    s: State,
    d: Domain,
    known: tuple[Term, ...],
) -> Iterator[Obligation]:
    for holds in properties:
        yield Obligation(step, holds.__name__, known, holds(s, d))


def _is_open(s: State, head: Term, higher: Term, end: Term) -> Term:
    """A free number behind a head, below a higher one, is in an unfinished gap."""
    free = z3.And(s.head(head), z3.Not(s.item(head + 1)), head < higher, s.head(higher))
    is_open = z3.And(is_end(s, end), end > head, z3.Not(s.finished(end)))
    return z3.Implies(free, is_open)


def _lemma(s: State, d: Domain) -> Term:
    end = d.function(NUMBER, NUMBER)
    return d.every([NUMBER, NUMBER], lambda n, m: _is_open(s, n, m, end(n)))


def _lemma_proved(s: State, d: Domain, numbers: Sequence[Term]) -> Obligation:
    """Of the seeds' ends above a head, the lowest is unfinished: it is well-ordered."""
    head, higher, least = (d.fresh(NUMBER) for _ in range(3))

    def is_above(m: Term) -> Term:
        return z3.And(is_end(s, m), m > head)

    lowest = d.every(
        [NUMBER], lambda m: z3.Implies(is_above(m), z3.And(is_above(least), least <= m))
    )
    known, goal = (*numbers, lowest, head >= 0), _is_open(s, head, higher, least)
    return Obligation("lemma", "a free number behind a head is open", known, goal)


def path(schedule: str, rules: Rules, shows: OfStep) -> list[str] | None:
    """Return a path from empty tables, a line for each step; None if there is none.

    Args:
        schedule: The names of the steps.
        rules: The rules that they keep.
        shows: What holds of the last step.

    Raises:
        UndecidedError: The limit of resources is too low.
    """
    d = SmallDomain()
    before = s = empty_tables(d)
    taken = []
    for name in schedule.split():
        step = STEPS[name](s, d, rules)
        before, s = s, step.after
        taken.append((name, step))
    formulas = [*(step.guard for _, step in taken), shows(before, s, d, rules)]
    solver = decide([*d.bounds, *formulas])
    outcome = solver.check()
    if outcome == z3.unknown:
        raise UndecidedError(schedule)
    if outcome == z3.unsat:
        return None
    model = solver.model()
    return [
        f"{name}: "
        + ", ".join(
            f"{word} {model.eval(term.translate(solver.ctx), model_completion=True)}"
            for word, term in step.words.items()
        )
        for name, step in taken
    ]


def history(rule: Rule) -> list[str] | None:
    """Return a path to a broken promise without a rule, unless there is one with it."""

    def breaks(before: State, s: State, d: Domain, rules: Rules) -> Term:
        return z3.Not(rule.breaks.holds(before, s, d, rules))

    if path(rule.schedule, Rules(), breaks):
        return None
    return path(rule.schedule, Rules(frozenset({rule.name})), breaks)
