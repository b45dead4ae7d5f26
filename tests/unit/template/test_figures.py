"""The pages name the constants of the timing, and count alarms and metrics."""

import pytest

from tests.support.alarms import metrics_of
from tests.support.markdown_commands import ROOT
from tests.support.template_loader import ids_of, properties
from ticket_numbering.allocation import backoff
from ticket_numbering.allocation.sequence_cache import TTL
from ticket_numbering.worker.observability import Metric

COLD_START_METRICS = 1

FREE = 10
"""Metrics and alarms that each account has free of charge."""
METRIC_DOLLARS = 0.3
ALARM_DOLLARS = 0.1

BASE = f"starts at {backoff.BASE_DELAY_SECONDS * 1000:g} ms"
LEAST = f"down to {backoff.MIN_DELAY_SECONDS * 1000:g} ms"
GROWTH = f"grows by {backoff.CONTENTION_MULTIPLIER - 1:.0%}".replace("%", " %")
DECAY = f"decays by {1 - backoff.SUCCESS_DECAY:.0%}".replace("%", " %")
FAILURE = f"multiply it by {backoff.FAILURE_MULTIPLIER:g}, "
THROTTLING = (
    f"throttling by {backoff.THROTTLING_MULTIPLIER:g}, "
    f"to at least {backoff.MIN_THROTTLING_DELAY_SECONDS:g} s"
)
LONGEST = f"{backoff.MAX_DELAY_SECONDS:g} s are the most"
AGE = f"{TTL.total_seconds() * 1000:g}"
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
        BASE,
        LEAST,
        GROWTH,
        DECAY,
        FAILURE,
        THROTTLING,
        LONGEST,
        f"the next number for {AGE} ms",
    ],
)
def test_page_names_the_constant_of_the_timing(words: str) -> None:
    assert words in (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "words",
    [
        row("metrics of the worker", METRICS, METRIC_DOLLARS),
        row("metrics of the alarms", METRICS_OF_ALARMS, ALARM_DOLLARS),
    ],
)
def test_page_counts_metrics_and_their_dollars(words: str) -> None:
    assert words in (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
