"""A worker and the fakes that it stands on."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tests.support.builders import SOURCE
from tests.support.fakes import (
    FakeDeadLetters,
    FakePublisher,
    FakeTicketStore,
    FakeTime,
)
from ticket_numbering.allocation.allocation import Allocator
from ticket_numbering.allocation.line import Line
from ticket_numbering.worker.events import Events
from ticket_numbering.worker.sqs_record import SQSRecord
from ticket_numbering.worker.worker import BatchReport, Worker


@dataclass
class WorkerOnFakes:
    """Over empty tables; its time passes in the waits alone."""

    store: FakeTicketStore = field(default_factory=FakeTicketStore)
    publisher: FakePublisher = field(default_factory=FakePublisher)
    dead_letters: FakeDeadLetters = field(default_factory=FakeDeadLetters)
    time: FakeTime = field(default_factory=FakeTime)
    max_attempts: int = 3
    line: Line | None = None
    events: Events = field(default_factory=partial(Events, SOURCE))

    def worker(self, **options: Any) -> Worker:
        """Return a new worker: it knows of no earlier batch."""
        return Worker(
            Allocator(self.store, self.max_attempts, 10.0, line=self.line),
            self.publisher,
            self.dead_letters,
            self.time.sleep,
            events=self.events,
            **options,
        )

    def report(self, *records: SQSRecord, **options: Any) -> BatchReport:
        """Process a batch, with these options of the worker."""
        return self.worker(**options).handle(records, self.time.time_left)
