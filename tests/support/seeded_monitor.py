"""What holds of a sequence that is seeded: it jumps, and nothing is given between."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from simulation.aws.items import Address, Item, plain
from simulation.monitor import KEYS, TICKETS, Monitor, Violation
from ticketctl.sequences.seeding import Seeded


@dataclass
class Jump:
    """What a seed left behind when it reserved its last number."""

    before: int
    """The highest number at that moment."""
    last: int
    open_at: int | None
    """What whoever read before may still write; none once it is taken."""
    given: list[int] = field(default_factory=list)
    """Tickets that were committed between, from then on."""
    told: set[int] = field(default_factory=set)


@dataclass
class SeededMonitor(Monitor):
    """Knows that a sequence may jump, by a seed, and where to."""

    jumps: dict[str, list[Jump]] = field(default_factory=lambda: defaultdict(list))
    reserved: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    imported: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))

    def decided(self, writes: Mapping[Address, Item | None]) -> None:
        """See a seed, an import, or what a worker wrote."""
        elsewhere = {
            (str(address.key[0]), int(address.key[1])): item
            for address, item in writes.items()
            if address.table == TICKETS and item and "origin" in item
        }
        if not elsewhere:
            super().decided(writes)
        for (project, number), item in elsewhere.items():
            if number in self.issued[project] | self.imported[project]:
                broken(f"{project}-{number} was a ticket, and was overwritten")
            if "status" in item:
                self._see_reserved(project, number)
            else:
                self._see_imported(project, number)

    def open_jumps(self, project: str) -> list[Jump]:
        """Return the jumps behind which a worker may still write."""
        return [jump for jump in self.jumps[project] if jump.open_at is not None]

    def done(self, seeded: Seeded) -> None:
        """See that from now on nothing is given between, and that what was is told."""
        told = {*seeded.given_within}
        if told - self.issued[seeded.project_id]:
            broken(f"{told} were told as given, and were not")
        for jump in self.jumps[seeded.project_id]:
            if jump.last != seeded.last:
                continue
            jump.told |= told
            if jump.open_at is not None:
                broken(f"the seed up to {jump.last} left {jump.open_at} open")
            if {*jump.given} - jump.told:
                broken(f"{jump.given} were given, but {jump.told} told")

    def _see_reserved(self, project: str, number: int) -> None:
        if number in self.reserved[project]:
            broken(f"{project}-{number} was reserved twice")
        self.reserved[project].add(number)
        before = self.last[project]
        if number > before:
            following = before + 1 if before + 1 < number else None
            self.jumps[project].append(Jump(before, number, following))
            self.last[project] = number
        self._close(project, {number})

    def _see_imported(self, project: str, number: int) -> None:
        for jump in self.open_jumps(project):
            taken = self.reserved[project] | self.imported[project]
            if jump.open_at is not None and jump.open_at <= number < min(
                place for place in taken if place > jump.open_at
            ):
                broken(f"{project}-{number} was imported where workers may write")
        if number > self.last[project]:
            broken(f"{project}-{number} was imported beyond the last number")
        self.imported[project].add(number)

    def _check_sequence(self, project: str, new: list[int]) -> None:
        """See that tickets follow the last number, or one that is still open."""
        if new[0] > self.last[project]:
            super()._check_sequence(project, new)
            return
        places = {jump.open_at: jump for jump in self.open_jumps(project)}
        if new[0] not in places or new != [*range(new[0], new[-1] + 1)]:
            broken(f"{project}: {new} was committed below {self.last[project]}")
        places[new[0]].open_at = new[-1] + 1
        for jump in self.jumps[project]:
            jump.given += [number for number in new if jump.before < number < jump.last]
        self._close(project, self.reserved[project] | self.imported[project])

    def _close(self, project: str, taken: Collection[int]) -> None:
        for jump in self.jumps[project]:
            if jump.open_at in taken:
                jump.open_at = None

    def _check_tables(self, items: Mapping[str, list[Item]]) -> None:
        """See that what was decided was written, and that no seed is unfinished."""
        tickets = [item for item in items[TICKETS] if "origin" not in item]
        super()._check_tables({TICKETS: tickets, KEYS: items[KEYS]})
        elsewhere = defaultdict(set)
        for item in items[TICKETS]:
            if "origin" in item:
                project = str(plain(item["project_id"]))
                elsewhere[project].add(int(plain(item["number"])))
        for project in {*elsewhere, *self.jumps}:
            if elsewhere[project] != self.reserved[project] | self.imported[project]:
                broken(f"{project}: the table lacks a number from elsewhere")
            if jumps := self.open_jumps(project):
                broken(f"{project}: a worker may still write {jumps[0].open_at}")


def broken(promise: str) -> NoReturn:
    """End the history."""
    raise Violation(promise)
