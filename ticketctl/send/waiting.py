"""Waits for the numbers of requests, by reading the table of idempotency keys.

A number stands there as soon as it is committed, and so before it is announced.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ticket_numbering.dynamodb_items import assignment, key_id
from ticket_numbering.errors import DamagedKeyRecordError
from ticket_numbering.messages import CreateTicket, ticket_key

_MAX_KEYS: Final = 100  # BatchGetItem: Keys.
_FIRST_PAUSE_SECONDS: Final = 0.2
_MAX_PAUSE_SECONDS: Final = 2.0


@dataclass(frozen=True)
class Answer:
    """What the table says of a request."""

    ticket: CreateTicket
    number: int = 0
    assigned_at: str = ""
    problem: str = ""
    """Why the request has no number, and will get none."""


@dataclass
class Waiting:
    """The requests of which no number is known yet."""

    dynamodb: Any
    table: str
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    missing: dict[str, CreateTicket] = field(default_factory=dict)

    def expect(self, tickets: Iterable[CreateTicket]) -> None:
        """Wait for the numbers of these."""
        self.missing |= {key_id(ticket.key): ticket for ticket in tickets}

    def answers(self, timeout: float) -> Iterator[Answer]:
        """Yield each answer when it is there; `missing` has what is left at the end.

        Args:
            timeout: After how many seconds without a new number to give up.
        """
        last_news, pause = self.clock(), _FIRST_PAUSE_SECONDS
        while self.missing:
            for item in self._records():
                yield _answer(self.missing.pop(item["id"]["S"]), item)
                last_news, pause = self.clock(), _FIRST_PAUSE_SECONDS
            if not self.missing or self.clock() >= last_news + timeout:
                return
            self.sleep(pause)
            pause = min(2 * pause, _MAX_PAUSE_SECONDS)

    def _records(self) -> Iterator[Mapping[str, Any]]:
        """Read what is there; unprocessed keys are missing, and so read again."""
        ids = list(self.missing)
        for start in range(0, len(ids), _MAX_KEYS):
            keys = [{"id": {"S": own_id}} for own_id in ids[start : start + _MAX_KEYS]]
            wanted = {self.table: {"Keys": keys, "ConsistentRead": True}}
            answer = self.dynamodb.batch_get_item(RequestItems=wanted)
            yield from answer["Responses"].get(self.table, [])


def _answer(ticket: CreateTicket, item: Mapping[str, Any]) -> Answer:
    recorded = assignment(item)
    if isinstance(recorded, DamagedKeyRecordError):
        return Answer(ticket, problem=str(recorded))
    if not ticket.matches(recorded.fingerprint):
        other = ticket_key(ticket.project_id, recorded.number)
        return Answer(ticket, problem=f"the key is that of {other}, another ticket")
    return Answer(ticket, recorded.number, recorded.assigned_at)
