"""Batch calls of SNS and SQS: packs by count and bytes, checks every entry's result.

Both services respond with HTTP 200 and a `Failed` list; an entry counts as sent only
if the `Successful` list has it.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from botocore.exceptions import ClientError

from ticket_numbering.adapters.aws_errors import (
    NO_ANSWER,
    NO_CODE,
    code_of,
    is_rejection,
    passes,
)
from ticket_numbering.contract.time_left import TimeLeft

MAX_BATCH_ENTRIES: Final = 10
"""PublishBatch and SendMessageBatch take 10 entries; see their API references."""

CALL_RESERVE_SECONDS: Final = 3.0
"""No call starts with less of the invocation's time left.

A call takes milliseconds.
A call that runs into its timeouts can still outlive the invocation: then SQS delivers
the whole batch again, and its completed part is replayed.
"""

CONNECT_TIMEOUT_SECONDS: Final = 1
READ_TIMEOUT_SECONDS: Final = 3
"""botocore's defaults of 60 s would outlive the invocation."""

MAX_CALL_ATTEMPTS: Final = 2
"""The second attempt is for a dropped connection; the worker backs off on its own."""

MAX_RETRY_DELAY_SECONDS: Final = 1
"""The delay of the second attempt; botocore, `retries.standard.ExponentialBackoff`."""

LONGEST_CALL_SECONDS: Final = (
    MAX_CALL_ATTEMPTS * (CONNECT_TIMEOUT_SECONDS + READ_TIMEOUT_SECONDS)
    + MAX_RETRY_DELAY_SECONDS
)
"""The duration of a call whose attempts all run into their timeouts."""

BatchCall = Callable[[list[dict[str, Any]]], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a batch call, without its id."""

    content: Mapping[str, Any]
    size: int
    """The bytes that count against the service's limit, including attributes."""


def attributes_size(attributes: Mapping[str, Mapping[str, Any]]) -> int:
    """Return the bytes of the attributes' names, types and values."""
    return sum(
        len(name.encode()) + sum(_size(value) for value in attribute.values())
        for name, attribute in attributes.items()
    )


def send_all(
    entries: Sequence[Entry],
    call: BatchCall,
    max_bytes: int,
    time_left: TimeLeft,
    reserve: float = CALL_RESERVE_SECONDS,
) -> dict[int, str]:
    """Send the entries in as few calls as fit, until a call gets no response.

    `max_bytes` limits an entry and a call; no call starts below the reserve of time.

    Returns:
        The reason for each entry that was not sent, by its position.
    """
    failures = {
        position: f"{entry.size} bytes with its attributes, at most {max_bytes} fit"
        for position, entry in enumerate(entries)
        if entry.size > max_bytes
    }
    waiting = deque(_packed(entries, max_bytes))
    while waiting:
        positions = waiting.popleft()
        if time_left() < reserve:
            failures |= dict.fromkeys(positions, "the invocation's time ran out")
            continue
        try:
            failures |= _send(positions, entries, call)
        except NO_ANSWER as error:
            # The other calls would probably time out too, and use up the time.
            unsent = [*positions, *chain.from_iterable(waiting)]
            return failures | dict.fromkeys(unsent, code_of(error))
        except ClientError as error:
            if passes(error) or is_rejection(error) or len(positions) == 1:
                failures |= dict.fromkeys(positions, code_of(error))
            else:
                # The batch is invalid: one bad entry must not harm its neighbours.
                waiting.extendleft([position] for position in reversed(positions))
    return failures


def _packed(entries: Sequence[Entry], max_bytes: int) -> Iterator[list[int]]:
    """Yield the positions of each call's entries, without entries too large for one."""
    batch: list[int] = []
    size = 0
    for position, entry in enumerate(entries):
        if entry.size > max_bytes:
            continue
        full = len(batch) == MAX_BATCH_ENTRIES or size + entry.size > max_bytes
        if batch and full:
            yield batch
            batch, size = [], 0
        batch.append(position)
        size += entry.size
    if batch:
        yield batch


def _send(
    positions: Sequence[int], entries: Sequence[Entry], call: BatchCall
) -> dict[int, str]:
    batch = [
        {"Id": str(position), **entries[position].content} for position in positions
    ]
    answer = call(batch)
    sent = {entry["Id"] for entry in answer.get("Successful", ())}
    reasons = {
        entry["Id"]: entry.get("Code", NO_CODE) for entry in answer.get("Failed", ())
    }
    return {
        position: reasons.get(str(position), "missing from the answer")
        for position in positions
        if str(position) not in sent
    }


def _size(value: str | bytes) -> int:
    return len(
        value.encode(errors="surrogatepass") if isinstance(value, str) else value
    )
