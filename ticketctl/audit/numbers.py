"""A project's numbers in memory, at 17 bytes a ticket."""

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from itertools import pairwise
from typing import Final

from ticket_numbering.contract.dynamodb_items import RESERVED, VOIDED
from ticketctl.audit.findings import Kind
from ticketctl.aws.items import KeyRecord, Ticket

Range = tuple[int, int]
"""The first and the last number."""

# The flags of a ticket.
_MATCHED: Final = 1  # Its key's record names it, or may be absent.
_ELSEWHERE: Final = 2  # Another system gave the number.
_FOLLOWER: Final = 4  # A seed took it because a worker may have held it.
_END: Final = 8  # The last number of a seed.


@dataclass
class ProjectNumbers:
    """A project's tickets: numbers, digests of their keys, and flags, in parallel."""

    numbers: "array[int]" = field(default_factory=partial(array, "Q"))
    digests: "array[int]" = field(default_factory=partial(array, "Q"))
    flags: bytearray = field(default_factory=bytearray)
    voided: int = 0
    reserved: int = 0
    imported: int = 0

    def add(self, ticket: Ticket, *, is_expired: bool = False) -> None:
        """Add a ticket; no key is expected if it is malformed or its key expired."""
        key = None if ticket.is_malformed else ticket.idempotency_key
        self.numbers.append(ticket.number)
        self.digests.append(_digest(key) if key else 0)
        self.flags.append(
            _MATCHED * (key is None or is_expired)
            | _ELSEWHERE * ticket.is_from_elsewhere
            | _FOLLOWER * ticket.follows_a_sequence
            | _END * ticket.ends_a_seed
        )
        self.voided += ticket.status == VOIDED
        is_reserved = ticket.status == RESERVED
        self.reserved += is_reserved
        self.imported += ticket.is_from_elsewhere and not is_reserved

    def sort(self) -> None:
        """Put the tickets in order, if they did not come in order."""
        if all(before < after for before, after in pairwise(self.numbers)):
            return
        order = sorted(range(len(self.numbers)), key=self.numbers.__getitem__)
        self.numbers = array("Q", (self.numbers[place] for place in order))
        self.digests = array("Q", (self.digests[place] for place in order))
        self.flags = bytearray(self.flags[place] for place in order)

    def match(self, record: KeyRecord) -> bool:
        """Return whether a record names the ticket of its key; needs the order."""
        place = bisect_left(self.numbers, record.number)
        if self.numbers[place : place + 1] != array("Q", [record.number]):
            return False
        if self.digests[place] != _digest(record.idempotency_key):
            return False
        self.flags[place] |= _MATCHED
        return True

    def unmatched(self) -> Iterator[int]:
        """Yield the tickets without a record of their keys."""
        for number, flags in zip(self.numbers, self.flags, strict=True):
            if not flags & _MATCHED:
                yield number

    def missing(self) -> Iterator[tuple[Range, Kind | None]]:
        """Yield each missing range and its kind; needs the order.

        Between two numbers from elsewhere there is no kind, except for a number that a
        worker may still take: after the last one given here, or after a seed's end.
        The number before the first is 0: a sequence that starts at 2 lacks one.
        """
        before, flags_before = 0, 0
        for after, flags in zip(self.numbers, self.flags, strict=True):
            if after - before > 1:
                kind: Kind | None = Kind.GAP
                if flags & (_ELSEWHERE | _FOLLOWER) == _ELSEWHERE:
                    is_inside = flags_before & (_ELSEWHERE | _END) == _ELSEWHERE
                    kind = None if is_inside else Kind.UNFINISHED_SEED
                yield (before + 1, after - 1), kind
            before, flags_before = after, flags


def _digest(idempotency_key: str) -> int:
    """Return an 8-byte digest of a key."""
    return int.from_bytes(blake2b(idempotency_key.encode(), digest_size=8).digest())
