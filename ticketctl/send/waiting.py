"""Waits for the answers to requests, by reading the tables.

The record of a key has its number as soon as it is committed, before its announcement.
A request whose key has no record after its project's numbers have reached its cap never
gets one, unless a seed of the project is unfinished.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ticket_numbering.contract import aws_codes
from ticket_numbering.contract.dynamodb_items import assignment
from ticket_numbering.contract.errors import DamagedKeyRecordError
from ticket_numbering.contract.events import ticket_key
from ticket_numbering.contract.messages import CreateTicket, RequestKey
from ticketctl.aws.aws_errors import Suppressed
from ticketctl.aws.retry import Patience, RetryPolicy
from ticketctl.aws.stack import StackAccess
from ticketctl.aws.table_reader import MAX_KEYS, TableReader
from ticketctl.aws.tickets import last_number

_FIRST_DELAY_SECONDS: Final = 0.2


@dataclass(frozen=True)
class Answer:
    """The table's answer to a request."""

    ticket: CreateTicket
    number: int = 0
    assigned_at: str = ""
    problem: str = ""
    """The reason why the request has no number."""


def wait_for_numbers(
    stack: StackAccess,
    tickets: Iterable[CreateTicket],
    timeout: float,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> Iterator[Answer]:
    """Yield the answer to each request as it appears.

    After `timeout` seconds without a new answer, yield the unanswered requests.
    """
    waiting = _Waiting(stack, TableReader.of(stack, sleep=sleep))
    for ticket in tickets:  # The highest cap of equal requests counts.
        equal = waiting.missing.setdefault(ticket.key, ticket)
        if ticket.cap > equal.cap:
            waiting.missing[ticket.key] = ticket
    # No other program reads in step, so the delays need no jitter.
    looks = RetryPolicy(shortest=_FIRST_DELAY_SECONDS, sleep=sleep, jitter=max)
    patience = Patience(timeout, clock, looks)
    while waiting.missing:
        for answer in waiting.answers():
            yield answer
            patience.renew()
        if not waiting.missing or patience.is_over:
            break
        patience.pause()
    for ticket in waiting.missing.values():
        # If the worker is stopped, there is no dead letter.
        see = f"see: {stack.program} status, then {waiting.letters}"
        problem = f"no number after {timeout:g} seconds; {see}"
        yield Answer(ticket, problem=problem)


@dataclass
class _Waiting:
    """The requests without an answer yet."""

    stack: StackAccess
    reader: TableReader
    missing: dict[RequestKey, CreateTicket] = field(default_factory=dict)

    @property
    def letters(self) -> str:
        """The command that lists dead letters."""
        return f"{self.stack.program} dead-letters list"

    def answers(self) -> Iterator[Answer]:
        """Yield the current answers."""
        for key, record in self.reader.records([*self.missing]):
            yield self._answer(self.missing.pop(key), record)
        # In this order: numbers only grow (but below an unfinished seed), so a key that
        # has no record after they have reached its cap gets none.
        full = self._at_their_cap()
        for start in range(0, len(full), MAX_KEYS):
            for ticket in self._without_record(full[start : start + MAX_KEYS]):
                del self.missing[ticket.key]
                problem = f"refused: the numbers have reached max_number {ticket.cap}"
                yield Answer(ticket, problem=problem)

    def _at_their_cap(self) -> list[CreateTicket]:
        """Return the requests whose cap their project's numbers have reached."""
        capped = [
            request
            for request in self.missing.values()
            if request.max_number is not None
        ]
        projects = {ticket.project_id for ticket in capped}
        last = {project: last_number(self.stack, project) for project in projects}
        return [
            request
            for request in capped
            if not request.accepts(last[request.project_id] + 1)
        ]

    def _without_record(self, tickets: Sequence[CreateTicket]) -> list[CreateTicket]:
        """Return the requests whose keys have no record; none if that is unknown."""
        keys = [ticket.key for ticket in tickets]
        with Suppressed({aws_codes.CANCELLED}):
            recorded = self.reader.recorded(keys)
            return [ticket for ticket in tickets if ticket.key not in recorded]
        return []  # A worker holds one of the keys: the next read decides.

    def _answer(self, ticket: CreateTicket, record: Mapping[str, Any]) -> Answer:
        recorded = assignment(record)
        if isinstance(recorded, DamagedKeyRecordError):
            return Answer(ticket, problem=f"{recorded}; see: {self.letters}")
        if not ticket.matches(recorded.fingerprint):
            other = ticket_key(ticket.project_id, recorded.number)
            problem = f"the key is that of {other}, another ticket; see: {self.letters}"
            return Answer(ticket, problem=problem)
        return Answer(ticket, recorded.number, recorded.assigned_at)
