"""A project's numbers in memory, at 17 bytes a ticket."""

import itertools
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from typing import Final

from ticket_numbering.contract.dynamodb_items import RESERVED, VOIDED
from ticketctl.aws.items import KeyRecord, Ticket
from ticketctl.evidence.agreement import Shared, of_record, of_ticket
from ticketctl.evidence.chain import ChainCheck
from ticketctl.evidence.findings import Kind, Range

# The flags of a ticket.
_MATCHED: Final = 1  # Its key's record names it, or may be absent.
_EXTERNAL: Final = 2  # Another system gave the number.
_FOLLOWER: Final = 4  # A seed took it because a worker may have held it.
_END: Final = 8  # The last number of a seed.
_CHAINED: Final = 16  # It has a hash.
_LOST: Final = 32  # A reserved item that has the hash of a ticket.
_JUDGED: Final = 64  # The chain judges its text, and the record need not confirm it.


@dataclass
class ProjectNumbers:
    """A project's tickets: numbers, digests, and flags, in parallel.

    A digest covers the fields that a ticket shares with its key's record.
    """

    start: int = 0
    """The number up to which nothing was read."""
    numbers: "array[int]" = field(default_factory=partial(array, "Q"))
    digests: "array[int]" = field(default_factory=partial(array, "Q"))
    flags: bytearray = field(default_factory=bytearray)
    chain: ChainCheck = field(default_factory=ChainCheck)
    voided: int = 0
    reserved: int = 0
    imported: int = 0

    def add(self, ticket: Ticket, *, is_expired: bool, is_judged: bool) -> None:
        """Add a ticket.

        Args:
            ticket: The ticket; no key is expected if it is malformed.
            is_expired: Whether the record of its key may have expired.
            is_judged: Whether the chain's check judges its text.
        """
        has_key = not ticket.is_malformed and ticket.idempotency_key is not None
        self.numbers.append(ticket.number)
        self.digests.append(_digest(of_ticket(ticket), is_judged) if has_key else 0)
        self.flags.append(
            _MATCHED * (not has_key or is_expired)
            # A lost ticket was numbered here, so no number before it is external.
            | _EXTERNAL * (ticket.is_external and not ticket.is_lost)
            | _FOLLOWER * ticket.follows_a_sequence
            | _END * ticket.ends_a_seed
            | _CHAINED * bool(ticket.chain)
            | _LOST * ticket.is_lost
            | _JUDGED * is_judged
        )
        self.voided += ticket.status == VOIDED
        is_reserved = ticket.status == RESERVED
        self.reserved += is_reserved
        self.imported += ticket.is_external and not is_reserved

    def sort(self) -> None:
        """Put the tickets in order, if they did not come in order."""
        if all(before < after for before, after in itertools.pairwise(self.numbers)):
            return
        order = sorted(range(len(self.numbers)), key=self.numbers.__getitem__)
        self.numbers = array("Q", (self.numbers[place] for place in order))
        self.digests = array("Q", (self.digests[place] for place in order))
        self.flags = bytearray(self.flags[place] for place in order)

    def match(self, record: KeyRecord) -> bool:
        """Return whether a record agrees with its ticket; needs the order."""
        place = bisect_left(self.numbers, record.number)
        if self.numbers[place : place + 1] != array("Q", [record.number]):
            return False
        is_judged = bool(self.flags[place] & _JUDGED)
        if self.digests[place] != _digest(of_record(record), is_judged):
            return False
        self.flags[place] |= _MATCHED
        return True

    def unmatched(self) -> Iterator[int]:
        """Yield the tickets without a record of their keys."""
        for number, flags in self._items():
            if not flags & _MATCHED:
                yield number

    def gaps(self) -> Iterator[tuple[Range, Kind]]:
        """Yield each missing range that nothing explains, and its kind."""
        for ends, before, after in self._missing():
            if not _explain(before, after):
                is_seeds = _is_baseline(after)
                yield ends, Kind.UNFINISHED_SEED if is_seeds else Kind.GAP

    def explained(self) -> Iterator[Range]:
        """Yield each missing range that the numbers around it explain."""
        for ends, before, after in self._missing():
            if _explain(before, after):
                yield ends

    def _missing(self) -> Iterator[tuple[Range, int, int]]:
        """Yield each missing range, and the flags around it; needs the order.

        The number before the first is 0: a sequence that starts at 2 lacks one.
        """
        before, flags_before = self.start, 0
        for after, flags in self._items():
            if after - before > 1:
                yield (before + 1, after - 1), flags_before, flags
            before, flags_before = after, flags

    def unchained(self) -> Iterator[Range]:
        """Yield the first and the last number of each segment without a chain."""
        first = last = 0
        for number, flags in self._items():
            if not flags & _CHAINED:
                first, last = first or number, number
            elif first:
                yield first, last
                first = 0
        if first:
            yield first, last

    def lost(self) -> Iterator[int]:
        """Yield the numbers of lost tickets."""
        for number, flags in self._items():
            if flags & _LOST:
                yield number

    def ends(self) -> Iterator[int]:
        """Yield the last ticket of each segment of the chain, or of a part of one."""
        for (number, flags), (after, flags_after) in itertools.pairwise(
            itertools.chain(self._items(), [(0, 0)])
        ):
            is_inside = after == number + 1 and _is_ticket_of_chain(flags_after)
            if _is_ticket_of_chain(flags) and not is_inside:
                yield number

    def _items(self) -> Iterator[tuple[int, int]]:
        """Return each number with its flags."""
        return zip(self.numbers, self.flags, strict=True)


def _explain(before: int, after: int) -> bool:
    """Tell whether no number is missing between two: both are external.

    A worker may still take the number after the last one given here, or after a seed's
    end.
    """
    return _is_baseline(after) and before & (_EXTERNAL | _END) == _EXTERNAL


def _is_baseline(flags: int) -> bool:
    """Tell whether a seed or an import put it, whatever was before it."""
    return flags & (_EXTERNAL | _FOLLOWER) == _EXTERNAL


def _is_ticket_of_chain(flags: int) -> bool:
    return flags & (_CHAINED | _LOST) == _CHAINED


def _digest(shared: Shared, is_judged: bool) -> int:  # noqa: FBT001
    """Return an 8-byte digest of the shared fields."""
    covered = shared._replace(fingerprint="") if is_judged else shared
    text = repr(tuple(covered)).encode()
    return int.from_bytes(blake2b(text, digest_size=8).digest())
