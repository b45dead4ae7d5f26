"""Sees each call of a client: its time, its units, and why it was cancelled."""

import os
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final

import boto3
from botocore.config import Config

from benchmarks.costs import PRICES
from benchmarks.counting import percentile
from conformance.case import CANCELLED

PERCENTILES: Final = (50, 90, 99)
BLOCK: Final = "TransactWriteItems"
WRITES: Final = frozenset({BLOCK, "PutItem", "UpdateItem", "DeleteItem"})
UNITS_A_PUT: Final = 2
"""Of an item of up to 1 KB in a transaction; guide, "Read and write operations"."""


@dataclass(frozen=True)
class Cancelled:
    """A cancelled transaction of puts."""

    items: Sequence[Mapping[str, Any]]
    reasons: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Pending:
    """A transaction without an answer."""

    ticket: dict[str, Any]
    """The first that it puts."""
    since: float


@dataclass
class Meter:
    """Counts the calls of the clients that it gives."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Of every call, by operation; botocore's retries are a part of the call."""
    read_units: float = 0.0
    write_units: float = 0.0
    cancelled: list[Cancelled] = field(default_factory=list)
    pending: Pending | None = None
    """The transaction of a single writer."""
    _lock: Lock = field(default_factory=Lock)

    def client(self, config: Config | None = None) -> Any:
        """Return a client of DynamoDB whose calls are counted."""
        # boto3 does not look at the variable that the AWS CLI looks at first.
        region = os.environ.get("AWS_REGION")
        client: Any = boto3.client("dynamodb", region_name=region, config=config)
        events = client.meta.events
        events.register("before-parameter-build.dynamodb", self._ask_for_units)
        events.register("before-call.dynamodb", self._start)
        events.register("after-call.dynamodb", self._end)
        return client

    def latencies_ms(self) -> dict[str, dict[str, float]]:
        """Return percentiles by operation."""
        return {name: quantiles(found) for name, found in sorted(self.seconds.items())}

    def units(self) -> dict[str, float]:
        """Return the units that AWS reported, and those of cancelled transactions."""
        assumed = sum(UNITS_A_PUT * len(one.items) for one in self.cancelled)
        return {
            "read": self.read_units,
            "write": self.write_units,
            "write_of_cancelled_assumed": assumed,
        }

    def dollars(self) -> float:
        """Return the cost of the units at list prices."""
        units = self.units()
        written = units["write"] + units["write_of_cancelled_assumed"]
        return dollars(written, self.read_units)

    def _ask_for_units(
        self, params: dict[str, Any], model: Any, context: dict[str, Any], **_: Any
    ) -> None:
        context["numbering_params"] = params
        if "ReturnConsumedCapacity" in model.input_shape.members:
            params["ReturnConsumedCapacity"] = "TOTAL"

    def _start(self, model: Any, context: dict[str, Any], **_: Any) -> None:
        context["numbering_start"] = now = time.monotonic()
        if model.name == BLOCK:
            self.pending = Pending(_items(context)[0], now)

    def _end(
        self, parsed: dict[str, Any], model: Any, context: dict[str, Any], **_: Any
    ) -> None:
        seconds = time.monotonic() - context["numbering_start"]
        self.pending = None
        with self._lock:
            self.seconds[model.name].append(seconds)
            self._count(model.name, parsed.get("ConsumedCapacity") or [])
            is_cancelled = parsed.get("Error", {}).get("Code") == CANCELLED
            if is_cancelled and model.name == BLOCK:
                reasons = parsed["CancellationReasons"]
                self.cancelled.append(Cancelled(_items(context), reasons))

    def _count(self, operation: str, capacity: Any) -> None:
        tables = capacity if isinstance(capacity, list) else [capacity]
        units = sum(float(table["CapacityUnits"]) for table in tables)
        if operation in WRITES:
            self.write_units += units
        else:
            self.read_units += units


def _items(context: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the items that a transaction puts, or keys of those that it checks."""
    actions = context["numbering_params"]["TransactItems"]
    return [
        action["Put"]["Item"] if "Put" in action else action["ConditionCheck"]["Key"]
        for action in actions
    ]


def quantiles(seconds: Sequence[float]) -> dict[str, float]:
    """Return percentiles in milliseconds."""
    return {
        f"p{percent}": round(1000 * percentile(seconds, percent / 100), 3)
        for percent in PERCENTILES
    }


def dollars(write_units: float, read_units: float = 0.0) -> float:
    """Return the cost of units at list prices."""
    prices = [PRICES[name][0] / 1_000_000 for name in ("write units", "read units")]
    return write_units * prices[0] + read_units * prices[1]
