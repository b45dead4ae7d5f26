"""A project's numbers, small enough in memory for millions: 17 bytes a ticket."""

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from hashlib import blake2b
from itertools import pairwise
from typing import Final

from ticketctl.audit.findings import Kind
from ticketctl.system.items import RESERVED, VOIDED, KeyRecord, Ticket

Range = tuple[int, int]
"""The first and the last number."""

# What is kept of a ticket, bit by bit.
_MATCHED: Final = 1  # Its key's record names it, or need not exist.
_ELSEWHERE: Final = 2  # Another system gave the number.
_FOLLOWER: Final = 4  # A seed took it because a worker may have held it.
_END: Final = 8  # A seed went up to it.


class ProjectNumbers:
    """A project's tickets: numbers, digests of their keys, and flags, in parallel."""

    def __init__(self) -> None:
        self.numbers = array("Q")
        self._digests = array("Q")
        self._flags = bytearray()
        self.voided = 0
        self.reserved = 0
        self.expired = 0
        """Tickets whose keys need not be recorded any more."""

    def add(self, ticket: Ticket, *, is_expired: bool = False) -> None:
        """Take a ticket in; the key of a malformed one is not looked for."""
        key = None if ticket.is_malformed else ticket.idempotency_key
        self.numbers.append(ticket.number)
        self._digests.append(_digest(key) if key else 0)
        self._flags.append(
            _MATCHED * (key is None or is_expired)
            | _ELSEWHERE * ticket.is_from_elsewhere
            | _FOLLOWER * ticket.follows_a_sequence
            | _END * ticket.ends_a_seed
        )
        self.voided += ticket.status == VOIDED
        self.reserved += ticket.status == RESERVED
        self.expired += is_expired

    def sort(self) -> None:
        """Put the tickets in order, if they did not come in order."""
        if all(before < after for before, after in pairwise(self.numbers)):
            return
        order = sorted(range(len(self.numbers)), key=self.numbers.__getitem__)
        self.numbers = array("Q", (self.numbers[place] for place in order))
        self._digests = array("Q", (self._digests[place] for place in order))
        self._flags = bytearray(self._flags[place] for place in order)

    def match(self, record: KeyRecord) -> bool:
        """Tell whether a key's record names the ticket of this key; needs the order."""
        place = bisect_left(self.numbers, record.number)
        if self.numbers[place : place + 1] != array("Q", [record.number]):
            return False
        if self._digests[place] != _digest(record.idempotency_key):
            return False
        self._flags[place] |= _MATCHED
        return True

    def unmatched(self) -> Iterator[int]:
        """Return the tickets that no record of their keys names."""
        for number, flags in zip(self.numbers, self._flags, strict=True):
            if not flags & _MATCHED:
                yield number

    @property
    def from_elsewhere(self) -> int:
        """How many numbers another system gave."""
        return sum(bool(flags & _ELSEWHERE) for flags in self._flags)

    def missing(self) -> Iterator[tuple[Range, Kind | None]]:
        """Return each missing range and what it is; needs the order.

        Between two numbers from elsewhere it is nothing, but for what a worker may
        still take: the number after the last one given here or after a seed's end.
        The number before the first is 0: a sequence that starts at 2 lacks one.
        """
        before, flags_before = 0, 0
        for after, flags in zip(self.numbers, self._flags, strict=True):
            if after - before > 1:
                kind: Kind | None = Kind.GAP
                if flags & (_ELSEWHERE | _FOLLOWER) == _ELSEWHERE:
                    is_inside = flags_before & (_ELSEWHERE | _END) == _ELSEWHERE
                    kind = None if is_inside else Kind.UNFINISHED_SEED
                yield (before + 1, after - 1), kind
            before, flags_before = after, flags


def _digest(idempotency_key: str) -> int:
    """Return 8 bytes that stand for a key of a project."""
    return int.from_bytes(blake2b(idempotency_key.encode(), digest_size=8).digest())
