"""Draws what more workers on one hot project do to each contender."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib import pyplot as plt

from benchmarks.cells import WORKERS, Cell, Results, hot
from benchmarks.contenders import OURS, TEXTBOOK
from benchmarks.figures import Figures
from benchmarks.model_run import CEILING

# Distinct for those who do not see all colours: Okabe and Ito; and by their marks.
STYLES: Final[Mapping[str, Mapping[str, Any]]] = {
    OURS: {"color": "#0072B2", "marker": "o", "linewidth": 2.5},
    TEXTBOOK: {"color": "#D55E00", "marker": "s"},
    "locked-counter": {"color": "#CC79A7", "marker": "^"},
    "add-counter": {"color": "#009E73", "marker": "D"},
    "powertools": {"color": "#E69F00", "marker": "X"},
}
RULES: Final[Any] = {
    # A ground of its own, which neither a light nor a dark page shines through.
    "savefig.facecolor": "#FFFFFF",
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "ticket-numbering",  # The same figures make the same file.
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "figure.figsize": (8.0, 4.5),
}
PLOTS: Final[Mapping[str, tuple[str, Callable[[Figures], float]]]] = {
    "requests": ("requests a ticket", lambda found: found.requests),
    "write-units": ("write units a ticket", lambda found: found.write_units),
    "throughput": (
        "tickets a second, in % of the ceiling",
        lambda found: found.tickets_a_second / CEILING * 100,
    ),
}
"""By the name of the file: the label, and what is drawn."""


def draw(results: Results, directory: Path) -> None:
    """Draw every plot."""
    directory.mkdir(parents=True, exist_ok=True)
    mpl.use("agg")
    with mpl.rc_context(RULES):
        for name, (label, value) in PLOTS.items():
            _draw(results, directory / f"{name}.svg", label, value)


def _draw(
    results: Results, file: Path, label: str, value: Callable[[Figures], float]
) -> None:
    figure, axes = plt.subplots(layout="constrained")
    for name, style in STYLES.items():
        found = [results[Cell(name, hot(workers))] for workers in WORKERS]
        axes.plot(WORKERS, [value(figures) for figures in found], label=name, **style)
    axes.set(xscale="log", yscale="log", ylabel=label)
    axes.set_xlabel("batches worked on at a time (one hot project, batches of 10)")
    axes.set_xticks(WORKERS, [str(workers) for workers in WORKERS])
    axes.set_xticks([], minor=True)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.legend(frameon=False)
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)
