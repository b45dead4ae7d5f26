"""The pages name the constants of the timing, and count alarms and metrics."""

import pytest

from tests.support.alarms import metrics_of
from tests.support.markdown_commands import ROOT
from tests.support.template_loader import ids_of, properties
from ticket_numbering.allocation.backoff import BASE_DELAY_SECONDS, MIN_DELAY_SECONDS
from ticket_numbering.allocation.sequence_cache import TTL
from ticket_numbering.worker.observability import Metric

COLD_START_METRICS = 1

BASE = f"starts at {BASE_DELAY_SECONDS * 1000:g} ms"
LEAST = f"down to {MIN_DELAY_SECONDS * 1000:g} ms"
AGE = f"{TTL.total_seconds() * 1000:g}"
METRICS = len(Metric) + COLD_START_METRICS
METRICS_OF_ALARMS = sum(
    len([*metrics_of(properties(alarm))]) for alarm in ids_of("AWS::CloudWatch::Alarm")
)
"""AWS bills an alarm by its metrics."""


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("docs/decisions.md", BASE),
        ("docs/decisions.md", LEAST),
        ("docs/decisions.md", f"the next number for {AGE} ms"),
        ("docs/scaling.md", f"| metrics of the worker | {METRICS} |"),
        ("docs/scaling.md", f"| metrics of the alarms | {METRICS_OF_ALARMS} |"),
    ],
)
def test_page_names_the_figure_of_the_code(page: str, words: str) -> None:
    assert words in (ROOT / page).read_text(encoding="utf-8")
