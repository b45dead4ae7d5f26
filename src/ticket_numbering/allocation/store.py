"""The store's port: its calls, and the reasons why a block was cancelled."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, Protocol

from ticket_numbering.allocation.block import Block
from ticket_numbering.contract.errors import DamagedKeyRecordError
from ticket_numbering.contract.head import Head
from ticket_numbering.contract.messages import Assignment, RequestKey

MAX_KEYS_PER_READ: Final = 100
"""BatchGetItem takes 100 keys, TransactGetItems 100 actions; see their references."""


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
    """The reasons of a cancelled block for one of its requests."""

    ticket: Reason = Reason.NONE
    key: Reason = Reason.NONE
    recorded: Assignment | DamagedKeyRecordError | None = None
    """The number that the request already has, where its key's condition failed."""
    taken_by: Head | None = None
    """The ticket that has the number; None if a seed or import, or an unknown writer
    took it: only a read tells how the sequence goes on."""

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
class BlockInvalid:
    """DynamoDB does not take the block as it is; nothing was tried."""

    reason: str


class TicketStore(Protocol):
    """The store that the algorithm needs."""

    def head(self, project_id: str) -> Head:
        """Return the item with the project's highest committed number.

        Raises:
            StoreUnavailableError: The store throttled, failed or did not answer.
            StoreRefusedError: A right or the store is missing.
            DamagedSequenceError: The highest number is none that a ticket can have.
        """
        ...

    def read_keys(
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

    def read_keys_in_transaction(
        self, keys: Sequence[RequestKey]
    ) -> Mapping[RequestKey, Assignment | DamagedKeyRecordError]:
        """Return the recorded assignments; a key that is left out has no number.

        Unlike `read_keys` it never sees a ticket's transaction half-way: a ticket that
        a query has shown has its key here.

        Args:
            keys: At most `MAX_KEYS_PER_READ`.

        Raises:
            StoreUnavailableError: The store throttled, failed or did not answer.
            StoreRefusedError: A right or the store is missing.
            SequenceContentionError: Another transaction holds a key.
        """
        ...

    def write_block(self, block: Block) -> Committed | Cancelled | BlockInvalid:
        """Put every ticket and every key of the block, where none exists, or nothing.

        Raises:
            StoreUnavailableError: The store throttled, failed or did not answer;
                whether the block is committed is unknown.
            StoreRefusedError: A right or the store is missing.
        """
        ...
