"""Prints what tickets cost, for a terminal or for a page of the docs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from benchmarks.cost_dollars import SERVICES, CostRow
from benchmarks.cost_idle import MonthlyCost


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of texts."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def rich(self) -> Table:
        """Return it for a terminal."""
        # Tight: it must fit into 80 columns.
        table = Table(*self.header, title=self.title, box=SIMPLE, padding=0)
        for row in self.rows:
            table.add_row(*row)
        return table

    def markdown(self) -> str:
        """Return it for a page, without its title."""
        lines = [self.header, ["---"] * len(self.header), *self.rows]
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def ticket_grid(situation: str, rows: Iterable[CostRow]) -> Grid:
    """Return the dollars of a million tickets, by service."""
    return Grid(
        f"dollars for a million tickets: {situation}",
        ["way", "batch", "units", "ms", *SERVICES, "sum"],
        [
            [
                row.work.way,
                str(row.work.batch_size),
                f"{row.work.write_units:.1f}",
                f"{row.work.milliseconds:.0f}",
                *(f"{row.dollars[service]:.2f}" for service in SERVICES),
                f"{row.total:.2f}",
            ]
            for row in rows
        ],
    )


def monthly_grid(costs: Iterable[MonthlyCost]) -> Grid:
    """Return what costs by the month, whatever the tickets."""
    return Grid(
        "dollars a month, whatever the tickets",
        ["what", "how many", "dollars", "beyond free ones", "when idle"],
        [
            [
                each.what,
                f"{each.count:,}",
                f"{each.dollars:.2f}",
                f"{each.dollars_beyond_free:.2f}",
                "yes" if each.is_idle else "no",
            ]
            for each in costs
        ],
    )


def grids(rows: Iterable[CostRow], costs: Iterable[MonthlyCost]) -> list[Grid]:
    """Return a table for each situation, and what costs by the month."""
    by_situation = groupby(rows, key=lambda row: row.situation)
    return [*(ticket_grid(*each) for each in by_situation), monthly_grid(costs)]


def as_markdown(rows: Iterable[CostRow], costs: Iterable[MonthlyCost]) -> str:
    """Return all tables for a page, with their titles."""
    return "\n".join(
        f"**{grid.title[0].upper()}{grid.title[1:]}.**\n\n{grid.markdown()}"
        for grid in grids(rows, costs)
    )


def show(
    rows: Iterable[CostRow], costs: Iterable[MonthlyCost], console: Console
) -> None:
    """Print all tables."""
    for grid in grids(rows, costs):
        console.print(grid.rich())
