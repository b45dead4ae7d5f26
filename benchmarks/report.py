"""Shows figures: as tables on a terminal, and in Markdown for the documents."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from benchmarks.cells import Cell
from benchmarks.measurement import Measurement
from benchmarks.store import Results
from benchmarks.targets import targets
from benchmarks.workload import TRANSACTION_SECONDS

COLUMNS = (
    "contender",
    "workload",
    "tickets",
    "gaps",
    "dupl.",
    "req.",
    "write u.",
    "read u.",
    "attempts",
    "wait, s",
    "tickets/s",
    "redel.",
    "failed",
)
CALL_MS = 7
"""What of a transaction is not the same for every workload."""

WIDE = {"tickets", "read u.", "redel.", "failed"}
WIDER = {"gaps", "dupl.", "wait, s", "tickets/s"}
WIDE_ENOUGH = 120
"""Characters in a line of a terminal."""

TITLES = {
    "workers": "One hot project: more and more workers",
    "batch": "One hot project: batches of 1 and of 50",
    "projects": "Many projects",
    "redelivered": "Messages delivered once more after they were done",
    "calm": "Undisturbed: one project, ten projects, every batch delivered twice",
    "half": "Half the ceiling: batches of ten arrive together, and singly",
    "slower": "One hot project, where transactions take 10 ms, and 20 ms",
    "overhead": "One hot project, where Lambda and our own work take time too",
    "fifo": "FIFO mode: one hot project",
    "fifo-half": "FIFO mode: half the ceiling",
    "everything": "Everything",
    "emulator": "On the emulator",
}


@dataclass(frozen=True)
class Grid:
    """A table, before anybody decides how it looks."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]] = field(default_factory=tuple)

    def markdown(self) -> str:
        """Return it as Markdown."""
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return f"### {self.title}\n\n{table}\n"

    def show(self, console: Console) -> None:
        """Print it; what a narrow terminal has no room for stands in the file."""
        hidden = WIDE if console.width >= WIDE_ENOUGH else WIDE | WIDER
        places = [at for at, name in enumerate(self.columns) if name not in hidden]
        table = Table(*(self.columns[at] for at in places), title=self.title)
        for row in self.rows:
            table.add_row(*(row[place] for place in places))
        console.print(table)


def grids(results: Results, cells: Iterable[Cell]) -> Iterator[Grid]:
    """Yield a table for each purpose that something was measured for."""
    rows: dict[str, list[Sequence[str]]] = {}
    for cell in cells:
        if measurement := results.get(cell):
            rows.setdefault(cell.group, []).append(_row(cell, measurement))
    for group, found in rows.items():
        yield Grid(TITLES[group], COLUMNS, found)


def target_grid(results: Results) -> Grid:
    """Return the targets, and whether they are met.

    Raises:
        NotMeasuredError: Something is not measured.
    """
    rows = [
        (
            each.name,
            f"{'at least' if each.at_least else 'at most'} {each.bound:g}",
            f"{each.measured:.3g}",
            "met" if each.is_met else "NOT MET",
        )
        for each in targets(results)
    ]
    return Grid("Targets", ("what", "target", "measured", "verdict"), rows)


def _row(cell: Cell, found: Measurement) -> Sequence[str]:
    return (
        cell.contender,
        _workload(cell),
        str(found.tickets),
        str(found.gaps),
        str(found.duplicates),
        f"{found.requests_a_ticket:.2f}",
        f"{found.write_units_a_ticket:.2f}",
        f"{found.read_units_a_ticket:.2f}",
        _percentiles(found.attempts, ("mean", "p50", "p99", "max"), 1),
        _percentiles(found.waits, ("p50", "p99"), 3),
        f"{found.tickets_a_second:.0f}" if cell.place == "model" else "-",
        str(found.redelivered),
        str(found.failed),
    )


def _workload(cell: Cell) -> str:
    workload = cell.workload
    parts = [workload.title]
    if workload.redelivered:
        parts.append(f"{workload.redelivered:.0%} redelivered")
    if workload.rate:
        together = f" by {workload.sent_together}" if workload.sent_together > 1 else ""
        parts.append(f"{workload.rate:g}/s{together}")
    if workload.transaction != TRANSACTION_SECONDS:
        shortest, longest = workload.transaction
        parts.append(f"transactions of {CALL_MS + 500 * (shortest + longest):.0f} ms")
    if workload.overhead:
        parts.append(f"{workload.overhead * 1000:.0f} ms beside")
    if workload.is_in_turn:
        parts.append("one of each a batch")
    if cell.seed > 1:
        parts.append(f"seed {cell.seed}")
    return ", ".join(parts)


def _percentiles(
    found: "dict[str, float] | object", names: Sequence[str], digits: int
) -> str:
    if not isinstance(found, dict) or not found:
        return "-"
    return " / ".join(f"{found[name]:.{digits}f}" for name in names)
