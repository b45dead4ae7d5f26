"""The execution environment of a worker: shipped code on the model's clients."""

import logging
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from simulation.aws.lambda_service import Handler, TaskPool
from simulation.aws.messages import EPOCH_SECONDS
from simulation.aws.network import Service
from simulation.aws.tables import KEYS, LINES, TICKETS
from simulation.checks.violations import Invariant
from simulation.engine.choices import Choices
from simulation.engine.scheduler import Scheduler
from ticket_numbering.adapters.dynamodb_line import DynamoDBLine
from ticket_numbering.adapters.dynamodb_store import DynamoDBTicketStore
from ticket_numbering.adapters.sns_publisher import SNSPublisher
from ticket_numbering.adapters.sqs_dead_letters import SQSDeadLetters
from ticket_numbering.allocation.allocation import Allocator
from ticket_numbering.allocation.block import Block
from ticket_numbering.allocation.cancellation import NextStep, next_step
from ticket_numbering.allocation.line import Line
from ticket_numbering.allocation.place import LineStore
from ticket_numbering.allocation.sequence_cache import SequenceCache
from ticket_numbering.allocation.store import Slot, TicketStore
from ticket_numbering.function.bootstrap import LINE_CONFIG
from ticket_numbering.function.settings import Settings
from ticket_numbering.worker.events import Events
from ticket_numbering.worker.handler import build_handler
from ticket_numbering.worker.observability import logger
from ticket_numbering.worker.ports import DeadLetterQueue, Publisher
from ticket_numbering.worker.turns import Turns
from ticket_numbering.worker.worker import Worker

SALT: Final = "AAAAAAAAAAAAAAAAAAAAAA"
"""The salt of every ticket: a random one would make equal seeds differ."""

CHANGES: Final = 0.1
"""The share of readings at which the clock has jumped or stands still."""

STANDS_STILL: Final = 0.3

Slots = Sequence[Slot]
Decision = Callable[[Block, Slots, int], NextStep]
"""The next step after a cancelled block."""

MakeLine = Callable[["ExecutionEnvironment"], Line]

SETTINGS: Final = Settings(
    TICKETS_TABLE=TICKETS,
    IDEMPOTENCY_KEYS_TABLE=KEYS,
    ASSIGNMENTS_TOPIC_ARN="topic",
    DEAD_LETTER_QUEUE_URL="dead-letters",
    EVENT_SOURCE="/ticket-numbering/simulated",
)


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress the function's log lines and metrics."""
    level = logger.log_level
    logger.setLevel(logging.CRITICAL)
    try:
        with (
            Path(os.devnull).open("w", encoding="utf-8") as devnull,
            redirect_stdout(devnull),
            warnings.catch_warnings(),
        ):
            # All execution environments share one process, and so one set of metrics.
            warnings.filterwarnings("ignore", "No application metrics")
            yield
    finally:
        logger.setLevel(level)


@dataclass
class Clock:
    """The time of day, wrong by up to `error` seconds."""

    scheduler: Scheduler
    choices: Choices
    error: float = 0.0
    _offset: float = 0.0
    _stopped_at: float | None = None

    def now(self) -> datetime:
        """Return the time of day."""
        if self.error and self.choices.chance(CHANGES):
            self._offset = self.choices.duration(-self.error, self.error)
            stops = self.choices.chance(STANDS_STILL)
            self._stopped_at = self.scheduler.now if stops else None
        stopped = self._stopped_at
        passed = self.scheduler.now if stopped is None else stopped
        return datetime.fromtimestamp(EPOCH_SECONDS + passed + self._offset, UTC)


def with_line(environment: "ExecutionEnvironment") -> Line:
    """Return the real line."""
    return environment.line(environment.line_store())


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
    """The client of the source queue, for known-bad algorithms only."""
    clock: Clock
    max_attempts: int = SETTINGS.max_attempts
    cache: SequenceCache = field(default_factory=SequenceCache)
    """The cache of the execution environment; a cold start empties it."""
    dead_letter_queue: str = SETTINGS.dead_letter_queue_url

    def store(self) -> DynamoDBTicketStore:
        """Return the real adapter of DynamoDB."""
        return DynamoDBTicketStore(self.dynamodb, TICKETS, KEYS)

    def line_store(self, service: Service | None = None) -> DynamoDBLine:
        """Return the real adapter of the line, perhaps on another service."""
        client = self.dynamodb.configured(LINE_CONFIG, service)
        return DynamoDBLine(client, LINES, lambda: self.clock.now().timestamp())

    def line(self, store: LineStore, kind: type[Line] = Line) -> Line:
        """Return a line over a store."""
        return kind(store, lambda: self.scheduler.now, self.choices.duration)

    def publisher(self) -> SNSPublisher:
        """Return the real adapter of SNS."""
        return SNSPublisher(self.sns, SETTINGS.assignments_topic_arn)

    def dead_letters(self) -> SQSDeadLetters:
        """Return the real adapter of SQS."""
        return SQSDeadLetters(self.sqs, self.dead_letter_queue)

    def handler(  # noqa: PLR0913 - the parts that a known-bad algorithm replaces.
        self,
        *,
        store: Callable[..., TicketStore] = DynamoDBTicketStore,
        cache: Callable[..., SequenceCache] = SequenceCache,
        decide: Decision = next_step,
        allocator: Callable[..., Allocator] = Allocator,
        publisher: Callable[..., Publisher] = SNSPublisher,
        dead_letters: DeadLetterQueue | None = None,
        worker: type[Worker] = Worker,
        turns: type[Turns] = Turns,
        line: MakeLine | None = with_line,
    ) -> Handler:
        """Return the real handler with an empty cache, but for the parts given."""
        self.cache.entries.clear()
        built = worker(
            allocator(
                store(self.dynamodb, TICKETS, KEYS),
                self.max_attempts,
                SETTINGS.deadline_reserve_seconds,
                cache(self.cache.ttl, self.cache.entries),
                jitter=self.choices.duration,
                now=self.clock.now,
                decide=decide,
                salt=lambda: SALT,
                line=line(self) if line else None,
            ),
            publisher(self.sns, SETTINGS.assignments_topic_arn),
            dead_letters or self.dead_letters(),
            sleep=self.scheduler.sleep,
            pool=partial(TaskPool, self.scheduler),
            turns=turns,
            events=Events(SETTINGS.event_source),
        )
        return build_handler(built)


@dataclass(frozen=True)
class Algorithm:
    """The function: the shipped one, or another one."""

    name: str
    build: Callable[[ExecutionEnvironment], Handler]
    breaks: Invariant | None = None
    """The invariant that a known-bad algorithm breaks first."""
    has_key_records: bool = True
    """Whether each ticket has a key record, as with the shipped one."""
    deletes_tickets: bool = False


SHIPPED = Algorithm("shipped", ExecutionEnvironment.handler)
