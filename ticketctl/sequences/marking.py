"""Voids or erases a ticket: it keeps number and key, and says when, why and by whom."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from botocore.exceptions import ClientError

from ticket_numbering.contract.dynamodb_items import (
    CALLERS,
    ERASED,
    REASONS,
    RESERVED,
    STATUS,
    TIMES,
    VOIDED,
    ticket_id,
)
from ticket_numbering.contract.mark_events import MAX_REASON, TicketErased, TicketVoided
from ticketctl.aws.aws_errors import error_code
from ticketctl.aws.items import Ticket, serialized, ticket, timestamp_now
from ticketctl.aws.retry import FORESTALLED, RetryPolicy
from ticketctl.aws.stack import System
from ticketctl.aws.tickets import get_ticket
from ticketctl.cli.errors import InputError, NotThereError
from ticketctl.cli.output import visible
from ticketctl.sequences.announcing import Announcer, envelope_of
from ticketctl.sequences.erasing import erase

Write = Callable[[System, Ticket, Mapping[str, str]], tuple[Ticket, list[str]]]
"""Sets marks on a ticket as it was found; returns it, and the steps that failed."""


@dataclass(frozen=True)
class Mark:
    """A mark that a ticket keeps for ever."""

    verb: str
    status: str
    event: type[TicketVoided | TicketErased]
    write: Write
    replaces: Sequence[str] = ()
    """The statuses that it replaces, besides none."""


def _void(
    stack: System, found: Ticket, marks: Mapping[str, str]
) -> tuple[Ticket, list[str]]:
    """Void a ticket that has no status; all that it has stays."""
    if not marks:
        return found, []
    answer = stack.client("dynamodb").update_item(
        TableName=stack.outputs["TicketsTableName"],
        Key=ticket_id(found.project_id, found.number),
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
    return ticket(answer["Attributes"]), []


VOID: Final = Mark("void", VOIDED, TicketVoided, _void)
ERASE: Final = Mark("erase", ERASED, TicketErased, erase, replaces=(VOIDED,))


@dataclass(frozen=True)
class Marked:
    """A marked ticket."""

    ticket: Ticket
    was_already: bool
    """Whether it was marked earlier: its announcement may be a repeat."""
    remarks: Sequence[str] = ()
    """The parts that were left undone."""


@dataclass(frozen=True)
class Marking:
    """A mark that a caller sets for a reason."""

    stack: System
    mark: Mark
    reason: str
    caller: str
    """The caller's ARN."""
    retry: RetryPolicy = field(default_factory=RetryPolicy)

    def check(self, found: Ticket) -> None:
        """Check that a ticket can be marked, or was for this very reason.

        A marked ticket must be announceable.

        Raises:
            InputError: It cannot.
            NotThereError: The ticket is malformed.
        """
        mark = self.mark
        if found.status == RESERVED:
            raise InputError(
                f"{found.ticket_key} is only reserved: it stands for an external "
                f"number, and there is no ticket to {mark.verb}"
            )
        if found.status == ERASED and mark.status != ERASED:
            raise InputError(
                f"{found.ticket_key} is erased; an erased ticket cannot be voided"
            )
        marked = found
        if found.status in {None, *mark.replaces}:
            marked = replace(found, fields={**found.fields, **self._marks()})
        if marked.status != mark.status or not _is_announceable(
            self.stack, marked, mark
        ):
            raise NotThereError(
                f"{found.ticket_key} is malformed and could not be announced; "
                f"see: ticketctl show {found.ticket_key}"
            )
        recorded = marked.fields[REASONS[mark.status]]
        if recorded != self.reason:
            raise InputError(
                f"{found.ticket_key} was {mark.status} at "
                f"{marked.fields[TIMES[mark.status]]} for another reason: "
                f"{visible(recorded)}"
            )

    def apply(self, found: Ticket) -> Marked:
        """Mark a ticket, unless it is marked for this reason.

        A second erasure removes what a backup brought back.

        Raises:
            InputError: It is reserved, or marked for another reason.
            NotThereError: There is no such ticket any more, or it is malformed.
            BusyError: Others kept writing it or its key.
        """
        return self.retry.until(
            lambda: self._attempt(found.project_id, found.number),
            f"{found.ticket_key}: others kept writing it or its key",
        )

    def _attempt(self, project_id: str, number: int) -> Marked | None:
        """Mark the ticket as it is now; return None if another writer was faster."""
        found = get_ticket(self.stack, project_id, number)
        if found is None:
            raise NotThereError(f"there is no ticket {project_id}-{number} any more")
        self.check(found)
        was_already = found.status == self.mark.status
        marks = {} if was_already else self._marks()
        try:
            marked, remarks = self.mark.write(self.stack, found, marks)
        except ClientError as error:
            if error_code(error) not in FORESTALLED:
                raise
            return None
        return Marked(marked, was_already, remarks)

    def _marks(self) -> dict[str, str]:
        """Return the attributes that the mark sets."""
        status = self.mark.status
        return {
            STATUS: status,
            REASONS[status]: self.reason,
            TIMES[status]: timestamp_now(),
            CALLERS[status]: self.caller,
        }


def checked_reason(reason: str) -> str:
    """Return a reason that can be recorded and announced.

    Raises:
        InputError: It is not one line of visible text.
    """
    if reason.strip() and reason.isprintable() and len(reason) <= MAX_REASON:
        return reason
    raise InputError(f"--reason: give one line of 1 to {MAX_REASON} visible characters")


def _is_announceable(stack: System, marked: Ticket, mark: Mark) -> bool:
    try:
        event = mark.event.of(marked.fields, source=stack.outputs["EventSource"])
        envelope_of(event, marked, replayed=False)
    except ValueError:  # That of pydantic is one.
        return False
    return True


def announce(marked: Marked, mark: Mark, announcer: Announcer) -> None:
    """Publish that a ticket is marked; or publish it again."""
    source = announcer.stack.outputs["EventSource"]
    event = mark.event.of(marked.ticket.fields, source=source)
    envelope = envelope_of(event, marked.ticket, replayed=marked.was_already)
    for _ in announcer.publish([lambda: [envelope]]):
        pass
