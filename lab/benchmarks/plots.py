"""Plots of each contender with more and more workers on one hot project."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib import pyplot as plt

from benchmarks.cells import WORKERS, Cell, Results, hot
from benchmarks.contenders import CONTENDERS
from benchmarks.counting import Figures

# Distinct for those who do not see all colours, and by their marks.
STYLE: Final = "tableau-colorblind10"
MARKS: Final = "os^DX"
RULES: Final[Any] = {
    "axes.grid": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "ticket-numbering",  # The same figures make the same file.
    "svg.fonttype": "none",
    "figure.figsize": (8.0, 4.5),
}
PLOTS: Final[Mapping[str, tuple[str, Callable[[Figures], float]]]] = {
    "requests": ("requests a ticket", lambda figures: figures.requests),
    "write-units": ("write units a ticket", lambda figures: figures.write_units),
    "throughput": ("tickets a second", lambda figures: figures.tickets_a_second),
}
"""By the name of the file: the label, and the figure drawn."""


def draw(results: Results, directory: Path) -> None:
    """Draw every plot."""
    directory.mkdir(parents=True, exist_ok=True)
    mpl.use("agg")
    with plt.style.context([STYLE, RULES]):
        for name, (label, value) in PLOTS.items():
            _draw(results, directory / f"{name}.svg", label, value)


def _draw(
    results: Results, file: Path, label: str, value: Callable[[Figures], float]
) -> None:
    figure, axes = plt.subplots(layout="constrained")
    for name, mark in zip(CONTENDERS, MARKS, strict=True):
        points = [results[Cell(name, hot(workers))] for workers in WORKERS]
        values = [value(figures) for figures in points]
        axes.plot(WORKERS, values, label=name, marker=mark)
    axes.set(xscale="log", yscale="log", ylabel=label)
    axes.set_xlabel("batches worked on at a time (one hot project, batches of 10)")
    axes.set_xticks(WORKERS, [str(workers) for workers in WORKERS])
    axes.set_xticks([], minor=True)
    axes.yaxis.set_major_formatter("{x:g}")
    # Above the axes, for below it would lie on a line.
    figure.legend(loc="outside upper center", ncols=len(MARKS), frameon=False)
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)
