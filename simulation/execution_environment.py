"""The execution environment of a worker: shipped code on the model's clients."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from simulation.aws.clients import DynamoDBClient, SNSClient, SQSClient
from simulation.aws.lambda_service import Handler, TaskPool
from simulation.clocks import Clock
from simulation.engine.choices import Choices
from simulation.engine.scheduler import Scheduler
from simulation.monitor import FOREIGN, KEYS, TICKETS
from ticket_numbering.allocation import Allocator
from ticket_numbering.dynamodb_store import DynamoDBTicketStore
from ticket_numbering.handler import build_handler
from ticket_numbering.sequence_cache import SequenceCache
from ticket_numbering.settings import Settings
from ticket_numbering.sns_publisher import SNSPublisher
from ticket_numbering.sqs_dead_letters import SQSDeadLetters
from ticket_numbering.worker import Worker

NEXT_RETENTION_DAYS = 365

SETTINGS = Settings(
    TICKETS_TABLE=TICKETS,
    IDEMPOTENCY_KEYS_TABLE=KEYS,
    ASSIGNMENTS_TOPIC_ARN="topic",
    DEAD_LETTER_QUEUE_URL="dead-letters",
)


@dataclass(frozen=True)
class ExecutionEnvironment:
    """The clients, clock and choices that a handler is built of."""

    scheduler: Scheduler
    choices: Choices
    dynamodb: DynamoDBClient
    sns: SNSClient
    sqs: SQSClient
    source: SQSClient
    """The source queue, which only a known-bad algorithm calls."""
    clock: Clock
    max_attempts: int = SETTINGS.max_attempts
    cache: SequenceCache = field(default_factory=SequenceCache)
    """Of the current execution environment; a cold start empties it."""
    dead_letter_queue: str = SETTINGS.dead_letter_queue_url

    def now(self) -> datetime:
        """Return the time of day by the execution environment's clock."""
        return self.clock.now()

    def cache_state(self) -> Hashable:
        """Return what stands for the sequence cache.

        The backoff is left out: where the state is asked for, nothing takes time.
        """
        now = self.now()
        return tuple(
            (project_id, self.cache.next_number(project_id, now))
            for project_id in self.cache.entries
        )

    def store(self) -> DynamoDBTicketStore:
        """Return the real adapter of DynamoDB."""
        return DynamoDBTicketStore(as_boto3(self.dynamodb), TICKETS, KEYS)

    def allocator(self, store: Any, kind: type[Allocator] = Allocator) -> Allocator:
        """Return the real algorithm, or another of its form, with nothing in mind."""
        self.cache.entries.clear()
        return kind(
            store,
            self.max_attempts,
            SETTINGS.deadline_reserve_seconds,
            self.cache,
            jitter=self.choices.duration,
            now=self.now,
        )

    def publisher(self) -> SNSPublisher:
        """Return the real adapter of SNS."""
        return SNSPublisher(as_boto3(self.sns), SETTINGS.assignments_topic_arn)

    def dead_letters(self) -> SQSDeadLetters:
        """Return the real adapter of SQS."""
        return SQSDeadLetters(as_boto3(self.sqs), self.dead_letter_queue)

    def worker(self, **parts: Any) -> Worker:
        """Return the real worker, but for these parts."""
        real: dict[str, Any] = {
            "allocator": self.allocator(self.store()),
            "publisher": self.publisher(),
            "dead_letters": self.dead_letters(),
        }
        return Worker(
            **(real | parts),
            sleep=self.scheduler.sleep,
            pool=partial(TaskPool, self.scheduler),
        )


@dataclass(frozen=True)
class Algorithm:
    """A way to write the function: the real one, or a wrong one."""

    name: str
    build: Callable[[ExecutionEnvironment], Handler]
    has_key_records: bool = True
    """Whether each ticket has a record of its key, as ours has."""
    deletes_tickets: bool = False


SHIPPED = Algorithm("shipped", lambda environment: build_handler(environment.worker()))


class NextStore(DynamoDBTicketStore):
    """Writes attributes that this version does not know."""

    def _puts(self, block: Any) -> Any:
        for put in super()._puts(block):
            item: Any = dict(put["Put"]["Item"])
            item[FOREIGN] = {"S": "yes"}
            yield {"Put": put["Put"] | {"Item": item}}


def _next_version(environment: ExecutionEnvironment) -> Handler:
    store = NextStore(
        as_boto3(environment.dynamodb), TICKETS, KEYS, NEXT_RETENTION_DAYS
    )
    return build_handler(environment.worker(allocator=environment.allocator(store)))


NEXT_VERSION = Algorithm("a later release: other items, other settings", _next_version)


def as_boto3(client: Any) -> Any:
    """Pass for a boto3 client, which it is as far as the adapters go."""
    return client
