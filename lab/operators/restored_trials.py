"""Tries files and moments that fool a restore, and puts the tables back."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from operators.restored_files import (
    FORGED,
    PARTS,
    WRONG,
    forge,
    goes_on,
    items_in,
    meeting,
    spoiled,
    write,
)
from operators.restored_judging import HOLE, Judged
from operators.restored_system import (
    TABLES,
)
from simulation.checks.violations import Invariant, broken
from simulation.engine.choices import one_of

Acts = list[Callable[[], object]]

CALLS: Final = (0, 0, 0, 1, 1, 2, 3, 4)
"""The calls of a restore before an event."""


class Killed(BaseException):
    """The process of a restore is gone."""


def kill() -> None:
    """Kill the caller.

    Raises:
        Killed: Always.
    """
    raise Killed


@dataclass
class Tried(Judged):
    """A life with trials, after each of which the tables are as they were."""

    def _probe(self, file: Path) -> None:
        """Try files that must be refused, and those that lie."""
        if items_in(file) and self.choices.chance(0.2):
            self._try_spoiled(file)
        has_ticket = any("idempotency_key" in i for i in self.system.tickets().values())
        if has_ticket and self.choices.chance(0.3):
            self._try_forged(file)
        if has_ticket and self.choices.chance(0.3):
            self._try_foreign()
        if self.choices.chance(0.3):
            self._try_fools(file)

    @contextmanager
    def _trial(self, name: str) -> Iterator[None]:
        """Put the tables back in the end."""
        moment = self.system.moment()
        self.met[name] += 1
        yield
        for table in TABLES:
            self.system.go_back(table, moment[table])
        self.refusals = ""

    def _try_spoiled(self, file: Path) -> None:
        with self._trial("files that are wrong"):
            for name in WRONG:
                wrong = spoiled(file, self.choices, name)
                ended = self.system.restore(wrong, is_part=name not in PARTS)
                if not ended.is_file_refused:
                    broken(Invariant.RESTORE_TOOK_FILE, f"a file {name} was taken")

    def _try_fools(self, file: Path) -> None:
        """Restore while a worker is started too early, or a table loses more.

        A repeat may get a second number then, and numbers be missing; what is there
        is not overwritten all the same, and no hash comes back without a voucher.
        """
        acts: Acts = [self._repeat, self._lose_more]
        with self._trial("fools meanwhile"):
            calls: Acts = [int] * one_of(self.choices, CALLS)
            self.system.acts = [*calls, one_of(self.choices, acts)]
            self.system.restore(file)
            self.system.acts.clear()
            self.system.monitor.is_losing = False

    def _repeat(self) -> None:
        for key in self.numbers:
            if self.choices.chance(0.3):
                self.system.ask(key)

    def _lose_more(self) -> None:
        self.system.monitor.is_losing = True
        self._lose(TABLES, 0.2, is_top=True)

    def _try_forged(self, file: Path) -> None:
        """Restore a file with other texts, whose hashes fit."""
        if not (forgery := forge(file, self.choices)):
            return
        forged, heads = forgery
        with self._trial("files that are forged"):
            if not self.system.restore(forged, heads=heads).is_file_refused:
                broken(Invariant.RESTORE_TOOK_FILE, "its heads were kept, and differ")
            self._once(forged)
            for number, item in self.system.tickets().items():
                is_forged = str(item.get("title", "")).startswith(FORGED)
                if is_forged and "chain" in item:
                    broken(Invariant.RESTORE_FOREIGN, f"{number} was forged: {item}")

    def _try_foreign(self) -> None:
        """Restore the export of another history, whole, or its end alone."""
        here = self.system.moment()
        past = one_of(self.choices, self.past)
        for name in TABLES:
            self.system.go_back(name, past[name])
        for turn in range(1 + self.choices.pick(4)):
            self.system.ask(f"foreign-{turn}")
        file = self.system.export("foreign")
        for name in TABLES:
            self.system.go_back(name, here[name])
        there, items = self.system.tickets(), items_in(file)
        first, last = meeting(items, there), max(there)
        records = self.system.records()
        named = {*records.values()}
        is_end = self.choices.chance(0.5)
        if is_end:
            above = [item for n, item in items.items() if n > last]
            write(file := file.with_name("part-foreign"), above)
            if not above:
                return
            is_vouched = any(
                records.get(str(item.get("idempotency_key"))) == item["number"]
                for item in above
            )
            is_tied = is_vouched or goes_on(items, there)
            first = 0 if is_tied else last + 1
        with self._trial("files of another history"):
            self._once(file)
            for number, item in self.system.tickets().items():
                is_foreign = str(item.get("idempotency_key")).startswith("foreign")
                if is_foreign and (number in named or 0 < first <= number):
                    broken(Invariant.RESTORE_FOREIGN, f"{number} is {item}")

    def _number_slowly(self, file: Path) -> None:
        """Restore between the read of a worker and its write."""

        def restore() -> None:
            if self.choices.chance(0.5):
                self._seed()
            self._once(file)
            last.append(max(self.system.tickets()))

        last: list[int] = []
        with self._trial("slow workers"):
            number = self._number_around(restore)
            if number and number <= max(last) and not HOLE.search(self.refusals):
                broken(Invariant.BELOW_SEED, f"a slow worker gave {number}")

    def _number_within(self, file: Path) -> None:
        """Kill a restore between the read of a worker and its write."""

        def restore() -> None:
            self.system.acts = [*[int] * (3 + self.choices.pick(9)), kill]
            with suppress(Killed):
                self.system.restore(file, is_part=file.name.startswith("part"))
            self.system.acts.clear()

        with self._trial("slow workers after a kill"):
            number = self._number_around(restore)
            self.refusals = self.system.said
            # The end and its guards.
            is_fenced = self.system.written > 1 and not HOLE.search(self.refusals)
            if is_fenced and number in items_in(file) and not self._is_refused(number):
                broken(Invariant.GIVEN_TWICE, f"a slow worker gave {number}")

    def _number_around(self, restore: Callable[[], object]) -> int | None:
        """Let a worker number a request, and restore right before it writes."""
        before: Any = self.system.services.dynamodb.before
        before["transact_write_items"] = [restore]
        number = self.system.ask("slow")
        before.clear()
        return number

    def _seed(self) -> None:
        self.met["seeds meanwhile"] += 1
        last = max([0, *self.system.tickets(), *self.numbers.values()])
        self.system.seed(last + 1 + self.choices.pick(3))
