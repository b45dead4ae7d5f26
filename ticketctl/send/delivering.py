"""Sends what was prepared, and waits for the numbers if that is wanted."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ticketctl.cli.errors import Status
from ticketctl.send.awaiting import Awaiting
from ticketctl.send.preparing import Prepared
from ticketctl.send.send_report import Report, progress
from ticketctl.send.sending import Outcome, Sending
from ticketctl.system.rate_limiter import Pace
from ticketctl.watch.listening import listening
from ticketctl.watch.temporary_names import NamedSystem


@dataclass(frozen=True)
class Delivery:
    """How to send."""

    rate: float | None = None
    """Messages a second; else as fast as SQS takes them."""
    wait: bool = False
    """Whether to wait for the numbers."""
    patience: float = 60
    """How many seconds without news are too many."""


def deliver(
    stack: NamedSystem, prepared: Prepared, report: Report, delivery: Delivery
) -> Status:
    """Send the good requests; return how it ended."""
    if not prepared.good:
        report.ended()
        return Status.OK
    if delivery.wait:
        # Subscribed before the first is sent: so no number is missed.
        with listening(stack, prepared.projects) as listener:
            awaiting = Awaiting(listener, report.number)
            awaiting.expect(prepared.requests())
            _send(stack, prepared, report, delivery, awaiting)
            all_came = awaiting.until_all(delivery.patience)
        if not all_came:
            report.missing(awaiting.missing, delivery.patience)
            return Status.CLOUD if report.refused else Status.FOUND
    else:
        _send(stack, prepared, report, delivery)
    return Status.CLOUD if report.refused else Status.OK


def _send(
    stack: NamedSystem,
    prepared: Prepared,
    report: Report,
    delivery: Delivery,
    awaiting: Awaiting | None = None,
) -> None:
    # Numbers and results that are printed would tear the bar.
    shown = bool(report.name) and not (delivery.wait or report.as_json)
    with (
        _interruptions_told(report),
        progress("sending", prepared.good, shown=shown) as step,
    ):

        def on_done(outcome: Outcome) -> None:
            step()
            report.outcome(outcome)
            if awaiting:
                if outcome.message_id is None:
                    awaiting.give_up(outcome.request)
                awaiting.glance()

        Sending(
            stack.client("sqs"),
            stack.outputs["CreateTicketQueueUrl"],
            on_done,
            Pace(delivery.rate),
            deliver_repeats=delivery.wait,
        ).run(prepared.requests())
    report.ended()


@contextmanager
def _interruptions_told(report: Report) -> Iterator[None]:
    try:
        yield
    except BaseException:
        report.broken_off()
        raise
