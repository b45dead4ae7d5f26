"""The possible steps. A guard reads the values that the code reads, at that time.

A worker that was killed takes no step any more. A call that takes effect late is that
of another worker, which read the same. A second delivery is a request of another block.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import z3

from induction.domain import KEY, NO, NUMBER, OPERATOR, WORKER, YES, Domain, Term
from induction.state import (
    CLOSING,
    DAY,
    IDLE,
    IMPORTED,
    NO_DATE,
    NOTHING,
    RESERVED,
    SCANNING,
    TICKET,
    State,
)

ASKED: Final[set[str]] = set()
"""The rules that the model has asked for so far."""


@dataclass
class Rules:
    """The rules that a step keeps; a known-bad rule replaces or drops one."""

    broken: frozenset[str] = frozenset()

    def drops(self, rule: str) -> bool:
        """Return whether a rule is broken."""
        ASKED.add(rule)
        return rule in self.broken

    def keeps(self, rule: str) -> Term:
        """Return whether the model keeps a rule."""
        return NO if self.drops(rule) else YES

    def keep(self, rule: str, guard: Term) -> Term:
        """Return a guard, unless its rule is broken."""
        return YES if self.drops(rule) else guard


@dataclass
class Step:
    """One step that a model can take: its guard, and the state after it."""

    guard: Term
    after: State
    words: Mapping[str, Term] = field(default_factory=dict)
    """The values that a path shows."""


Action = Callable[[State, Domain, Rules], Step]


# Workers.


def query(s: State, d: Domain, rules: Rules) -> Step:
    """A worker reads the highest item: axiom 5."""
    w, v = d.fresh(WORKER), d.fresh(NUMBER)
    is_highest = d.every([NUMBER], lambda n: z3.Implies(n > v, z3.Not(s.placed(n))))
    guard = z3.And(z3.Or(v == 0, s.item(v)), rules.keep("consistent read", is_highest))
    return Step(guard, _holds(s, rules, w, v), {"worker": w, "shows": v})


def learn(s: State, d: Domain, rules: Rules) -> Step:
    """A worker learns of a ticket: a failed condition shows it (axiom 3).

    Or it is the last one of its own committed block, from a cache of any age.
    """
    w, v, size = d.fresh(WORKER), d.fresh(NUMBER), d.fresh(NUMBER)
    next_one = s.seen(w) + 1
    guards = [s.ticket(v)]
    if rules.drops("only what is committed counts"):
        guards.append(v == next_one)
    if rules.drops("past the taken run alone"):
        guards.append(z3.And(s.ticket(next_one), size > 0, v == s.seen(w) + size))
    for rule, kind in (("reserved", RESERVED), ("imported", IMPORTED)):
        if rules.drops(f"not past {rule} numbers"):
            guards.append(z3.And(v == next_one, s.kind(v) == kind))
    return Step(z3.Or(guards), _holds(s, rules, w, v), {"worker": w, "head": v})


def _holds(s: State, rules: Rules, w: Term, v: Term) -> State:
    date = z3.If(s.ticket(v), s.date(v), NO_DATE)
    after = s.at(w, seen=v, seen_date=date)
    if rules.drops("the head's own chain"):
        return after
    return after.at(w, seen_chain=s.link(v))


def block(s: State, d: Domain, rules: Rules) -> Step:
    """A block is committed: each number free, each key without a record (axiom 1)."""
    w, size, now = d.fresh(WORKER), d.fresh(NUMBER), d.fresh(NUMBER)
    head, first = s.seen(w), s.seen(w) + 1
    keys, caps = d.function(NUMBER, KEY), d.function(NUMBER, z3.IntSort())
    chains, places = d.function(NUMBER, s.chain(first).sort()), d.function(KEY, NUMBER)

    def inside(n: Term) -> Term:
        return z3.And(first <= n, n < first + size)

    def recorded(k: Term) -> Term:
        n = places(k)
        is_last = n == first + size - 1
        left_out = z3.And(rules.drops("each ticket with its key"), is_last)
        return z3.And(inside(n), keys(n) == k, z3.Not(left_out))

    def covered(n: Term) -> Term:
        return z3.If(n == first, s.seen_chain(w), chains(n - 1))

    def each(n: Term) -> Term:
        return z3.Implies(
            inside(n),
            z3.And(
                rules.keep("a number if it is free", s.kind(n) == NOTHING),
                rules.keep("a key if it has no record", s.record(keys(n)) == 0),
                rules.keep("no number above its cap", n <= caps(n)),
                places(keys(n)) == n,
                chains(n) == d.hash(covered(n), keys(n), n),
            ),
        )

    is_far = s.seen_date(w) - now > DAY
    later = z3.If(z3.Or(is_far, s.seen_date(w) < now), now, s.seen_date(w))
    date = now if rules.drops("no date before the head's") else later
    clocks = z3.And(s.clock() <= now, now <= s.clock() + DAY)
    guard = z3.And(
        d.every([NUMBER], each),
        rules.keep("clocks within a day", clocks),
        now >= 0,
    )
    is_run = z3.And(head > 0, s.given(head), z3.Not(s.filled(head)))
    start = z3.If(is_run, s.start(head), head)

    after = replace(
        s,
        kind=lambda n: z3.If(inside(n), TICKET, s.kind(n)),
        key=lambda n: z3.If(inside(n), keys(n), s.key(n)),
        chain=lambda n: z3.If(inside(n), chains(n), s.chain(n)),
        covers=lambda n: z3.If(inside(n), covered(n), s.covers(n)),
        date=lambda n: z3.If(inside(n), date, s.date(n)),
        cap=lambda n: z3.If(inside(n), caps(n), s.cap(n)),
        start=lambda n: z3.If(inside(n), start, s.start(n)),
        record=lambda k: z3.If(recorded(k), places(k), s.record(k)),
    )
    return Step(guard, after, {"worker": w, "first": first, "size": size})


def refuse(s: State, d: Domain, rules: Rules) -> Step:
    """A worker refuses a request at its cap, after a transactional read of its key."""
    w, k, cap = d.fresh(WORKER), d.fresh(KEY), d.fresh(NUMBER)
    reached = s.seen(w) >= cap
    if rules.drops("once the numbers have reached it"):
        reached = s.seen(w) + 1 >= cap
    unread = rules.keep("no refusal of a numbered request", s.record(k) == 0)
    after = s.along(
        k,
        refused=lambda n: z3.Or(n == cap, s.refused(k, n)),
        refused_at=lambda n: z3.If(n == cap, s.seen(w), s.refused_at(k, n)),
    )
    return Step(z3.And(reached, unread, cap > 0), after, {"key": k, "cap": cap})


# Operators: seeds and imports, read by read and put by put; void, erase, lost tickets.


def jump(s: State, d: Domain, rules: Rules) -> Step:
    """A seed's first put: its last number, if it is free, wherever that is by now."""
    o, n, m = d.fresh(OPERATOR), d.fresh(NUMBER), d.fresh(NUMBER)
    is_top = d.every([NUMBER], lambda x: z3.Implies(x > n, z3.Not(s.placed(x))))
    others = z3.And(m > n, s.placed(m))
    after = s.at(n, kind=RESERVED, ends=YES, topped=is_top, witness=m)
    guard = z3.And(n > 0, s.kind(n) == NOTHING, z3.Or(is_top, others))
    return Step(guard, _begins(after, o, n), {"operator": o, "last": n})


def adopt(s: State, d: Domain, rules: Rules) -> Step:
    """A seed up to an external number begins to close: it was interrupted, say."""
    o, n = d.fresh(OPERATOR), d.fresh(NUMBER)
    return Step(s.external(n), _begins(s, o, n), {"operator": o, "last": n})


def _begins(s: State, o: Term, n: Term) -> State:
    begun = s.at(o, phase=z3.IntVal(SCANNING), last=n, cursor=n)
    return begun.along(o, due=lambda _: NO)


def look(s: State, d: Domain, rules: Rules) -> Step:
    """A seed reads the next item downwards (axiom 5), up to the first ticket."""
    o, v = d.fresh(OPERATOR), d.fresh(NUMBER)
    top = s.cursor(o)
    between = d.every(
        [NUMBER], lambda n: z3.Implies(z3.And(v < n, n < top), z3.Not(s.placed(n)))
    )
    is_old = z3.Or(v == 0, s.ticket(v))
    is_open = z3.Or(is_old, z3.And(rules.keeps("every end is closed"), s.ends(v)))

    def due(n: Term) -> Term:
        return z3.Or(s.due(o, n), z3.And(n == v + 1, n < top, is_open))

    def seen(n: Term) -> Term:
        return z3.And(v <= n, n < top)

    phase = z3.If(is_old, z3.IntVal(CLOSING), z3.IntVal(SCANNING))
    after = s.at(o, cursor=v, phase=phase).along(
        o,
        due=due,
        low=lambda n: z3.If(seen(n), v, s.low(o, n)),
        high=lambda n: z3.If(seen(n), top, s.high(o, n)),
    )
    guard = z3.And(s.phase(o) == SCANNING, v < top, z3.Or(v == 0, s.item(v)), between)
    is_due = z3.And(v + 1 < top, is_open)
    words = {"operator": o, "shows": v, "due": z3.If(is_due, v + 1, 0)}
    return Step(guard, after, words)


def reserve(s: State, d: Domain, rules: Rules) -> Step:
    """A seed's second put: a number that is due, if it is free."""
    o, n = d.fresh(OPERATOR), d.fresh(NUMBER)
    without = s.along(o, due=lambda x: z3.And(x != n, s.due(o, x)))
    after = without.at(n, kind=RESERVED, ends=NO, topped=NO, witness=s.high(o, n))
    guard = z3.And(s.phase(o) == CLOSING, s.due(o, n), s.kind(n) == NOTHING)
    if rules.drops("a second put"):
        after, guard = without, z3.And(s.phase(o) == CLOSING, s.due(o, n))
    if rules.drops("a failed put is none"):
        guard = z3.And(s.phase(o) == CLOSING, s.due(o, n), s.kind(n) != NOTHING)
        after = without
    return Step(guard, after, {"operator": o, "number": n})


def again(s: State, d: Domain, rules: Rules) -> Step:
    """A seed reads again: a worker took a number that was due, or nothing is known."""
    o = d.fresh(OPERATOR)
    return Step(s.phase(o) != IDLE, _begins(s, o, s.last(o)), {"operator": o})


def finish(s: State, d: Domain, rules: Rules) -> Step:
    """A seed is finished: nothing is due."""
    o = d.fresh(OPERATOR)
    none = d.every([NUMBER], lambda n: z3.Not(s.due(o, n)))
    last = s.last(o)
    base = _base(s, s.cursor(o))
    after = s.at(o, phase=z3.IntVal(IDLE)).at(last, finished=YES, base=base)
    return Step(z3.And(s.phase(o) == CLOSING, none), after, {"operator": o})


def _base(s: State, n: Term) -> Term:
    """Return the last number that a worker gave: filled-in ones lie above it."""
    return z3.If(z3.And(n > 0, s.filled(n)), s.under(n), n)


def read_above(s: State, d: Domain, rules: Rules) -> Step:
    """An import reads an external item at its number, or above it."""
    o, n = d.fresh(OPERATOR), d.fresh(NUMBER)
    return Step(s.external(n), s.at(o, above=n), {"operator": o, "shows": n})


def import_(s: State, d: Domain, rules: Rules) -> Step:
    """An import writes a ticket with its number and key, where it may."""
    o, n, k = d.fresh(OPERATOR), d.fresh(NUMBER), d.fresh(KEY)
    free = z3.Or(s.kind(n) == NOTHING, z3.And(s.kind(n) == RESERVED, z3.Not(s.lost(n))))
    ends = z3.And(rules.keeps("a seed's marks stay"), s.ends(n))
    witness = z3.If(s.item(n), s.witness(n), s.above(o))
    after = s.at(k, record=n).at(n, kind=IMPORTED, ends=ends, key=k, witness=witness)
    guard = z3.And(
        n > 0,
        rules.keep("no import over a ticket", free),
        rules.keep("no import over a key", s.record(k) == 0),
        rules.keep("an import below a seed's end", n <= s.above(o)),
    )
    return Step(guard, after, {"operator": o, "number": n, "key": k})


def put_back(s: State, d: Domain, rules: Rules) -> Step:
    """A restore puts a ticket back, with its key and its chain.

    It takes a number without an item, or that of a reserved item, of the same request's
    imported ticket, or of the lost ticket itself. A block is the steps for its lines,
    the highest first. A lost ticket's item that comes back is lost right after.
    """
    n, k, e, m = map(d.fresh, (NUMBER, KEY, NUMBER, NUMBER))
    covers, now, cap = d.fresh_hash(), d.fresh(NUMBER), d.fresh(NUMBER)
    following = n + 1
    chain = d.hash(covers, k, n)
    is_lost, is_external = s.lost(n), s.external(n)
    # Its hash is the line's: equal hashes cover the same.
    is_own = z3.And(s.key(n) == k, s.covers(n) == covers)
    free = z3.Or(
        s.kind(n) == NOTHING,
        z3.And(s.kind(n) == RESERVED, z3.Not(is_lost)),
        z3.And(s.kind(n) == IMPORTED, s.key(n) == k),
        is_lost,
    )
    # The seed above, and all below it, is finished before: its end is the first.
    is_below = z3.And(s.finished(e), s.base(e) < n, n <= e)
    is_vouched = z3.And(
        z3.Implies(s.given(following), s.covers(following) == chain),
        z3.Implies(z3.And(n > 1, s.given(n - 1)), covers == s.chain(n - 1)),
    )
    is_dated = z3.And(
        *(now >= 0, now <= s.clock() + DAY),
        z3.Implies(s.ticket(following), now <= s.date(following)),
        z3.Implies(z3.And(n > 1, s.ticket(n - 1)), s.date(n - 1) <= now),
    )
    is_reserved = z3.And(
        rules.keeps("the next number is reserved"), s.kind(following) == NOTHING
    )
    # A seed up to that number does the same, and its gap is empty. With m = 0 it is
    # the highest.
    is_end = z3.Or(n == e, is_lost)
    is_top = d.every([NUMBER], lambda x: z3.Implies(x > following, z3.Not(s.placed(x))))
    others = z3.And(m > following, s.placed(m))
    has_place = z3.Or(z3.And(m == 0, is_end, is_top), others)

    base = z3.If(is_lost, _base(s, n), s.base(e))
    was_end = z3.And(s.topped(n), z3.Or(z3.Not(is_lost), s.filled(n)))

    after = s.at(k, record=n).at(
        n,
        kind=TICKET,
        ends=NO,
        topped=was_end,
        lost=NO,
        key=k,
        chain=chain,
        covers=covers,
        date=now,
        cap=cap,
        kept=z3.Or(s.kept(n), is_external),
        filled=z3.Or(s.filled(n), z3.Not(is_lost)),
        over=z3.If(is_lost, s.over(n), e),
        under=z3.If(is_lost, s.under(n), s.base(e)),
    )
    after = after.where(
        lambda x: z3.And(is_reserved, x == following),
        kind=RESERVED,
        ends=is_end,
        topped=m == 0,
        witness=m,
        finished=z3.Or(is_end, s.finished(following)),
        base=z3.If(is_end, base, s.base(following)),
    )
    guard = z3.And(
        *(n <= cap, is_dated),
        z3.Implies(is_reserved, has_place),
        rules.keep("no ticket back over another", free),
        rules.keep("a lost number to its own ticket", z3.Implies(is_lost, is_own)),
        rules.keep(
            "no ticket back over a key", z3.Or(s.record(k) == 0, s.record(k) == n)
        ),
        rules.keep("the end before what goes back", z3.Or(is_lost, is_below)),
        rules.keep("no ticket back unvouched", is_vouched),
    )
    return Step(guard, after, {"number": n, "key": k, "end": e})


def put_back_external(s: State, d: Domain, rules: Rules) -> Step:
    """A restore puts a reserved number back, of a run whose end is there.

    An end of a seed that is the highest is another seed's; imports put the others.
    """
    o, n = d.fresh(OPERATOR), d.fresh(NUMBER)
    is_end = d.fresh(NUMBER) == 1  # Or not.
    after = s.at(n, kind=RESERVED, ends=is_end, topped=NO, witness=s.above(o))
    guard = z3.And(
        *(n > 0, s.kind(n) == NOTHING),
        rules.keep("an external run end first", n < s.above(o)),
    )
    return Step(guard, after, {"operator": o, "number": n, "is an end": is_end})


def mark(s: State, d: Domain, rules: Rules) -> Step:
    """Void or erase: number, key, chain, date and `origin` stay."""
    n, guard, after = d.fresh(NUMBER), YES, s
    if rules.drops("no mark without a ticket"):
        guard = z3.And(n > 0, s.kind(n) == NOTHING)
    if rules.drops("no mark without a ticket") or rules.drops("origin stays"):
        after = s.at(n, kind=TICKET)
    return Step(guard, after, {"number": n})


def lose(s: State, d: Domain, rules: Rules) -> Step:
    """A ticket is lost, and a reserved item takes over its number and its chain.

    It says that it ends a seed, of its own number alone.
    """
    n, is_end = d.fresh(NUMBER), rules.keeps("a lost number is an end")
    after = s.at(n, kind=RESERVED, ends=is_end, lost=YES, topped=YES)
    return Step(s.ticket(n), after, {"number": n, "is an end": is_end})


# Time.


def expire(s: State, d: Domain, rules: Rules) -> Step:
    """A key's record is deleted, where its retention is limited."""
    k = d.fresh(KEY)
    return Step(YES, s.at(k, record=z3.IntVal(0), expired=YES), {"key": k})


def tick(s: State, d: Domain, rules: Rules) -> Step:
    """Time passes."""
    later = d.fresh(NUMBER)
    return Step(later >= s.clock(), replace(s, clock=lambda: later), {"clock": later})


STEPS: Final[Mapping[str, Action]] = {
    action.__name__.strip("_"): action
    for action in (
        *(query, learn, block, refuse),
        *(jump, adopt, look, reserve, again, finish, read_above, import_, put_back),
        *(put_back_external, mark, lose),
        *(expire, tick),
    )
}
