"""Algorithms that are known to be wrong: the simulation must refute each of them."""

from collections.abc import Sequence
from typing import Final

from simulation.execution_environment import Algorithm
from simulation.known_bad.adapters import (
    DeafPublisher,
    SilentReplays,
    deleting_too_early,
    with_publisher,
)
from simulation.known_bad.caches import (
    NeverTooOld,
    OneForAll,
    caching,
    caching_what_it_tries,
)
from simulation.known_bad.decisions import (
    conflict_is_taken,
    deciding,
    increment_by_block_length,
    increment_on_any_cancellation,
    leaving_replays_to_the_holder,
    refusing_by_place,
)
from simulation.known_bad.samples import (
    Number,
    RecordByRecord,
    counter,
    retry_everything,
    textbook,
    three_steps,
)
from simulation.known_bad.stores import (
    RefusesHalfSeen,
    RefusesUnseen,
    StaleAndChecked,
    StaleAndTrusted,
    deleting_the_top,
    keyed_by_message_id,
    with_store,
)


def _by_record(name: str, number: Number) -> Algorithm:
    return Algorithm(
        name,
        lambda environment: RecordByRecord(environment, number),
        has_key_records=False,
    )


KNOWN_BAD: Final[Sequence[Algorithm]] = (
    Algorithm("increment on any cancellation", deciding(increment_on_any_cancellation)),
    Algorithm("a conflict is a number taken", deciding(conflict_is_taken)),
    Algorithm("increment by the block's length", deciding(increment_by_block_length)),
    Algorithm("a number remembered from a block only tried", caching_what_it_tries),
    Algorithm("one memory for all projects", caching(OneForAll)),
    _by_record("the textbook loop: query, put, plus one", textbook),
    _by_record("a counter row with ADD, then the ticket", counter),
    _by_record("read and retry everything, no idempotency key", retry_everything),
    _by_record("a three-step idempotency wrapper", three_steps),
    Algorithm("a replay is not announced", with_publisher(SilentReplays)),
    Algorithm("the message id as key", keyed_by_message_id),
    Algorithm("deleted before it is sent to the dead-letter queue", deleting_too_early),
    Algorithm("`Failed` is ignored", with_publisher(DeafPublisher)),
    Algorithm("a stale read is trusted", with_store(StaleAndTrusted)),
    Algorithm("a cap is refused without a look at its key", with_store(RefusesUnseen)),
    Algorithm("a cap is refused on a half-seen block", with_store(RefusesHalfSeen)),
    Algorithm("a cap is refused by its place in a block", refusing_by_place),
    Algorithm(
        "the newest ticket gets deleted",
        deleting_the_top,
        has_key_records=False,
        deletes_tickets=True,
    ),
)

REPLAY_LEFT_TO_THE_HOLDER: Final = Algorithm(
    "a replay found beside a conflict is not announced",
    leaving_replays_to_the_holder,
)
"""Its interleaving is so rare that only the exhaustive exploration must find it."""

CORRECT_BUT_COSTLY: Final[Sequence[Algorithm]] = (
    Algorithm("a stale read is checked by the condition", with_store(StaleAndChecked)),
    Algorithm("a remembered number never gets old", caching(NeverTooOld)),
)
"""Correct: what they leave out of the shipped algorithm only saves requests."""
