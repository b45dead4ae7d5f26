"""Tables in Markdown, for pages and terminals."""

from collections.abc import Iterable, Sequence

from benchmarks.cells import Cell, Results
from benchmarks.claims import COLUMNS, Claim
from benchmarks.contenders import OURS
from benchmarks.costs import PRICES
from benchmarks.counting import Figures
from benchmarks.profiles import ASSUMPTIONS, Profile
from benchmarks.targets import TARGETS
from benchmarks.workloads import Workload


def assumptions(profile: Profile) -> str:
    """Return the profile, and its times that were never measured."""
    assumed = "".join(f"- {assumption};\n" for assumption in ASSUMPTIONS)
    return f"Latency profile: {profile.name}. Assumed:\n{assumed}"


def prices() -> str:
    """Return the prices of the counted calls."""
    return "".join(
        f"- ${dollar:g} a million {unit}: {source}.\n"
        for unit, (dollar, source) in PRICES.items()
    )


def target_table(results: Results) -> str:
    """Return the targets, and whether they are met."""

    def figures_of(workload: Workload, contender: str = OURS) -> Figures:
        return results[Cell(contender, workload)]

    rows = []
    for target in TARGETS:
        measured = target.figure(figures_of)
        sign = "at least" if target.is_least else "at most"
        result = "met" if target.is_met(measured) else "**not met**"
        figure = f"{measured:.3g}"
        rows.append((target.name, f"{sign} {target.bound:g}", figure, result))
    return _table("Targets", ("figure", "target", "measured", "result"), rows)


def table_of(claim: Claim, results: Results) -> str:
    """Return the table of a claim."""
    rows = [
        (label, *(digits(COLUMNS[column](results[cell])) for column in claim.columns))
        for label, cell in claim.cells.items()
    ]
    return _table(claim.title, ("", *claim.columns), rows)


def digits(figure: float) -> str:
    """Return a figure with two digits: the model is not more exact."""
    if isinstance(figure, int) or figure >= 10:  # noqa: PLR2004 - two digits.
        return f"{float(f'{figure:.2g}'):.0f}"
    return f"{figure:#.2g}".rstrip(".")


def _table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, *rows]
    widths = [max(3, *map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    padded = [f"| {' | '.join(map(str.ljust, line, widths))} |" for line in lines]
    return "\n".join([f"## {title}", "", *padded, ""])
