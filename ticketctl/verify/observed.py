"""The sent messages, and their outcomes in tables, announcements and queue."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from ticket_numbering.contract.errors import PoisonMessageError
from ticket_numbering.contract.events import RefusedRequest, TicketRefused
from ticket_numbering.contract.messages import CreateTicket, RequestKey
from ticketctl.audit.audit import ProjectAudit
from ticketctl.aws.announcements import ASSIGNED, REFUSED, Announcement
from ticketctl.aws.queues import Received
from ticketctl.aws.stack import StackAccess
from ticketctl.aws.tickets import tickets_above
from ticketctl.ledger.findings import FindingKind


@dataclass(frozen=True)
class Sent:
    """A message that was sent."""

    message_id: str
    body: str
    is_repeat: bool = False
    """Whether an equal request already had its number at the time of sending."""

    @cached_property
    def request(self) -> CreateTicket | PoisonMessageError:
        """The request, or the error of its body."""
        try:
            return CreateTicket.parse(self.body)
        except PoisonMessageError as error:
            return error

    @cached_property
    def key(self) -> RequestKey | None:
        """The key of a possible refusal."""
        return CreateTicket.key_of(self.body)


@dataclass
class Announcements:
    """The announcements so far."""

    numbers: dict[RequestKey, list[Mapping[str, Any]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """The distinct events of numbers, by request."""
    replayed: set[RequestKey] = field(default_factory=set)
    refusals: dict[str, set[RefusedRequest]] = field(
        default_factory=lambda: defaultdict(set)
    )
    """The refusals by the id of the sent message."""

    @property
    def ticket_keys(self) -> set[str]:
        """The keys of all announced tickets."""
        return set().union(*map(ticket_keys, self.numbers.values()))

    def add(self, announcement: Announcement) -> None:
        """Add a number or a refusal; ignore other and malformed events."""
        if announcement.type == ASSIGNED:
            if announcement.replayed:
                self.replayed.add(announcement.key)
            if announcement.event not in self.numbers[announcement.key]:
                self.numbers[announcement.key].append(announcement.event)
        elif announcement.type == REFUSED:
            try:
                refused = TicketRefused.model_validate(announcement.event).data
            except ValidationError:
                return
            self.refusals[refused.message_id].add(refused)


def ticket_keys(events: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return the ticket keys of announcements."""
    return {str(event["id"]) for event in events}


@dataclass(frozen=True)
class Project:
    """A project in the tables."""

    audit: ProjectAudit
    """The audit of its numbers, tickets and keys."""
    tickets: Mapping[int, Mapping[str, Any]]
    """All attributes of the tickets, by number."""

    @classmethod
    def read(cls, stack: StackAccess, audit: ProjectAudit) -> "Project":
        """Read the tickets of an audited project, which may have none."""
        tickets = tickets_above(stack, audit.project_id, 0)
        findings = (
            finding
            for finding in audit.findings
            if finding.kind is not FindingKind.NO_TICKETS
        )
        fields = {ticket.number: ticket.fields for ticket in tickets}
        return cls(replace(audit, findings=tuple(findings)), fields)


@dataclass(frozen=True)
class Observed:
    """The outcomes of all messages."""

    sent: Sequence[Sent]
    announcements: Announcements
    dead_letters: Sequence[Received]
    projects: Sequence[Project]
    given_up: Collection[str] = ()
    """The ids of dead letters whose refusals need no announcement any more."""
