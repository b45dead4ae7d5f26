"""Histories of restores: exports, tables that go back in time, kills, and others' work.

After each of them every old request has its old number, or a restore has refused it.
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from operators.changes import changed
from operators.restored_files import (
    items_in,
    lines_of,
    part_of,
)
from operators.restored_judging import HOLE
from operators.restored_life import LONG_AGO
from operators.restored_system import (
    RestoredSystem,
)
from operators.restored_trials import CALLS, Acts, Killed, Tried, kill
from simulation.checks.violations import Invariant, Violation, broken
from simulation.engine.choices import Choices, one_of
from simulation.play import Totals
from ticketctl.restore import writing

MOST_EVENTS: Final = 12

MAX_ACTIONS: Final = (3, 6, 12, 100)
"""The limit of a transaction."""


@dataclass
class RestoredHistory(Tried):
    """One history, from its seed."""

    def play(self) -> None:
        """Play it.

        Raises:
            Violation: A promise is broken.
        """
        self.system.days_ago = one_of(self.choices, (0, LONG_AGO))
        self._disaster()
        # The unfinished part of a first one would disturb the checks.
        if not (self.system.findings() or self.refusals) and self.choices.chance(0.5):
            self._disaster()
        self.met += self.system.monitor.met

    def _disaster(self) -> None:
        """Let something happen, damage the tables, restore, and judge."""
        system, choices = self.system, self.choices
        self.past, self.exports = [system.moment()], []
        for _ in range(3 + choices.pick(MOST_EVENTS)):
            self._live()
        self._export()
        later = choices.pick(3)
        for _ in range(later):
            self._live()
        was_long_ago, system.days_ago = bool(system.days_ago), 0
        self._damage()
        file = one_of(choices, self.exports[-2:])
        has_tickets, records = bool(system.tickets()), system.records()
        system.monitor.is_whole = not has_tickets
        self.met["empty projects"] += not has_tickets
        self.findings, self.is_begun = system.findings(), False
        has_lost = any("record" in line for line in lines_of(file))
        self.met["records of lost tickets"] += has_lost
        is_exact = file == self.exports[-1] and not (later or was_long_ago)
        if has_lost and has_tickets:
            # A hash without a voucher stays away, and its record.
            is_exact = False
        self.is_plain = is_exact and not (self.of_exports[file.name] or self.is_changed)
        self.met["exports of all that was there"] += self.is_plain
        self._probe(file)
        files = self._files(file)
        system.stack.is_running = system.interrupted.is_running = (
            files == [file] and not self._has_lost_end(file) and choices.chance(0.5)
        )
        for path in files:
            self._restore_among_others(path, file)
        if len(files) > 1 and choices.chance(0.5):
            self._restore_to_the_end(files[0])
        system.stack.is_running = system.interrupted.is_running = False
        if choices.chance(0.2):
            self._bring_keys_back()
            self.findings += system.findings()
        self._restore_to_the_end(file)
        self._check_marks(file)
        self._check_hashes(file)
        if self.is_plain and self.refusals:
            broken(Invariant.RESTORE_REFUSED, self.refusals)
        self._check_requests(file, records)

    def _files(self, file: Path) -> list[Path]:
        """Return the file; or an older one before it, or its parts in any order."""
        if self.choices.chance(0.2):
            return [self.exports[0], file]
        if self.choices.chance(0.75):
            return [file]
        return part_of(file, self.choices)

    def _restore_among_others(self, first: Path, file: Path) -> None:
        """Restore once; at a random call it is killed, or others work."""
        act = self._work
        if not self.system.stack.is_running:
            others = (self._seed, self._restore_too, self._mark_too, self._import_too)
            act = one_of(self.choices, (kill, kill, *others, self._nothing))
        calls: Acts = [int] * one_of(self.choices, CALLS)
        is_stopped = not (self.system.stack.is_running or self._has_lost_end(first))
        if is_stopped and self.choices.chance(0.2):
            one_of(self.choices, (self._number_slowly, self._number_within))(first)
        self.file = file
        self.system.acts = [*calls, act]
        try:
            self._once(first)
        except Killed:
            self.system.acts.clear()
            self._see_killed(first)
        self.system.acts.clear()

    def _see_killed(self, file: Path) -> None:
        """Check that the audit names open numbers, and that no worker assigns them."""
        self.met["killed"] += 1
        self.is_begun = True
        said, self.refusals = self.refusals, self.refusals + self.system.said
        if self.system.written:
            self.met["killed after a write"] += 1
            due = {n for n in items_in(file) if not self._is_refused(n)}
            is_open = bool(due - self.system.tickets().keys())
            if is_open and not self.system.findings():
                broken(Invariant.RESTORE_SILENT, "it was killed, and no audit says so")
            if not (HOLE.search(self.refusals) or self._has_lost_end(file)):
                self._number_new(due)
        self.refusals = said

    def _number_new(self, due: set[int]) -> None:
        """Let a worker start too early; it continues after the restored numbers."""
        self.met["a worker after a kill"] += 1
        key = f"early-{len(self.numbers)}"
        self._ask(key)
        if self.numbers.get(key) in due:
            broken(Invariant.GIVEN_TWICE, f"a new request got {self.numbers[key]}")

    def _nothing(self) -> None:
        """Do nothing."""

    def _restore_too(self) -> None:
        """Let a second restore run from its begin to its end."""
        before = self.system.tickets()
        self._once(self.file)
        self.met["two restores"] += 1
        new = self.system.tickets().keys() - before.keys()
        self.met["numbers put back by another"] += len(new)

    def _mark_too(self) -> None:
        """Run a second restore, then void or erase tickets that the first one read."""
        self._once(self.file)
        tickets = self.system.tickets().items()
        given = [n for n, ticket in tickets if "idempotency_key" in ticket]
        if given:
            self._mark(one_of(self.choices, given))
            self.met["marks meanwhile"] += 1

    def _import_too(self) -> None:
        """Import a number that is missing."""
        tickets, named = self.system.tickets(), {*self.system.records().values()}
        numbers = {*range(1, max(tickets, default=0))}
        if free := [*(numbers - tickets.keys() - named)]:
            self._import(one_of(self.choices, free))
            self.is_plain = False
            self.met["imports meanwhile"] += 1

    def _work(self) -> None:
        """Let the worker number old requests and a new one."""
        self.met["workers meanwhile"] += 1
        old = one_of(self.choices, ["old", *self.numbers])
        for key in (old, f"fresh-{self.met.total()}"):
            number = self.system.ask(key)
            if not number:
                continue
            if key not in self.numbers:
                self._note(key, number)
            if self.numbers[key] != number and not self._is_over(key):
                was = self.numbers[key]
                broken(Invariant.SECOND_NUMBER, f"{key} got {number} after {was}")


def play_restores(seeds: range) -> Totals:
    """Play histories; return the sums of their conditions and violations."""
    totals = Totals()
    for seed in seeds:
        try:
            _play(Choices(seed), totals.counts)
        except Violation as violation:
            totals.violations.append((seed, violation))
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise
        totals.counts["histories"] += 1
    return totals


def _play(choices: Choices, met: Counter[str]) -> None:
    with TemporaryDirectory() as folder:
        system = RestoredSystem(choices, Path(folder))
        # So that small projects have several blocks.
        most = one_of(choices, MAX_ACTIONS)
        with changed([(writing, "MAX_ACTIONS", lambda _: most)]):
            RestoredHistory(system, choices, met=met).play()
