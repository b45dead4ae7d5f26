"""Waits for the numbers of requests, by reading the table of idempotency keys.

A number stands there as soon as it is committed, and so before it is announced.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ticket_numbering.contract.dynamodb_items import assignment, key_id
from ticket_numbering.contract.errors import DamagedKeyRecordError
from ticket_numbering.contract.messages import CreateTicket, ticket_key
from ticketctl.aws.stack import System
from ticketctl.aws.table_reader import TableReader

_FIRST_DELAY_SECONDS: Final = 0.2
_MAX_DELAY_SECONDS: Final = 2.0


@dataclass(frozen=True)
class Answer:
    """The answer of the table to a request."""

    ticket: CreateTicket
    number: int = 0
    assigned_at: str = ""
    problem: str = ""
    """The reason why the request has no number."""


def wait_for_numbers(
    stack: System,
    tickets: Iterable[CreateTicket],
    timeout: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Answer]:
    """Yield the answer to each request as it appears.

    After `timeout` seconds without a new number, it yields the requests that have none.
    """
    missing = {key_id(ticket.key): ticket for ticket in tickets}
    reader = TableReader(stack.client("dynamodb"), sleep=sleep)
    table = stack.outputs["IdempotencyKeysTableName"]
    last_news, delay = clock(), _FIRST_DELAY_SECONDS
    while missing:
        keys = [ticket.key for ticket in missing.values()]
        for record in reader.records(table, keys):
            yield _answer(missing.pop(record["id"]["S"]), record)
            last_news, delay = clock(), _FIRST_DELAY_SECONDS
        if not missing or clock() >= last_news + timeout:
            break
        sleep(delay)
        delay = min(2 * delay, _MAX_DELAY_SECONDS)
    for ticket in missing.values():
        yield Answer(ticket, problem=f"no number after {timeout:g} seconds")


def _answer(ticket: CreateTicket, record: Mapping[str, Any]) -> Answer:
    recorded = assignment(record)
    if isinstance(recorded, DamagedKeyRecordError):
        return Answer(ticket, problem=str(recorded))
    if not ticket.matches(recorded.fingerprint):
        other = ticket_key(ticket.project_id, recorded.number)
        return Answer(ticket, problem=f"the key is that of {other}, another ticket")
    return Answer(ticket, recorded.number, recorded.assigned_at)
