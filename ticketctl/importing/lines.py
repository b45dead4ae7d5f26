"""Reads tickets of other systems, with their numbers, one a line."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from shlex import quote
from typing import Any, Final

from ticket_numbering.contract.dynamodb_items import (
    ASSIGNED_AT,
    ATTRIBUTES,
    EXTERNAL,
    NUMBER,
    ORIGIN,
    STATUS,
)
from ticket_numbering.contract.errors import InvalidMessageError, PoisonMessageError
from ticket_numbering.contract.events import ticket_key
from ticket_numbering.contract.field_types import timestamp
from ticket_numbering.contract.json_body import reject_envelope
from ticket_numbering.contract.messages import Assignment, CreateTicket
from ticket_numbering.contract.values import MAX_NUMBER
from ticketctl import PROGRAM
from ticketctl.aws.request_fields import Fields, body_of
from ticketctl.aws.tickets import parse_ticket_key
from ticketctl.cli.errors import InputError
from ticketctl.files.fitting import fitted
from ticketctl.files.json_lines import kind_of
from ticketctl.files.lines import NUMBERS, Line, Problems, quoted, shown_name, whole

FIELDS: Final = {"key", "number", ASSIGNED_AT}
"""The fields of a line that a create-ticket message does not have."""

_OF_A_TABLE: Final = (
    ATTRIBUTES
    - CreateTicket.model_fields.keys()
    - {NUMBER, ASSIGNED_AT, ORIGIN, STATUS}
)
"""The attributes that only an export of this system has."""

NOTHING: Final = "; nothing was imported"


@dataclass(frozen=True)
class ExternalTicket:
    """A ticket of another system, read from a line."""

    line: int
    number: int
    request: CreateTicket
    """The equal create-ticket message."""
    assigned_at: str
    """The date in its line, or else now."""
    is_dated: bool
    """Whether its line has a date."""

    @property
    def project_id(self) -> str:
        """The project of the ticket."""
        return self.request.project_id

    @property
    def ticket_key(self) -> str:
        """The number's display form, such as `PROJ-42`."""
        return ticket_key(self.project_id, self.number)

    @property
    def assignment(self) -> Assignment:
        """The assignment for the record of its key; without a hash."""
        return Assignment(self.number, self.request.fingerprint, self.assigned_at)


@dataclass(frozen=True)
class Defaults:
    """The values for tickets without their own."""

    now: str
    project: str | None = None
    program: str = PROGRAM
    """The program, for messages with a command."""


def read_tickets(
    lines: Iterable[Line], file: str, defaults: Defaults
) -> list[ExternalTicket]:
    """Return the tickets of a file.

    Raises:
        InputError: A line is invalid or of an export, or the file is empty.
    """
    problems = Problems(file)
    tickets = [*check_lines(lines, defaults, problems)]
    problems.end(NOTHING)
    if not tickets:
        raise InputError(f"{shown_name(file)}: holds no ticket")
    return tickets


def check_lines(
    lines: Iterable[Line], defaults: Defaults, problems: Problems
) -> Iterator[ExternalTicket]:
    """Yield the valid lines, and add the invalid ones to the problems.

    Raises:
        InputError: A line is of an export.
    """
    seen: dict[tuple[str, str, object], int] = {}
    for line in lines:
        if _is_exported(line.fields):
            where = f"{shown_name(problems.file)}:{line.number}"
            remedy = f"{defaults.program} restore {quote(problems.file)}"
            raise InputError(
                f"{where}: a line of ticketctl export, which this puts back: {remedy}"
                f"{NOTHING}"
            )
        try:
            ticket = _ticket(line, defaults)
            for place in (
                (NUMBER, ticket.number),
                ("idempotency_key", ticket.request.idempotency_key),
            ):
                own = ticket.project_id, *place
                if (first := seen.setdefault(own, line.number)) != line.number:
                    raise InvalidMessageError(f"{place[0]}: line {first} has it, too")
        except PoisonMessageError as error:
            problems.add(line.number, str(error))
        else:
            yield ticket


def by_project(
    tickets: Iterable[ExternalTicket],
) -> dict[str, dict[int, ExternalTicket]]:
    """Return the tickets by project, in alphabetical order, and by number."""
    projects: dict[str, dict[int, ExternalTicket]] = defaultdict(dict)
    for ticket in tickets:
        projects[ticket.project_id][ticket.number] = ticket
    return dict(sorted(projects.items()))


def _is_exported(fields: Fields) -> bool:
    """Return whether the line is from an export of this system."""
    is_item = not _OF_A_TABLE.isdisjoint(fields) or fields.get(ORIGIN) == EXTERNAL
    return is_item or kind_of(fields) is not None


def _ticket(line: Line, defaults: Defaults) -> ExternalTicket:
    if line.problem:
        raise InvalidMessageError(line.problem)
    reject_envelope(line.fields)
    fields = _placed(line.fields)
    number = _number(fields.pop(NUMBER, None))
    project_id = fields.get("project_id", defaults.project)
    assigned_at, is_dated = defaults.now, ASSIGNED_AT in fields
    if is_dated:
        assigned_at = _time(fields.pop(ASSIGNED_AT))
    if project_id is not None:
        fields["project_id"] = project_id
    # Printable even if the project is invalid.
    key = f"import:{project_id}-{number}".encode("ascii", "replace").decode()
    fields.setdefault("idempotency_key", key)
    return ExternalTicket(line.number, number, _request(fields), assigned_at, is_dated)


def _request(fields: Fields) -> CreateTicket:
    try:
        return CreateTicket.parse(body_of(fields))
    except PoisonMessageError as error:
        try:
            CreateTicket.parse(body_of(fitted(fields)))
        except PoisonMessageError:
            raise error from None
        remedy = "ticketctl convert --fit changes such texts"
        raise InvalidMessageError(f"{error}; {remedy}") from error


def _time(value: Any) -> str:
    """Convert a time of ISO 8601, with its offset, to the worker's form."""
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
    """Replace a ticket key by project and number."""
    known = FIELDS | CreateTicket.model_fields.keys()
    placed = {
        name: whole(value) if name in NUMBERS else value
        for name, value in fields.items()
        if value is not None or name not in known
    }
    if "key" not in placed:
        return placed
    if placed.keys() & {"project_id", NUMBER}:
        raise InvalidMessageError("key: stands in place of project_id and number")
    try:
        project_id, number = parse_ticket_key(str(placed.pop("key")))
    except InputError as error:
        raise InvalidMessageError(f"key: {error}") from error
    return placed | {"project_id": project_id, NUMBER: number}


def _number(given: Any) -> int:
    """Return a whole number; JSON's floats are exact beyond the maximum."""
    if given is None:
        raise InvalidMessageError("number: is missing")
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if not (is_number and 1 <= given <= MAX_NUMBER and given == int(given)):
        why = f"must be a whole number, 1 to {MAX_NUMBER}, not {quoted(given)}"
        raise InvalidMessageError(f"number: {why}")
    return int(given)
