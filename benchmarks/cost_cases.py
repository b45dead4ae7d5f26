"""The ways whose costs are compared: ours, and the textbook's with and without help.

Requests and units follow from the algorithms, as `benchmarks.model` counts them;
the times of requests are taken.
"""

from collections.abc import Mapping
from math import ceil
from typing import Final

from benchmarks.cost_work import (
    KEY_BYTES,
    MEMORY_MB,
    TICKET_BYTES,
    Work,
    processor_ms,
)

CALL_MS: Final = 5.0
TRANSACTION_MS: Final = 15.0
"""Taken for a request within a Region, and for one that writes a transaction."""

BLOCK: Final = 50
"""Tickets of a transaction, at most."""
ANNOUNCED_TOGETHER: Final = 10
"""Announcements of a PublishBatch, at most; a typical ten has about 10 KB."""
SIDE_BY_SIDE: Final = 10
"""Projects of a batch that are worked on at a time."""
UNITS_A_TICKET: Final = 4.0
"""Ticket and key, up to 1 KB each, in a transaction, which doubles them."""

CROWD_PUTS: Final = 5.5
"""(N + 1) / 2: what N = 10 workers that collide on every number need for one."""
CROWD_TEN: Final = (1.2, 125.0)
CROWD_ONE: Final = (1.55, 130.0)
"""Tries of a block, and pauses of a batch in ms, with 10 workers and batches of 10, 1.

Rounded from the model: whoever is late waits instead of trying.
"""


def ours(
    batch_size: int,
    projects: int = 1,
    *,
    attempts: float = 1.0,
    pauses_ms: float = 0.0,
    memory_mb: int = MEMORY_MB,
) -> Work:
    """Return what the worker takes.

    Args:
        batch_size: Messages in a batch.
        projects: Projects among them, each with the same share.
        attempts: Tries of a block, where workers contend.
        pauses_ms: What a batch waits between them.
        memory_mb: Memory of the function; processor time comes with it.
    """
    blocks = ceil(batch_size / projects / BLOCK) * attempts
    publishes = ceil(batch_size / ANNOUNCED_TOGETHER)
    waits = (
        ceil(projects / SIDE_BY_SIDE) * (CALL_MS + blocks * TRANSACTION_MS)
        + publishes * CALL_MS
        + pauses_ms
    )
    calls = projects * (1 + blocks) + publishes
    return Work(
        "ours",
        batch_size,
        {
            "Query": projects / batch_size,
            "TransactWriteItems": projects * blocks / batch_size,
            "PublishBatch": publishes / batch_size,
        },
        write_units=UNITS_A_TICKET * attempts,
        read_units=projects / batch_size,
        milliseconds=waits + processor_ms(calls, batch_size, memory_mb),
    )


def textbook(batch_size: int, puts: float = 1.0) -> Work:
    """Return what query, conditional put and publish take, message by message.

    Args:
        batch_size: Messages in a batch.
        puts: Tries of a number; each costs a unit, taken or not.
    """
    calls = {"Query": 1.0, "PutItem": puts, "Publish": 1.0}
    return _one_by_one("textbook", batch_size, calls, puts, TICKET_BYTES)


def with_powertools(batch_size: int) -> Work:
    """Return what the textbook takes inside Powertools' idempotency.

    Which puts its record, and updates it at the end.
    """
    calls = {"Query": 1.0, "PutItem": 2.0, "UpdateItem": 1.0, "Publish": 1.0}
    stored = TICKET_BYTES + KEY_BYTES
    return _one_by_one("Powertools", batch_size, calls, 3.0, stored)


def _one_by_one(
    way: str, batch_size: int, calls: Mapping[str, float], units: float, stored: int
) -> Work:
    count = sum(calls.values())
    milliseconds = count * CALL_MS + processor_ms(count, 1)
    return Work(way, batch_size, calls, units, 1.0, batch_size * milliseconds, stored)


CASES: Final[Mapping[str, tuple[Work, ...]]] = {
    "no contention": (
        ours(10),
        ours(1),
        textbook(10),
        textbook(1),
        with_powertools(10),
        with_powertools(1),
    ),
    "every message of another project": (ours(10, projects=10),),
    "10 workers on one project": (
        ours(10, attempts=CROWD_TEN[0], pauses_ms=CROWD_TEN[1]),
        ours(1, attempts=CROWD_ONE[0], pauses_ms=CROWD_ONE[1]),
        textbook(10, puts=CROWD_PUTS),
        textbook(1, puts=CROWD_PUTS),
    ),
}
