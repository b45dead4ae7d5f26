"""What tickets cost on AWS: dollars for a million by service, and by the month.

`python -m benchmarks.costs`; list prices, see `benchmarks.cost_prices`.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.console import Console

from benchmarks.cost_dollars import CostRow, cost_rows
from benchmarks.cost_idle import MonthlyCost, monthly_costs
from benchmarks.cost_prices import REGION
from benchmarks.cost_report import as_markdown, show


def to_json(rows: Sequence[CostRow], monthly: Sequence[MonthlyCost]) -> dict[str, Any]:
    """Return everything for scripts."""
    return {
        "region": REGION,
        "per_million": [row.to_json() for row in rows],
        "monthly": [
            asdict(each)
            | {"dollars": each.dollars, "dollars_beyond_free": each.dollars_beyond_free}
            for each in monthly
        ],
    }


def main(
    *,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print it for scripts.")
    ] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print it for a page.")
    ] = False,
) -> None:
    """Print what a million tickets cost, and what a month costs whatever comes."""
    rows, monthly = cost_rows(), monthly_costs()
    if as_json:
        print(json.dumps(to_json(rows, monthly), indent=2))  # noqa: T201 - for a pipe.
    elif markdown:
        print(as_markdown(rows, monthly), end="")  # noqa: T201 - for a pipe.
    else:
        show(rows, monthly, Console(highlight=False))


if __name__ == "__main__":
    typer.run(main)
