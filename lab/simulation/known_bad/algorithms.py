"""The known-bad algorithms: the simulation must refute every one."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from simulation.checks.violations import Invariant
from simulation.known_bad import adapters, allocation, chains, lines, samples, workers
from simulation.world.execution_environment import (
    SHIPPED,
    Algorithm,
    ExecutionEnvironment,
)
from ticket_numbering.allocation.progress import Progress


def _with(name: str, **parts: Any) -> Algorithm:
    """Return the shipped algorithm but for these parts."""
    return Algorithm(name, partial(ExecutionEnvironment.handler, **parts))


def _by_record(name: str, number: samples.Number) -> Algorithm:
    build = partial(samples.RecordByRecord, number=number)
    return Algorithm(name, build, has_key_records=False)


def _uncached(name: str, kind: type[Progress]) -> Algorithm:
    return _with(name, allocator=partial(allocation.Uncached, kind=kind))


def _announcing(name: str, change: adapters.Change) -> Algorithm:
    return _with(name, publisher=partial(adapters.Announcing, change=change))


_TABLE: Final = {
    Invariant.ATTEMPT: (
        _with(
            "increment on any cancellation",
            decide=allocation.increment_on_any_cancellation,
        ),
        _with("one cached number for all projects", cache=allocation.OneForAll),
        _with("a place in line is taken for a number", line=lines.numbering),
    ),
    Invariant.CHAIN: (
        Algorithm(
            "a number cached from a block only tried", allocation.caching_what_it_tries
        ),
        _with(
            "increment by the block's length",
            decide=allocation.increment_by_block_length,
        ),
        _with("a cache without the chain", cache=chains.CacheWithoutChain),
        _with(
            "a tried block's chain past a taken run", decide=chains.own_chain_past_a_run
        ),
        _with("the chain of a run's first ticket", decide=chains.first_of_a_run),
        _with(
            "a tried block's chain after a replay",
            decide=chains.tried_chain_after_a_replay,
        ),
        _with("a fresh number with a stale chain", store=chains.StaleChains),
    ),
    Invariant.ATTEMPTS: (
        _uncached("a collision is taken for progress", allocation.StartsOver),
    ),
    Invariant.DATE: (
        _with("a cache without the date", cache=chains.CacheWithoutDate),
        _with("the worker's own clock", allocator=chains.OwnClock),
    ),
    Invariant.SECOND_NUMBER: (
        _by_record("the textbook loop: query, put, plus one", samples.textbook),
        _by_record("a three-step idempotency wrapper", samples.three_steps),
        Algorithm("the message id as key", adapters.keyed_by_message_id),
    ),
    Invariant.DELETED_EARLY: (
        _announcing("a replay is not announced", adapters.new_ones),
        Algorithm(
            "deleted before it is sent to the dead-letter queue",
            adapters.deleting_too_early,
        ),
        Algorithm("`Failed` is ignored", adapters.ignoring_failed_entries),
        _with("unforeseen failures are deleted", worker=workers.DeletesUnforeseen),
        _with(
            "poison is announced and not dead-lettered",
            dead_letters=adapters.NoDeadLetters(),
        ),
        Algorithm(
            "a replay found beside a conflict is not announced",
            allocation.leaving_replays_to_the_holder,
        ),
    ),
    Invariant.ORDER: (
        Algorithm(
            "the newest ticket gets deleted",
            adapters.deleting_the_top,
            has_key_records=False,
            deletes_tickets=True,
        ),
    ),
    Invariant.GIVEN_TWICE: (
        Algorithm(
            "a ticket is put without a condition", adapters.putting_without_condition
        ),
    ),
    Invariant.CAP: (_with("a cap is ignored", allocator=allocation.IgnoresCaps),),
    Invariant.REFUSED_AND_NUMBERED: (
        _with("a cap is refused without reading its key", store=adapters.RefusesUnseen),
        _with("a cap is refused on a half-seen block", store=adapters.RefusesHalfSeen),
    ),
    Invariant.REFUSED_BELOW_CAP: (
        _uncached("a cap is refused by its place in a block", allocation.ByPlace),
    ),
    Invariant.WAITED_FOR_NEIGHBOUR: (
        _with("a refusal holds its group", worker=workers.HoldsGroups),
        _uncached(
            "a block that DynamoDB rejects fails as a whole", allocation.FailsWhole
        ),
    ),
    Invariant.OVERTAKEN: (
        _uncached("a rival comes after the others", allocation.LateRivals),
        _uncached(
            "a request that DynamoDB rejects lets others pass", allocation.LetsPass
        ),
    ),
    Invariant.POISON_BEFORE_NUMBERS: (
        _with("poison is sent before the numbers", worker=workers.PoisonFirst),
    ),
    Invariant.WAITED_FOR_BACKOFF: (
        _with("numbers are announced at the end only", turns=workers.AnnouncesLast),
        _with("the thread that ends does not look", turns=workers.EndsUnseen),
    ),
    Invariant.DEAD_LETTER_BEFORE_EVENT: (
        _announcing(
            "poison is dead-lettered without its event", adapters.all_but_poison
        ),
    ),
    Invariant.ANNOUNCED_CHAIN: (
        _announcing("an announcement without the chain", chains.without_chains),
    ),
    Invariant.RECORD_CHAIN: (
        Algorithm("a key's record without the chain", chains.recording_no_chain),
    ),
}
"""By the check that sees them."""

KNOWN_BAD: Final = [
    replace(algorithm, breaks=check)
    for check, some in _TABLE.items()
    for algorithm in some
]

RARE: Final = (
    "the chain of a run's first ticket",
    "a request that DynamoDB rejects lets others pass",
    "a block that DynamoDB rejects fails as a whole",
    "a replay found beside a conflict is not announced",
)
"""They take more seeds than `make test` plays; `make known-bad` plays them."""
STALE_READS: Final = Algorithm(
    "a stale read is checked by the condition", adapters.reading_stale
)

CORRECT_BUT_COSTLY: Final[Sequence[Algorithm]] = (
    STALE_READS,
    _with("no line, as by default", line=None),
    _with("an adversary in place of the line", line=lines.lying),
    _with("a cached number without a TTL", cache=allocation.never_too_old),
)
"""Correct without seeds: the parts that they omit only save requests there."""

ALGORITHMS: Final = {
    algorithm.name: algorithm
    for algorithm in (SHIPPED, *CORRECT_BUT_COSTLY, *KNOWN_BAD)
}
"""The algorithms by name, for commands."""
