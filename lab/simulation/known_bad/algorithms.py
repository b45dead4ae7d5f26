"""The known-bad algorithms: the simulation must refute every one."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from simulation.checks.violations import Invariant
from simulation.known_bad import adapters, allocation, chains, lines, samples, workers
from simulation.world.execution_environment import (
    SHIPPED,
    Algorithm,
    ExecutionEnvironment,
)


def _with(name: str, breaks: Invariant | None = None, **parts: Any) -> Algorithm:
    """Return the shipped algorithm but for these parts."""
    return Algorithm(name, partial(ExecutionEnvironment.handler, **parts), breaks)


def _by_record(name: str, breaks: Invariant, number: samples.Number) -> Algorithm:
    build = partial(samples.RecordByRecord, number=number)
    return Algorithm(name, build, breaks, has_key_records=False)


KNOWN_BAD: Final[Sequence[Algorithm]] = (
    _with(
        "increment on any cancellation",
        Invariant.ATTEMPT,
        decide=allocation.increment_on_any_cancellation,
    ),
    _with(
        "increment by the block's length",
        Invariant.CHAIN,
        decide=allocation.increment_by_block_length,
    ),
    _with(
        "a collision is taken for progress",
        Invariant.ATTEMPTS,
        allocator=partial(allocation.Uncached, kind=allocation.StartsOver),
    ),
    Algorithm(
        "a number cached from a block only tried",
        allocation.caching_what_it_tries,
        Invariant.ATTEMPT,
    ),
    _with(
        "one cached number for all projects",
        Invariant.ATTEMPT,
        cache=allocation.OneForAll,
    ),
    _with("a cache without the chain", Invariant.CHAIN, cache=chains.CacheWithoutChain),
    _with("a cache without the date", Invariant.DATE, cache=chains.CacheWithoutDate),
    _with(
        "a tried block's chain past a taken run",
        Invariant.CHAIN,
        decide=chains.own_chain_past_a_run,
    ),
    _with(
        "the chain of a run's first ticket",
        Invariant.CHAIN,
        decide=chains.first_of_a_run,
    ),
    _with(
        "a tried block's chain after a replay",
        Invariant.CHAIN,
        decide=chains.tried_chain_after_a_replay,
    ),
    _with(
        "a fresh number with a stale chain", Invariant.CHAIN, store=chains.StaleChains
    ),
    _with("the worker's own clock", Invariant.DATE, allocator=chains.OwnClock),
    _by_record(
        "the textbook loop: query, put, plus one",
        Invariant.SECOND_NUMBER,
        samples.textbook,
    ),
    _by_record(
        "a three-step idempotency wrapper", Invariant.SECOND_NUMBER, samples.three_steps
    ),
    _with(
        "a replay is not announced",
        Invariant.DELETED_EARLY,
        publisher=partial(adapters.Announcing, change=adapters.new_ones),
    ),
    Algorithm(
        "the message id as key", adapters.keyed_by_message_id, Invariant.SECOND_NUMBER
    ),
    Algorithm(
        "deleted before it is sent to the dead-letter queue",
        adapters.deleting_too_early,
        Invariant.DELETED_EARLY,
    ),
    Algorithm(
        "`Failed` is ignored", adapters.ignoring_failed_entries, Invariant.DELETED_EARLY
    ),
    _with(
        "unforeseen failures are deleted",
        Invariant.DELETED_EARLY,
        worker=workers.DeletesUnforeseen,
    ),
    Algorithm(
        "a ticket is put without a condition",
        adapters.putting_without_condition,
        Invariant.GIVEN_TWICE,
    ),
    _with("a cap is ignored", Invariant.CAP, allocator=allocation.IgnoresCaps),
    _with(
        "a cap is refused without reading its key",
        Invariant.REFUSED_AND_NUMBERED,
        store=adapters.RefusesUnseen,
    ),
    _with(
        "a cap is refused on a half-seen block",
        Invariant.REFUSED_AND_NUMBERED,
        store=adapters.RefusesHalfSeen,
    ),
    _with(
        "a cap is refused by its place in a block",
        Invariant.REFUSED_BELOW_CAP,
        allocator=partial(allocation.Uncached, kind=allocation.ByPlace),
    ),
    _with(
        "a refusal holds its group",
        Invariant.WAITED_FOR_NEIGHBOUR,
        worker=workers.HoldsGroups,
    ),
    _with(
        "a rival comes after the others",
        Invariant.OVERTAKEN,
        allocator=partial(allocation.Uncached, kind=allocation.LateRivals),
    ),
    _with(
        "a request that DynamoDB refuses lets others pass",
        Invariant.OVERTAKEN,
        allocator=partial(allocation.Uncached, kind=allocation.LetsPass),
    ),
    _with(
        "a block that DynamoDB refuses fails as a whole",
        Invariant.WAITED_FOR_NEIGHBOUR,
        allocator=partial(allocation.Uncached, kind=allocation.FailsWhole),
    ),
    _with(
        "poison is sent before the numbers",
        Invariant.POISON_BEFORE_NUMBERS,
        worker=workers.PoisonFirst,
    ),
    _with(
        "numbers are announced at the end only",
        Invariant.WAITED_FOR_BACKOFF,
        turns=workers.AnnouncesLast,
    ),
    _with(
        "the thread that ends does not look",
        Invariant.WAITED_FOR_BACKOFF,
        turns=workers.EndsUnseen,
    ),
    _with(
        "poison is dead-lettered without its event",
        Invariant.DEAD_LETTER_BEFORE_EVENT,
        publisher=partial(adapters.Announcing, change=adapters.all_but_poison),
    ),
    _with(
        "an announcement without the chain",
        Invariant.ANNOUNCED_CHAIN,
        publisher=partial(adapters.Announcing, change=chains.without_chains),
    ),
    Algorithm(
        "a key's record without the chain",
        chains.recording_no_chain,
        Invariant.RECORD_CHAIN,
    ),
    _with(
        "poison is announced and not dead-lettered",
        Invariant.DELETED_EARLY,
        dead_letters=adapters.NoDeadLetters(),
    ),
    Algorithm(
        "the newest ticket gets deleted",
        adapters.deleting_the_top,
        Invariant.GIVEN_TWICE,
        has_key_records=False,
        deletes_tickets=True,
    ),
    _with(
        "a place in line is taken for a number", Invariant.ATTEMPT, line=lines.numbering
    ),
    Algorithm(
        "a replay found beside a conflict is not announced",
        allocation.leaving_replays_to_the_holder,
        Invariant.DELETED_EARLY,
    ),
)

RARE: Final = (
    "the chain of a run's first ticket",
    "a request that DynamoDB refuses lets others pass",
    "a block that DynamoDB refuses fails as a whole",
    "a replay found beside a conflict is not announced",
)
"""They take more seeds than `make test` plays; `make known-bad` plays them."""
STALE_READS: Final = Algorithm(
    "a stale read is checked by the condition", adapters.reading_stale
)

CORRECT_BUT_COSTLY: Final[Sequence[Algorithm]] = (
    STALE_READS,
    _with("an adversary in place of the line", line=lines.lying),
    _with("a cached number without a TTL", cache=allocation.never_too_old),
)
"""Correct without seeds: the parts that they omit only save requests there."""

ALGORITHMS: Final = {
    algorithm.name: algorithm
    for algorithm in (SHIPPED, *CORRECT_BUT_COSTLY, *KNOWN_BAD)
}
"""Those that a command can name."""
