"""Tables in Markdown, which a terminal shows as they are."""

from collections.abc import Iterable, Sequence

from benchmarks.cells import Results
from benchmarks.claims import CLAIMS, COLUMNS, Claim, targets
from benchmarks.costs import PRICES


def report(results: Results) -> str:
    """Return a table for each claim, the targets and the prices."""
    prices = "".join(
        f"- ${dollar:g} a million {unit}: {source}.\n"
        for unit, (dollar, source) in PRICES.items()
    )
    tables = [target_table(results), *(table_of(claim, results) for claim in CLAIMS)]
    return "\n".join([*tables, prices])


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
    return _table("Targets", ("what", "target", "measured", "verdict"), rows)


def table_of(claim: Claim, results: Results) -> str:
    """Return the table of a claim."""
    rows = [
        (label, *(COLUMNS[column](results[cell]) for column in claim.columns))
        for label, cell in claim.cells.items()
    ]
    return _table(claim.title, ("", *claim.columns), rows)


def _table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, *rows]
    widths = [max(3, *map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    padded = [f"| {' | '.join(map(str.ljust, line, widths))} |" for line in lines]
    return "\n".join([f"## {title}", "", *padded, ""])
