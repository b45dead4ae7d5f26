"""The Lambda entry: the partial-batch contract, and one outcome line a record."""

from ticket_numbering import startup  # Before all others: see there.

# isort: split
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from ticket_numbering.bootstrap import bootstrap
from ticket_numbering.errors import (
    PoisonMessageError,
    TicketNumberingError,
    TransientError,
)
from ticket_numbering.observability import Metric, logger, metrics
from ticket_numbering.results import Outcome, OutcomeKind
from ticket_numbering.sqs_record import QueueRecord
from ticket_numbering.worker import BatchReport, Worker

MILLISECONDS = 1000

BatchResponse = dict[str, list[dict[str, str]]]
LambdaHandler = Callable[[dict[str, Any], LambdaContext], BatchResponse]

COUNTED = {
    OutcomeKind.ASSIGNED: Metric.ASSIGNED,
    OutcomeKind.REPLAYED: Metric.REPLAYED,
    OutcomeKind.POISON: Metric.POISON,
    OutcomeKind.TRANSIENT: Metric.TRANSIENT,
}


def build_handler(worker: Worker) -> LambdaHandler:
    """Wrap a worker as a Lambda handler.

    A batch of which everything failed is reported like any other: raising would only
    show a lone transient failure as a crash of the function.
    """

    @logger.inject_lambda_context(clear_state=True)
    @metrics.log_metrics(capture_cold_start_metric=True)
    def handle(event: dict[str, Any], context: LambdaContext) -> BatchResponse:
        if not event.get("Records"):
            message = "not an SQS event: it has no Records"
            raise ValueError(message)
        records = [QueueRecord.of(raw) for raw in event["Records"]]
        report = worker.handle(
            records, lambda: context.get_remaining_time_in_millis() / MILLISECONDS
        )
        _count(report)
        for outcome in report.outcomes:
            _log(outcome)
        return _response(records, report.outcomes)

    handler: LambdaHandler = handle  # Powertools' decorators lose the type.
    return handler


def _response(
    records: Iterable[QueueRecord], outcomes: Sequence[Outcome]
) -> BatchResponse:
    """Name every message that is not known to be done: SQS deletes all others."""
    done = {outcome.record.message_id for outcome in outcomes if outcome.is_done}
    done -= {outcome.record.message_id for outcome in outcomes if not outcome.is_done}
    # Once each, in the order of the batch.
    failed = dict.fromkeys(
        record.message_id for record in records if record.message_id not in done
    )
    return {"batchItemFailures": [{"itemIdentifier": name} for name in failed]}


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
    if outcome.is_done and error is None:
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
    if isinstance(error, TransientError):
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
