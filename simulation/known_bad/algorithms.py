"""Ways to number tickets that are known to be wrong: the simulation must tell."""

from collections.abc import Callable, Sequence

from simulation.environment import Site, Way, as_boto3
from simulation.known_bad.caches import (
    NeverTooOld,
    OneForAll,
    caching,
    caching_what_it_tries,
)
from simulation.known_bad.changes import (
    DeafPublisher,
    HastyDeadLetters,
    SilentReplays,
    StaleAndChecked,
    StaleAndTrusted,
    conflict_is_taken,
    deciding,
    deleting_the_top,
    increment_by_block_length,
    increment_on_any_cancellation,
    keyed_by_message_id,
    leaving_replays_to_the_holder,
    with_store,
)
from simulation.known_bad.samples import (
    RecordByRecord,
    counter,
    retry_everything,
    textbook,
    three_steps,
)
from ticket_numbering.handler import build_handler
from ticket_numbering.messages import CreateTicket


def _by_record(name: str, number: Callable[[Site, CreateTicket], int]) -> Way:
    return Way(name, lambda site: RecordByRecord(site, number), has_key_records=False)


WRONG_WAYS: Sequence[Way] = (
    Way("increment on any cancellation", deciding(increment_on_any_cancellation)),
    Way("a conflict is a number taken", deciding(conflict_is_taken)),
    Way("increment by the block's length", deciding(increment_by_block_length)),
    Way("a number remembered from a block only tried", caching_what_it_tries),
    Way("one memory for all projects", caching(OneForAll)),
    _by_record("the textbook loop: query, put, plus one", textbook),
    _by_record("a counter row with ADD, then the ticket", counter),
    _by_record("read and retry everything, no idempotency key", retry_everything),
    _by_record("a three-step idempotency wrapper", three_steps),
    Way(
        "a replay is not announced",
        lambda site: build_handler(
            site.worker(publisher=SilentReplays(as_boto3(site.sns), "topic"))
        ),
    ),
    Way("the message id as key", keyed_by_message_id),
    Way(
        "deleted before it is sent to the dead-letter queue",
        lambda site: build_handler(
            site.worker(dead_letters=HastyDeadLetters(site, site.dead_letters()))
        ),
    ),
    Way(
        "`Failed` is ignored",
        lambda site: build_handler(
            site.worker(publisher=DeafPublisher(as_boto3(site.sns), "topic"))
        ),
    ),
    Way("a stale read is trusted", with_store(StaleAndTrusted)),
    Way(
        "the newest ticket gets deleted",
        deleting_the_top,
        has_key_records=False,
        deletes_tickets=True,
    ),
)

REPLAY_LEFT_TO_THE_HOLDER = Way(
    "a replay that it learns of beside a conflict is not announced",
    leaving_replays_to_the_holder,
)
"""Takes an interleaving so rare that only the exhaustive exploration must find it."""

RIGHT_WAYS: Sequence[Way] = (
    Way("a stale read is checked by the condition", with_store(StaleAndChecked)),
    Way("a remembered number never gets old", caching(NeverTooOld)),
)
"""Not what ships, but right: what they leave out is only there to save requests."""
