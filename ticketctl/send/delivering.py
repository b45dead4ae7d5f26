"""Sends requests, waits for their numbers, and prints the outcomes."""

import time
from collections.abc import Iterable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from shlex import quote
from typing import Final

from ticket_numbering.contract.errors import PoisonMessageError
from ticket_numbering.contract.events import ticket_key
from ticket_numbering.contract.messages import CreateTicket
from ticketctl.aws.aws_errors import AWS_ERRORS, is_no_answer
from ticketctl.aws.retry import RateLimiter
from ticketctl.aws.sender import Request, Sender
from ticketctl.aws.stack import StackAccess
from ticketctl.cli.errors import Status
from ticketctl.cli.output import (
    console,
    note_if_interrupted,
    print_json_line,
    print_line,
    print_note,
    sanitized,
    stderr_console,
    with_progress,
)
from ticketctl.send.waiting import Answer, wait_for_numbers

_TITLE_WIDTH: Final = 100
_IN_FLIGHT: Final = 8
"""The maximum of concurrent batches; boto3 keeps ten connections."""


@dataclass
class Delivery:
    """A delivery of requests, and its progress."""

    stack: StackAccess
    as_json: bool = False
    timeout: float | None = None
    """The seconds without a new answer until it gives up; None for no wait."""
    rate: float | None = None
    """The maximum of messages a second; unlimited if None."""
    is_file: bool = False
    status: Status = Status.OK
    sent: int = 0
    awaited: list[CreateTicket] = field(default_factory=list)

    def run(self, requests: Iterable[Request], number: int = 1) -> Status:
        """Send the requests, wait for answers if requested, and return the status."""
        self._send(requests, number)
        if self.timeout is not None:
            self._wait(self.timeout)
        return self.status

    def _wait(self, timeout: float) -> None:
        answered, number = 0, len({ticket.key for ticket in self.awaited})
        same = "command" if self.is_file else "request, with its --key,"
        safely = f"the same {same} goes on safely"
        with note_if_interrupted(
            lambda: f"answered: {answered} of {number}; {safely}",
            by=(KeyboardInterrupt,),
        ):
            for answer in wait_for_numbers(
                self.stack, self.awaited, timeout, time.monotonic, time.sleep
            ):
                self._print_answer(answer)
                answered += 1

    def _send(self, requests: Iterable[Request], number: int) -> None:
        sender = Sender(
            self.stack.client("sqs"),
            self.stack.outputs["CreateTicketQueueUrl"],
            RateLimiter(self.rate),
            in_flight=_IN_FLIGHT,
        )
        outcomes: Iterable[Request] = sender.send(requests)
        has_progress = self.is_file and not self.as_json
        shown = with_progress(outcomes, "sending", number) if has_progress else None
        try:
            with shown or nullcontext(outcomes) as outcomes:
                for request in outcomes:
                    self._add(request)
        except BaseException as error:  # Ctrl-C as well.
            is_known = isinstance(error, AWS_ERRORS) and not is_no_answer(error)
            if not (self.is_file or is_known):
                [request] = requests
                self._name_key(request)
            raise
        finally:
            if self.is_file:
                is_all = self.sent == number
                rest = "" if is_all else "; the same command goes on safely"
                print_note(f"messages sent: {self.sent} of {number}{rest}")

    def _add(self, request: Request) -> None:
        if not request.message_id:
            if request.may_be_sent:
                self._name_key(request)
            else:
                place = f"line {request.line}: " if self.is_file else ""
                print_note(f"{place}not sent: {sanitized(request.problem)}")
            self.status = Status.CLOUD
            return
        self.sent += 1
        waits = self.timeout is not None
        if waits:
            with suppress(PoisonMessageError):  # A request of an unchecked file.
                self.awaited.append(CreateTicket.parse(request.body))
        key = request.fields.get("idempotency_key")
        if self.as_json and not waits:
            line = {"line": request.line} if self.is_file else {}
            print_json_line(
                {
                    "project_id": request.fields.get("project_id"),
                    "idempotency_key": key,
                    "message_id": request.message_id,
                    **line,
                }
            )
        elif not self.is_file:
            out = stderr_console() if waits else console()
            out.print(f"sent with the idempotency key {key}", markup=False)

    def _name_key(self, request: Request) -> None:
        """Print the key of a message that may be on the queue."""
        key = str(request.fields.get("idempotency_key"))
        if self.is_file:
            known = f"with the idempotency key {sanitized(key)}"
            print_note(f"line {request.line}: it may be sent, {known}")
        else:
            print_note(
                f"it may be sent; the same with --key {quote(key)} goes on safely"
            )

    def _print_answer(self, answer: Answer) -> None:
        ticket = answer.ticket
        if answer.problem:
            name = f"{ticket.project_id} {ticket.idempotency_key}"
            print_note(f"{name}: {answer.problem}")
            self.status = self.status or Status.PROBLEM
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
        title = sanitized(ticket.title, _TITLE_WIDTH)
        print_line(f"{key}  {ticket.idempotency_key}  {title}")
