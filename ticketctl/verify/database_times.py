"""The times of DynamoDB's calls, as CloudWatch has them for a deployed stack."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from botocore.exceptions import ClientError

from ticketctl.aws.aws_errors import is_refused
from ticketctl.aws.stack import System
from ticketctl.cli.output import remark

_SPAN: Final = timedelta(hours=1)
_CALLS: Final = (
    ("TicketsTableName", "TransactWriteItems"),
    ("TicketsTableName", "Query"),
    ("IdempotencyKeysTableName", "TransactWriteItems"),
    ("IdempotencyKeysTableName", "BatchGetItem"),
)
"""The worker's, by the output that names the table."""


def database_times(stack: System) -> list[dict[str, Any]]:
    """Return the milliseconds of the last hour's calls; none of an emulator.

    CloudWatch is minutes late, so the calls of this run may be missing.
    """
    try:
        return [*_times(stack)]
    except ClientError as error:
        if not is_refused(error):
            raise
        remark("the times of DynamoDB need the right cloudwatch:GetMetricStatistics")
        return []


def _times(stack: System) -> Iterator[dict[str, Any]]:
    cloudwatch, now = stack.client("cloudwatch"), datetime.now(UTC)
    for output, operation in _CALLS:
        table = stack.outputs[output]
        dimensions = {"TableName": table, "Operation": operation}
        answer = cloudwatch.get_metric_statistics(
            Namespace="AWS/DynamoDB",
            MetricName="SuccessfulRequestLatency",
            Dimensions=[
                {"Name": name, "Value": value} for name, value in dimensions.items()
            ],
            StartTime=now - _SPAN,
            EndTime=now,
            Period=int(_SPAN.total_seconds()),
            Statistics=["Average", "Maximum", "SampleCount"],
        )
        for point in answer["Datapoints"]:
            yield {
                "table": table,
                "operation": operation,
                "calls": round(point["SampleCount"]),
                "average_ms": round(point["Average"], 1),
                "maximum_ms": round(point["Maximum"], 1),
            }
