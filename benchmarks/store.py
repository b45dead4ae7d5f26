"""Keeps each figure from the moment that it is measured.

What was measured by the same code is not measured again, so an interrupted run goes
on where it was.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.cells import Cell
from benchmarks.measurement import Measurement
from ticketctl.local.artifact import ROOT

RESULTS = ROOT / ".build" / "bench"
SOURCES = ("src/ticket_numbering", "benchmarks", "tests/simulation")
# What shows figures and does not make them.
VIEWS = (
    "report",
    "plots",
    "plot_style",
    "targets",
    "function",
    "probe",
    "cost",
    "session",
    "test_",
)


@dataclass
class Results:
    """The figures of one state of the code, in a file."""

    path: Path
    _found: dict[str, Measurement] = field(default_factory=dict)

    @classmethod
    def load(cls, directory: Path = RESULTS, code: str | None = None) -> "Results":
        """Read what was measured with the code as it is."""
        results = cls(directory / f"{code or digest()}.jsonl")
        if results.path.exists():
            for line in results.path.read_text(encoding="utf-8").splitlines():
                results._take(line)
        return results

    def _take(self, line: str) -> None:
        try:
            entry = json.loads(line)
        except ValueError:
            return  # It was interrupted in the middle of a line.
        self._found[_key(entry["cell"])] = Measurement(**entry["measurement"])

    def get(self, cell: Cell) -> Measurement | None:
        """Return what was measured of a cell."""
        return self._found.get(_key(cell.to_json()))

    def put(self, cell: Cell, measurement: Measurement) -> None:
        """Write it down at once."""
        entry = {"cell": cell.to_json(), "measurement": measurement.to_json()}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            # The newline first: it ends what an interruption left half written.
            file.write("\n" + json.dumps(entry))
        self._found[_key(cell.to_json())] = measurement

    def missing(self, cells: Iterable[Cell]) -> list[Cell]:
        """Return the cells that are not measured yet."""
        return [cell for cell in cells if self.get(cell) is None]


def digest() -> str:
    """Return what stands for the code that makes the figures."""
    files = [
        file
        for source in SOURCES
        for file in sorted((ROOT / source).glob("*.py"))
        if not file.stem.startswith(VIEWS)
    ]
    files += [
        ROOT / each for each in ("tests/support/builders.py", "requirements/dev.txt")
    ]
    content = b"".join(file.name.encode() + file.read_bytes() for file in files)
    return hashlib.sha256(content).hexdigest()[:12]


def _key(cell: dict[str, Any]) -> str:
    # What it is measured for does not change it.
    return json.dumps({name: cell[name] for name in cell if name != "group"})
