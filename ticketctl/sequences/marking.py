"""Voids or erases a ticket, and records time, reason and caller in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ticket_numbering.contract import aws_codes
from ticket_numbering.contract.dynamodb_items import (
    CALLERS,
    ERASED,
    REASONS,
    STATUS,
    TIMES,
    VOIDED,
    ticket_id,
)
from ticket_numbering.contract.envelope import Envelope
from ticket_numbering.contract.mark_events import MAX_REASON, TicketErased, TicketVoided
from ticketctl.aws.aws_errors import Suppressed
from ticketctl.aws.items import plain, serialized, timestamp_now
from ticketctl.aws.retry import RetryPolicy
from ticketctl.aws.stack import StackAccess
from ticketctl.aws.tickets import get_ticket
from ticketctl.cli.errors import InputError, NotThereError
from ticketctl.cli.output import sanitized
from ticketctl.ledger.item import MARKS, Item, Malformed, Reserved, Ticket
from ticketctl.sequences.announcing import Announcer, envelope_of
from ticketctl.sequences.erasing import erase

_EVENTS: Final = {kind.status: kind for kind in (TicketVoided, TicketErased)}


@dataclass(frozen=True)
class Marked:
    """A marked ticket."""

    ticket: Ticket
    was_already: bool
    """Whether it was marked earlier: its announcement may be a repeat."""
    notes: Sequence[str] = ()
    """Notes about parts that could not be done."""


@dataclass(frozen=True)
class Marking:
    """A permanent status of a ticket, with its reason and caller."""

    stack: StackAccess
    status: str
    reason: str
    caller: str
    """The caller's ARN."""
    retry: RetryPolicy = field(default_factory=RetryPolicy)

    def check(self, item: Item) -> tuple[Ticket, dict[str, str]]:
        """Return a ticket and the attributes to set; none if it has them already.

        The marked ticket must be announceable.

        Raises:
            InputError: The ticket cannot get the status.
            NotThereError: The ticket is malformed.
        """
        key, status = item.ticket_key, self.status
        if isinstance(item, Reserved):
            raise InputError(
                f"{key} is only reserved: it stands for an external number, and "
                f"there is no ticket to {MARKS[status]}"
            )
        if isinstance(item, Malformed):
            raise self._not_announceable(key)
        if item.is_erased and status != ERASED:
            raise InputError(f"{key} is erased; an erased ticket cannot be voided")
        marks: dict[str, str] = {}
        if item.status is None or (item.status, status) == (VOIDED, ERASED):
            marks = {
                STATUS: status,
                REASONS[status]: self.reason,
                TIMES[status]: timestamp_now(),
                CALLERS[status]: self.caller,
            }
        marked = item.having({**item.fields, **marks})
        try:
            self._envelope(marked, replayed=False)
        except ValueError as error:  # Also pydantic's.
            raise self._not_announceable(key) from error
        recorded, time = marked.fields[REASONS[status]], marked.fields[TIMES[status]]
        if recorded != self.reason:
            other = f"for another reason: {sanitized(recorded)}"
            raise InputError(f"{key} was {status} at {time} {other}")
        return item, marks

    def apply(self, item: Item) -> Marked:
        """Mark a ticket, unless it is marked for this reason.

        A second erasure removes text that a backup brought back.

        Raises:
            InputError: It is reserved, or marked for another reason.
            NotThereError: The ticket is gone or malformed.
            BusyError: Others kept writing it or its key.
        """
        return self.retry.until(
            lambda: self._attempt(item.project_id, item.number),
            f"{item.ticket_key}: others kept writing it or its key",
        )

    def _attempt(self, project_id: str, number: int) -> Marked | None:
        """Mark the current ticket; return None if another writer was faster."""
        item = get_ticket(self.stack, project_id, number)
        if item is None:
            raise NotThereError(f"there is no ticket {project_id}-{number} any more")
        ticket, marks = self.check(item)
        marked, notes = ticket, list[str]()
        with Suppressed(aws_codes.FORESTALLED):
            if self.status == ERASED:
                marked, notes = erase(self.stack, ticket, marks)
            elif marks:
                marked = void(self.stack, ticket, marks)
            return Marked(marked, not marks, notes)
        return None

    def announce(self, marked: Marked, announcer: Announcer) -> None:
        """Publish the event of a marked ticket, possibly again."""
        envelope = self._envelope(marked.ticket, replayed=marked.was_already)
        for _ in announcer.publish(lambda: [envelope]):
            pass

    def _not_announceable(self, key: str) -> NotThereError:
        see = f"see: {self.stack.program} show {key}"
        return NotThereError(f"{key} is malformed and could not be announced; {see}")

    def _envelope(self, marked: Ticket, *, replayed: bool) -> Envelope:
        """Return the event of a marked ticket.

        Raises:
            ValueError: The ticket is malformed, or has another status.
        """
        if marked.status != self.status:
            raise ValueError(marked.status)
        kind = _EVENTS[self.status]
        return envelope_of(self.stack, kind, marked, replayed=replayed)


def void(stack: StackAccess, ticket: Ticket, marks: Mapping[str, str]) -> Ticket:
    """Void a ticket that has no status; it keeps all attributes."""
    answer = stack.client("dynamodb").update_item(
        TableName=stack.outputs["TicketsTableName"],
        Key=ticket_id(ticket.project_id, ticket.number),
        UpdateExpression="SET " + ", ".join(f"#{name} = :{name}" for name in marks),
        ConditionExpression=(
            "attribute_exists(project_id) AND attribute_not_exists(#status)"
        ),
        ExpressionAttributeNames={f"#{name}": name for name in marks},
        ExpressionAttributeValues=serialized(
            {f":{name}": text for name, text in marks.items()}
        ),
        ReturnValues="ALL_NEW",
    )
    return ticket.having(plain(answer["Attributes"]))


def checked_reason(reason: str) -> str:
    """Return a valid reason, which can be recorded and announced.

    Raises:
        InputError: It is not one line of visible text.
    """
    if reason.strip() and reason.isprintable() and len(reason) <= MAX_REASON:
        return reason
    raise InputError(f"--reason: give one line of 1 to {MAX_REASON} visible characters")
