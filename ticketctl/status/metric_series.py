"""What CloudWatch has of the last hour, minute by minute, in one call."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from ticketctl.cli.output import visible

MINUTES: Final = 60
_PERIOD: Final = timedelta(minutes=1)

GAUGE_MINUTES: Final = 15
"""How old the latest value of a gauge may be; SQS's come some minutes late."""


@dataclass(frozen=True)
class Metric:
    """A metric, and how a minute's values become one."""

    namespace: str
    name: str
    dimension: str
    value: str
    statistic: str = "Sum"


@dataclass(frozen=True)
class Series:
    """A value for each minute, the oldest first; none where there is no data."""

    values: Sequence[float | None]

    @property
    def known(self) -> list[float]:
        """The values that there are."""
        return [each for each in self.values if each is not None]

    @property
    def total(self) -> float | None:
        """Their sum; none if CloudWatch has no data at all."""
        return sum(self.known) if self.known else None

    @property
    def highest(self) -> float | None:
        """The largest of them."""
        return max(self.known, default=None)

    @property
    def latest(self) -> float | None:
        """The newest of them, unless it is old news."""
        recent = [each for each in self.values[-GAUGE_MINUTES:] if each is not None]
        return recent[-1] if recent else None


@dataclass(frozen=True)
class Answer:
    """What CloudWatch said."""

    series: Mapping[str, Series]
    remarks: Sequence[str] = ()
    """What it would not or could not say, and why."""


def nothing_known(metrics: Iterable[str]) -> dict[str, Series]:
    """Return series without any value."""
    return {name: Series([None] * MINUTES) for name in metrics}


def last_hour(
    cloudwatch: Any, metrics: Mapping[str, Metric], now: datetime | None = None
) -> Answer:
    """Ask for the last sixty minutes, the present one included.

    Args:
        cloudwatch: The client.
        metrics: What to ask for, by a name of our own.
        now: When the hour ends.
    """
    minute = (now or datetime.now(UTC)).replace(second=0, microsecond=0)
    start = minute - (MINUTES - 1) * _PERIOD
    names = list(metrics)
    values: dict[str, list[float | None]] = {each: [None] * MINUTES for each in names}
    remarks: list[str] = []
    # One call; pages come only when CloudWatch cuts its answer short.
    pages = cloudwatch.get_paginator("get_metric_data").paginate(
        MetricDataQueries=[
            _query(place, metrics[name]) for place, name in enumerate(names)
        ],
        StartTime=start,
        EndTime=minute + _PERIOD,
        ScanBy="TimestampAscending",
    )
    for page in pages:
        remarks += [_said(each) for each in page.get("Messages", [])]
        for result in page["MetricDataResults"]:
            name = names[int(result["Id"].removeprefix("m"))]
            if result.get("StatusCode") in {"InternalError", "Forbidden"}:
                remarks.append(f"{metrics[name].name}: {result['StatusCode']}")
            _fill(values[name], result, start)
    return Answer({name: Series(each) for name, each in values.items()}, remarks)


def _query(place: int, metric: Metric) -> dict[str, Any]:
    return {
        "Id": f"m{place}",  # CloudWatch: a lower-case letter first.
        "MetricStat": {
            "Metric": {
                "Namespace": metric.namespace,
                "MetricName": metric.name,
                "Dimensions": [{"Name": metric.dimension, "Value": metric.value}],
            },
            "Period": int(_PERIOD.total_seconds()),
            "Stat": metric.statistic,
        },
    }


def _fill(
    values: list[float | None], result: Mapping[str, Any], start: datetime
) -> None:
    for stamp, value in zip(result["Timestamps"], result["Values"], strict=True):
        minute = (stamp - start) // _PERIOD
        if 0 <= minute < MINUTES:
            values[minute] = float(value)


def _said(message: Mapping[str, str]) -> str:
    return visible(f"{message.get('Code', '')}: {message.get('Value', '')}")
