"""Reads tickets that have their numbers already: a JSON object a line."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ticket_numbering.contract.errors import InvalidMessageError, PoisonMessageError
from ticket_numbering.contract.events import ticket_key
from ticket_numbering.contract.field_types import MAX_NUMBER
from ticket_numbering.contract.messages import Assignment, CreateTicket
from ticketctl.aws.items import timestamp
from ticketctl.aws.request_fields import body_of
from ticketctl.send.request_file import Line


@dataclass(frozen=True)
class Existing:
    """A ticket of another system."""

    line: int
    number: int
    request: CreateTicket
    """The equal create-ticket message."""
    assigned_at: str

    @property
    def project_id(self) -> str:
        """The project's id."""
        return self.request.project_id

    @property
    def assignment(self) -> Assignment:
        """The number that its key keeps; it has no chain, for nobody chained it."""
        return Assignment(self.number, self.request.fingerprint, self.assigned_at)

    @property
    def idempotency_key(self) -> str:
        """The key under which a create-ticket message is a replay."""
        return self.request.idempotency_key

    @property
    def ticket_key(self) -> str:
        """The number's display form, such as `PROJ-42`."""
        return ticket_key(self.project_id, self.number)


def check_lines(
    lines: Iterable[Line], now: str, project: str | None = None
) -> tuple[list[Existing], list[tuple[int, str]]]:
    """Return the tickets, and the numbers of the bad lines with the reasons.

    Tickets without a time got their number `now`, those without a project are of this.
    """
    tickets: list[Existing] = []
    wrong: list[tuple[int, str]] = []
    seen: dict[tuple[str, str, int | str], int] = {}
    for line in lines:
        try:
            ticket = _ticket(line, now, project)
            _refuse_repeats(ticket, seen)
        except PoisonMessageError as error:
            wrong.append((line.number, str(error)))
        else:
            tickets.append(ticket)
    return tickets, wrong


def _ticket(line: Line, now: str, project: str | None) -> Existing:
    if line.problem:
        raise InvalidMessageError(line.problem)
    fields = dict(line.fields)
    number = _number(fields.pop("number", None))
    assigned_at = _timestamp(fields.pop("assigned_at", now))
    if project is not None:
        fields.setdefault("project_id", project)
    key = f"import:{fields.get('project_id')}-{number}"
    # Visible also where the project is not as it must be.
    fields.setdefault("idempotency_key", key.encode("ascii", "replace").decode())
    request = CreateTicket.parse(body_of(fields))
    return Existing(line.number, number, request, assigned_at)


def _refuse_repeats(
    ticket: Existing, seen: dict[tuple[str, str, int | str], int]
) -> None:
    identities: dict[str, int | str] = {
        "number": ticket.number,
        "idempotency_key": ticket.idempotency_key,
    }
    for name, value in identities.items():
        first = seen.setdefault((ticket.project_id, name, value), ticket.line)
        if first != ticket.line:
            raise InvalidMessageError(f"{name}: line {first} has it, too")


def _number(value: Any) -> int:
    """Return a whole number; JSON is read with floats, exact up to far more."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (is_number and 1 <= value <= MAX_NUMBER and value == int(value)):
        raise InvalidMessageError(f"number: must be a whole number, 1 to {MAX_NUMBER}")
    return int(value)


def _timestamp(value: Any) -> str:
    try:
        time = datetime.fromisoformat(value.upper())
        if time.tzinfo:
            return timestamp(time)
    except (AttributeError, ValueError, OverflowError):
        pass
    raise InvalidMessageError("assigned_at: not a time such as 2026-01-15T09:30:00Z")
