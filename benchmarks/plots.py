"""Draws the figures: PNG and SVG, readable on light and on dark ground."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib import pyplot as plt

from benchmarks.cells import FIFO_WORKERS, WORKERS, Cell, limits_of
from benchmarks.contenders import CONTENDERS, OURS
from benchmarks.measurement import Measurement
from benchmarks.model import CEILING
from benchmarks.store import Results
from benchmarks.workload import Limits, Workload

FORMATS: Final = ("png", "svg")
FIFO: Final = "ours, FIFO"

# Told apart by those who do not see all colours: Okabe and Ito; and by their marks.
STYLES: Final[Mapping[str, Mapping[str, Any]]] = {
    OURS: {"color": "#0072B2", "marker": "o", "linewidth": 2.5},
    FIFO: {"color": "#56B4E9", "marker": "v", "linestyle": "--"},
    "textbook": {"color": "#D55E00", "marker": "s"},
    "locked-counter": {"color": "#CC79A7", "marker": "^"},
    "add-counter": {"color": "#009E73", "marker": "D"},
    "powertools": {"color": "#E69F00", "marker": "X"},
}
# A ground of its own, which neither a light nor a dark page shines through.
GROUND: Final = "#FFFFFF"
RULES: Final[Any] = {
    "figure.facecolor": GROUND,
    "axes.facecolor": GROUND,
    "savefig.facecolor": GROUND,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "ticket-numbering",
    "figure.figsize": (8.0, 4.5),
    "figure.dpi": 120,
}

Series = Mapping[str, Mapping[int, Measurement]]
"""Measurements by contender, and then by the number of workers."""


def draw(results: Results, directory: Path) -> list[Path]:
    """Draw every plot that something was measured for; return the files."""
    series = _series(results)
    if not any(series.values()):
        return []
    directory.mkdir(parents=True, exist_ok=True)
    return [
        *_plot(
            directory / "requests",
            series,
            lambda each: each.requests_a_ticket,
            "requests a ticket",
        ),
        *_plot(
            directory / "write-units",
            series,
            lambda each: each.write_units_a_ticket,
            "write units a ticket",
        ),
        *_plot(
            directory / "throughput",
            series,
            lambda each: each.tickets_a_second,
            "tickets a second of one project",
            ceiling=CEILING,
            is_logarithmic=False,
        ),
        *_latency(directory / "latency", series),
    ]


def _series(results: Results) -> Series:
    found: dict[str, dict[int, Measurement]] = {}
    for contender in CONTENDERS:
        cells = {
            count: Cell("", contender, Workload(count), limits_of(contender, count))
            for count in WORKERS
        }
        found[contender] = _measured(results, cells)
    fifo = {
        count: Cell("", OURS, Workload(count, is_fifo=True), Limits())
        for count in FIFO_WORKERS
    }
    return {OURS: found.pop(OURS), FIFO: _measured(results, fifo), **found}


def _measured(results: Results, cells: Mapping[int, Cell]) -> dict[int, Measurement]:
    found = {count: results.get(cell) for count, cell in cells.items()}
    return {count: each for count, each in found.items() if each is not None}


def _plot(  # noqa: PLR0913 - what a plot is made of.
    path: Path,
    series: Series,
    value: Callable[[Measurement], float],
    label: str,
    ceiling: float | None = None,
    *,
    is_logarithmic: bool = True,
) -> list[Path]:
    with _axes(path, label, is_logarithmic=is_logarithmic) as (axes, files):
        for name, measured in series.items():
            values = [value(each) for each in measured.values()]
            axes.plot([*measured], values, label=name, **STYLES[name])
        if ceiling:
            axes.axhline(ceiling, color="#000000", linestyle=":", linewidth=1.2)
            note = f"ceiling of a partition: {ceiling:g}"
            axes.annotate(note, (WORKERS[0], ceiling), va="bottom")
    return files


def _latency(path: Path, series: Series) -> list[Path]:
    label = "seconds from receive to announced"
    timed = {
        name: {n: each for n, each in series[name].items() if each.waits}
        for name in (OURS, FIFO, "textbook")
    }
    if not any(timed.values()):
        return []
    with _axes(path, label, is_logarithmic=True) as (axes, files):
        for name, measured in timed.items():
            for share, line in (("p50", "-"), ("p90", "--"), ("p99", ":")):
                style = {**STYLES[name], "linestyle": line}
                values = [each.waits[share] for each in measured.values()]
                axes.plot([*measured], values, label=f"{name} {share}", **style)
    return files


@contextmanager
def _axes(
    path: Path, label: str, *, is_logarithmic: bool
) -> Iterator[tuple[Any, list[Path]]]:
    """Give axes to draw on, and save them in every format."""
    files = [path.with_suffix(f".{each}") for each in FORMATS]
    with mpl.rc_context(RULES):
        mpl.use("agg")
        figure, axes = plt.subplots(layout="constrained")
        yield axes, files
        axes.set_xscale("log")
        axes.set_xticks(WORKERS, [str(count) for count in WORKERS])
        axes.set_xticks([], minor=True)
        if is_logarithmic:
            axes.set_yscale("log")
        axes.set_xlabel("workers at a time (one hot project, batches of 10)")
        axes.set_ylabel(label)
        axes.legend(frameon=False, ncols=2 if len(axes.lines) > len(STYLES) + 1 else 1)
        for file in files:
            # No date, so that the same figures make the same file.
            metadata = {"Date": None} if file.suffix == ".svg" else {}
            figure.savefig(file, metadata=metadata)
        plt.close(figure)


def names(files: Sequence[Path]) -> str:
    """Return the files' names for people."""
    return ", ".join(sorted(file.name for file in files))
