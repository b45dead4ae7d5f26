"""Reads tickets that have their numbers already, one a line."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from ticket_numbering.contract.chain import valid_chain
from ticket_numbering.contract.dynamodb_items import (
    ASSIGNED_AT,
    ATTRIBUTES,
    CHAIN,
    EXTERNAL,
    IMPORTED_BY,
    NUMBER,
    ORIGIN,
    REASONS,
    RESERVED,
    STATUS,
    TIMES,
)
from ticket_numbering.contract.errors import InvalidMessageError, PoisonMessageError
from ticket_numbering.contract.field_types import (
    MAX_NUMBER,
    is_project_id,
    timestamp,
)
from ticket_numbering.contract.json_body import refuse_envelope
from ticket_numbering.contract.messages import CreateTicket
from ticketctl.aws.request_fields import Fields, body_of
from ticketctl.aws.tickets import parse_ticket_key
from ticketctl.cli.errors import InputError
from ticketctl.files.exported import kind_of
from ticketctl.files.fitting import fitted
from ticketctl.files.lines import NUMBERS, Line, Problems, quoted, shown_name, whole
from ticketctl.importing.existing import Existing, Tickets
from ticketctl.ledger.item import MARKS, Item, parse

FIELDS: Final = ("key", "number", "assigned_at")
"""Beside those of a create-ticket message."""

_KNOWN: Final = {*FIELDS, *CreateTicket.model_fields}
"""Fields that are absent if they are null."""

LEFT_BEHIND: Final = ATTRIBUTES - {NUMBER, ASSIGNED_AT, *CreateTicket.model_fields}
"""Attributes of an exported item that an import ignores.

A hash covers the hash before it, of another table; void and erase set their marks.
"""

NOTHING: Final = "; nothing was imported"


@dataclass(frozen=True)
class Defaults:
    """Values for tickets without them."""

    now: str
    project: str | None = None


def read_tickets(lines: Iterable[Line], file: str, defaults: Defaults) -> Tickets:
    """Return the tickets of a file.

    Raises:
        InputError: A line is wrong, or there is none.
    """
    problems = Problems(file)
    found = [*check_lines(lines, defaults, problems)]
    problems.end(NOTHING)
    if not found:
        raise InputError(f"{shown_name(file)}: holds no ticket")
    tickets = [one for one in found if isinstance(one, Existing)]
    return Tickets(tickets, [one for one in found if one.status == RESERVED])


def check_lines(
    lines: Iterable[Line], defaults: Defaults, problems: Problems
) -> Iterator[Item]:
    """Yield the good lines, and add the bad ones to the problems."""
    seen: dict[tuple[str, str, object], int] = {}
    for line in lines:
        if kind_of(line.fields):  # An import makes the records itself.
            continue
        try:
            ticket = _ticket(line, defaults)
            for place in _places(ticket):
                if (first := seen.setdefault(place, line.number)) != line.number:
                    raise InvalidMessageError(f"{place[1]}: line {first} has it, too")
        except PoisonMessageError as error:
            problems.add(line.number, str(error))
        else:
            yield ticket


def _places(ticket: Item) -> Iterator[tuple[str, str, object]]:
    """Yield what no other line may have."""
    yield ticket.project_id, "number", ticket.number
    # A table can have a key twice, once it expired: then one of its records counts.
    if isinstance(ticket, Existing) and not ticket.is_exported:
        yield ticket.project_id, "idempotency_key", ticket.idempotency_key


def _ticket(line: Line, defaults: Defaults) -> Item:
    if line.problem:
        raise InvalidMessageError(line.problem)
    refuse_envelope(line.fields)
    placed = _placed(line.fields)
    number = _number(placed.pop("number", None))
    status = placed.get(STATUS)
    if status not in (None, RESERVED, *MARKS):
        raise InvalidMessageError(f"status: must be one of {', '.join(TIMES)}")
    if status in MARKS and {TIMES[status], REASONS[status]} - placed.keys():
        raise InvalidMessageError(f"status: {status}, without its time or its reason")
    project_id = placed.get("project_id", defaults.project)
    if status == RESERVED:
        if not is_project_id(project_id):
            raise InvalidMessageError("project_id: not the id of a project")
        own = {name: value for name, value in placed.items() if value is not None}
        own |= {"project_id": project_id, NUMBER: number}
        return parse(own)
    return _existing(line.number, placed, project_id, number, defaults)


def _existing(
    line: int, placed: Fields, project_id: Any, number: int, defaults: Defaults
) -> Existing:
    fields = {name: placed[name] for name in placed if name not in LEFT_BEHIND}
    assigned_at = defaults.now
    if ASSIGNED_AT in fields:
        assigned_at = _time(fields.pop(ASSIGNED_AT))
    if project_id is not None:
        fields["project_id"] = project_id
    # Visible also where the project is not as it must be.
    key = f"import:{project_id}-{number}".encode("ascii", "replace").decode()
    fields.setdefault("idempotency_key", key)
    # What a table had goes back as it is; a hash covers it.
    may_change = not placed.keys() & {CHAIN, IMPORTED_BY}
    request = _request(fields, may_change=may_change)
    is_imported = placed.get(ORIGIN) == EXTERNAL and IMPORTED_BY in placed
    is_exported = CHAIN in placed or is_imported
    # Only what goes back as it was needs its texts here, too, beside the request.
    own = {
        name: value
        for name, value in placed.items()
        if value is not None and (is_exported or name not in CreateTicket.model_fields)
    }
    own |= request.key._asdict() | {NUMBER: number}
    return Existing(
        *(request.project_id, number),
        own,
        parse(own).kind,
        valid_chain(own.get(CHAIN)),
        line=line,
        request=request,
        assigned_at=assigned_at,
        is_exported=is_exported,
    )


def _request(fields: Fields, *, may_change: bool) -> CreateTicket:
    try:
        return CreateTicket.parse(body_of(fields))
    except PoisonMessageError as error:
        if not may_change:
            raise
        try:
            CreateTicket.parse(body_of(fitted(fields)))
        except PoisonMessageError:
            raise error from None
        remedy = "ticketctl convert --fit changes such texts"
        raise InvalidMessageError(f"{error}; {remedy}") from error


def _time(value: Any) -> str:
    """Return a time of ISO 8601, with its offset, as the worker writes it."""
    try:
        moment = datetime.fromisoformat(value.upper())
        if moment.tzinfo:
            return timestamp(moment)
    except (AttributeError, TypeError, ValueError, OverflowError):
        pass
    why = f"{quoted(value)} is no time such as 2026-01-15T09:30:00Z"
    raise InvalidMessageError(
        f"assigned_at: {why}; ticketctl convert reads other forms"
    )


def _placed(fields: Fields) -> Fields:
    """Return the fields with project and number in place of the ticket key."""
    placed = {
        name: whole(value) if name in NUMBERS else value
        for name, value in fields.items()
        if value is not None or name not in _KNOWN
    }
    if "key" not in placed:
        return placed
    if placed.keys() & {"project_id", "number"}:
        raise InvalidMessageError("key: stands in place of project_id and number")
    try:
        project_id, number = parse_ticket_key(str(placed.pop("key")))
    except InputError as error:
        raise InvalidMessageError(f"key: {error}") from error
    return placed | {"project_id": project_id, "number": number}


def _number(given: Any) -> int:
    """Return a whole number; JSON is read with floats, exact up to far more."""
    if given is None:
        raise InvalidMessageError("number: is missing")
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if not (is_number and 1 <= given <= MAX_NUMBER and given == int(given)):
        why = f"must be a whole number, 1 to {MAX_NUMBER}, not {quoted(given)}"
        raise InvalidMessageError(f"number: {why}")
    return int(given)
