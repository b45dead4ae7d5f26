"""In-memory doubles of the worker's ports, with views that read as sentences.

A test compares `FakeTicketStore` with the DynamoDB adapter, answer by answer.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from tests.support.builders import block_of, create_tickets
from ticket_numbering.allocation.block import MAX_BLOCK_REQUESTS, Block
from ticket_numbering.allocation.store import (
    MAX_KEYS_PER_READ,
    BlockInvalid,
    Cancelled,
    Committed,
    Reason,
    Slot,
)
from ticket_numbering.contract.dynamodb_items import key_id
from ticket_numbering.contract.envelope import Envelope
from ticket_numbering.contract.errors import (
    AnnouncementError,
    DamagedKeyRecordError,
    DeadLetterError,
    StoreUnavailableError,
)
from ticket_numbering.contract.head import Head
from ticket_numbering.contract.messages import Assignment, CreateTicket, RequestKey
from ticket_numbering.contract.time_left import TimeLeft
from ticket_numbering.worker.results import Assigned, Poison, Replayed, Result, Retry


def key_of(result: Result) -> str | None:
    """Return the ticket key that a result tells, if it tells one."""
    match result:
        case Assigned() | Replayed():
            return result.event.id
        case Retry():
            return result.ticket_key
        case _:
            return None


BlockAnswer = Committed | Cancelled | BlockInvalid
Fault = Callable[[Block], BlockAnswer | None]
"""Acts at one write of a block: returns an answer, raises, or lets the write be."""


def cancelled(*slots: Slot) -> Fault:
    """Cancel a write for these reasons."""
    return lambda _: Cancelled(slots)


def everywhere(ticket: Reason = Reason.NONE, key: Reason = Reason.NONE) -> Fault:
    """Cancel a write for the same reason at each request."""
    return lambda block: Cancelled([Slot(ticket, key)] * len(block.requests))


held: Final = everywhere(Reason.CONFLICT)
"""Cancels a write because another transaction holds its numbers."""


def passes(_: Block) -> None:
    """Let a write be."""


def unanswered(_: Block) -> None:
    """Fail before the write takes effect."""
    raise StoreUnavailableError("no answer")


def answer_lost(store: "FakeTicketStore") -> Fault:
    """Commit the write, then lose the answer."""

    def fault(block: Block) -> None:
        store.put(block)
        unanswered(block)

    return fault


def overtaken(store: "FakeTicketStore", by: int) -> Fault:
    """Let another worker commit tickets just before the write."""

    def fault(block: Block) -> None:
        store.fill(by, block.project_id)

    return fault


def in_project(project_id: str, fault: Fault) -> Fault:
    """Act at the writes of one project only."""
    return lambda block: fault(block) if block.project_id == project_id else None


@dataclass
class FakeTicketStore:
    """Tickets and keys in dicts; faults are queued for the writes to come."""

    tickets: dict[str, dict[int, CreateTicket]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    heads: dict[str, dict[int, Head]] = field(default_factory=lambda: defaultdict(dict))
    """The tickets as the next ones see them."""
    keys: dict[str, Assignment] = field(default_factory=dict)
    """By the ids of their records."""
    damaged: set[RequestKey] = field(default_factory=set)
    """Keys whose records are malformed."""
    external: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    """Numbers that a seed or an import took."""
    calls: list[str] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    read_errors: list[Exception] = field(default_factory=list)
    transactional_read_errors: list[Exception] = field(default_factory=list)
    on_read: Callable[[], None] = lambda: None

    def fill(self, count: int, project_id: str = "PROJ") -> "FakeTicketStore":
        """Let another worker commit this number of tickets."""
        first = max(self.tickets[project_id], default=0) + 1
        if count:
            self.put(block_of(create_tickets(count, project_id), first))
        return self

    def numbers(self, project_id: str = "PROJ") -> list[int]:
        """Return the project's numbers, ascending."""
        return sorted(self.tickets[project_id])

    def keys_in_order(self, project_id: str = "PROJ") -> list[str]:
        """Return the keys of the project's tickets, by number."""
        project = self.tickets[project_id]
        return [project[number].idempotency_key for number in sorted(project)]

    def head(self, project_id: str) -> Head:
        """Return the item with the highest number; see `TicketStore`."""
        self._read("head")
        taken = self.tickets[project_id].keys() | self.external[project_id]
        last = max(taken, default=0)
        return self.heads[project_id].get(last, Head(last))

    def read_keys(
        self, keys: Collection[RequestKey]
    ) -> dict[RequestKey, Assignment | DamagedKeyRecordError]:
        """Read the records of keys; see `TicketStore`."""
        self._read("read_keys")
        records = {key: self._recorded(key) for key in keys}
        return {key: answer for key, answer in records.items() if answer is not None}

    def read_keys_in_transaction(
        self, keys: Sequence[RequestKey]
    ) -> dict[RequestKey, Assignment | DamagedKeyRecordError]:
        """Read the records of keys for certain; see `TicketStore`."""
        if len(set(keys)) < len(keys) or len(keys) > MAX_KEYS_PER_READ:
            message = "a key twice, or more keys than a read takes"
            raise ValueError(message)
        if self.transactional_read_errors:
            raise self.transactional_read_errors.pop(0)
        return self.read_keys(keys)

    def write_block(self, block: Block) -> BlockAnswer:
        """Write all or nothing; see `TicketStore`."""
        self.calls.append("write_block")
        self.blocks.append(block)
        if not block.requests:
            # Ends at once a loop that makes no progress.
            raise ValueError("a transaction of nothing")
        if self.faults and (answer := self.faults.pop(0)(block)) is not None:
            return answer
        return self.put(block)

    def put(self, block: Block) -> BlockAnswer:
        """Write the block unless a condition fails, in spite of queued faults."""
        keys = {request.key for request in block.requests}
        if len(keys) < len(block.requests) or len(keys) > MAX_BLOCK_REQUESTS:
            return BlockInvalid("ValidationException")
        slots = [
            self._slot(block.project_id, ticket.assignment.number, ticket.request)
            for ticket in block.tickets
        ]
        if any(slot != Slot() for slot in slots):
            return Cancelled(slots)
        for request, assigned, _ in block.tickets:
            number = assigned.number
            self.tickets[block.project_id][number] = request
            self.heads[block.project_id][number] = Head(
                number, assigned.assigned_at, assigned.chain or ""
            )
        for key, assigned in block.assignments().items():
            self.keys[key_id(key)] = assigned
        return Committed()

    def _slot(self, project_id: str, number: int, request: CreateTicket) -> Slot:
        failed, none = Reason.CONDITION_FAILED, Reason.NONE
        recorded = self._recorded(request.key)
        is_external = number in self.external[project_id]
        is_taken = is_external or number in self.tickets[project_id]
        return Slot(
            ticket=failed if is_taken else none,
            key=failed if recorded else none,
            recorded=recorded,
            taken_by=None if is_external else self.heads[project_id].get(number),
        )

    def _recorded(self, key: RequestKey) -> Assignment | DamagedKeyRecordError | None:
        if key in self.damaged:
            return DamagedKeyRecordError("damaged")
        return self.keys.get(key_id(key))

    def _read(self, call: str) -> None:
        self.calls.append(call)
        self.on_read()
        if self.read_errors:
            raise self.read_errors.pop(0)


@dataclass
class FakeService:
    """Remembers its calls; refuses the ids in `refused`."""

    refused: set[str] = field(default_factory=set)
    calls: list[tuple[float, list[str]]] = field(default_factory=list)
    """The time left, and the ids, of each call."""
    bug: Exception | None = None

    def _call(self, ids: list[str], time_left: TimeLeft) -> set[str]:
        """Note a call; return the ids that are refused."""
        self.calls.append((time_left(), ids))
        if self.bug:
            raise self.bug
        return self.refused.intersection(ids)


@dataclass
class FakePublisher(FakeService):
    """Remembers the announcements."""

    announced: list[Envelope] = field(default_factory=list)

    def publish(
        self, announcements: Sequence[Envelope], time_left: TimeLeft
    ) -> dict[str, AnnouncementError]:
        """Publish; see `Publisher`."""
        refused = self._call(
            [envelope.event.id for envelope in announcements], time_left
        )
        self.announced += [
            envelope for envelope in announcements if envelope.event.id not in refused
        ]
        return {name: AnnouncementError("refused") for name in refused}

    @property
    def ids(self) -> list[str]:
        """Event ids in the order announced."""
        return [announcement.event.id for announcement in self.announced]

    @property
    def replayed(self) -> list[bool]:
        """Whether each announcement may be a repetition."""
        return [announcement.replayed for announcement in self.announced]


@dataclass
class FakeDeadLetters(FakeService):
    """Remembers the dead letters."""

    sent: list[Poison] = field(default_factory=list)

    def send(
        self, dead_letters: Sequence[Poison], time_left: TimeLeft
    ) -> dict[str, DeadLetterError]:
        """Send; see `DeadLetterQueue`."""
        refused = self._call(
            [dead_letter.record.message_id for dead_letter in dead_letters], time_left
        )
        self.sent += [
            dead_letter
            for dead_letter in dead_letters
            if dead_letter.record.message_id not in refused
        ]
        return {name: DeadLetterError("refused") for name in refused}

    @property
    def reasons(self) -> list[str]:
        """Reasons in the order sent."""
        return [str(letter.error) for letter in self.sent]


@dataclass
class FakeTime:
    """An invocation's clock: sleeping uses it up."""

    left: float = 30.0
    slept: list[float] = field(default_factory=list)

    def time_left(self) -> float:
        """Return the seconds left."""
        return self.left

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.slept.append(seconds)
        self.left -= seconds


@dataclass
class Clock:
    """A clock that goes only while something sleeps."""

    now: float = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
