"""What the stack costs in a month whatever the tickets, counted in template.yaml."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from samtranslator.yaml_helper import yaml_parse

from benchmarks.cost_prices import (
    ALARM,
    CUSTOM_METRIC,
    DASHBOARD,
    FREE_ALARMS,
    FREE_CUSTOM_METRICS,
    FREE_DASHBOARDS,
    FREE_SQS_REQUESTS,
    SQS_STANDARD,
    Price,
)
from ticketctl.local.artifact import ROOT

TEMPLATE: Final = ROOT / "template.yaml"

SECONDS_A_MONTH: Final = 730 * 3600

POLLERS: Final = 5
"""Batches that Lambda is ready for when idle; Lambda guide, "SQS event source scaling".

With a maximum concurrency, which the template sets, it does not go down to 2.
"""
POLL_SECONDS: Final = 20
"""The longest that SQS keeps a long poll waiting."""

EVENT_COUNT_METRICS: Final = 5
"""Polled, filtered out, invoked, failed, deleted; Lambda guide, "Types of metrics"."""
COLD_START_METRICS: Final = 1

_OWN_METRIC: Final = re.compile(r'\["TicketNumbering", "(\w+)"')


@dataclass(frozen=True, slots=True)
class MonthlyCost:
    """One kind of thing that costs by the month."""

    what: str
    count: int
    price: Price
    free: int
    """How many the account has free."""
    is_idle: bool = True
    """Whether it costs before a message comes."""

    @property
    def dollars(self) -> float:
        """Return what they cost where the free ones are used up."""
        return self.price.of(self.count)

    @property
    def dollars_beyond_free(self) -> float:
        """Return what they cost in an account that has nothing else."""
        return self.price.of(max(0, self.count - self.free))


def monthly_costs(template: Path = TEMPLATE) -> list[MonthlyCost]:
    """Return what costs by the month, polling first.

    Metrics cost only in hours in which something is counted.
    """
    resources = yaml_parse(template.read_text(encoding="utf-8"))["Resources"].values()
    polls = _of_type(resources, "AWS::Serverless::Function") * polls_a_month()
    alarms = _of_type(resources, "AWS::CloudWatch::Alarm")
    dashboards = _of_type(resources, "AWS::CloudWatch::Dashboard")
    metrics = len(own_metrics(resources)) + COLD_START_METRICS + EVENT_COUNT_METRICS
    return [
        MonthlyCost("empty receives", polls, SQS_STANDARD, FREE_SQS_REQUESTS),
        MonthlyCost("alarms", alarms, ALARM, FREE_ALARMS),
        MonthlyCost("dashboards", dashboards, DASHBOARD, FREE_DASHBOARDS),
        MonthlyCost(
            "metrics", metrics, CUSTOM_METRIC, FREE_CUSTOM_METRICS, is_idle=False
        ),
    ]


def polls_a_month() -> int:
    """Return how often Lambda asks an empty queue."""
    return POLLERS * SECONDS_A_MONTH // POLL_SECONDS


def own_metrics(resources: Any) -> set[str]:
    """Return the names of the worker's metrics; the dashboard shows every one."""
    bodies = [
        each["Properties"]["DashboardBody"]
        for each in resources
        if each["Type"] == "AWS::CloudWatch::Dashboard"
    ]
    return {name for body in bodies for name in _OWN_METRIC.findall(str(body))}


def _of_type(resources: Any, resource_type: str) -> int:
    return sum(each["Type"] == resource_type for each in resources)
