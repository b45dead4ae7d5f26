"""List prices of AWS in US East (N. Virginia), in dollars, without any discount.

Volume tiers and free tiers are left out, but for CloudWatch's and SQS's free amounts,
which decide what an idle stack costs.
Prices change: each says which page has it, and when it was last seen to hold.
"""

from dataclasses import dataclass
from typing import Final

REGION: Final = "us-east-1"
MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """What one unit costs."""

    dollars: float
    unit: str
    page: str
    """The AWS pricing page that has it."""
    seen: str
    """The month in which it was last seen to hold."""

    def of(self, units: float) -> float:
        """Return what so many units cost."""
        return self.dollars * units


SQS_STANDARD: Final = Price(
    0.40 / MILLION, "request of 64 KB", "Amazon SQS pricing", "2026-06"
)
SQS_FIFO: Final = Price(
    0.50 / MILLION, "request of 64 KB", "Amazon SQS pricing", "2026-06"
)
SQS_FAIR: Final = Price(
    0.10 / MILLION,
    "request on a standard queue for messages with a group, on top",
    "Amazon SQS pricing, by a third party's account of it",
    "2026-03",
)
"""Charged here for send, receive and delete alike, which is the most it can be."""

LAMBDA_REQUEST: Final = Price(
    0.20 / MILLION, "invocation", "AWS Lambda pricing", "2026-05"
)
LAMBDA_GB_SECOND: Final = Price(
    0.000_013_333_4, "GB-second on arm64", "AWS Lambda pricing", "2026-05"
)

DYNAMODB_WRITE: Final = Price(
    0.625 / MILLION,
    "write request unit, on demand",
    "Amazon DynamoDB pricing for on-demand capacity",
    "2025-07",
)
"""Since the cut of November 2024. A transactional write takes two."""
DYNAMODB_READ: Final = Price(
    0.125 / MILLION,
    "read request unit, on demand",
    "Amazon DynamoDB pricing for on-demand capacity",
    "2025-07",
)
DYNAMODB_STORAGE: Final = Price(
    0.25, "GB-month", "Amazon DynamoDB pricing for on-demand capacity", "2025-05"
)
DYNAMODB_RECOVERY: Final = Price(
    0.20,
    "GB-month of point-in-time recovery",
    "Amazon DynamoDB pricing for on-demand capacity",
    "2025-05",
)

SNS_PUBLISH: Final = Price(
    0.50 / MILLION,
    "publish request of 64 KB, standard topic",
    "Amazon SNS pricing",
    "2026-06",
)
"""A PublishBatch is one request as long as its messages have 64 KB together."""
SNS_TO_SQS: Final = Price(
    0.0, "delivery to an SQS queue, standard topic", "Amazon SNS pricing", "2026-06"
)

LOGS_INGESTED: Final = Price(0.50, "GB", "Amazon CloudWatch pricing", "2026-06")
CUSTOM_METRIC: Final = Price(
    0.30, "metric-month, by the hours with data", "Amazon CloudWatch pricing", "2026-06"
)
ALARM: Final = Price(0.10, "alarm-month", "Amazon CloudWatch pricing", "2026-06")
DASHBOARD: Final = Price(
    3.00, "dashboard-month", "Amazon CloudWatch pricing", "2026-06"
)

FREE_SQS_REQUESTS: Final = MILLION
FREE_CUSTOM_METRICS: Final = 10
FREE_ALARMS: Final = 10
FREE_DASHBOARDS: Final = 3
"""Free amounts are those of the whole account, each month and for ever."""
