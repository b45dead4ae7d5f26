"""Compares the sent messages with tables, announcements and dead letters."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ticket_numbering.contract.envelope import ERROR_TYPE
from ticket_numbering.contract.errors import (
    IdempotencyMismatchError,
    PoisonMessageError,
)
from ticket_numbering.contract.events import AssignedTicket
from ticket_numbering.contract.messages import RequestKey
from ticketctl.aws.queues import Received
from ticketctl.cli.output import visible
from ticketctl.verify.observed import FULL, Observed, Sent

_BODY_WIDTH: Final = 60

_ANNOUNCED: Final = sorted(
    AssignedTicket.model_fields.keys() - {"ticket_key", "display"}
)
"""The fields of an announcement that the ticket has too."""


@dataclass(frozen=True)
class Verdict:
    """Whether the promise was kept."""

    observed: Observed
    missing: tuple[str, ...]
    """Numbers, announcements, refusals and dead letters that may still come."""
    wrong: tuple[str, ...]
    """Errors that no waiting fixes."""

    @property
    def is_clean(self) -> bool:
        """Whether nothing at all is wrong."""
        return not (self.missing or self.wrong)


def judge(observed: Observed) -> Verdict:
    """Compare the outcomes with the promises."""
    missing = [*_missing_outcomes(observed), *_missing_announcements(observed)]
    wrong = [
        *_wrong_dead_letters(observed),
        *_wrong_refusals(observed),
        *_wrong_announcements(observed),
        *_wrong_tickets(observed),
    ]
    return Verdict(observed, tuple(missing), tuple(wrong))


def _missing_outcomes(observed: Observed) -> Iterator[str]:
    for message in observed.sent:
        if missing := _missing(message, observed):
            yield f"{missing}: {_shown(message)}"


def _missing(message: Sent, observed: Observed) -> str:
    """Return what may still come of a message; "" if it has its whole outcome."""
    request = message.request
    if letters := observed.letters.get(message.message_id):
        is_answered = _is_answered(message, letters, observed)
        return "" if is_answered else "dead letter, and its refusal not announced"
    if isinstance(request, PoisonMessageError):
        return "poison, and no dead letter"
    if observed.is_refused_at_its_cap(message):
        return ""
    if not observed.is_stored(request):
        return "neither number, refusal nor dead letter"
    if message.is_repeat and request.key not in observed.replayed:
        return "sent again, and not announced again"
    return ""


def _is_answered(
    message: Sent, letters: Iterable[Received], observed: Observed
) -> bool:
    """Tell whether a dead letter's refusal was announced, or need not be.

    One that SQS moved has no reason, and a key that nobody can read has no refusal.
    """
    is_due = message.key and any(ERROR_TYPE in one.attributes for one in letters)
    excused = {*observed.refusals, *observed.given_up}
    return not is_due or message.message_id in excused


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
        if len(announced.events) > len(announced.ticket_keys):
            yield f"{request.idempotency_key}: announced with different contents"
        for event in announced.events:
            yield from _differences(event, observed)


def _differences(event: Mapping[str, Any], observed: Observed) -> Iterator[str]:
    """Name the fields in which an announcement is not the ticket that it names."""
    if ticket := observed.stored.get(event["id"]):
        for name in _ANNOUNCED:
            if event["data"].get(name) != ticket.get(name):
                yield f"{event['id']}: announced with another {name} than is stored"


def _wrong_tickets(observed: Observed) -> Iterator[str]:
    for project in observed.projects:
        # A project without tickets is missing, not wrong.
        yield from map(str, project.audit.findings if project.tickets else ())
    for request, key in observed.ticket_keys.items():
        if request not in observed.fingerprints:
            yield f"{key}: stored, and nobody asked for it"


def _wrong_dead_letters(observed: Observed) -> Iterator[str]:
    sent = {message.message_id: message for message in observed.sent}
    for source, letters in observed.letters.items():
        for letter in letters:
            if source in sent:
                yield from _wrong_dead_letter(letter, sent[source], observed)
            else:
                yield f"dead letter of no message that was sent: {_text(letter.body)}"


def _wrong_dead_letter(
    letter: Received, message: Sent, observed: Observed
) -> Iterator[str]:
    expected = _expected_error(message, observed)
    found = letter.attributes.get(ERROR_TYPE, "no reason")
    if found != expected:
        yield f"dead letter with {found} for {expected}: {_shown(message)}"
    if letter.body != message.body:
        yield f"dead letter with another body: {_shown(message)}"


def _expected_error(message: Sent, observed: Observed) -> str:
    """Return the reason of the message's dead letter; "a number" if it has none."""
    request = message.request
    if isinstance(request, PoisonMessageError):
        return type(request).__name__
    # The queue decides which request of a key comes first, and gets the number.
    if len(observed.fingerprints[request.key]) > 1 and not observed.is_stored(request):
        return IdempotencyMismatchError.__name__
    return "a number"


def _wrong_refusals(observed: Observed) -> Iterator[str]:
    for message in observed.sent:
        for refused in observed.refusals.get(message.message_id, ()):
            if RequestKey(refused.project_id, refused.idempotency_key) != message.key:
                yield f"refused under another key: {_shown(message)}"
            elif refused.error_type == FULL:
                yield from _wrong_at_cap(message, observed)
            elif refused.error_type != (expected := _expected_error(message, observed)):
                found = refused.error_type
                yield f"refused with {found} for {expected}: {_shown(message)}"


def _wrong_at_cap(message: Sent, observed: Observed) -> Iterator[str]:
    """Say why the message could have a number below its cap, or has one."""
    request = message.request
    if isinstance(request, PoisonMessageError):
        yield f"refused at a cap, and poison: {_shown(message)}"
    elif request.accepts(observed.last_numbers.get(request.project_id, 0) + 1):
        yield f"refused below its cap: {_shown(message)}"
    elif observed.is_stored(request) and request.accepts(observed.numbers[request.key]):
        yield f"refused, and has a number that its cap allows: {_shown(message)}"


def _shown(message: Sent) -> str:
    return _text(message.body)


def _text(body: str) -> str:
    return visible(body, _BODY_WIDTH)
