"""All tickets, small enough in memory for millions of them: some 30 bytes each.

A ticket's key is kept as a digest of 8 bytes. What a digest says is only ever a
suspicion: two keys may share one, so every finding is read again (`recheck.py`).
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from itertools import pairwise
from typing import Final

from ticketctl.audit.findings import Kind
from ticketctl.audit.rows import KeyRow, TicketRow
from ticketctl.system.items import RESERVED, VOIDED

_SHARDS: Final = 256  # What is sorted at a time stays small.
_MET: Final = 1  # Its key's record was met, and names it.
_OLD: Final = 2  # Its key's record may have expired.


def key_digest(project_id: str, idempotency_key: str) -> int:
    """Return 8 bytes that stand for a project's key."""
    text = f"{project_id}#{idempotency_key}".encode(errors="replace")
    return int.from_bytes(blake2b(text, digest_size=8).digest())


class ProjectNumbers:
    """A project's numbers."""

    def __init__(self, ordinal: int) -> None:
        self.ordinal = ordinal
        self.numbers = array("Q")
        self.elsewhere = array("Q")
        """Those of the numbers that another system gave."""
        self.followers = array("Q")
        """Those that a seed took right behind others; see `Ticket`."""
        self.ends = array("Q")
        """Those that a seed went up to."""
        self.voided = 0
        self.reserved = 0

    def add(self, row: TicketRow) -> None:
        """Take a ticket in."""
        self.numbers.append(row.number)
        if row.is_from_elsewhere:
            self.elsewhere.append(row.number)
        if row.reserved_up_to > row.number:
            self.followers.append(row.number)
        if row.reserved_up_to == row.number:
            self.ends.append(row.number)
        self.voided += row.status == VOIDED
        self.reserved += row.status == RESERVED

    def seal(self) -> None:
        """Put the numbers in order."""
        if any(after < before for before, after in pairwise(self.numbers)):
            self.numbers = array("Q", sorted(self.numbers))

    def missing(self) -> Iterator[tuple[int, int, Kind | None]]:
        """Return first and last of each missing range, and what it is.

        Between two numbers from elsewhere it is nothing, but for what a worker may
        still take: the number after the last one given here or after a seed's end.
        The number before the first is 0: a sequence that starts at 2 lacks one.
        """
        inside = set(self.elsewhere) - set(self.ends)
        from_elsewhere = set(self.elsewhere) - set(self.followers)
        before = 0
        for after in self.numbers:
            if after - before > 1:
                kind: Kind | None = Kind.GAP
                if after in from_elsewhere:
                    kind = None if before in inside else Kind.UNFINISHED_SEED
                yield before + 1, after - 1, kind
            before = after


class _Shard:
    """Tickets by the digests of their keys, in parallel arrays."""

    def __init__(self) -> None:
        self.digests = array("Q")
        self.numbers = array("Q")
        self.owners = array("I")
        self.marks = bytearray()

    def seal(self) -> None:
        order = sorted(range(len(self.digests)), key=self.digests.__getitem__)
        self.digests = array("Q", (self.digests[each] for each in order))
        self.numbers = array("Q", (self.numbers[each] for each in order))
        self.owners = array("I", (self.owners[each] for each in order))
        self.marks = bytearray(self.marks[each] for each in order)


class TicketIndex:
    """All tickets: first they are added, then it is sealed, then keys are met."""

    def __init__(self, digest: Callable[[str, str], int] = key_digest) -> None:
        self._digest = digest
        self.projects: dict[str, ProjectNumbers] = {}
        self._shards = [_Shard() for _ in range(_SHARDS)]

    def add(
        self, row: TicketRow, *, is_old: bool = False, is_met: bool = False
    ) -> None:
        """Take a ticket in.

        Args:
            row: The ticket.
            is_old: Its key's record may have expired.
            is_met: Its key's record is known to name it.
        """
        project = self.projects.get(row.project_id)
        if project is None:
            project = ProjectNumbers(len(self.projects))
            self.projects[row.project_id] = project
        project.add(row)
        if row.idempotency_key is not None:
            digest = self._digest(row.project_id, row.idempotency_key)
            shard = self._shards[digest % _SHARDS]
            shard.digests.append(digest)
            shard.numbers.append(row.number)
            shard.owners.append(project.ordinal)
            shard.marks.append(_OLD * is_old | _MET * is_met)

    def seal(self) -> None:
        """Make ready to meet keys."""
        for project in self.projects.values():
            project.seal()
        for shard in self._shards:
            shard.seal()

    def meet(self, row: KeyRow) -> list[int] | None:
        """Look for a key's ticket: None if it is there, else numbers that may be it."""
        digest = self._digest(row.project_id, row.idempotency_key)
        shard = self._shards[digest % _SHARDS]
        low, high = (
            bisect_left(shard.digests, digest),
            bisect_right(shard.digests, digest),
        )
        project = self.projects.get(row.project_id)
        mine = [
            place
            for place in range(low, high)
            if project and shard.owners[place] == project.ordinal
        ]
        for place in mine:
            if shard.numbers[place] == row.number:
                shard.marks[place] |= _MET
                return None
        return [shard.numbers[place] for place in mine]

    def repeated(self) -> Iterator[tuple[str, int]]:
        """Return the tickets that seem to share a key with another one."""
        for shard in self._shards:
            for one, other in pairwise(range(len(shard.digests))):
                if shard.digests[one] == shard.digests[other]:
                    yield from self._named(shard, (one, other))

    def unmet(self, *, old: bool) -> Iterator[tuple[str, int]]:
        """Return the tickets whose key's record was not met, or named another one."""
        wanted = _OLD if old else 0
        for shard in self._shards:
            places = (at for at, mark in enumerate(shard.marks) if mark == wanted)
            yield from self._named(shard, places)

    def _named(self, shard: _Shard, places: Iterable[int]) -> Iterator[tuple[str, int]]:
        names = [*self.projects]
        for place in places:
            yield names[shard.owners[place]], shard.numbers[place]
