"""Compares the sent messages with tables, announcements and dead letters."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ticket_numbering.contract.attributes import ERROR_TYPE
from ticket_numbering.contract.errors import (
    IdempotencyMismatchError,
    PoisonMessageError,
    SequenceFullError,
)
from ticket_numbering.contract.events import AssignedTicket, ticket_key
from ticket_numbering.contract.messages import CreateTicket, RequestKey
from ticketctl.cli.output import sanitized
from ticketctl.verify.observed import Observed, Sent, ticket_keys

_BODY_WIDTH: Final = 60
_FULL: Final = SequenceFullError.__name__

_ANNOUNCED: Final = sorted(
    AssignedTicket.model_fields.keys() - {"ticket_key", "display"}
)
"""The common fields of an announcement and its ticket."""


@dataclass(frozen=True)
class Outcome:
    """The result of a check of the promises."""

    observed: Observed
    missing: tuple[str, ...]
    """The numbers, announcements, refusals and dead letters that may still come."""
    wrong: tuple[str, ...]
    """The permanent errors."""

    @property
    def is_clean(self) -> bool:
        """Whether nothing is missing or wrong."""
        return not (self.missing or self.wrong)


def check_outcomes(observed: Observed) -> Outcome:
    """Compare the outcomes with the promises."""
    check = _Check(observed)
    missing = (*check.missing_outcomes(), *check.missing_announcements())
    wrong = (
        *check.wrong_dead_letters(),
        *check.wrong_refusals(),
        *check.wrong_announcements(),
        *check.wrong_tickets(),
    )
    return Outcome(observed, missing, wrong)


class _Check:
    """The observed outcomes, indexed for the checks."""

    def __init__(self, observed: Observed) -> None:
        self.observed = observed
        self.announced = observed.announcements.ticket_keys
        self.refusals = observed.announcements.refusals
        self.stored: dict[str, Mapping[str, Any]] = {}
        self.last: dict[str, int] = {}
        self.numbers: dict[RequestKey, int] = {}
        for project in observed.projects:
            name = project.audit.project_id
            self.last[name] = max(project.tickets, default=0)
            for number, ticket in sorted(project.tickets.items()):
                self.numbers[RequestKey(name, ticket["idempotency_key"])] = number
                self.stored[ticket_key(name, number)] = ticket
        self.letters = defaultdict(list)
        for letter in observed.dead_letters:
            self.letters[letter.source].append(letter)
        self.fingerprints: dict[RequestKey, set[str]] = defaultdict(set)
        for message in observed.sent:
            if isinstance(request := message.request, CreateTicket):
                self.fingerprints[request.key].add(request.fingerprint)

    def missing_outcomes(self) -> Iterator[str]:
        for message in self.observed.sent:
            if missing := self._missing(message):
                yield f"{missing}: {_shown(message)}"

    def _missing(self, message: Sent) -> str:
        """Return the missing part of a message's outcome; "" if it is complete."""
        request, source = message.request, message.message_id
        refusals = self.refusals.get(source, ())
        if letters := self.letters.get(source):
            # SQS gives no reason, and an unreadable key has no refusal.
            is_due = message.key and any(
                ERROR_TYPE in dead_letter.attributes for dead_letter in letters
            )
            is_open = is_due and not refusals and source not in self.observed.given_up
            return "dead letter, and its refusal not announced" if is_open else ""
        if isinstance(request, PoisonMessageError):
            return "poison, and no dead letter"
        if any(refused.error_type == _FULL for refused in refusals):
            return ""
        if not self._is_stored(request):
            return "neither number, refusal nor dead letter"
        replayed = self.observed.announcements.replayed
        is_due = message.is_repeat and request.key not in replayed
        return "sent again, and not announced again" if is_due else ""

    def missing_announcements(self) -> Iterator[str]:
        for key in self.stored:
            if key not in self.announced:
                yield f"{key}: stored, and not announced"

    def wrong_announcements(self) -> Iterator[str]:
        for key in sorted(self.announced - self.stored.keys()):
            yield f"{key}: announced, and not stored"
        for request, events in self.observed.announcements.numbers.items():
            name, number = request.idempotency_key, self.numbers.get(request)
            named = ticket_keys(events)
            others = named - {ticket_key(request.project_id, number or 0)}
            if number and others:
                yield f"{name}: announced as {', '.join(sorted(others))}"
            if len(events) > len(named):
                yield f"{name}: announced with different contents"
            for event in events:
                yield from self._differences(event)

    def _differences(self, event: Mapping[str, Any]) -> Iterator[str]:
        """Yield the differences of an announcement from its ticket."""
        if ticket := self.stored.get(event["id"]):
            for name in _ANNOUNCED:
                if event["data"].get(name) != ticket.get(name):
                    yield f"{event['id']}: announced with another {name} than is stored"

    def wrong_tickets(self) -> Iterator[str]:
        for project in self.observed.projects:
            yield from map(str, project.audit.findings)
        for request, number in self.numbers.items():
            if request not in self.fingerprints:
                key = ticket_key(request.project_id, number)
                yield f"{key}: stored, and not requested"

    def wrong_dead_letters(self) -> Iterator[str]:
        sent = {message.message_id: message for message in self.observed.sent}
        for source, letters in self.letters.items():
            for letter in letters:
                if source not in sent:
                    body = sanitized(letter.body, _BODY_WIDTH)
                    yield f"dead letter of no message that was sent: {body}"
                    continue
                expected, shown = self._error_of(sent[source]), _shown(sent[source])
                error_type = letter.attributes.get(ERROR_TYPE, "no reason")
                if error_type != expected:
                    yield f"dead letter with {error_type} for {expected}: {shown}"
                if letter.body != sent[source].body:
                    yield f"dead letter with another body: {shown}"

    def wrong_refusals(self) -> Iterator[str]:
        for message in self.observed.sent:
            expected, shown = self._error_of(message), _shown(message)
            for refused in self.refusals.get(message.message_id, ()):
                error_type = refused.error_type
                if (refused.project_id, refused.idempotency_key) != message.key:
                    yield f"refused under another key: {shown}"
                elif error_type == _FULL:
                    yield from self._wrong_at_cap(message)
                elif error_type != expected:
                    yield f"refused with {error_type} for {expected}: {shown}"

    def _wrong_at_cap(self, message: Sent) -> Iterator[str]:
        """Yield the errors of a refusal at a cap."""
        request, shown = message.request, _shown(message)
        if isinstance(request, PoisonMessageError):
            yield f"refused at a cap, and poison: {shown}"
        elif request.accepts(self.last.get(request.project_id, 0) + 1):
            yield f"refused below its cap: {shown}"
        elif self._is_stored(request) and request.accepts(self.numbers[request.key]):
            yield f"refused, and has a number that its cap allows: {shown}"

    def _error_of(self, message: Sent) -> str:
        """Return the reason of the message's dead letter; "a number" if it has none."""
        request = message.request
        if isinstance(request, PoisonMessageError):
            return type(request).__name__
        # The queue's order decides which request of a key gets the number.
        if len(self.fingerprints[request.key]) > 1 and not self._is_stored(request):
            return IdempotencyMismatchError.__name__
        return "a number"

    def _is_stored(self, request: CreateTicket) -> bool:
        """Tell whether the ticket of its key has all fields of a request."""
        number = self.numbers.get(request.key, 0)
        ticket = self.stored.get(ticket_key(request.project_id, number), {})
        asked = request.content() | {"priority": request.priority}
        return all(ticket.get(name) == value for name, value in asked.items())


def _shown(message: Sent) -> str:
    return sanitized(message.body, _BODY_WIDTH)
