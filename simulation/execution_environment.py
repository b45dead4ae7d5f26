"""The execution environment of a worker: shipped code on the model's clients."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

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
    dynamodb: Any
    """A boto3 client as far as the adapters know, like the next three."""
    sns: Any
    sqs: Any
    source: Any
    """Of the source queue, which only a known-bad algorithm calls."""
    clock: Clock
    max_attempts: int = SETTINGS.max_attempts
    cache: SequenceCache = field(default_factory=SequenceCache)
    """Of the current execution environment; a cold start empties it."""
    dead_letter_queue: str = SETTINGS.dead_letter_queue_url

    def cache_state(self) -> Hashable:
        """Return what stands for the sequence cache.

        The backoff is left out: where the state is asked for, nothing takes time.
        """
        now = self.clock.now()
        return tuple(
            (project_id, self.cache.next_number(project_id, now))
            for project_id in self.cache.entries
        )

    def store(
        self, kind: type[DynamoDBTicketStore] = DynamoDBTicketStore, **settings: Any
    ) -> DynamoDBTicketStore:
        """Return the real adapter of DynamoDB, or another one."""
        return kind(self.dynamodb, TICKETS, KEYS, **settings)

    def allocator(self, store: Any = None) -> Allocator:
        """Return the real algorithm with an empty cache."""
        self.cache.entries.clear()
        return Allocator(
            store or self.store(),
            self.max_attempts,
            SETTINGS.deadline_reserve_seconds,
            self.cache,
            jitter=self.choices.duration,
            now=self.clock.now,
        )

    def publisher(self, kind: type[SNSPublisher] = SNSPublisher) -> SNSPublisher:
        """Return the real adapter of SNS, or another one."""
        return kind(self.sns, SETTINGS.assignments_topic_arn)

    def dead_letters(self) -> SQSDeadLetters:
        """Return the real adapter of SQS."""
        return SQSDeadLetters(self.sqs, self.dead_letter_queue)

    def handler(self, **parts: Any) -> Handler:
        """Return the real handler, but for these parts of its worker."""
        real: dict[str, Any] = {
            "allocator": self.allocator(),
            "publisher": self.publisher(),
            "dead_letters": self.dead_letters(),
        }
        worker = Worker(
            **(real | parts),
            sleep=self.scheduler.sleep,
            pool=partial(TaskPool, self.scheduler),
        )
        return build_handler(worker)


@dataclass(frozen=True)
class Algorithm:
    """The function: the shipped one, or another one."""

    name: str
    build: Callable[[ExecutionEnvironment], Handler]
    has_key_records: bool = True
    """Whether each ticket has a key record, as with the shipped one."""
    deletes_tickets: bool = False


SHIPPED = Algorithm("shipped", ExecutionEnvironment.handler)


class NextStore(DynamoDBTicketStore):
    """Writes attributes that this version does not know."""

    def _puts(self, block: Any) -> Any:
        for put in super()._puts(block):
            item: Any = dict(put["Put"]["Item"])
            item[FOREIGN] = {"S": "yes"}
            yield {"Put": put["Put"] | {"Item": item}}


def _next_version(environment: ExecutionEnvironment) -> Handler:
    store = environment.store(NextStore, retention_days=NEXT_RETENTION_DAYS)
    return environment.handler(allocator=environment.allocator(store))


NEXT_VERSION = Algorithm("a later release: other items, other settings", _next_version)
