"""The Lambda handler: the partial-batch response, outcome lines and metrics."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, assert_never, get_args

from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from ticket_numbering.allocation.progress import Progress
from ticket_numbering.contract.errors import PoisonMessageError, TransientError
from ticket_numbering.contract.events import ticket_key
from ticket_numbering.worker.observability import Metric, logger, metrics
from ticket_numbering.worker.results import (
    Numbered,
    Poison,
    Refusal,
    Refused,
    Result,
    Retry,
)
from ticket_numbering.worker.sqs_record import SQSRecord
from ticket_numbering.worker.worker import BatchReport, Worker

BatchResponse = dict[str, list[dict[str, str]]]
LambdaHandler = Callable[[dict[str, Any], LambdaContext], BatchResponse]

MILLISECONDS = 1000
MILLISECOND_DIGITS = 3


def build_handler(worker: Worker) -> LambdaHandler:
    """Wrap a worker as a Lambda handler.

    A batch in which every record failed is reported like any other: an exception would
    show a single transient failure as a crash of the function.
    """

    @logger.inject_lambda_context(clear_state=True)
    @metrics.log_metrics(capture_cold_start_metric=True)
    def handle(event: dict[str, Any], context: LambdaContext) -> BatchResponse:
        if not event.get("Records"):
            raise ValueError("not an SQS event: it has no Records")
        records = [SQSRecord.of(raw) for raw in event["Records"]]
        report = worker.handle(
            records, lambda: context.get_remaining_time_in_millis() / MILLISECONDS
        )
        _count(report)
        waits = {
            progress.project_id: round(progress.wait.seconds, MILLISECOND_DIGITS)
            for progress in report.allocations
        }
        for result in report.results:
            _log(result, waits)
        for progress in report.allocations:
            _log_damaged_dates(progress)
        return _response(records, report.results)

    handler: LambdaHandler = handle  # Powertools' decorators lose the type.
    return handler


def _response(records: Iterable[SQSRecord], results: Sequence[Result]) -> BatchResponse:
    """Name every message that is not known to be done; SQS deletes the others."""
    returned = {
        result.record.message_id for result in results if isinstance(result, Retry)
    }
    done = {result.record.message_id for result in results} - returned
    # Without repeats, in the order of the batch.
    failed = dict.fromkeys(
        record.message_id for record in records if record.message_id not in done
    )
    return {"batchItemFailures": [{"itemIdentifier": name} for name in failed]}


def _log(result: Result, waits: Mapping[str, float]) -> None:
    """Log a result; the waits are those in line, in seconds by project."""
    line: dict[str, Any] = {
        "outcome": result.outcome,
        "message_id": result.record.message_id,
        "receive_count": result.record.receive_count,
    }
    if result.request:
        line["project_id"] = result.request.project_id
        line["idempotency_key"] = result.request.idempotency_key
        if seconds := waits.get(result.request.project_id):
            line["seconds_in_line"] = seconds
    if trace := result.record.trace:
        line["traceparent"] = trace["traceparent"]
    match result:
        case Numbered():
            line["ticket_key"] = result.event.id
            logger.info(result.message, extra=line)
        case Refused():
            logger.info(result.message, extra=line | _reason(result.error))
        case Poison():
            line |= _read(result.error)
            logger.error(result.message, extra=line | _reason(result.error))
        case Retry():
            if result.ticket_key:
                line["ticket_key"] = result.ticket_key
            if result.refusal:
                line |= {"refused_as": type(result.refusal).__name__}
                line |= {"field": result.refusal.field}
                line |= {"reason": result.refusal.reason}
            _log_retry(result, line)
        case _:
            assert_never(result)


def _log_damaged_dates(progress: Progress) -> None:
    """Log the tickets without the dates, which another program wrote."""
    for number in sorted(progress.damaged_dates):
        logger.error(
            "date of a ticket is not followed: malformed, or over a day ahead",
            extra={"ticket_key": ticket_key(progress.project_id, number)},
        )


def _read(error: PoisonMessageError) -> dict[str, str]:
    """Return the project and the key of a malformed body, if they could be read."""
    return dict(zip(("project_id", "idempotency_key"), error.key or (), strict=False))


def _reason(error: Refusal) -> dict[str, str]:
    """Return the reason without its text, which may repeat the producer's words."""
    name = type(error).__name__
    return {"error_type": name, "field": error.field, "reason": error.reason}


def _log_retry(result: Retry, line: dict[str, Any]) -> None:
    error = result.error
    line["error_type"] = type(error).__name__
    line["error"] = str(error)
    if isinstance(error, TransientError):
        logger.warning(result.message, extra=line)
    else:
        # An unexpected failure is a bug, which needs its stack trace.
        logger.error(result.message, extra=line, exc_info=error)


def _count(report: BatchReport) -> None:
    # Powertools writes a line for each hundred values of a metric, and warns if the
    # last line would be empty: so the counts come last.
    for seconds in _seconds_to_announced(report.results, report.accepted_at):
        metrics.add_metric(Metric.SECONDS, MetricUnit.Seconds, seconds)
    for progress in report.allocations:
        for attempts in progress.attempts_per_block:
            metrics.add_metric(Metric.ATTEMPTS, MetricUnit.Count, attempts)
        if seconds := progress.wait.seconds:
            metrics.add_metric(Metric.SECONDS_IN_LINE, MetricUnit.Seconds, seconds)
    of_results = [kind.metric for kind in get_args(Result)]
    of_blocks = [Metric.COLLISIONS, Metric.CONFLICTS, Metric.LINE_FAILURES]
    counts = dict.fromkeys([*of_results, *of_blocks], 0)
    for result in report.results:
        counts[result.metric] += 1
    for progress in report.allocations:
        counts[Metric.COLLISIONS] += progress.collisions
        counts[Metric.CONFLICTS] += progress.conflicts
        counts[Metric.LINE_FAILURES] += progress.wait.failures
    counts[Metric.ANNOUNCEMENTS_FAILED] = report.announcements_failed
    for metric, count in counts.items():
        metrics.add_metric(metric, MetricUnit.Count, count)


def _seconds_to_announced(
    results: Iterable[Result], accepted_at: Mapping[str, float]
) -> list[float]:
    """Return the seconds from the oldest message of each number to its announcement.

    A redelivered message has waited since it was sent; a redriven one is a new message.
    """
    sent_at: dict[str, int] = {}
    for result in results:
        # A hand-made event may lack the time.
        if isinstance(result, Numbered) and (sent := result.record.sent_at):
            event_id = result.event.id
            sent_at[event_id] = min(sent, sent_at.get(event_id, sent))
    return [
        # The clocks of SQS and of the function may differ.
        max(0.0, accepted_at[event_id] - sent / MILLISECONDS)
        for event_id, sent in sent_at.items()
        if event_id in accepted_at
    ]
