"""Waits for the numbers of requests, by reading the table of idempotency keys.

A number stands there as soon as it is committed, and so before it is announced.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ticket_numbering.dynamodb_items import assignment, key_id
from ticket_numbering.errors import DamagedKeyRecordError
from ticket_numbering.messages import CreateTicket, ticket_key
from ticketctl.system.stack import System

_MAX_KEYS: Final = 100  # BatchGetItem: Keys.
_FIRST_DELAY_SECONDS: Final = 0.2
_MAX_DELAY_SECONDS: Final = 2.0


@dataclass(frozen=True)
class Answer:
    """What the table has for a request."""

    ticket: CreateTicket
    number: int = 0
    assigned_at: str = ""
    problem: str = ""
    """Why the request has no number."""


def wait_for_numbers(
    stack: System,
    tickets: Iterable[CreateTicket],
    timeout: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Answer]:
    """Yield the answer to each request when it is there.

    After `timeout` seconds without a new number, it yields the requests that have none.
    """
    missing = {key_id(ticket.key): ticket for ticket in tickets}
    last_news, delay = clock(), _FIRST_DELAY_SECONDS
    while missing:
        for record in _records(stack, [*missing]):
            yield _answer(missing.pop(record["id"]["S"]), record)
            last_news, delay = clock(), _FIRST_DELAY_SECONDS
        if not missing or clock() >= last_news + timeout:
            break
        sleep(delay)
        delay = min(2 * delay, _MAX_DELAY_SECONDS)
    for ticket in missing.values():
        yield Answer(ticket, problem=f"no number after {timeout:g} seconds")


def _records(stack: System, ids: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """Read what is there; unprocessed keys are missing, and so read again."""
    table, dynamodb = (
        stack.outputs["IdempotencyKeysTableName"],
        stack.client("dynamodb"),
    )
    for start in range(0, len(ids), _MAX_KEYS):
        keys = [
            {"id": {"S": record_id}} for record_id in ids[start : start + _MAX_KEYS]
        ]
        request = {table: {"Keys": keys, "ConsistentRead": True}}
        answer = dynamodb.batch_get_item(RequestItems=request)
        yield from answer["Responses"].get(table, [])


def _answer(ticket: CreateTicket, record: Mapping[str, Any]) -> Answer:
    recorded = assignment(record)
    if isinstance(recorded, DamagedKeyRecordError):
        return Answer(ticket, problem=str(recorded))
    if not ticket.matches(recorded.fingerprint):
        other = ticket_key(ticket.project_id, recorded.number)
        return Answer(ticket, problem=f"the key is that of {other}, another ticket")
    return Answer(ticket, recorded.number, recorded.assigned_at)
