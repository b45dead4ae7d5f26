"""What always holds, and the promises that follow from it.

The names are those of docs/proof.md. An invariant of the numbers mentions no key's
record, so promise 1 needs none; the promise of the keys says "while records are kept".
"""

from collections.abc import Callable
from typing import Final

import z3

from induction.domain import KEY, NUMBER, OPERATOR, WORKER, Domain, Term
from induction.state import (
    CLOSING,
    DAY,
    IDLE,
    IMPORTED,
    NO_DATE,
    NOTHING,
    RESERVED,
    SCANNING,
    State,
)

Property = Callable[[State, Domain], Term]


def _region(s: State, o: Term, n: Term) -> Term:
    """Whether an operator's seed has read past a number, downwards."""
    return z3.And(s.phase(o) != IDLE, s.cursor(o) <= n, n < s.last(o))


def _each(*kinds: str) -> Callable[[Callable[..., Term]], Property]:
    """Make a property of a formula that holds for all of these."""

    def decorate(formula: Callable[..., Term]) -> Property:
        def holds(s: State, d: Domain) -> Term:
            return d.every(kinds, lambda *bound: formula(s, *bound))

        holds.__name__, holds.__doc__ = formula.__name__, formula.__doc__
        return holds

    return decorate


@_each(NUMBER)
def items_are_of_a_kind(s: State, n: Term) -> Term:
    """Numbers start at 1, and what marks an item has one."""
    kinds = z3.And(s.kind(n) >= NOTHING, s.kind(n) <= IMPORTED)
    marked = z3.Or(s.ends(n), s.topped(n))
    return z3.And(
        kinds,
        z3.Implies(s.item(n), n > 0),
        z3.Implies(marked, s.external(n)),
        z3.Implies(s.topped(n), s.ends(n)),
        z3.Implies(s.lost(n), z3.And(s.kind(n) == RESERVED, s.topped(n))),
    )


@_each(NUMBER)
def a_ticket_follows_a_head(s: State, n: Term) -> Term:
    """The number before a ticket's is 0, a ticket's, or was the highest of a seed."""
    return z3.Implies(s.ticket(n), z3.And(n > 0, s.head(n - 1)))


@_each(WORKER)
def what_a_worker_tries_after_is_decided(s: State, w: Term) -> Term:
    """The number before the one that it tries next is a head."""
    return z3.And(s.seen(w) >= 0, s.head(s.seen(w)))


@_each(NUMBER)
def a_run_of_tickets_has_a_start(s: State, n: Term) -> Term:
    """It is 0, or a number at which a seed ended."""
    m = s.start(n)
    is_start = z3.Or(m == 0, z3.And(s.topped(m), z3.Not(s.lost(m))))
    return z3.Implies(s.given(n), z3.And(m >= 0, m < n, is_start))


@_each(NUMBER, NUMBER)
def a_run_of_tickets_has_no_gap(s: State, n: Term, m: Term) -> Term:
    """Every number after its start has a ticket, or had it."""
    inside = z3.And(s.given(n), s.start(n) < m, m <= n)
    return z3.Implies(inside, s.given(m))


@_each(NUMBER)
def others_have_one_above(s: State, n: Term) -> Term:
    """Above an external item that never was the highest there is another one."""
    m = s.witness(n)
    other = z3.And(s.external(n), z3.Not(s.topped(n)))
    return z3.Implies(other, z3.And(m > n, s.external(m)))


@_each(OPERATOR)
def a_seed_reads_downwards_from_its_end(s: State, o: Term) -> Term:
    """Its end is there, and so is the item up to which it has read."""
    cursor, last = s.cursor(o), s.last(o)
    is_there = z3.And(s.external(last), cursor >= 0, cursor <= last)
    is_base = z3.Or(cursor == 0, s.given(cursor))
    known = z3.Or(s.phase(o) == SCANNING, s.phase(o) == CLOSING, s.phase(o) == IDLE)
    return z3.And(
        known,
        z3.Implies(s.phase(o) != IDLE, is_there),
        z3.Implies(s.phase(o) == SCANNING, s.external(cursor)),
        z3.Implies(s.phase(o) == CLOSING, z3.And(is_base, cursor < last)),
        z3.Implies(s.above(o) > 0, s.external(s.above(o))),
        s.above(o) >= 0,
    )


@_each(OPERATOR, NUMBER)
def a_stretch_lies_between_items(s: State, o: Term, n: Term) -> Term:
    """Of each number that it read past, a seed knows the items around it."""
    low, high = s.low(o, n), s.high(o, n)
    lower = z3.And(s.cursor(o) <= low, z3.Or(low == s.cursor(o), s.external(low)))
    upper = z3.And(n < high, high <= s.last(o), s.external(high))
    return z3.Implies(_region(s, o, n), z3.And(lower, low <= n, upper))


@_each(OPERATOR, NUMBER, NUMBER)
def stretches_are_apart(s: State, o: Term, n: Term, m: Term) -> Term:
    """Numbers between the same items are of one stretch."""
    inside = z3.And(_region(s, o, n), s.low(o, n) <= m, m < s.high(o, n))
    same = z3.And(s.low(o, m) == s.low(o, n), s.high(o, m) == s.high(o, n))
    return z3.Implies(inside, same)


@_each(OPERATOR, NUMBER)
def a_due_number_follows_an_item(s: State, o: Term, n: Term) -> Term:
    """It is the first of a stretch."""
    first = z3.And(_region(s, o, n), s.low(o, n) == n - 1)
    return z3.Implies(z3.And(s.due(o, n), s.phase(o) != IDLE), first)


@_each(OPERATOR, NUMBER)
def no_head_is_left_open(s: State, o: Term, n: Term) -> Term:
    """What follows a head that a seed read past is taken, or will be, or a put fails.

    So does one behind which a ticket came that the seed did not see.
    """
    first = s.low(o, n) + 1
    fails = z3.And(s.due(o, first), s.item(first))
    will_be = z3.And(s.due(o, first), s.low(o, n) == n)
    unseen = z3.And(s.ticket(n), n > s.cursor(o))
    return z3.Implies(
        z3.And(_region(s, o, n), s.head(n)),
        z3.And(z3.Or(s.item(n + 1), will_be, fails), z3.Implies(unseen, fails)),
    )


@_each(NUMBER, NUMBER)
def nothing_comes_into_a_finished_gap(s: State, m: Term, n: Term) -> Term:
    """A finished seed's gap has no ticket, and what follows a head there is taken."""
    base = s.base(m)
    is_base = z3.And(base >= 0, base < m, z3.Or(base == 0, s.given(base)))
    ticket = z3.And(base < n, n < m, s.ticket(n))
    head = z3.And(base <= n, n < m, s.head(n))
    return z3.Implies(
        s.finished(m),
        z3.And(s.external(m), is_base, z3.Not(ticket), z3.Implies(head, s.item(n + 1))),
    )


@_each(KEY, NUMBER)
def a_refusal_saw_its_cap_reached(s: State, k: Term, n: Term) -> Term:
    """The numbers had reached the cap of a refused request."""
    at = s.refused_at(k, n)
    return z3.Implies(s.refused(k, n), z3.And(at >= n, n > 0, s.head(at)))


@_each(NUMBER)
def no_number_is_above_its_cap(s: State, n: Term) -> Term:
    """A ticket's number is one that its request accepts."""
    return z3.Implies(s.ticket(n), n <= s.cap(n))


@_each(WORKER)
def a_worker_holds_the_head_it_saw(s: State, w: Term) -> Term:
    """The chain is that of its number; the date too, if it has one."""
    n = s.seen(w)
    dated = z3.And(s.seen_date(w) == s.date(n), n > 0, s.given(n))
    return z3.And(
        s.seen_chain(w) == s.link(n),
        z3.Or(dated, z3.And(s.seen_date(w) == NO_DATE, z3.Not(s.ticket(n)))),
    )


def a_ticket_covers_the_one_before(s: State, d: Domain) -> Term:
    """Its chain is the hash of the one before it, its key and its number."""
    return d.every(
        [NUMBER],
        lambda n: z3.Implies(
            s.given(n), s.chain(n) == d.hash(s.link(n - 1), s.key(n), n)
        ),
    )


@_each(NUMBER)
def no_date_is_ahead_of_every_clock(s: State, n: Term) -> Term:
    """While no two clocks differ by more than a day."""
    return z3.Implies(s.given(n), z3.And(s.date(n) >= 0, s.date(n) <= s.clock() + DAY))


@_each(NUMBER)
def no_date_runs_back(s: State, n: Term) -> Term:
    """From a ticket to the next."""
    both = z3.And(s.ticket(n), s.ticket(n - 1), n > 1)
    return z3.Implies(both, s.date(n - 1) <= s.date(n))


@_each(NUMBER)
def a_ticket_has_the_record_of_its_key(s: State, n: Term) -> Term:
    """While records are kept."""
    kept = z3.And(s.keyed(n), z3.Not(s.expired(s.key(n))))
    return z3.Implies(kept, s.record(s.key(n)) == n)


@_each(KEY)
def a_record_has_its_ticket(s: State, k: Term) -> Term:
    """A record's number is that of an item with its key."""
    n = s.record(k)
    return z3.Implies(n != 0, z3.And(s.keyed(n), s.key(n) == k))


NUMBERS: Final[tuple[Property, ...]] = (
    items_are_of_a_kind,
    a_ticket_follows_a_head,
    what_a_worker_tries_after_is_decided,
    a_run_of_tickets_has_a_start,
    a_run_of_tickets_has_no_gap,
    others_have_one_above,
    a_seed_reads_downwards_from_its_end,
    a_stretch_lies_between_items,
    stretches_are_apart,
    a_due_number_follows_an_item,
    no_head_is_left_open,
    nothing_comes_into_a_finished_gap,
)
"""They hold whatever becomes of the keys' records."""

OTHERS: Final[tuple[Property, ...]] = (
    a_refusal_saw_its_cap_reached,
    no_number_is_above_its_cap,
    a_worker_holds_the_head_it_saw,
    a_ticket_covers_the_one_before,
    no_date_is_ahead_of_every_clock,
    no_date_runs_back,
    a_ticket_has_the_record_of_its_key,
    a_record_has_its_ticket,
)
