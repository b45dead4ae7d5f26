"""Compares the sent messages with tables, announcements and dead letters."""

from collections.abc import Iterator
from dataclasses import dataclass

from ticket_numbering.contract.dead_letters import ERROR_TYPE
from ticket_numbering.contract.errors import (
    IdempotencyMismatchError,
    PoisonMessageError,
)
from ticket_numbering.contract.messages import CreateTicket, RequestKey
from ticketctl.cli.output import visible
from ticketctl.verify.observed import FULL, Observed, Sent

_BODY_WIDTH = 60


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
    missing = [*_missing_messages(observed), *_missing_announcements(observed)]
    wrong = [
        *_wrong_dead_letters(observed),
        *_wrong_refusals(observed),
        *_wrong_announcements(observed),
    ]
    for project in observed.projects:
        # A project without tickets is missing, not wrong.
        wrong += map(str, project.audit.findings if project.tickets else ())
    return Verdict(observed, tuple(missing), tuple(wrong))


def _missing_messages(observed: Observed) -> Iterator[str]:
    """Name each message without its number, refusal or dead letter."""
    replayed = {key for key, found in observed.announced.items() if found.replayed}
    for message in observed.sent:
        request = message.request
        if dead_letter := observed.dead_letters.get(message.message_id):
            is_announced = message.message_id in observed.refusals
            # One that SQS moved has no reason, and need not be refused.
            if (
                ERROR_TYPE in dead_letter.attributes
                and message.key
                and not is_announced
            ):
                yield f"dead letter, and its refusal not announced: {_shown(message)}"
        elif isinstance(request, PoisonMessageError):
            yield f"poison, and no dead letter: {_shown(message)}"
        elif observed.is_refused_at_its_cap(message):
            continue
        elif not _is_stored(request, observed):
            yield f"neither number, refusal nor dead letter: {_shown(message)}"
        elif message.is_repeat and request.key not in replayed:
            yield f"sent again, and not announced again: {_shown(message)}"


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
    for message in observed.sent:
        dead_letter = observed.dead_letters.get(message.message_id)
        if dead_letter is None:
            continue
        expected = _expected_error(message, observed)
        found = dead_letter.attributes.get(ERROR_TYPE, "no reason")
        if found != expected:
            yield f"dead letter with {found} for {expected}: {_shown(message)}"
        if dead_letter.body != message.body:
            yield f"dead letter with another body: {_shown(message)}"


def _expected_error(message: Sent, observed: Observed) -> str:
    """Return the reason of the message's dead letter; "a number" if it has none."""
    if isinstance(message.request, PoisonMessageError):
        return type(message.request).__name__
    # The queue decides which of them comes first, and gets the number.
    is_reused = message.request.key in observed.reused_keys
    return IdempotencyMismatchError.__name__ if is_reused else "a number"


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
    elif _is_stored(request, observed) and request.accepts(
        observed.numbers[request.key]
    ):
        yield f"refused, and has a number that its cap allows: {_shown(message)}"


def _shown(message: Sent) -> str:
    return visible(message.body, _BODY_WIDTH)
