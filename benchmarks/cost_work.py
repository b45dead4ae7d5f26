"""What a ticket takes of AWS: requests, units, billed time, bytes kept."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

MEMORY_MB: Final = 512
"""As template.yaml has it; a test compares."""
VCPU_MB: Final = 1769
"""The memory that comes with one processor; Lambda guide, "Configure memory"."""

PROCESSOR_MS_A_CALL: Final = 0.55
PROCESSOR_MS_A_RECORD: Final = 0.4
"""On one processor, botocore included.

They give back what docs/performance.md has for batches of 1, 10 and 50.
"""

RECEIVED_TOGETHER: Final = 10
"""Messages of a ReceiveMessage and of a DeleteMessageBatch; SQS API."""

LOG_BYTES_A_TICKET: Final = 660
LOG_BYTES_A_BATCH: Final = 1_080
"""The line of a record; the metrics' and Lambda's own lines of an invocation.

Measured, Lambda's as its guide shows them; with the 26 bytes that CloudWatch adds to
each.
"""

TICKET_BYTES: Final = 700
KEY_BYTES: Final = 330
"""Stored, each with the 100 bytes that DynamoDB adds: a typical ticket, and its key."""


@dataclass(frozen=True, slots=True)
class Work:
    """What one batch of a way takes, on average."""

    way: str
    batch_size: int
    calls: Mapping[str, float]
    """Requests of the function a ticket, by operation."""
    write_units: float
    """A ticket, as are the read units."""
    read_units: float
    milliseconds: float
    """Billed for the batch."""
    stored_bytes: int = TICKET_BYTES + KEY_BYTES
    """A ticket."""

    @property
    def queue_requests(self) -> float:
        """Return SQS's requests a ticket: one send, and shared receives and deletes."""
        return 1 + 2 / min(self.batch_size, RECEIVED_TOGETHER)

    @property
    def publishes(self) -> float:
        """Return the publish requests a ticket."""
        return self.calls.get("Publish", 0.0) + self.calls.get("PublishBatch", 0.0)

    @property
    def log_bytes(self) -> float:
        """Return the bytes logged a ticket, by us and by Lambda."""
        return LOG_BYTES_A_TICKET + LOG_BYTES_A_BATCH / self.batch_size


def processor_ms(calls: float, records: int, memory_mb: int = MEMORY_MB) -> float:
    """Return the milliseconds that computing takes, with the processor's share."""
    busy = calls * PROCESSOR_MS_A_CALL + records * PROCESSOR_MS_A_RECORD
    return busy * VCPU_MB / min(memory_mb, VCPU_MB)
