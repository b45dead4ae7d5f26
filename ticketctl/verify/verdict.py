"""Compares the sent messages with tables, announcements and dead letters."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ticket_numbering.contract.errors import (
    IdempotencyMismatchError,
    PoisonMessageError,
)
from ticket_numbering.contract.messages import CreateTicket, RequestKey, ticket_key
from ticketctl.audit.audit import ProjectAudit
from ticketctl.aws.queues import Received
from ticketctl.cli.output import visible

_BODY_WIDTH = 60


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


@dataclass(frozen=True)
class Observed:
    """The outcomes of all messages."""

    sent: Sequence[Sent]
    announced: Mapping[RequestKey, Announced]
    dead_letters: Mapping[str, Received]
    """By the id of the message that was sent."""
    projects: Sequence[Project]

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
            RequestKey(ticket["project_id"], ticket["idempotency_key"]): key
            for key, ticket in self.stored.items()
        }


@dataclass(frozen=True)
class Verdict:
    """Whether the promise was kept."""

    observed: Observed
    missing: tuple[str, ...]
    """Numbers, announcements and dead letters that may still come."""
    wrong: tuple[str, ...]
    """Errors that no waiting fixes."""

    @property
    def is_clean(self) -> bool:
        """Whether nothing at all is wrong."""
        return not (self.missing or self.wrong)


def judge(observed: Observed) -> Verdict:
    """Compare the outcomes with the promises."""
    missing = [*_missing_messages(observed), *_missing_announcements(observed)]
    wrong = [*_wrong_dead_letters(observed), *_wrong_announcements(observed)]
    for project in observed.projects:
        # A project without tickets is missing, not wrong.
        wrong += map(str, project.audit.findings if project.tickets else ())
    return Verdict(observed, tuple(missing), tuple(wrong))


def _missing_messages(observed: Observed) -> Iterator[str]:
    """Name each message that is neither numbered as it reads nor a dead letter."""
    replayed = {key for key, found in observed.announced.items() if found.replayed}
    for message in observed.sent:
        if message.message_id in observed.dead_letters:
            continue
        request = message.request
        if isinstance(request, PoisonMessageError):
            yield f"poison, and no dead letter: {_shown(message.body)}"
        elif not _is_stored(request, observed):
            yield f"neither a number nor a dead letter: {_shown(message.body)}"
        elif message.is_repeat and request.key not in replayed:
            yield f"sent again, and not announced again: {_shown(message.body)}"


def _is_stored(request: CreateTicket, observed: Observed) -> bool:
    """Tell whether the ticket under the request's key holds all that it asks for."""
    ticket = observed.stored.get(observed.ticket_keys.get(request.key, ""), {})
    asked = request.content() | {"priority": request.priority}
    return all(ticket.get(name) == value for name, value in asked.items())


def _missing_announcements(observed: Observed) -> Iterator[str]:
    for key in observed.stored:
        if key not in observed.announced_keys:
            yield f"{key}: stored, and not announced"


def _wrong_announcements(observed: Observed) -> Iterator[str]:
    for key in sorted(observed.announced_keys - observed.stored.keys()):
        yield f"{key}: announced, and not stored"
    for request, announced in observed.announced.items():
        own = observed.ticket_keys.get(request)
        others = announced.ticket_keys - {own}
        if own and others:
            yield f"{request.idempotency_key}: announced as {', '.join(sorted(others))}"


def _wrong_dead_letters(observed: Observed) -> Iterator[str]:
    contents = defaultdict(set)
    for message in observed.sent:
        if isinstance(message.request, CreateTicket):
            contents[message.request.key].add(message.request.fingerprint)
    for message in observed.sent:
        dead_letter = observed.dead_letters.get(message.message_id)
        if dead_letter is None:
            continue
        request = message.request
        if isinstance(request, PoisonMessageError):
            expected = type(request).__name__
        elif len(contents[request.key]) > 1:
            # The queue decides which of them comes first, and gets the number.
            expected = IdempotencyMismatchError.__name__
        else:
            expected = "a number"
        found = dead_letter.attributes.get("ErrorType", "no reason")
        if found != expected:
            yield f"dead letter with {found} for {expected}: {_shown(message.body)}"
        if dead_letter.body != message.body:
            yield f"dead letter with another body: {_shown(message.body)}"


def _shown(body: str) -> str:
    return visible(body, _BODY_WIDTH)
