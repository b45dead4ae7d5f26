"""The ports: a store, a publisher, a dead-letter queue, and the values that cross them.

No AWS here: adapters named by their medium implement the ports.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, Protocol

from ticket_numbering.errors import (
    AnnouncementError,
    DamagedKeyRecordError,
    DeadLetterError,
    PoisonMessageError,
)
from ticket_numbering.messages import (
    Assignment,
    CreateTicket,
    RequestKey,
    TicketNumberAssigned,
)
from ticket_numbering.sqs_record import SQSRecord

TimeLeft = Callable[[], float]
"""Returns the seconds that are left of the invocation."""

MAX_BLOCK_REQUESTS: Final = 50
"""TransactWriteItems takes 100 actions; a request needs two, its ticket and its key."""

MAX_BLOCK_BYTES: Final = 4 * 1024 * 1024
"""TransactWriteItems takes 4 MB in all."""

MAX_ITEM_BYTES: Final = 400 * 1024
"""DynamoDB Developer Guide, "Quotas": the limit of an item, names and values."""

MAX_KEYS_PER_READ: Final = 100
"""BatchGetItem takes 100 keys, TransactGetItems 100 actions; see their references."""

REQUEST_OVERHEAD_BYTES: Final = 1024
"""What the two items hold besides: names, number, times, fingerprint."""


@dataclass(frozen=True, slots=True)
class Block:
    """Requests of one project that take contiguous numbers, all or none."""

    project_id: str
    first_number: int
    assigned_at: str
    requests: Sequence[CreateTicket]

    @property
    def next_number(self) -> int:
        """The number after the block."""
        return self.first_number + len(self.requests)

    def assignments(self) -> dict[RequestKey, Assignment]:
        """Return what holds once the block is committed."""
        return {
            request.key: Assignment(number, request.fingerprint, self.assigned_at)
            for number, request in enumerate(self.requests, self.first_number)
        }


def take_block(
    requests: Sequence[CreateTicket], first_number: int
) -> Sequence[CreateTicket]:
    """Return the requests from the start that one block can hold.

    A request that would get more than its `max_number` waits for the next block: an
    earlier one may turn out to be a replay, and leave its number to it.

    Args:
        requests: At least one; the first accepts the first number.
        first_number: The number of the first.
    """
    size, length = 0, 0
    for number, request in enumerate(requests[:MAX_BLOCK_REQUESTS], first_number):
        size += request.size + REQUEST_OVERHEAD_BYTES
        if length and (size > MAX_BLOCK_BYTES or not request.accepts(number)):
            break
        length += 1
    return requests[:length]


def is_too_large(request: CreateTicket) -> bool:
    """Tell whether the ticket's size can be why DynamoDB refuses it.

    Of no request that comes in a body of at most `MAX_BODY_BYTES`.
    """
    return request.size + REQUEST_OVERHEAD_BYTES > MAX_ITEM_BYTES


class Reason(Enum):
    """Why DynamoDB cancelled one action of a transaction."""

    NONE = auto()
    CONDITION_FAILED = auto()  # The item exists, committed.
    CONFLICT = auto()  # Another transaction holds the item; nothing is known.
    THROTTLED = auto()
    INVALID = auto()  # The item itself is refused, for its size say.
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True)
class Slot:
    """What a cancelled block says about one of its requests."""

    ticket: Reason = Reason.NONE
    key: Reason = Reason.NONE
    recorded: Assignment | DamagedKeyRecordError | None = None
    """The number that the request already has, where its key's condition failed."""
    is_elsewhere: bool = False
    """Whether what took the number is no ticket that a worker wrote, or not known."""

    @property
    def is_taken(self) -> bool:
        """Whether another ticket has the number, committed."""
        return self.ticket is Reason.CONDITION_FAILED

    @property
    def is_invalid(self) -> bool:
        """Whether the request still needs a number and cannot be written."""
        return self.recorded is None and Reason.INVALID in {self.ticket, self.key}


@dataclass(frozen=True, slots=True)
class Committed:
    """The whole block is written."""


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Nothing of the block is written; one slot a request says why."""

    slots: Sequence[Slot]


@dataclass(frozen=True, slots=True)
class Refused:
    """DynamoDB does not take the block as it is; nothing was tried."""

    reason: str


class TicketStore(Protocol):
    """What the algorithm needs of a store."""

    def last_number(self, project_id: str) -> int:
        """Return the project's highest committed number, 0 if it has no ticket.

        Raises:
            StoreUnavailableError: The store throttled, failed or did not answer.
            StoreRefusedError: A right or the store is missing.
            DamagedSequenceError: The highest number is none that a ticket can have.
        """
        ...

    def recorded(
        self, keys: Collection[RequestKey]
    ) -> Mapping[RequestKey, Assignment | DamagedKeyRecordError]:
        """Return the recorded assignments of these keys; may leave out unread ones.

        Args:
            keys: At most `MAX_KEYS_PER_READ`.

        Raises:
            StoreUnavailableError: The store throttled, failed or did not answer.
            StoreRefusedError: A right or the store is missing.
        """
        ...

    def settled(
        self, keys: Sequence[RequestKey]
    ) -> Mapping[RequestKey, Assignment | DamagedKeyRecordError]:
        """Return the recorded assignments; a key that is left out has no number.

        Unlike `recorded` it never sees a ticket's transaction half-way: a ticket that
        a query has shown has its key here.

        Args:
            keys: At most `MAX_KEYS_PER_READ`.

        Raises:
            StoreUnavailableError: The store throttled, failed or did not answer.
            StoreRefusedError: A right or the store is missing.
            SequenceContentionError: Another transaction holds a key.
        """
        ...

    def write_block(self, block: Block) -> Committed | Cancelled | Refused:
        """Put every ticket and every key of the block, where none exists, or nothing.

        Raises:
            StoreUnavailableError: The store throttled, failed or did not answer;
                whether the block is committed is unknown.
            StoreRefusedError: A right or the store is missing.
        """
        ...


@dataclass(frozen=True, slots=True)
class Announcement:
    """An event to publish, and whether it may have been published before."""

    event: TicketNumberAssigned
    replayed: bool


class Publisher(Protocol):
    """Announces assigned numbers."""

    def publish(
        self, announcements: Sequence[Announcement], time_left: TimeLeft
    ) -> Mapping[str, AnnouncementError]:
        """Publish, and return the errors of what was not published, by event id."""
        ...


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A poison message, and why it is one."""

    record: SQSRecord
    error: PoisonMessageError


class DeadLetterQueue(Protocol):
    """Takes poison messages."""

    def send(
        self, dead_letters: Sequence[DeadLetter], time_left: TimeLeft
    ) -> Mapping[str, DeadLetterError]:
        """Send, and return the errors of what was not sent, by message id."""
        ...
