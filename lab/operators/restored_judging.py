"""Judges restores: by an audit, by the tables, and by requests that come again."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from operators.restored_files import (
    items_in,
    keys_in,
)
from operators.restored_life import Life
from operators.restored_system import (
    Ended,
)
from simulation.checks.violations import Invariant, broken
from ticket_numbering.contract.dynamodb_items import TIMES
from ticketctl.ledger.findings import Finding, FindingKind
from ticketctl.ledger.item import MARKS, parse
from ticketctl.ledger.judge import new_findings
from ticketctl.ledger.standing import covers

MOST_ROUNDS: Final = 4
OF_ANOTHER_HISTORY: Final = ("another history", "same history")
HOLE: Final = re.compile(r"-(\d+)(?: to \S+-\d+)? (?:is|are) missing")


@dataclass
class Judged(Life):
    """A life whose restores are judged."""

    refusals: str = ""
    findings: list[Finding] = field(default_factory=list)
    """The findings of an audit before a restore."""
    is_begun: bool = False
    """Whether a restore was killed."""
    is_plain: bool = False
    """Whether the file has all that was there, so nothing may be refused."""

    def _once(self, file: Path) -> Ended:
        """Restore; once it has come to its end an audit finds nothing new."""
        ended = self.system.restore(file, is_part=file.name.startswith("part"))
        self.refusals += ended.refusals
        self.met["restores"] += 1
        self.met["refused for the worker"] += ended.is_refused
        before = self.findings
        if self.system.monitor.is_whole:  # They come along.
            before = [*before, *self.of_exports.get(file.name, [])]
        new = new_findings(before, self.system.findings())
        if self.is_begun and file.name.startswith("part"):
            return ended  # The killed one was of another part.
        if HOLE.search(ended.refusals):  # Of a seed whose end waits; it is named.
            new = [
                finding
                for finding in new
                if finding.kind is not FindingKind.UNFINISHED_SEED
            ]
        if new:
            broken(Invariant.RESTORE_FINDING, "; ".join(map(str, new)))
        return ended

    def _restore_to_the_end(self, file: Path) -> None:
        """Restore, and run the printed commands, until nothing changes."""
        for _ in range(MOST_ROUNDS):
            before = self.system.moment()
            self.refusals = ""
            ended = self._once(file)
            for command in ended.commands:
                self.system.run(command)
                self.met["printed commands"] += 1
            if self.system.moment() == before:
                break
        else:
            broken(Invariant.OPERATOR_STUCK, "restores go on for ever")
        hole = HOLE.search(self.refusals)
        if hole and not file.name.startswith("part"):
            broken(Invariant.OPERATOR_STUCK, f"no command fills {hole[0]}")

    def _is_refused(self, number: int) -> bool:
        """Return whether the last restore has named a number, or the project."""
        said = self.refusals
        if any(words in said for words in OF_ANOTHER_HISTORY):
            return True
        waits = HOLE.findall(said)
        return bool(re.search(rf"(-|number, ){number}\b", said)) or any(
            number >= int(first) for first in waits
        )

    def _has_lost_end(self, file: Path) -> bool:
        """Return whether a record names a number that comes back from nowhere."""
        numbers = {0, *self.system.tickets(), *items_in(file)}
        return max([0, *self.system.records().values()]) > max(numbers)

    def _check_marks(self, file: Path) -> None:
        """Check that a ticket has the marks that the file has."""
        there = self.system.tickets()
        for number, own in items_in(file).items():
            left = there.get(number, {})
            due = {TIMES[s] for s in MARKS if TIMES[s] in own} - left.keys()
            is_same = left.get("idempotency_key") == own.get("idempotency_key")
            is_marked = left.get("status") == "erased" or not due
            if is_same and not (is_marked or self._is_refused(number)):
                broken(Invariant.RESTORE_UNMARKED, f"{number} lacks {due}: {left}")

    def _check_hashes(self, file: Path) -> None:
        """Check that no ticket lacks its hash that the next one covers."""
        there = self.system.tickets()
        for number, own in items_in(file).items():
            left, above = there.get(number, {}), there.get(number + 1, {})
            is_same = left.get("idempotency_key") == own.get("idempotency_key")
            if not is_same or "chain" in left or "chain" not in own:
                continue
            if above and covers(parse(above), own["chain"]):
                broken(Invariant.RESTORE_UNVOUCHED, f"{number} has no hash: {left}")

    def _check_requests(self, file: Path, records: dict[str, int]) -> None:
        """Check that every old request has its number, and a new one a new number."""
        known = items_in(file)
        for number in known.keys() - self.system.tickets().keys():
            if not self._is_refused(number):
                broken(Invariant.RESTORE_SILENT, f"{number} is not back, nor refused")
            self.met["numbers refused"] += 1
        # A request that neither the file nor a table has is unknown.
        asked = keys_in(file).keys() | records.keys()
        for key in sorted(asked & self.numbers.keys()):
            again, was = self.system.ask(key), self.numbers[key]
            self.met["requests repeated"] += 1
            is_free = self._is_refused(was) or self._is_over(key)
            if again != was and not is_free:
                broken(Invariant.SECOND_NUMBER, f"{key} got {again} after {was}")
            if again:
                self.numbers[key] = again
        new = f"new-{len(self.numbers)}"
        self._ask(new)
        number = self.numbers[new]
        if number in known and not self._is_refused(number):
            broken(Invariant.GIVEN_TWICE, f"a new request got {number}")
