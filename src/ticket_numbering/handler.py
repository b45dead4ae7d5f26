"""The Lambda entry: the partial-batch contract, and one outcome line a record."""

from ticket_numbering import startup  # Before all others: see there.

# isort: split
from collections.abc import Callable, Mapping
from typing import Any

from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.batch import (
    BatchProcessor,
    EventType,
    process_partial_response,
)
from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from aws_lambda_powertools.utilities.typing import LambdaContext

from ticket_numbering.bootstrap import bootstrap
from ticket_numbering.errors import PoisonMessageError, TicketNumberingError
from ticket_numbering.observability import Metric, logger, metrics
from ticket_numbering.outcomes import Outcome, OutcomeKind
from ticket_numbering.records import QueueRecord
from ticket_numbering.worker import BatchReport, Worker

MILLISECONDS = 1000

LambdaHandler = Callable[[dict[str, Any], LambdaContext], PartialItemFailureResponse]

COUNTED = {
    OutcomeKind.ASSIGNED: Metric.ASSIGNED,
    OutcomeKind.REPLAYED: Metric.REPLAYED,
    OutcomeKind.POISON: Metric.POISON,
    OutcomeKind.TRANSIENT: Metric.TRANSIENT,
}


def build_handler(worker: Worker) -> LambdaHandler:
    """Wrap a worker as a Lambda handler.

    The handler always returns the processor's response: an empty one would delete
    the whole batch, failures included.
    """
    # A batch of which everything failed is reported like any other: raising would
    # only show a lone transient failure as a crash of the function.
    processor = BatchProcessor(EventType.SQS, raise_on_entire_batch_failure=False)

    @logger.inject_lambda_context(clear_state=True)
    @metrics.log_metrics(capture_cold_start_metric=True)
    def handle(
        event: dict[str, Any], context: LambdaContext
    ) -> PartialItemFailureResponse:
        report = worker.handle(
            [QueueRecord.of(raw) for raw in event.get("Records", [])],
            lambda: context.get_remaining_time_in_millis() / MILLISECONDS,
        )
        _count(report)
        outcomes = {each.record.message_id: each for each in report.outcomes}
        return process_partial_response(
            event, lambda record: _report(record, outcomes), processor, context
        )

    handler: LambdaHandler = handle  # Powertools' decorators lose the type.
    return handler


def _report(record: SQSRecord, outcomes: Mapping[str, Outcome]) -> None:
    """Log the record's outcome; a raised error makes SQS deliver it again."""
    outcome = outcomes[record.message_id]
    _log(outcome)
    if outcome.kind is OutcomeKind.TRANSIENT and outcome.error is not None:
        raise outcome.error


def _log(outcome: Outcome) -> None:
    request, error = outcome.request, outcome.error
    line: dict[str, Any] = {
        "outcome": outcome.kind.value,
        "message_id": outcome.record.message_id,
        "receive_count": outcome.record.receive_count,
    }
    if request:
        line["project_id"] = request.project_id
        line["idempotency_key"] = request.idempotency_key
    if outcome.ticket_key:
        line["ticket_key"] = outcome.ticket_key
    if error is None:
        logger.info("record processed", extra=line)
        return
    line["error_type"] = type(error).__name__
    if isinstance(error, PoisonMessageError):
        # The dead letter holds the reason, which may repeat the producer's words.
        line["field"] = error.field
    else:
        line["error"] = str(error)
    # A failure that we did not foresee is a bug: its stack trace is wanted.
    trace = None if isinstance(error, TicketNumberingError) else error
    if outcome.kind is OutcomeKind.TRANSIENT and trace is None:
        logger.warning("record failed", extra=line)
    else:
        logger.error("record failed", extra=line, exc_info=trace)


def _count(report: BatchReport) -> None:
    counts = dict.fromkeys(COUNTED.values(), 0)
    for outcome in report.outcomes:
        counts[COUNTED[outcome.kind]] += 1
    counts[Metric.COLLISIONS] = sum(each.collisions for each in report.allocations)
    counts[Metric.CONFLICTS] = sum(each.conflicts for each in report.allocations)
    counts[Metric.ANNOUNCEMENTS_FAILED] = report.announcements_failed
    for metric, count in counts.items():
        metrics.add_metric(metric, MetricUnit.Count, count)
    for allocation in report.allocations:
        for attempts in allocation.attempts:
            metrics.add_metric(Metric.ATTEMPTS, MetricUnit.Count, attempts)


lambda_handler = build_handler(bootstrap())
startup.finish()
