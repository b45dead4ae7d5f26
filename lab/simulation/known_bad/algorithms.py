"""The known-bad algorithms: the simulation must refute every one."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from simulation.execution_environment import (
    SHIPPED,
    Algorithm,
    ExecutionEnvironment,
)
from simulation.known_bad import adapters, allocation, chains, samples, workers

FITS_NOT: Final = "does not fit"
TOO_EARLY: Final = "is dated before its predecessor"


def _with(name: str, breaks: str = "", **parts: Any) -> Algorithm:
    """Return the shipped algorithm but for these parts."""
    return Algorithm(name, partial(ExecutionEnvironment.handler, **parts), breaks)


def _by_record(name: str, breaks: str, number: samples.Number) -> Algorithm:
    build = partial(samples.RecordByRecord, number=number)
    return Algorithm(name, build, breaks, has_key_records=False)


KNOWN_BAD: Final[Sequence[Algorithm]] = (
    _with(
        "increment on any cancellation",
        "was committed after",
        decide=allocation.increment_on_any_cancellation,
    ),
    _with(
        "a conflict is a number taken",
        "was committed after",
        decide=allocation.conflict_is_taken,
    ),
    _with(
        "increment by the block's length",
        "was committed after",
        decide=allocation.increment_by_block_length,
    ),
    _with(
        "a collision is taken for progress",
        "times in",
        allocator=allocation.Unbounded,
    ),
    Algorithm(
        "a number cached from a block only tried",
        allocation.caching_what_it_tries,
        "was committed after",
    ),
    _with(
        "one cached number for all projects",
        "was committed after",
        cache=allocation.OneForAll,
    ),
    _with("a cache without the chain", FITS_NOT, cache=chains.CacheWithoutChain),
    _with("a cache without the date", TOO_EARLY, cache=chains.CacheWithoutDate),
    _with(
        "a tried block's chain past a taken run",
        FITS_NOT,
        decide=chains.own_chain_past_a_run,
    ),
    _with("the chain of a run's first ticket", FITS_NOT, decide=chains.first_of_a_run),
    _with(
        "a tried block's chain after a replay",
        FITS_NOT,
        decide=chains.tried_chain_after_a_replay,
    ),
    _with("a fresh number with a stale chain", FITS_NOT, store=chains.StaleChains),
    _with("the worker's own clock", TOO_EARLY, allocator=chains.OwnClock),
    _by_record(
        "the textbook loop: query, put, plus one", "has two numbers", samples.textbook
    ),
    _by_record(
        "a counter row with ADD, then the ticket",
        "was committed after",
        samples.counter,
    ),
    _by_record(
        "read and retry everything, no idempotency key",
        "has two numbers",
        samples.retry_everything,
    ),
    _by_record(
        "a three-step idempotency wrapper", "has two numbers", samples.three_steps
    ),
    _with(
        "a replay is not announced",
        "was deleted before it was done",
        publisher=adapters.SilentReplays,
    ),
    Algorithm("the message id as key", adapters.keyed_by_message_id, "has two numbers"),
    Algorithm(
        "deleted before it is sent to the dead-letter queue",
        adapters.deleting_too_early,
        "was deleted before it was done",
    ),
    Algorithm(
        "`Failed` is ignored",
        adapters.ignoring_failed_entries,
        "was deleted before it was done",
    ),
    _with(
        "unforeseen failures are deleted",
        "was deleted before it was done",
        worker=workers.DeletesUnforeseen,
    ),
    Algorithm(
        "a ticket is put without a condition",
        adapters.putting_without_condition,
        "was given twice",
    ),
    _with(
        "a cap is ignored",
        "is above its request's cap",
        allocator=allocation.IgnoresCaps,
    ),
    _with(
        "a cap is refused without a look at its key",
        "refused, but has number",
        store=adapters.RefusesUnseen,
    ),
    _with(
        "a cap is refused on a half-seen block",
        "refused, but has number",
        store=adapters.RefusesHalfSeen,
    ),
    _with(
        "a cap is refused by its place in a block",
        "refused below its cap",
        allocator=allocation.RefusesByPlace,
    ),
    _with(
        "a refusal holds its group",
        "had to wait without contention",
        worker=workers.HoldsGroups,
    ),
    _with(
        "a rival comes after the others",
        "was overtaken on a FIFO queue",
        allocator=allocation.NumbersRivalsLast,
    ),
    _with(
        "poison is sent before the numbers",
        "announced a number after poison",
        worker=workers.PoisonFirst,
    ),
    _with(
        "numbers are announced at the end only",
        "waited for another project's backoff",
        turns=workers.AnnouncesLast,
    ),
    _with(
        "the thread that ends does not look",
        "waited for another project's backoff",
        turns=workers.EndsUnseen,
    ),
    _with(
        "a refusal is taken for announced",
        "was dead-lettered before its event",
        publisher=adapters.SilentRefusals,
    ),
    _with(
        "poison is announced and not dead-lettered",
        "was deleted before it was done",
        dead_letters=adapters.NoDeadLetters(),
    ),
    Algorithm(
        "the newest ticket gets deleted",
        adapters.deleting_the_top,
        "was given twice",
        has_key_records=False,
        deletes_tickets=True,
    ),
)

RARE: Final = (
    "a collision is taken for progress",
    "the chain of a run's first ticket",
    "a cap is refused on a half-seen block",
    "a rival comes after the others",
)
"""They take more than a hundred seeds, so that `make known-bad` alone plays them."""

REPLAY_LEFT_TO_THE_HOLDER: Final = Algorithm(
    "a replay found beside a conflict is not announced",
    allocation.leaving_replays_to_the_holder,
    "was deleted before it was done",
)
"""Its interleaving is so rare that only the exhaustive exploration must find it."""

STALE_READS: Final = Algorithm(
    "a stale read is checked by the condition", adapters.reading_stale
)

CORRECT_BUT_COSTLY: Final[Sequence[Algorithm]] = (
    STALE_READS,
    _with("a cached number without a TTL", cache=allocation.never_too_old),
)
"""Correct: the parts of the shipped algorithm that they omit only save requests."""

ALGORITHMS: Final = {
    algorithm.name: algorithm
    for algorithm in (SHIPPED, *CORRECT_BUT_COSTLY, *KNOWN_BAD)
}
"""Those that a command can name."""
