"""A page counts alarms and metrics, and their dollars."""

import pytest

from tests.support.alarms import metrics_of
from tests.support.markdown_commands import ROOT
from tests.support.template_loader import ids_of, properties
from ticket_numbering.worker.observability import Metric

COLD_START_METRICS = 1

FREE = 10
"""Metrics and alarms that each account has free of charge."""
METRIC_DOLLARS = 0.3
ALARM_DOLLARS = 0.1

METRICS = len(Metric) + COLD_START_METRICS
METRICS_OF_ALARMS = sum(
    len([*metrics_of(properties(alarm))]) for alarm in ids_of("AWS::CloudWatch::Alarm")
)
"""AWS bills an alarm by its metrics."""


def row(item: str, number: int, dollars: float) -> str:
    """Return the start of a row of the month's costs."""
    beyond = max(0, number - FREE) * dollars
    return f"| {item} | {number} | {number * dollars:.2f} | {beyond:.2f} |"


@pytest.mark.parametrize(
    "words",
    [
        row("metrics of the worker", METRICS, METRIC_DOLLARS),
        row("metrics of the alarms", METRICS_OF_ALARMS, ALARM_DOLLARS),
    ],
)
def test_page_counts_metrics_and_their_dollars(words: str) -> None:
    assert words in (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
