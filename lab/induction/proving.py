"""Obligations and paths, decided by Z3 within a limit of resources, never of time."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Final

import z3

from induction.domain import NO, NUMBER, Domain, Instances, SmallDomain, Term
from induction.invariant import NUMBERS, OTHERS, Property
from induction.promises import OF_STATES, OTHERS_OF_STEPS, PROMISE_1, OfStep, is_end
from induction.rules import Rule
from induction.state import DAY, State, any_state, empty_tables
from induction.steps import STEPS, Rules, Step

RESOURCES: Final = 100_000_000
"""The limit of one obligation; the longest takes a seventh."""

RESOURCES_OF_A_CONTROL: Final = 50_000
"""All but four of the obligations take less."""

FIRST_NAME: Final = 1_000
"""The serial number of the first name of a step: above those of the states."""

PROVED: Final = "proved"

WITHOUT_KEYS: Final = frozenset(
    {"a key if it has no record", "no import over a key", "no ticket back over a key"}
)
"""Promise 1 needs no key records: its obligations drop their conditions."""


class UndecidedError(Exception):
    """Z3 decided neither that a path exists nor that none does."""


@dataclass(frozen=True)
class Obligation:
    """A formula that must follow from the known ones."""

    step: str
    name: str
    known: tuple[Term, ...]
    goal: Term
    resources: int = RESOURCES
    seed: int = 1

    @property
    def is_known(self) -> bool:
        """Whether it is known as it stands: the step leaves it alone."""
        return any(map(self.goal.eq, self.known))

    @property
    def is_proved(self) -> bool:
        """Whether it does, and Z3 finds that within the resources."""
        return self.result() == PROVED

    def result(self) -> str:
        """Return whether it does: it is proved, refuted or unknown."""
        if self.is_known:
            return PROVED
        formulas = [*self.known, z3.Not(self.goal)]
        solver = decide(formulas, self.resources, self.seed)
        outcome = solver.check()
        if outcome == z3.unsat:
            return PROVED
        return "refuted" if outcome == z3.sat else "unknown"


def controls(of: Iterable[Obligation]) -> Collection[Obligation]:
    """Return obligations that must not be proved: contradictions of the known."""
    return {
        obligation.known: replace(obligation, goal=NO, resources=RESOURCES_OF_A_CONTROL)
        for obligation in of
    }.values()


def decide(formulas: Sequence[Term], resources: int = RESOURCES, seed: int = 1) -> Any:
    """Return a solver with these formulas, which knows nothing of any others."""
    solver = z3.Solver(ctx=z3.Context())
    solver.set("random_seed", seed)
    solver.set("rlimit", resources)
    solver.add(*(formula.translate(solver.ctx) for formula in (DAY > 0, *formulas)))
    return solver


class Before:
    """Any state of which the invariant holds."""

    def __init__(self, d: Domain) -> None:
        """Name the state, and write down its known formulas."""
        self.domain = d
        self.state = s = any_state(d)
        self.numbers = tuple(holds(s, d) for holds in NUMBERS)
        self.everything = (*self.numbers, *(holds(s, d) for holds in OTHERS))
        self.with_lemma = (*self.everything, _lemma(s, d))

    def step(self, name: str, rules: Rules) -> Step:
        """Return a step from this state; calls for one step choose the same names."""
        self.domain.serial = count(FIRST_NAME)
        return STEPS[name](self.state, self.domain, rules)


def obligations() -> Iterator[Obligation]:
    """Yield that the invariant holds at the start and after each step."""
    d = Domain()
    start, before = empty_tables(d), Before(d)
    yield from _all_hold("start", NUMBERS + OTHERS, start, d, ())
    yield _lemma_proved(before)
    for name in STEPS:
        yield from of_step(name, before, lambda guard: guard)
    for promise in OF_STATES:
        kept = promise.holds(before.state, before.state, before.domain, Rules())
        yield Obligation("promise", promise.name, before.everything, kept)


def of_step(
    name: str, before: Before, weaker: Callable[[Term], Term]
) -> Iterator[Obligation]:
    """Yield that all holds after a step, of which the guard may be a weaker one."""
    s, d = before.state, before.domain
    step = before.step(name, Rules(WITHOUT_KEYS))
    known = (*before.numbers, weaker(step.guard))
    yield from _all_hold(name, NUMBERS, step.after, d, known)
    for promise in PROMISE_1:
        kept = promise.holds(s, step.after, d, Rules())
        yield Obligation(name, promise.name, known, kept)
    step = before.step(name, Rules())
    guard = weaker(step.guard)
    yield from _all_hold(name, OTHERS, step.after, d, (*before.everything, guard))
    for promise in OTHERS_OF_STEPS:
        kept = promise.holds(s, step.after, d, Rules())
        yield Obligation(name, promise.name, (*before.with_lemma, guard), kept)


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


def _lemma_proved(before: Before) -> Obligation:
    """Of the seeds' ends above a head, the lowest is unfinished: it is well-ordered."""
    s, d = before.state, before.domain
    head, higher, least = (d.fresh(NUMBER) for _ in range(3))

    def is_above(m: Term) -> Term:
        return z3.And(is_end(s, m), m > head)

    lowest = d.every(
        [NUMBER], lambda m: z3.Implies(is_above(m), z3.And(is_above(least), least <= m))
    )
    known = (*before.numbers, lowest, head >= 0)
    goal = _is_open(s, head, higher, least)
    return Obligation("lemma", "a free number behind a head is open", known, goal)


def path(schedule: str, rules: Rules, shows: OfStep) -> list[str] | None:
    """Return a path from empty tables, a line for each step; None if there is none.

    `shows` is a formula about the last step.

    Raises:
        UndecidedError: The limit of resources is too low.
    """
    d = SmallDomain()
    taken, before, s = _taken(schedule, rules, d)
    guards = [step.guard for _, step in taken]
    solver = decide([*d.bounds, *guards, shows(before, s, d, rules)])
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


def _taken(
    schedule: str, rules: Rules, d: Domain
) -> tuple[list[tuple[str, Step]], State, State]:
    """Return the steps from empty tables, and the states around the last one."""
    before = s = empty_tables(d)
    taken = []
    for name in schedule.split():
        step = STEPS[name](s, d, rules)
        before, s = s, step.after
        taken.append((name, step))
    return taken, before, s


def history(rule: Rule) -> list[str] | None:
    """Return a path to a broken promise without a rule, unless there is one with it."""

    def breaks(before: State, s: State, d: Domain, rules: Rules) -> Term:
        return z3.Not(rule.breaks.holds(before, s, d, rules))

    if path(rule.schedule, Rules(), breaks):
        return None
    return path(rule.schedule, Rules(frozenset({rule.name})), breaks)


def broken_at(
    rule: Rule, values: Mapping[str, Iterable[int]]
) -> Iterator[tuple[int, int, bool]]:
    """Yield where the path of a rule breaks its promise, if the rule is dropped.

    Yields:
        The place of a variable of the promise, a value of it, and whether there is a
        path on which the promise is broken for that value.
    """
    d, rules = SmallDomain(), Rules(frozenset({rule.name}))
    taken, before, s = _taken(rule.schedule, rules, d)
    solver = decide([*d.bounds, *(step.guard for _, step in taken)])
    instances = Instances()
    rule.breaks.holds(before, s, instances, rules)
    for place, kind in enumerate(instances.kinds):
        for value in values[kind]:
            broken = [
                z3.Not(holds).translate(solver.ctx)
                for chosen, holds in instances.of
                if chosen[place] == value
            ]
            yield place, value, solver.check(z3.Or(broken)) == z3.sat
