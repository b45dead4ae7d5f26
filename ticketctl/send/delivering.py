"""Sends requests, waits for their numbers, and prints the outcomes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from ticket_numbering.contract.events import ticket_key
from ticketctl.aws.rate_limiter import RateLimiter
from ticketctl.aws.sender import Request, Sender
from ticketctl.aws.stack import System
from ticketctl.cli.errors import Status
from ticketctl.cli.output import (
    console,
    notes,
    print_json_line,
    remark,
    visible,
    with_progress,
)
from ticketctl.send.waiting import Answer, wait_for_numbers

_TITLE_WIDTH: Final = 100


@dataclass
class Delivery:
    """A delivery of requests, and its progress."""

    stack: System
    as_json: bool = False
    timeout: float | None = None
    """Seconds without a new answer until it gives up; None: do not wait."""
    rate: float | None = None
    """Messages a second; unlimited if None."""
    is_file: bool = False
    status: Status = Status.OK
    sent: list[Request] = field(default_factory=list)

    def run(self, requests: Sequence[Request]) -> Status:
        """Send them all, wait if asked to, and return the exit status."""
        self._send(requests)
        if self.timeout is not None:
            tickets = [request.ticket for request in self.sent if request.ticket]
            for answer in wait_for_numbers(self.stack, tickets, self.timeout):
                self._print_answer(answer)
        return self.status

    def _send(self, requests: Sequence[Request]) -> None:
        queue_url = self.stack.outputs["CreateTicketQueueUrl"]
        sender = Sender(self.stack.client("sqs"), queue_url, RateLimiter(self.rate))
        outcomes = with_progress(
            sender.send(requests),
            "sending",
            len(requests),
            is_shown=self.is_file and not self.as_json,
        )
        try:
            for request in outcomes:
                self._add(request)
        finally:  # After Ctrl-C as well.
            if self.is_file:
                sent, number = len(self.sent), len(requests)
                rest = "" if sent == number else "; the same command goes on safely"
                remark(f"messages sent: {sent} of {number}{rest}")

    def _add(self, request: Request) -> None:
        if not request.message_id:
            remark(f"line {request.line}: not sent: {visible(request.refusal)}")
            self.status = Status.CLOUD
            return
        self.sent.append(request)
        key = request.fields.get("idempotency_key")
        waits = self.timeout is not None
        if self.as_json and not waits:
            print_json_line(
                {
                    "project_id": request.fields.get("project_id"),
                    "idempotency_key": key,
                    "message_id": request.message_id,
                    "line": request.line,
                }
            )
        elif not self.is_file:
            out = notes() if waits else console()
            out.print(f"sent with the idempotency key {key}", markup=False)

    def _print_answer(self, answer: Answer) -> None:
        ticket = answer.ticket
        if answer.problem:
            name = f"{ticket.project_id} {ticket.idempotency_key}"
            remark(f"{name}: {answer.problem}")
            self.status = self.status or Status.FOUND
            return
        key = ticket_key(ticket.project_id, answer.number)
        if self.as_json:
            print_json_line(
                {
                    "project_id": ticket.project_id,
                    "number": answer.number,
                    "ticket_key": key,
                    "idempotency_key": ticket.idempotency_key,
                    "title": ticket.title,
                    "assigned_at": answer.assigned_at,
                }
            )
            return
        title = visible(ticket.title, _TITLE_WIDTH)
        console().print(f"{key}  {ticket.idempotency_key}  {title}", markup=False)
