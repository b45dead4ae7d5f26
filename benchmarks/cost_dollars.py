"""From what a ticket takes to dollars, by service."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from benchmarks.cost_cases import CASES
from benchmarks.cost_prices import (
    DYNAMODB_READ,
    DYNAMODB_RECOVERY,
    DYNAMODB_STORAGE,
    DYNAMODB_WRITE,
    LAMBDA_GB_SECOND,
    LAMBDA_REQUEST,
    LOGS_INGESTED,
    MILLION,
    SNS_PUBLISH,
    SNS_TO_SQS,
    SQS_FAIR,
    SQS_STANDARD,
    Price,
)
from benchmarks.cost_work import MEMORY_MB, Work

SERVICES: Final = ("DynamoDB", "SQS", "SNS", "Lambda", "Logs")

FAIR_QUEUE: Final = (SQS_STANDARD, SQS_FAIR)
"""Producers send the project as message group, which makes a fair queue of it."""

_MEGABYTES_A_GIGABYTE: Final = 1024
_BYTES_A_GIGABYTE: Final = 1e9
_MILLISECONDS: Final = 1000


@dataclass(frozen=True, slots=True)
class CostRow:
    """What a way costs in a situation."""

    situation: str
    work: Work
    dollars: Mapping[str, float]
    """For a million tickets, by service."""

    @property
    def total(self) -> float:
        """Return the dollars of all services."""
        return sum(self.dollars.values())

    def to_json(self) -> dict[str, Any]:
        """Return it for scripts."""
        kept = stored_dollars_a_month(self.work)
        return asdict(self) | {"total": self.total, "stored_dollars_a_month": kept}


def dollars(
    work: Work,
    tickets: float = MILLION,
    *,
    queue: Sequence[Price] = FAIR_QUEUE,
    memory_mb: int = MEMORY_MB,
) -> dict[str, float]:
    """Return what so many tickets cost, by service.

    Args:
        work: What a ticket takes.
        tickets: How many.
        queue: What a request of the queue costs, summed up.
        memory_mb: Memory of the function.
    """
    seconds = work.milliseconds / _MILLISECONDS / work.batch_size
    gigabytes = memory_mb / _MEGABYTES_A_GIGABYTE
    a_ticket = {
        "DynamoDB": DYNAMODB_WRITE.of(work.write_units)
        + DYNAMODB_READ.of(work.read_units),
        "SQS": sum(price.of(work.queue_requests) for price in queue),
        "SNS": SNS_PUBLISH.of(work.publishes) + SNS_TO_SQS.of(1),
        "Lambda": LAMBDA_REQUEST.of(1 / work.batch_size)
        + LAMBDA_GB_SECOND.of(gigabytes * seconds),
        "Logs": LOGS_INGESTED.of(work.log_bytes / _BYTES_A_GIGABYTE),
    }
    return {service: cost * tickets for service, cost in a_ticket.items()}


def stored_dollars_a_month(work: Work, tickets: float = MILLION) -> float:
    """Return what tickets cost for every month that they are kept and recoverable."""
    gigabytes = work.stored_bytes * tickets / _BYTES_A_GIGABYTE
    return DYNAMODB_STORAGE.of(gigabytes) + DYNAMODB_RECOVERY.of(gigabytes)


def workers(work: Work, tickets_a_second: float) -> float:
    """Return how many batches are worked on at a time, on average."""
    seconds = work.milliseconds / _MILLISECONDS
    return tickets_a_second * seconds / work.batch_size


def cost_rows() -> list[CostRow]:
    """Return the costs of each way, side by side."""
    return [
        CostRow(situation, work, dollars(work))
        for situation, works in CASES.items()
        for work in works
    ]
