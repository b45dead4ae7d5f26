"""Ours and four other ways to number tickets, each a Lambda handler over clients."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from benchmarks.other_ways import (
    Numbering,
    RecordByRecord,
    add_counter,
    locked_counter,
    powertools,
    textbook,
)
from benchmarks.site import Handler, Site
from benchmarks.tally import Tally
from ticket_numbering.allocation import Allocator
from ticket_numbering.batch_api import TimeLeft
from ticket_numbering.handler import build_handler
from ticket_numbering.sqs_dead_letters import SQSDeadLetters
from ticket_numbering.sqs_record import QueueRecord
from ticket_numbering.worker import BatchReport, Worker

OURS: Final = "ours"
TEXTBOOK: Final = "textbook"


@dataclass(frozen=True)
class CountedWorker(Worker):
    """The worker that ships, whose attempts are counted."""

    tally: Tally = field(default_factory=Tally)

    def handle(
        self, records: Sequence[QueueRecord], time_left: TimeLeft
    ) -> BatchReport:
        """Process the batch."""
        report = super().handle(records, time_left)
        for allocation in report.allocations:
            self.tally.attempts.extend(allocation.attempts)
        return report


def ours(site: Site) -> Handler:
    """Return the handler that ships."""
    settings = site.settings
    allocator = Allocator(
        site.store(),
        settings.max_attempts,
        settings.deadline_reserve_seconds,
        sleep=site.sleep,
        jitter=site.jitter,
        now=site.now,
    )
    dead_letters = SQSDeadLetters(site.sqs, settings.dead_letter_queue_url)
    return build_handler(
        CountedWorker(
            allocator, site.announcer(), dead_letters, site.pool, tally=site.tally
        )
    )


def _one_by_one(number: Numbering) -> Callable[[Site], Handler]:
    return lambda site: RecordByRecord(site, number)


CONTENDERS: Final[Mapping[str, Callable[[Site], Handler]]] = {
    OURS: ours,
    TEXTBOOK: _one_by_one(textbook),
    "locked-counter": _one_by_one(locked_counter),
    "add-counter": _one_by_one(add_counter),
    "powertools": _one_by_one(powertools),
}
"""Every way by its name; each makes the handler of one sandbox."""

DESCRIPTIONS: Final[Mapping[str, str]] = {
    OURS: "the worker that ships: a block of tickets and keys in one transaction",
    TEXTBOOK: "query the highest number, put the next if it is free, else plus one",
    "locked-counter": "read a counter, write it with the ticket if unchanged, or again",
    "add-counter": "count with ADD, then put the ticket",
    "powertools": "the textbook's loop in the idempotency of Powertools",
}
