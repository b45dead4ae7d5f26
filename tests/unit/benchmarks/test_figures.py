"""The base of the published figures: means over seeds, and prices."""

from dataclasses import fields
from typing import Any

import pytest

from benchmarks.costs import MONTHLY, SUM, dollars, of_a_month
from benchmarks.counting import Figures, mean_of
from simulation.pages import unsaid
from tests.support.template_loader import source
from ticket_numbering.worker.observability import Metric


def figures(**members: float) -> Figures:
    """Return figures that are zero but for these."""
    zeros: dict[str, Any] = {member.name: 0 for member in fields(Figures)}
    return Figures(**zeros | members)


def test_losses_are_summed_when_runs_are_combined() -> None:
    """A mean would hide the one run that lost something."""
    mean = mean_of([figures(attempts=1.0), figures(attempts=2.0, starved=10)])

    assert (mean.attempts, mean.starved) == (1.5, 10)


def test_million_tickets_cost_what_the_price_list_says() -> None:
    """By hand, from AWS's pricing pages."""
    month = figures(
        publishes=0.1, write_units=4.0, read_units=0.1, batches=0.1, batch_seconds=0.04
    )

    assert dollars(month)[SUM] == pytest.approx(3.59, abs=0.01)


def test_month_has_the_alarms_and_metrics_of_the_stack() -> None:
    """A gradual deployment's alarm comes on top; a cold start is a metric, too."""
    resources = source()["Resources"].values()
    alarms = [resource for resource in resources if "Alarm" in resource["Type"]]
    always = [alarm["Properties"] for alarm in alarms if "Condition" not in alarm]
    metrics = [str(alarm).count("'Namespace'") for alarm in always]

    numbers = {item: number for item, (number, _, _) in MONTHLY.items()}
    due = {
        "metrics of the alarms": sum(metrics),
        "metrics of the worker": len(Metric) + 1,
    }
    assert due == {item: numbers[item] for item in due}, (
        "set MONTHLY in costs.py to due"
    )


def test_figure_is_named_when_its_page_says_another() -> None:
    pages = of_a_month()

    assert [line for page in pages for line in unsaid(page, *pages[page])] == []
    assert unsaid("README.md", "$1,000 a month") == ["not in README.md: $1,000 a month"]
