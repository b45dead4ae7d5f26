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
    INVALID = auto()  # The item itself is invalid, for example too large.
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True)
class Slot:
    """The reasons of a cancelled block for one of its requests."""

    ticket: Reason = Reason.NONE
    key: Reason = Reason.NONE
    recorded: Assignment | DamagedKeyRecordError | None = None
    """The request's earlier assignment, if its key's condition failed."""
    taken_by: Head | None = None
    """The ticket that has the number; None if a seed, an import or an unknown writer
    took it: then only a read shows how the sequence continues."""

    @property
    def is_taken(self) -> bool:
        """Whether another ticket has the number, committed."""
        return self.ticket is Reason.CONDITION_FAILED

    @property
    def is_invalid(self) -> bool:
        """Whether the request needs a number and its items are invalid."""
        return self.recorded is None and Reason.INVALID in {self.ticket, self.key}


@dataclass(frozen=True, slots=True)
class Committed:
    """The whole block is written."""


@dataclass(frozen=True, slots=True)
class Cancelled:
    """Nothing of the block is written; each request has a slot with the reasons."""

    slots: Sequence[Slot]


@dataclass(frozen=True, slots=True)
class BlockInvalid:
    """DynamoDB rejects the whole block as invalid; nothing was tried."""

    reason: str


class TicketStore(Protocol):
    """The store that the algorithm needs; a read takes `MAX_KEYS_PER_READ` keys."""

    def head(self, project_id: str) -> Head:
        """Return the item with the project's highest committed number.

        Raises:
            StoreUnavailableError: The store throttled, failed or did not answer.
            StoreRefusedError: A right or the store is missing.
            DamagedSequenceError: The highest sort key is no ticket number.
        """
        ...

    def read_keys(
        self, keys: Collection[RequestKey]
    ) -> Mapping[RequestKey, Assignment | DamagedKeyRecordError]:
        """Return the recorded assignments of these keys; may leave out unread keys.

        Raises:
            StoreUnavailableError: The store throttled, failed or did not answer.
            StoreRefusedError: A right or the store is missing.
        """
        ...

    def read_keys_in_transaction(
        self, keys: Sequence[RequestKey]
    ) -> Mapping[RequestKey, Assignment | DamagedKeyRecordError]:
        """Return the recorded assignments; a missing key has no number.

        Unlike `read_keys` it never sees half of a transaction: if a query has returned
        a ticket, this returns the record of its key.

        Raises:
            StoreUnavailableError: The store throttled, failed or did not answer.
            StoreRefusedError: A right or the store is missing.
            SequenceContentionError: Another transaction holds a key.
        """
        ...

    def write_block(self, block: Block) -> Committed | Cancelled | BlockInvalid:
        """Put every ticket and key of the block, or nothing if one of them exists.

        Raises:
            StoreUnavailableError: The store throttled, failed or did not answer;
                whether the block is committed is unknown.
            StoreRefusedError: A right or the store is missing.
        """
        ...
