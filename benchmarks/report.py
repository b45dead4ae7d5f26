"""Tables in Markdown, which a terminal shows as they are."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from benchmarks.cells import GROUPS, MANY_PROJECTS, SINGLY, Cell, Results, hot
from benchmarks.contenders import CONTENDERS
from benchmarks.costs import PRICES, SERVICES, dollars
from benchmarks.figures import Figures
from benchmarks.model_run import CEILING
from benchmarks.targets import targets
from benchmarks.workloads import Workload

COLUMNS: Final = (
    "contender",
    "queue and arrivals",
    "N",
    "ms beside",
    "requests",
    "write units",
    "read units",
    "attempts",
    "ceiling",
    "p50 s",
    "p99 s",
    "max s",
    "p99 s from sending",
    "starved",
    "gaps",
    "doubles",
    "runs",
)
COSTED: Final[Mapping[str, Workload]] = {
    "ten workers on one project": hot(10),
    "one worker, full batches": hot(1),
    "many projects": MANY_PROJECTS,
    "single messages": SINGLY,
}

HEADING: Final = """# Figures

Written by `make bench-docs`; [`performance.md`](../performance.md) explains them.
"""


def report(results: Results) -> str:
    """Return the whole page."""
    tables = [f"## Targets\n\n{target_table(results)}"]
    for title, cells in GROUPS.items():
        rows = [_row(cell, results[cell]) for cell in cells]
        tables.append(f"## {title}\n\n{_table(COLUMNS, rows)}")
    tables.append(f"## Dollars for a million tickets\n\n{cost_table(results)}")
    return "\n".join([HEADING, *tables])


def target_table(results: Results) -> str:
    """Return the targets, and whether they are met."""
    rows = [
        (
            target.name,
            f"{'at least' if target.is_least else 'at most'} {target.bound:g}",
            f"{target.measured:.3g}",
            "met" if target.is_met else "**not met**",
        )
        for target in targets(results)
    ]
    return _table(("what", "target", "measured", "verdict"), rows)


def cost_table(results: Results) -> str:
    """Return what a million tickets cost, and the prices."""
    rows = [
        (name, case, *_cost_row(dollars(results[Cell(name, workload)])))
        for case, workload in COSTED.items()
        for name in CONTENDERS
    ]
    prices = "".join(
        f"- ${dollar:g} a million {unit}: {source}.\n"
        for unit, (dollar, source) in PRICES.items()
    )
    return f"{_table(('contender', 'arrivals', *SERVICES, 'sum'), rows)}\n{prices}"


def _cost_row(cost: Mapping[str, float]) -> list[str]:
    values = [cost[service] for service in SERVICES]
    return [f"{value:.2f}" for value in (*values, sum(values))]


def _row(cell: Cell, found: Figures) -> Sequence[str]:
    workload = cell.workload
    is_sent = not workload.is_saturated
    return (
        cell.contender,
        workload.title(),
        str(workload.workers),
        workload.overhead_title(),
        f"{found.requests:.2f}",
        f"{found.write_units:.2f}",
        f"{found.read_units:.2f}",
        f"{found.attempts:.2f}",
        f"{found.tickets_a_second / CEILING:.0%}" if workload.projects == 1 else "-",
        f"{found.p50:.3f}",
        f"{found.p99:.3f}",
        f"{found.longest:.2f}",
        f"{found.p99_from_sending:.3f}" if is_sent else "-",
        str(found.starved),
        str(found.gaps),
        str(found.duplicates),
        str(found.runs),
    )


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    return "".join(f"{line}\n" for line in _padded(lines, widths))


def _padded(lines: Iterable[Sequence[str]], widths: Sequence[int]) -> Iterator[str]:
    for line in lines:
        cells = (text.ljust(width) for text, width in zip(line, widths, strict=True))
        yield f"| {' | '.join(cells)} |"
