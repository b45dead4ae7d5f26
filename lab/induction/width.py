"""The width of the model: no step asks for more than a promise needs (`make width`).

A guard that asks for too much makes each proof easier, and the page's claim narrower.
So each condition of a guard has to be needed: weakened, it leaves an obligation of its
step without a proof. The conditions, and the kinds of items that a step may meet, are
taken from the steps themselves, so that a condition that is added is asked about too.
And each promise has to be about every number and key: each is broken on some path.
"""

import signal
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import z3

from induction.domain import KEY, NUMBER, SMALL, YES, Domain, Term
from induction.proving import Before, Obligation, broken_at, of_step
from induction.rules import CONDITIONS, RULES
from induction.state import IMPORTED, NOTHING, RESERVED, State
from induction.steps import STEPS, Rules

AS_WIDE: Final[Mapping[tuple[str, str], str]] = {
    ("jump", "a guard"): "a put over what it puts changes nothing",
    ("put_back_external", "a guard"): "a put over what it puts changes nothing",
    ("lose", "a lost ticket"): "what is lost stays lost",
    ("learn", "a lost ticket"): "it has an origin: the code reads again",
    ("learn", "number 0"): "a worker that knows nothing yet is another worker",
    ("read_above", "number 0"): "an import that has read nothing writes nothing",
}
"""Kinds of items that a step does not meet and could, and why that loses nothing."""

ENOUGH: Final = 2_000_000
"""Resources of an obligation: as the model stands, all but the long ones take less."""

LONG: Final = frozenset(
    {("block", "no_head_is_left_open"), ("put_back", "a_record_has_its_ticket")}
)
"""Obligations that may take ten times as much, and more than one try."""

SEEDS: Final = range(2, 7)
"""The resources of an attempt at a long obligation."""

ORDINARY: Final = {NUMBER: SMALL[NUMBER][2:-1], KEY: SMALL[KEY]}
"""The values of a promise: nothing precedes number 1, or follows the last one."""


def main() -> Iterator[str]:
    """Print the number of questions; yield the guards that are too narrow."""
    conditions_asked = kinds_asked = 0
    unused = set(AS_WIDE)
    for name in STEPS:
        wide = Widening(name)
        yield from wide.too_long()
        for condition in wide.conditions:
            conditions_asked += 1
            if wide.holds_with(condition, YES):
                yield f"{name}: no promise needs {_text(condition)}"
                continue
            for kind, is_kind in _kinds_met(condition, wide.before.state):
                kinds_asked += 1
                if not wide.could_meet(condition, kind, is_kind):
                    continue
                unused.discard((name, kind))
                if (name, kind) not in AS_WIDE:
                    yield f"{name}: it could meet {kind}, but for {_text(condition)}"
    yield from (f"{step} meets {kind}, or may not" for step, kind in unused)
    yield from _narrow_promises()
    print(
        f"{conditions_asked} conditions needed, {kinds_asked} kinds of items asked of"
    )


@dataclass
class Widening:
    """A step, of which one condition at a time is weakened."""

    name: str
    before: Before = field(default_factory=lambda: Before(Domain()))

    def __post_init__(self) -> None:
        self.conditions = [*conditions(self.before.step(self.name, Rules()).guard)]

    def too_long(self) -> Iterator[str]:
        """Yield obligations that are not proved within their resources."""
        for obligation in self._obligations(lambda guard: z3.And([*conditions(guard)])):
            if not _is_proved(obligation):
                yield f"{self.name}: {obligation.name} takes more: name it in LONG"

    def holds_with(self, condition: Term, weaker: Term) -> bool:
        """Return whether each obligation is still proved with a weaker condition."""

        def weaken(guard: Term) -> Term:
            parts = conditions(guard)
            return z3.And([weaker if part.eq(condition) else part for part in parts])

        return all(map(_is_proved, self._obligations(weaken)))

    def could_meet(self, condition: Term, kind: str, is_kind: Term) -> bool:
        """Return whether it could meet a kind of item that the condition excludes."""
        others = [other for other in self.conditions if not other.eq(condition)]
        known = (*self.before.everything, *others, is_kind)
        if Obligation(self.name, kind, known, condition, ENOUGH).is_proved:
            return False
        return self.holds_with(condition, z3.Or(condition, is_kind))

    def _obligations(self, weaker: Callable[[Term], Term]) -> Sequence[Obligation]:
        """Return its obligations, the long ones last."""
        return sorted(of_step(self.name, self.before, weaker), key=_is_long)


def _is_long(obligation: Obligation) -> bool:
    return (obligation.step, obligation.name) in LONG


def _is_proved(obligation: Obligation) -> bool:
    """Return whether an obligation is proved: how soon is a matter of luck."""
    if not _is_long(obligation):
        return replace(obligation, resources=ENOUGH).is_proved
    tries = (replace(obligation, resources=10 * ENOUGH, seed=n) for n in SEEDS)
    return any(obligation.is_proved for obligation in tries)


def conditions(guard: Term) -> Iterator[Term]:
    """Yield the demands of a guard, one by one, also within quantifiers."""
    if z3.is_and(guard):
        for part in guard.children():
            yield from conditions(part)
    elif z3.is_quantifier(guard) and guard.is_forall():
        bound = [
            z3.Const(guard.var_name(place), guard.var_sort(place))
            for place in range(guard.num_vars())
        ]
        body = z3.substitute_vars(guard.body(), *reversed(bound))
        yield from (z3.ForAll(bound, part) for part in conditions(body))
    elif z3.is_implies(guard):
        premise, conclusion = guard.children()
        yield from (z3.Implies(premise, part) for part in conditions(conclusion))
    elif not z3.is_true(guard):
        yield guard


def _kinds_met(condition: Term, s: State) -> Iterator[tuple[str, Term]]:
    """Yield the kinds of items at each number of which a condition reads the kind."""
    kind = s.kind(z3.IntVal(0)).decl()
    for number in _read(condition, kind):
        yield "number 0", number == 0
        for name, is_kind in _kinds(s, number):
            yield name, z3.And(number > 0, is_kind)


def _read(term: Term, function: Term) -> Collection[Term]:
    """Return the constants at which a term reads a function, each once."""
    read: dict[str, Term] = {}
    waiting = [term]
    while waiting:
        part = waiting.pop()
        waiting += part.children()
        if z3.is_app(part) and part.decl().eq(function) and z3.is_const(part.arg(0)):
            read[str(part.arg(0))] = part.arg(0)
    return read.values()


def _kinds(s: State, n: Term) -> Iterator[tuple[str, Term]]:
    """Yield the kinds of items, each with whether a number has one."""
    yield "no item", s.kind(n) == NOTHING
    yield "a worker's ticket", z3.And(s.ticket(n), z3.Not(s.back(n)))
    yield "a ticket put back", z3.And(s.ticket(n), s.back(n))
    yield "a lost ticket", s.lost(n)
    for name, kind in (("a guard", RESERVED), ("an imported ticket", IMPORTED)):
        own = z3.And(s.kind(n) == kind, z3.Not(s.lost(n)))
        yield name, z3.And(own, z3.Not(s.ends(n)))
        yield (
            "an end" if kind == RESERVED else f"{name}, an end",
            z3.And(own, s.ends(n)),
        )


def _narrow_promises() -> Iterator[str]:
    """Yield each number and key for which no known-bad rule breaks a promise."""
    asked, broken = set(), set()
    for rule in (*RULES, *CONDITIONS):
        for place, value, is_broken in broken_at(rule, ORDINARY):
            asked.add((rule.breaks.name, place, value))
            if is_broken:
                broken.add((rule.breaks.name, place, value))
    for name, place, value in sorted(asked - broken):
        yield f"{name}: on no path broken where its variable {place} is {value}"


def _text(term: Term) -> str:
    return " ".join(str(term).split())


if __name__ == "__main__":
    # `| head` ends it quietly, and never with status 0.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit("\n".join(main()) or None)
