"""Where a contender works, be it the model or the emulator."""

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from benchmarks.tally import Tally
from ticket_numbering.dynamodb_store import DynamoDBTicketStore
from ticket_numbering.settings import Settings
from ticket_numbering.sns_publisher import SNSAnnouncer

Handler = Callable[[dict[str, Any], Any], Any]


@dataclass(frozen=True)
class Site:
    """Clients, names, a clock, luck, and who counts; for one sandbox."""

    dynamodb: Any
    sns: Any
    sqs: Any
    settings: Settings
    tally: Tally
    sleep: Callable[[float], None]
    jitter: Callable[[float, float], float]
    now: Callable[[], datetime]
    pool: Callable[[int], Executor]
    cache: dict[str, Any] = field(default_factory=dict)
    """What the sandbox keeps from one invocation to the next."""

    @property
    def tickets(self) -> str:
        """The table of the tickets."""
        return self.settings.tickets_table

    @property
    def keys(self) -> str:
        """A table with `id` as its key, for whatever else a way keeps."""
        return self.settings.idempotency_keys_table

    def store(self) -> DynamoDBTicketStore:
        """Return our adapter of DynamoDB."""
        return DynamoDBTicketStore(self.dynamodb, self.tickets, self.keys)

    def announcer(self) -> SNSAnnouncer:
        """Return our adapter of SNS."""
        return SNSAnnouncer(self.sns, self.settings.assignments_topic_arn)
