"""The invariant, and the promises that follow from it.

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
    """Numbers start at 1, and only an item has marks."""
    kinds = z3.And(s.kind(n) >= NOTHING, s.kind(n) <= IMPORTED)
    is_filled = z3.And(s.ticket(n), s.kept(n), s.filled(n))
    return z3.And(
        kinds,
        z3.Implies(s.item(n), n > 0),
        z3.Implies(s.ends(n), s.external(n)),
        z3.Implies(s.topped(n), z3.Or(s.ends(n), is_filled)),
        z3.Implies(s.kept(n), s.given(n)),
        z3.Implies(s.filled(n), s.given(n)),
        z3.Implies(s.lost(n), z3.And(s.kind(n) == RESERVED, s.topped(n))),
    )


@_each(NUMBER)
def a_ticket_follows_a_head(s: State, n: Term) -> Term:
    """The number before a ticket's is 0, a ticket's, or was the highest of a seed."""
    own = z3.And(s.ticket(n), z3.Not(s.filled(n)))
    return z3.Implies(own, z3.And(n > 0, s.head(n - 1)))


@_each(NUMBER)
def what_was_filled_in_has_an_item_behind(s: State, n: Term) -> Term:
    """And the old sequence, or none, below it, and a seed's end above it."""
    low = s.under(n)
    is_old = z3.And(s.given(low), z3.Not(s.filled(low)))
    is_above = z3.And(low >= 0, low < n, z3.Or(low == 0, is_old))
    is_below = z3.And(n <= s.over(n), s.placed(s.over(n)))
    return z3.And(
        z3.Implies(s.filled(n), z3.And(is_above, is_below)),
        z3.Implies(s.back(n), s.item(n + 1)),
    )


@_each(NUMBER, NUMBER)
def nothing_is_tried_below_what_was_filled_in(s: State, n: Term, m: Term) -> Term:
    """The number after a head there is taken, and no worker assigned a number there."""
    own = z3.And(s.under(n) < m, s.ticket(m), z3.Not(s.back(m)))
    below = z3.And(s.filled(n), s.under(n) <= m, m < n)
    kept = z3.And(z3.Implies(s.head(m), s.item(m + 1)), z3.Not(own))
    return z3.Implies(below, kept)


@_each(WORKER)
def what_a_worker_tries_after_is_decided(s: State, w: Term) -> Term:
    """The number before the one that it tries next is a head."""
    return z3.And(s.seen(w) >= 0, s.head(s.seen(w)))


@_each(NUMBER)
def a_run_of_tickets_has_a_start(s: State, n: Term) -> Term:
    """It is 0, or a number at which a seed ended."""
    m = s.start(n)
    is_old = z3.Or(z3.Not(s.lost(m)), s.filled(m))
    is_start = z3.Or(m == 0, z3.And(s.topped(m), is_old))
    own = z3.And(s.given(n), z3.Not(s.filled(n)))
    return z3.Implies(own, z3.And(m >= 0, m < n, is_start))


@_each(NUMBER, NUMBER)
def a_run_of_tickets_has_no_gap(s: State, n: Term, m: Term) -> Term:
    """Every number after its start has a ticket, or had it."""
    own = z3.And(s.given(n), z3.Not(s.filled(n)))
    inside = z3.And(own, s.start(n) < m, m <= n)
    return z3.Implies(inside, s.given(m))


@_each(NUMBER)
def others_have_one_above(s: State, n: Term) -> Term:
    """Above an external item that never was the highest there is another one."""
    m = s.witness(n)
    other = z3.And(s.external(n), z3.Not(s.topped(n)))
    return z3.Implies(other, z3.And(m > n, s.placed(m)))


@_each(OPERATOR)
def a_seed_reads_downwards_from_its_end(s: State, o: Term) -> Term:
    """Its end is there, and so is the item up to which it has read."""
    cursor, last = s.cursor(o), s.last(o)
    is_there = z3.And(s.placed(last), cursor >= 0, cursor <= last)
    is_base = z3.Or(cursor == 0, s.given(cursor))
    known = z3.Or(s.phase(o) == SCANNING, s.phase(o) == CLOSING, s.phase(o) == IDLE)
    return z3.And(
        known,
        z3.Implies(s.phase(o) != IDLE, is_there),
        z3.Implies(s.phase(o) == SCANNING, s.placed(cursor)),
        z3.Implies(s.phase(o) == CLOSING, z3.And(is_base, cursor < last)),
        z3.Implies(s.above(o) > 0, s.placed(s.above(o))),
        s.above(o) >= 0,
    )


@_each(OPERATOR, NUMBER)
def a_stretch_lies_between_items(s: State, o: Term, n: Term) -> Term:
    """Of each number that it read past, a seed knows the items around it."""
    low, high = s.low(o, n), s.high(o, n)
    lower = z3.And(s.cursor(o) <= low, z3.Or(low == s.cursor(o), s.placed(low)))
    upper = z3.And(n < high, high <= s.last(o), s.placed(high))
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
    """The number after a head that a seed read past is taken or due, or a put fails.

    So does one behind which a worker's ticket came that the seed did not see.
    """
    first = s.low(o, n) + 1
    fails = z3.And(s.due(o, first), s.item(first))
    will_be = z3.And(s.due(o, first), s.low(o, n) == n)
    unseen = z3.And(s.ticket(n), z3.Not(s.back(n)), n > s.cursor(o))
    return z3.Implies(
        z3.And(_region(s, o, n), s.head(n)),
        z3.And(z3.Or(s.item(n + 1), will_be, fails), z3.Implies(unseen, fails)),
    )


@_each(NUMBER)
def a_finished_seed_has_a_base(s: State, m: Term) -> Term:
    """It is 0, or the last number that a worker gave below the seed's end."""
    base = s.base(m)
    is_old = z3.And(s.given(base), z3.Not(s.filled(base)))
    is_base = z3.And(base >= 0, base < m, z3.Or(base == 0, is_old))
    return z3.Implies(s.finished(m), z3.And(s.placed(m), is_base))


@_each(NUMBER, NUMBER)
def nothing_comes_into_a_finished_gap(s: State, m: Term, n: Term) -> Term:
    """No worker assigned a number there, and the number after a head there is taken."""
    own = z3.And(s.base(m) < n, s.ticket(n), z3.Not(s.back(n)))
    inside = z3.And(s.finished(m), s.base(m) <= n, n < m)
    taken = z3.Implies(s.head(n), s.item(n + 1))
    return z3.Implies(inside, z3.And(z3.Not(own), taken))


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
    as_it_is = z3.And(
        s.seen_chain(w) == s.link(n),
        z3.Or(dated, z3.And(s.seen_date(w) == NO_DATE, z3.Not(s.ticket(n)))),
    )
    # A ticket came into its place since, and the number behind it is taken.
    return z3.Or(as_it_is, z3.And(s.kept(n), s.item(n + 1)))


def a_ticket_covers_the_one_before(s: State, d: Domain) -> Term:
    """Its chain is the hash of the one before it, its key and its number.

    One that was filled in covers a ticket that is still to come back.
    """

    def covers(n: Term) -> Term:
        waits = z3.And(s.filled(n), z3.Not(z3.And(n > 1, s.given(n - 1))))
        return z3.Implies(
            s.given(n),
            z3.And(
                s.chain(n) == d.hash(s.covers(n), s.key(n), n),
                z3.Or(s.covers(n) == s.link(n - 1), waits),
            ),
        )

    return d.every([NUMBER], covers)


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
    what_was_filled_in_has_an_item_behind,
    nothing_is_tried_below_what_was_filled_in,
    what_a_worker_tries_after_is_decided,
    a_run_of_tickets_has_a_start,
    a_run_of_tickets_has_no_gap,
    others_have_one_above,
    a_seed_reads_downwards_from_its_end,
    a_stretch_lies_between_items,
    stretches_are_apart,
    a_due_number_follows_an_item,
    no_head_is_left_open,
    a_finished_seed_has_a_base,
    nothing_comes_into_a_finished_gap,
)
"""They hold for any fate of the keys' records."""

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
