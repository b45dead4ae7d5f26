"""The monitor of sequences that operators write to: no number is given between."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from operators.mark_monitor import MarkMonitor
from simulation.aws.items import Address, Item, plain
from simulation.aws.tables import KEYS, TICKETS
from simulation.checks.violations import Invariant, broken
from ticketctl.sequences.seeding import Seeded


@dataclass
class Jump:
    """A jump of a sequence: a seed reserved its last number."""

    before: int
    """The highest number before the jump."""
    last: int
    open_at: int | None
    """The number that a stale worker may still write; None once it is taken."""
    given: list[int] = field(default_factory=list)
    """Tickets committed below the last number after the jump."""
    reported: set[int] = field(default_factory=set)


@dataclass
class SeededMonitor(MarkMonitor):
    """Accepts the jumps of seeds, and imported tickets."""

    jumps: dict[str, list[Jump]] = field(default_factory=lambda: defaultdict(list))
    reserved: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    imported: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))

    def numbers_of(self, project: str) -> list[int]:
        """Return the numbers of a project that have an item."""
        taken = self.issued[project] | self.imported[project]
        return sorted(taken | self.reserved[project])

    def _see_numbers(self, writes: Mapping[Address, Item | None]) -> None:
        """Check a write of a seed, an import or a worker."""
        external = {
            (str(address.key[0]), int(address.key[1])): item
            for address, item in writes.items()
            if address.table == TICKETS and item and "origin" in item
        }
        if not external:
            super()._see_numbers(writes)
        for (project, number), item in external.items():
            if number in self.issued[project] | self.imported[project]:
                broken(
                    Invariant.TICKET_OVERWRITTEN,
                    f"{project}-{number} was a ticket, and was overwritten",
                )
            if "status" in item:
                self._see_reserved(project, number)
            else:
                self._see_imported(project, number)

    def below_seeds(self, project: str) -> frozenset[int]:
        """Return the numbers given below the last one of an unfinished seed."""
        return frozenset().union(*(jump.given for jump in self.jumps[project]))

    def open_jumps(self, project: str) -> list[Jump]:
        """Return the jumps behind which a worker may still write."""
        return [jump for jump in self.jumps[project] if jump.open_at is not None]

    def done(self, seeded: Seeded) -> None:
        """See a finished seed: it reported every ticket that was given between."""
        reported = {*seeded.given_within}
        if reported - self.issued[seeded.project_id]:
            broken(
                Invariant.SEED_REPORT,
                f"{reported} were reported as given, and were not",
            )
        for jump in self.jumps[seeded.project_id]:
            if jump.last != seeded.last:
                continue
            jump.reported |= reported
            if jump.open_at is not None:
                broken(
                    Invariant.SEED_LEFT_OPEN,
                    f"the seed up to {jump.last} left {jump.open_at} open",
                )
            if {*jump.given} - jump.reported:
                broken(
                    Invariant.SEED_REPORT,
                    f"{jump.given} were given, but {jump.reported} reported",
                )

    def _see_reserved(self, project: str, number: int) -> None:
        if number in self.reserved[project]:
            broken(Invariant.RESERVED_TWICE, f"{project}-{number} was reserved twice")
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
                broken(
                    Invariant.IMPORT_IN_OPEN_GAP,
                    f"{project}-{number} was imported where workers may write",
                )
        if number > self.last[project]:
            broken(
                Invariant.IMPORT_BEYOND_SEED,
                f"{project}-{number} was imported beyond the last number",
            )
        self.imported[project].add(number)

    def _check_sequence(self, project: str, new: list[int]) -> None:
        """Check that tickets follow the last number, or fill an open place."""
        if new[0] > self.last[project]:
            super()._check_sequence(project, new)
            return
        places = {jump.open_at: jump for jump in self.open_jumps(project)}
        if new[0] not in places or new != [*range(new[0], new[-1] + 1)]:
            broken(
                Invariant.BELOW_SEED,
                f"{project}: {new} was committed below {self.last[project]}",
            )
        places[new[0]].open_at = new[-1] + 1
        for jump in self.jumps[project]:
            jump.given += [number for number in new if jump.before < number < jump.last]
        self._close(project, self.reserved[project] | self.imported[project])

    def _close(self, project: str, taken: Collection[int]) -> None:
        for jump in self.jumps[project]:
            if jump.open_at in taken:
                jump.open_at = None

    def _check_tables(self, items: Mapping[str, list[Item]]) -> None:
        """Check that everything decided was written, and every seed finished."""
        tickets = [item for item in items[TICKETS] if "origin" not in item]
        super()._check_tables({TICKETS: tickets, KEYS: items[KEYS]})
        external = defaultdict(set)
        for item in items[TICKETS]:
            if "origin" in item:
                project = str(plain(item["project_id"]))
                external[project].add(int(plain(item["number"])))
        for project in {*external, *self.jumps}:
            if external[project] != self.reserved[project] | self.imported[project]:
                broken(
                    Invariant.TABLES_AT_END,
                    f"{project}: the table lacks an external number",
                )
            if jumps := self.open_jumps(project):
                broken(
                    Invariant.SEED_LEFT_OPEN,
                    f"{project}: a worker may still write {jumps[0].open_at}",
                )
