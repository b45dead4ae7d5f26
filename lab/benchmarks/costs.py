"""The costs on AWS, of a million tickets and of a month: counts times list prices."""

from collections.abc import Mapping
from typing import Final

from benchmarks.counting import Figures
from benchmarks.workloads import REAL_ITEMS

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
"""Bytes of a ticket and a batch, with Lambda's own lines and CloudWatch's 26 bytes."""

MONTHLY: Final[Mapping[str, tuple[int, float, int]]] = {
    # Five long polls of 20 seconds, for 730 hours.
    "empty receives": (5 * 180 * 730, 0.40 / 1_000_000, 1_000_000),
    "metrics of the alarms": (17, 0.10, 10),
    "dashboard": (1, 3.00, 3),
    "metrics of the worker": (13, 0.30, 10),
}
"""Number, dollars each, and how many are free; an idle stack lacks the last one."""

STORED: Final = 0.25 + 0.20
"""Dollars of a GB and month in DynamoDB, and of its point-in-time recovery."""

CHAIN_BYTES, RECORD_BYTES, ITEM_BYTES = 77, 254, 100
"""Bytes of chain and salt, of a key's record, and of DynamoDB's overhead per item."""


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


def of_a_month() -> dict[str, list[str]]:
    """Return the costs of a month as the pages say them."""
    rows = MONTHLY.items()
    most = {f"{number:,} {item}": number * price for item, (number, price, _) in rows}
    beyond = [max(0, number - free) * price for _, (number, price, free) in rows]
    idle = f"at most ${sum([*most.values()][:-1]):.2f} a month"
    size = REAL_ITEMS.mean + CHAIN_BYTES + RECORD_BYTES + 2 * ITEM_BYTES
    stored = f"${STORED * size / 1000:.2f} a month"
    return {
        "docs/scaling.md": [
            f"{size / 1000:.1f} GB, {stored} with point-in-time recovery",
            f"costs {idle}: ",
            *(f"${cost:.2f} for {items}" for items, cost in most.items()),
            f"these are ${sum(beyond[:-1]):.2f} and ${beyond[-1]:.2f}.",
        ],
        "README.md": [f"{stored}; an idle stack costs {idle}."],
    }
