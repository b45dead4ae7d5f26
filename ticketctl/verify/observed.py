"""Holds the sent messages, and their outcomes in tables, announcements and queue."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from ticket_numbering.contract.envelope import SOURCE_MESSAGE_ID
from ticket_numbering.contract.errors import PoisonMessageError
from ticket_numbering.contract.events import RefusedRequest, TicketRefused
from ticket_numbering.contract.messages import CreateTicket, RequestKey
from ticketctl.audit.audit import ProjectAudit
from ticketctl.aws.announcements import ASSIGNED, REFUSED, Announcement
from ticketctl.aws.queues import Received
from ticketctl.aws.stack import System
from ticketctl.aws.tickets import tickets_above
from ticketctl.evidence.findings import Kind


@dataclass(frozen=True)
class Sent:
    """A message that was sent."""

    message_id: str
    body: str
    is_repeat: bool = False
    """Whether an equal request had its number before this one was sent."""

    @cached_property
    def request(self) -> CreateTicket | PoisonMessageError:
        """The request, or the error of its body."""
        try:
            return CreateTicket.parse(self.body)
        except PoisonMessageError as error:
            return error

    @cached_property
    def key(self) -> RequestKey | None:
        """The key that a refusal can name."""
        return CreateTicket.key_of(self.body)


@dataclass
class Announced:
    """The announcements of one idempotency key's number."""

    events: list[Mapping[str, Any]] = field(default_factory=list)
    """Each of them once: equal ones are one."""
    replayed: bool = False

    @property
    def ticket_keys(self) -> set[str]:
        """The tickets that they name."""
        return {str(event["id"]) for event in self.events}


@dataclass
class Announcements:
    """The announcements so far."""

    numbers: dict[RequestKey, Announced] = field(
        default_factory=lambda: defaultdict(Announced)
    )
    refusals: dict[str, set[RefusedRequest]] = field(
        default_factory=lambda: defaultdict(set)
    )
    """By the id of the message that was sent."""

    @property
    def ticket_keys(self) -> set[str]:
        """The tickets of all numbers."""
        return set().union(*(one.ticket_keys for one in self.numbers.values()))

    def add(self, found: Announcement) -> None:
        """Add a number or a refusal; another fact, or a malformed one, is ignored."""
        if found.type == ASSIGNED:
            announced = self.numbers[request_key(found)]
            announced.replayed |= found.replayed
            if found.event not in announced.events:
                announced.events.append(found.event)
        elif found.type == REFUSED:
            try:
                refused = TicketRefused.model_validate(found.event).data
            except ValidationError:
                return
            self.refusals[refused.message_id].add(refused)


def request_key(found: Announcement) -> RequestKey:
    """Return the request that an announcement is about."""
    data = found.data
    return RequestKey(str(data.get("project_id")), str(data.get("idempotency_key")))


@dataclass(frozen=True)
class Project:
    """A project in the tables."""

    audit: ProjectAudit
    """Of its numbers, and of its tickets and their keys."""
    tickets: Mapping[int, Mapping[str, Any]]
    """Every attribute, by number."""

    @classmethod
    def read(cls, stack: System, audit: ProjectAudit) -> "Project":
        """Read the tickets of a project that was audited; it may rightly have none."""
        tickets = tickets_above(stack, audit.project_id, 0)
        found = (one for one in audit.findings if one.kind is not Kind.NO_TICKETS)
        fields = {ticket.number: ticket.fields for ticket in tickets}
        return cls(replace(audit, findings=tuple(found)), fields)


@dataclass(frozen=True)
class Observed:
    """The outcomes of all messages."""

    sent: Sequence[Sent]
    announcements: Announcements
    dead_letters: Sequence[Received]
    projects: Sequence[Project]
    given_up: Collection[str] = ()
    """The ids of dead letters whose refusals the worker need not announce any more."""


def source_of(dead_letter: Received) -> str:
    """Return the sent message's id: SQS keeps it, and the worker's copy names it."""
    return dead_letter.attributes.get(SOURCE_MESSAGE_ID) or dead_letter.message_id
