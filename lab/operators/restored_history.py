"""Histories of restores: exports, tables that go back in time, kills, and others' work.

After each of them every old request has its old number, or a restore has refused it.
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from operators.restored_system import (
    TABLES,
    Ended,
    Moment,
    RestoredSystem,
    numbers_in,
)
from simulation.checks.violations import Invariant, broken
from simulation.engine.choices import Choices, one_of
from ticketctl.ledger.item import MARKS
from ticketctl.ledger.judge import new_findings

MOST_EVENTS: Final = 14
MOST_ROUNDS: Final = 4
WRITES: Final = ("transact_write_items", "put_item")
OF_ANOTHER_HISTORY: Final = ("another history", "same history")
MARKED: Final = ("status", "title", "salt", "commitment", "voided", "erased")
"""What the attributes begin with that a void or an erasure changes."""

Make = Callable[[Choices, Path], RestoredSystem]


class Killed(BaseException):
    """The process of a restore is gone."""


def kill() -> None:
    """Kill the caller.

    Raises:
        Killed: Always.
    """
    raise Killed


@dataclass
class RestoredHistory:
    """One history, from its seed."""

    system: RestoredSystem
    choices: Choices
    numbers: dict[str, int] = field(default_factory=dict)
    """Of each request, as it was announced."""
    past: list[Moment] = field(default_factory=list)
    exports: list[Path] = field(default_factory=list)
    refusals: str = ""
    met: Counter[str] = field(default_factory=Counter)

    def play(self) -> None:
        """Play it.

        Raises:
            Violation: A promise is broken.
        """
        for _ in range(3 + self.choices.pick(MOST_EVENTS)):
            self._live()
        self._export()
        for _ in range(self.choices.pick(4)):
            self._live()
        self._damage()
        file = one_of(self.choices, self.exports[-2:])
        files = self._files(file)
        before, findings = self.system.tickets(), self.system.findings()
        records = self.system.records()
        # Where the last numbers are lost a worker gives them again, restore or not.
        is_whole = max([0, *records.values(), *numbers_in(file)]) <= max([0, *before])
        is_alone = len(files) == 1
        self.system.is_running = is_whole and is_alone and self.choices.chance(0.5)
        for part in files:
            self._restore_among_others(part, file)
        self.system.is_running = False
        self._restore_to_the_end(file)
        self._check_items(before)
        if new := new_findings(findings, self.system.findings()):
            broken(Invariant.RESTORE_FINDING, "; ".join(map(str, new)))
        self._check_requests(file, records)

    def _live(self) -> None:
        """Let something happen."""
        system, last = self.system, max(self.system.tickets(), default=0)
        items = system.tickets().items()
        given = [n for n, item in items if item.get("status") != "reserved"]
        free = [*({*range(1, last)} - system.tickets().keys())]
        match self.choices.pick(8):
            case 0:
                system.seed(last + 1 + self.choices.pick(5))
            case 1:
                first = last + 1 + self.choices.pick(3)
                system.import_(*range(first, first + 1 + self.choices.pick(3)))
            case 2 if given:
                number = one_of(self.choices, given)
                status = one_of(self.choices, [*MARKS])
                if system.tickets()[number].get("status") != "erased":
                    system.mark(number, status)
            case 3 if free:
                system.import_(one_of(self.choices, free))
            case 4:
                self._export()
            case _:
                key = f"key-{len(self.numbers)}"
                if announced := system.ask(key):
                    self.numbers[key] = announced
        self.past.append(system.moment())

    def _export(self) -> None:
        self.exports.append(self.system.export(f"{len(self.exports)}.jsonl"))

    def _damage(self) -> None:
        """Bring tables back to other moments, or lose some of their items."""
        empty: Moment = {name: [] for name in TABLES}
        moments = [empty, *self.past]
        kind = self.choices.pick(4)
        self.met[f"damage {kind}"] += 1
        one = one_of(self.choices, moments)
        match kind:
            case 0:
                for name in TABLES:
                    self.system.go_back(name, one[name])
            case 1:
                for name in TABLES:
                    moment = one_of(self.choices, moments)
                    self.system.go_back(name, moment[name])
            case 2:
                name = one_of(self.choices, TABLES)
                self.system.go_back(name, one[name])
            case _:
                for name in TABLES:
                    for item in [*self.system.services.tables.items(name)]:
                        if self.choices.chance(0.3):
                            self.system.lose(item)

    def _files(self, file: Path) -> list[Path]:
        """Return the file; or an older one before it, or its parts in any order."""
        if self.choices.chance(0.2):
            return [self.exports[0], file]
        if self.choices.chance(0.75):
            return [file]
        lines = file.read_text().splitlines()[:-1]
        parts: list[list[str]] = [[], []]
        for line in lines:
            one_of(self.choices, parts).append(line)
        paths = []
        for number, part in enumerate(parts):
            path = file.with_name(f"part-{number}")
            path.write_text("".join(f"{line}\n" for line in part))
            paths += [path] if part else []
        return paths

    def _restore_among_others(self, one: Path, file: Path) -> None:
        """Restore once; at a random call it is killed, or others work."""
        calls = [int] * self.choices.pick(3)
        operation = one_of(self.choices, WRITES)
        acts: list[Callable[[], object]] = [kill, self._seed, lambda: self._once(file)]
        act = self._work if self.system.is_running else one_of(self.choices, acts)
        client: Any = self.system.services.dynamodb
        client.before[operation] = [*calls, act]
        try:
            self._once(one)
        except Killed:
            self.met["killed"] += 1
        client.before.clear()

    def _once(self, file: Path) -> Ended:
        ended = self.system.restore(file, is_part=file.name.startswith("part"))
        self.refusals += ended.refusals
        self.met["restores"] += 1
        self.met["refused for the worker"] += ended.is_refused
        return ended

    def _seed(self) -> None:
        self.met["seeds meanwhile"] += 1
        last = max([0, *self.system.tickets(), *self.numbers.values()])
        self.system.seed(last + 1 + self.choices.pick(3))

    def _work(self) -> None:
        """Let the worker number old requests and a new one."""
        self.met["workers meanwhile"] += 1
        old = one_of(self.choices, ["old", *self.numbers])
        for key in (old, f"new-{self.met.total()}"):
            number = self.system.ask(key)
            if number and self.numbers.setdefault(key, number) != number:
                was = self.numbers[key]
                broken(Invariant.SECOND_NUMBER, f"{key} got {number} after {was}")

    def _restore_to_the_end(self, file: Path) -> None:
        """Restore, and run what it printed, until it changes nothing."""
        for _ in range(MOST_ROUNDS):
            before = self.system.moment()
            self.refusals = ""
            ended = self._once(file)
            for command in ended.commands:
                self.system.run(command)
                self.met["printed commands"] += 1
            if self.system.moment() == before:
                return

    def _is_refused(self, number: int) -> bool:
        """Return whether the last restore has named a number, or the project."""
        said = self.refusals
        if any(words in said for words in OF_ANOTHER_HISTORY):
            return True
        waits = re.findall(r"-(\d+)(?: to \S+-\d+)? (?:is|are) missing", said)
        return bool(re.search(rf"-{number}\b", said)) or any(
            number >= int(first) for first in waits
        )

    def _check_items(self, before: dict[int, dict[str, Any]]) -> None:
        """Check that no ticket was overwritten, and none is silently missing."""
        there = self.system.tickets()
        for number, item in before.items():
            kept = {n: v for n, v in item.items() if not n.startswith(MARKED)}
            left = there.get(number, {})
            is_ticket = "origin" not in item
            if is_ticket and not kept.items() <= left.items():
                broken(Invariant.TICKET_OVERWRITTEN, f"{number} was {item}, is {left}")

    def _check_requests(self, file: Path, records: dict[str, int]) -> None:
        """Check that every old request has its number, and a new one a new number."""
        known = numbers_in(file)
        for number in known.keys() - self.system.tickets().keys():
            if not self._is_refused(number):
                broken(Invariant.RESTORE_SILENT, f"{number} is not back, nor refused")
            self.met["numbers refused"] += 1
        # A request in neither the file nor a table cannot be known.
        asked = {key for key in known.values() if key} | records.keys()
        for key in sorted(asked & self.numbers.keys()):
            again, was = self.system.ask(key), self.numbers[key]
            self.met["requests repeated"] += 1
            if again != was and not self._is_refused(was):
                broken(Invariant.SECOND_NUMBER, f"{key} got {again} after {was}")
        new = self.system.ask("new")
        is_other = any(words in self.refusals for words in OF_ANOTHER_HISTORY)
        if new in known and not is_other:
            broken(Invariant.GIVEN_TWICE, f"a new request got {new}, as {known[new]}")


def play_restores(seeds: range, make: Make = RestoredSystem) -> Counter[str]:
    """Play histories; return the sums of what they met.

    Raises:
        Violation: A promise is broken.
    """
    met = Counter[str]()
    for seed in seeds:
        choices = Choices(seed)
        with TemporaryDirectory() as folder:
            history = RestoredHistory(make(choices, Path(folder)), choices)
            history.play()
        met += history.met
        met["histories with restores"] += 1
    return met
