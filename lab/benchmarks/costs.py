"""The cost of a million tickets on AWS: counts times list prices."""

from collections.abc import Mapping
from typing import Final

from benchmarks.counting import Figures

PRICES: Final[Mapping[str, tuple[float, str]]] = {
    "write units": (0.625, "DynamoDB on demand, 2025-07"),
    "read units": (0.125, "DynamoDB on demand, 2025-07"),
    "queue requests": (0.40 + 0.10, "SQS standard and fair queues, 2026-06"),
    "publishes": (0.50, "SNS standard, up to 64 KB each, 2026-06"),
    "invocations": (0.20, "Lambda, 2026-05"),
    "GB-seconds": (13.3334, "Lambda on arm64, 2026-05"),
    "KB of logs": (0.50, "CloudWatch Logs, 2026-06"),
}
"""Dollars a million, and the AWS pricing page and the month of its price.

US East (N. Virginia), without volume tiers, free tiers and discounts.
"""

SUM: Final = "sum"
SERVICES: Final = ("DynamoDB", "SQS", "SNS", "Lambda", "Logs", SUM)
MEMORY_GB: Final = 0.5
RECEIVED_TOGETHER: Final = 10
LOG_KB: Final = (0.66, 1.08)
"""Of a ticket and of a batch, Lambda's own lines and CloudWatch's 26 bytes included."""


def dollars(figures: Figures) -> dict[str, float]:
    """Return the cost of a million tickets, by service and in sum."""
    price = {unit: dollar for unit, (dollar, _) in PRICES.items()}
    receives = max(figures.batches, 1 / RECEIVED_TOGETHER)
    seconds = figures.batches * figures.batch_seconds
    logged = LOG_KB[0] + LOG_KB[1] * figures.batches
    cost = {
        "DynamoDB": figures.write_units * price["write units"]
        + figures.read_units * price["read units"],
        "SQS": (1 + 2 * receives) * price["queue requests"],
        "SNS": figures.publishes * price["publishes"],
        "Lambda": figures.batches * price["invocations"]
        + MEMORY_GB * seconds * price["GB-seconds"],
        "Logs": logged * price["KB of logs"],
    }
    return cost | {SUM: sum(cost.values())}
