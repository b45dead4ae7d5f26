"""The metrics of an alarm, and its state after a series of periods."""

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tests.support.template_loader import Json

Series = NDArray[np.float64]

COMPARISONS: Final[dict[str, Callable[[Series, float], NDArray[np.bool_]]]] = {
    "GreaterThanThreshold": operator.gt,
    "GreaterThanOrEqualToThreshold": operator.ge,
}
FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "IF": np.where,
    "DIFF": lambda series: np.diff(series, prepend=np.nan),
    "FILL": lambda series, value: np.where(np.isnan(series), value, series),
}
"""CloudWatch User Guide, "Metric math syntax and functions"."""


def metrics_of(alarm: Json) -> Iterator[tuple[Json, str, int]]:
    """Yield each metric of an alarm with its statistic and its period."""
    if "MetricName" in alarm:
        statistic: str = alarm.get("Statistic") or alarm.get("ExtendedStatistic", "")
        yield alarm, statistic, alarm["Period"]
    for query in _stats(alarm).values():
        yield query["Metric"], query["Stat"], query["Period"]


def is_on(alarm: Json, samples: Mapping[str, Sequence[float]]) -> bool:
    """Return whether an alarm is on after these periods; NaN is one without data."""
    given = {name: np.array(values, float) for name, values in samples.items()}
    values = _evaluated(alarm, given)[-alarm["EvaluationPeriods"] :]
    assert alarm["TreatMissingData"] == "notBreaching"  # As NaN is, too.
    breach = COMPARISONS[alarm["ComparisonOperator"]](values, float(alarm["Threshold"]))
    needed = alarm.get("DatapointsToAlarm", alarm["EvaluationPeriods"])
    return bool(breach.sum() >= needed)


def _evaluated(alarm: Json, given: Mapping[str, Series]) -> Series:
    if "MetricName" in alarm:
        return given[alarm["MetricName"]]
    names: dict[str, Any] = {
        key: given[stat["Metric"]["MetricName"]] for key, stat in _stats(alarm).items()
    }
    [result] = [query for query in alarm["Metrics"] if query.get("ReturnData", True)]
    for query in alarm["Metrics"]:
        if "Expression" in query:
            with np.errstate(divide="ignore", invalid="ignore"):
                # The template's own; its syntax is Python's as far as it goes.
                names[query["Id"]] = eval(query["Expression"], FUNCTIONS | names)  # noqa: S307
    series: Series = names[result["Id"]]
    return series


def _stats(alarm: Json) -> dict[str, Json]:
    queries = alarm.get("Metrics", [])
    return {
        query["Id"]: query["MetricStat"] for query in queries if "MetricStat" in query
    }
