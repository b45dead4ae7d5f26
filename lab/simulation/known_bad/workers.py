"""Known-bad workers: wrong orders, long waits, and wrong reports of failures."""

from collections.abc import Sequence
from dataclasses import replace

from ticket_numbering.contract.errors import (
    DeadLetterError,
    PoisonMessageError,
    TransientError,
)
from ticket_numbering.contract.time_left import TimeLeft
from ticket_numbering.worker.batch_progress import with_retries
from ticket_numbering.worker.results import Poison, Retry
from ticket_numbering.worker.sqs_record import SQSRecord
from ticket_numbering.worker.turns import Turns
from ticket_numbering.worker.worker import BatchReport, Worker


class DeletesUnforeseen(Worker):
    """Reports only the failures that it expects."""

    def handle(self, records: Sequence[SQSRecord], time_left: TimeLeft) -> BatchReport:
        """Process the batch, and take an unforeseen failure for done."""
        report = Worker.handle(self, records, time_left)
        results = [
            Poison(result.record, PoisonMessageError("unforeseen"))
            if isinstance(result, Retry)
            and not isinstance(result.error, TransientError)
            else result
            for result in report.results
        ]
        return replace(report, results=results)


class HoldsGroups(Worker):
    """Lets a refusal that is not announced hold the later messages of its group."""

    def handle(self, records: Sequence[SQSRecord], time_left: TimeLeft) -> BatchReport:
        """Process the batch, and hold back the records after such a refusal."""
        report = Worker.handle(self, records, time_left)
        # A dead letter that is not out holds nothing here either.
        results = [
            Poison(result.record, PoisonMessageError("held by nothing"))
            if isinstance(result, Retry) and isinstance(result.error, DeadLetterError)
            else result
            for result in report.results
        ]
        held = [
            before if isinstance(after, Poison) else after
            for before, after in zip(
                report.results, with_retries(results, {}), strict=True
            )
        ]
        return replace(report, results=held)


class AnnouncesLast(Turns):
    """Announces nothing before the last project of the batch is done."""

    def is_idle(self) -> bool:
        """Deny it."""
        return False


class EndsUnseen(Turns):
    """Lets only a thread that would sleep look, and none that ends."""

    def is_idle(self) -> bool:
        """Return whether all projects wait, and one of them without a thread."""
        return bool(self.waiting) and Turns.is_idle(self)


class PoisonFirst(Worker):
    """Sends poison to the dead-letter queue before it allocates numbers."""

    def handle(self, records: Sequence[SQSRecord], time_left: TimeLeft) -> BatchReport:
        """Send the poison, and process the batch."""
        dead_letters = []
        for record in records:
            try:
                record.parse()
            except PoisonMessageError as error:
                dead_letters.append(Poison(record, error))
        if dead_letters:
            self.dead_letters.send(dead_letters, time_left)
        return Worker.handle(self, records, time_left)
