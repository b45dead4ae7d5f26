"""Sends requests and waits for their numbers, and prints what becomes of each."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

from ticket_numbering.messages import ticket_key
from ticketctl.cli.errors import Status
from ticketctl.cli.output import console, notes, print_json_line, visible
from ticketctl.send.checking import Request
from ticketctl.send.sending import Outcome, Sender
from ticketctl.send.waiting import Answer, Waiting
from ticketctl.system.rate_limiter import Pace
from ticketctl.system.stack import System

_MAX_TOLD: Final = 100
_TITLE_WIDTH: Final = 100


@dataclass
class Delivery:
    """How to send, and what came of it so far."""

    stack: System
    as_json: bool = False
    timeout: float | None = None
    """How many seconds without a new number to wait for numbers; none: do not wait."""
    rate: float | None = None
    """Messages a second; else as fast as SQS takes them."""
    tell_keys: bool = False
    """Whether to tell the key of each request that was sent."""
    sent: list[Request] = field(default_factory=list)
    refused: list[Outcome] = field(default_factory=list)
    unnumbered: list[str] = field(default_factory=list)

    def run(self, requests: Sequence[Request]) -> Status:
        """Send them all, wait if that is wanted, and return how it ended."""
        try:
            self._send(requests)
        except BaseException:  # Ctrl-C as well.
            then = "" if self.tell_keys else "; the same command goes on safely"
            number = counted(len(requests), "message")
            remark(f"sent {len(self.sent)} of {number}{then}")
            raise
        tell(
            [
                f"line {outcome.request.line}: not sent: {outcome.refusal}"
                for outcome in self.refused
            ]
        )
        if self.timeout is not None:
            self._wait(self.timeout)
        if self.refused:
            return Status.CLOUD
        return Status.FOUND if self.unnumbered else Status.OK

    def _send(self, requests: Sequence[Request]) -> None:
        queue_url = self.stack.outputs["CreateTicketQueueUrl"]
        sender = Sender(self.stack.client("sqs"), queue_url, Pace(self.rate))
        shown = len(requests) > 1 and not self.as_json
        with progress("sending", len(requests), shown=shown) as step:
            for outcome in sender.send(requests):
                step()
                self._add(outcome)

    def _add(self, outcome: Outcome) -> None:
        if outcome.message_id is None:
            self.refused.append(outcome)
            return
        self.sent.append(outcome.request)
        waits, ticket = self.timeout is not None, outcome.request.ticket
        if self.as_json and not waits:
            print_json_line(_sent_json(outcome))
        elif self.tell_keys and ticket:
            line = f"sent with the idempotency key {ticket.idempotency_key}"
            (notes() if waits else console()).print(line, markup=False)

    def _wait(self, timeout: float) -> None:
        table = self.stack.outputs["IdempotencyKeysTableName"]
        waiting = Waiting(self.stack.client("dynamodb"), table)
        waiting.expect(request.ticket for request in self.sent if request.ticket)
        for answer in waiting.answers(timeout):
            self._tell(answer)
        for ticket in waiting.missing.values():
            key = ticket.idempotency_key
            self.unnumbered.append(f"no number yet: {ticket.project_id} {key}")
        tell(self.unnumbered)
        if waiting.missing:
            remark(
                f"{len(waiting.missing)} of {counted(len(self.sent), 'number')} missing"
                f" after {timeout:g} seconds without a new one; a message waits on the "
                "queue, or is a dead letter: see `ticketctl dead-letters list`"
            )

    def _tell(self, answer: Answer) -> None:
        ticket = answer.ticket
        if answer.problem:
            self.unnumbered.append(f"{ticket.idempotency_key}: {answer.problem}")
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


def remark(line: str) -> None:
    """Print a line beside the results."""
    notes().print(line, markup=False)


def tell(lines: Sequence[str]) -> None:
    """Print remarks, but no flood of them."""
    for line in lines[:_MAX_TOLD]:
        remark(visible(line))
    if len(lines) > _MAX_TOLD:
        remark(f"and {len(lines) - _MAX_TOLD} more")


def counted(number: int, what: str) -> str:
    """Return a number of things."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


@contextmanager
def progress(what: str, total: int, *, shown: bool) -> Iterator[Callable[[], None]]:
    """Show on a terminal how far something is; call what this gives for each step."""
    screen = notes()
    columns = SpinnerColumn(), TextColumn("{task.description}"), MofNCompleteColumn()
    with Progress(
        *columns,
        console=screen,
        transient=True,
        disable=not (shown and screen.is_terminal),
    ) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)


def _sent_json(outcome: Outcome) -> dict[str, str | int | None]:
    ticket = outcome.request.ticket
    return {
        "project_id": outcome.request.group,
        "idempotency_key": ticket.idempotency_key if ticket else None,
        "message_id": outcome.message_id,
        "line": outcome.request.line,
    }
