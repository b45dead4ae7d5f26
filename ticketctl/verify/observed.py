"""Holds the sent messages, and their outcomes in tables, announcements and queue."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ticket_numbering.contract.errors import PoisonMessageError, SequenceFullError
from ticket_numbering.contract.events import RefusedRequest, ticket_key
from ticket_numbering.contract.messages import CreateTicket, RequestKey
from ticketctl.audit.audit import ProjectAudit
from ticketctl.aws.queues import Received

FULL = SequenceFullError.__name__


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
    """The announcements of one idempotency key."""

    ticket_keys: set[str] = field(default_factory=set)
    replayed: bool = False


@dataclass(frozen=True)
class Project:
    """A project in the tables."""

    audit: ProjectAudit
    """Of its numbers, and of its tickets and their keys."""
    tickets: Mapping[int, Mapping[str, Any]]
    """Every attribute, by number."""

    @property
    def project_id(self) -> str:
        """Its id."""
        return self.audit.project_id

    @property
    def last_number(self) -> int:
        """Its highest number; 0 if it has none."""
        return max(self.tickets, default=0)


@dataclass(frozen=True)
class Observed:
    """The outcomes of all messages."""

    sent: Sequence[Sent]
    announced: Mapping[RequestKey, Announced]
    dead_letters: Mapping[str, Received]
    """By the id of the message that was sent."""
    projects: Sequence[Project]
    refusals: Mapping[str, Collection[RefusedRequest]] = field(default_factory=dict)
    """By the id of the message that was sent."""

    @cached_property
    def announced_keys(self) -> set[str]:
        """The ticket keys of all numbers that were announced."""
        return set().union(*(one.ticket_keys for one in self.announced.values()))

    @cached_property
    def stored(self) -> dict[str, Mapping[str, Any]]:
        """The tickets by ticket key, in order."""
        return {
            ticket_key(project.project_id, number): project.tickets[number]
            for project in self.projects
            for number in sorted(project.tickets)
        }

    @cached_property
    def ticket_keys(self) -> dict[RequestKey, str]:
        """The ticket keys by the requests that have them."""
        return {
            request: ticket_key(request.project_id, number)
            for request, number in self.numbers.items()
        }

    @cached_property
    def numbers(self) -> dict[RequestKey, int]:
        """The numbers by the requests that have them."""
        return {
            RequestKey(project.project_id, ticket["idempotency_key"]): number
            for project in self.projects
            for number, ticket in project.tickets.items()
        }

    @cached_property
    def last_numbers(self) -> dict[str, int]:
        """The highest numbers of the projects."""
        return {one.project_id: one.last_number for one in self.projects}

    @cached_property
    def reused_keys(self) -> set[RequestKey]:
        """The keys that were sent with different requests."""
        contents = defaultdict(set)
        for message in self.sent:
            if isinstance(message.request, CreateTicket):
                contents[message.request.key].add(message.request.fingerprint)
        return {key for key, found in contents.items() if len(found) > 1}

    def is_refused_at_its_cap(self, message: Sent) -> bool:
        """Tell whether that was announced of a message."""
        refusals = self.refusals.get(message.message_id, ())
        return any(refused.error_type == FULL for refused in refusals)
