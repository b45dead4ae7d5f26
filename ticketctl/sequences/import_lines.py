"""Reads tickets that have their numbers already: a JSON object a line."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from ticket_numbering.errors import PoisonMessageError
from ticket_numbering.messages import CreateTicket
from ticketctl.send.request_file import Line
from ticketctl.sequences.sequences import MAX_NUMBER
from ticketctl.sequences.timestamps import timestamp
from ticketctl.system.contract import body_of

# RFC 3339; `datetime.fromisoformat` takes much else.
_TIMESTAMP: Final = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)"
)


@dataclass(frozen=True)
class Existing:
    """A ticket as another system has it."""

    line: int
    number: int
    request: CreateTicket
    """What a create-ticket message would ask for."""
    assigned_at: str

    @property
    def project_id(self) -> str:
        """The project's id."""
        return self.request.project_id

    @property
    def idempotency_key(self) -> str:
        """The key under which a create-ticket message is a replay."""
        return self.request.idempotency_key

    @property
    def ticket_key(self) -> str:
        """The number's display form, such as `PROJ-42`."""
        return f"{self.project_id}-{self.number}"


@dataclass
class Reading:
    """Checks one line after the other."""

    now: str
    """For tickets that do not say when they got their number."""
    project: str | None = None
    """For tickets that name none."""
    tickets: list[Existing] = field(default_factory=list)
    wrong: list[tuple[int, str]] = field(default_factory=list)
    """Bad lines, and a reason each."""
    _seen: dict[tuple[str, str, int | str], int] = field(default_factory=dict)

    def read(self, lines: Iterable[Line]) -> None:
        """Sort the good lines from the bad ones."""
        for line in lines:
            found = self._ticket(line)
            if isinstance(found, Existing):
                self.tickets.append(found)
                found = [*self._repeated(found)]
            self.wrong += [(line.number, why) for why in found]

    def _ticket(self, line: Line) -> Existing | list[str]:
        """Return the ticket, or what is wrong with the line."""
        if line.problem:
            return [line.problem]
        fields = dict(line.fields)
        number = _number(fields.pop("number", None))
        assigned_at = _timestamp(fields.pop("assigned_at", self.now))
        if self.project is not None:
            fields.setdefault("project_id", self.project)
        # Without a number the line is wrong, and is to be told so only once.
        key = f"import:{fields.get('project_id')}-{number}" if number else "import:"
        # Visible also where the project is not as it must be.
        fields.setdefault("idempotency_key", key.encode("ascii", "replace").decode())
        found: list[str] = []
        if number is None:
            found.append(f"number: must be a whole number, 1 to {MAX_NUMBER}")
        if assigned_at is None:
            found.append("assigned_at: not a time such as 2026-01-15T09:30:00Z")
        try:
            request = CreateTicket.parse(body_of(fields))
        except PoisonMessageError as error:
            return [*found, str(error)]
        if number is None or assigned_at is None:
            return found
        return Existing(line.number, number, request, assigned_at)

    def _repeated(self, ticket: Existing) -> Iterator[str]:
        identities: dict[str, int | str] = {
            "number": ticket.number,
            "idempotency_key": ticket.idempotency_key,
        }
        for name, value in identities.items():
            place = ticket.project_id, name, value
            first = self._seen.setdefault(place, ticket.line)
            if first != ticket.line:
                yield f"{name}: line {first} has it, too"


def _number(value: Any) -> int | None:
    """Return a whole number; JSON is read with floats, exact up to far more."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 1 <= value <= MAX_NUMBER and value == int(value) else None


def _timestamp(value: Any) -> str | None:
    if not isinstance(value, str) or not _TIMESTAMP.fullmatch(value):
        return None
    try:
        return timestamp(datetime.fromisoformat(value.upper()))
    except (ValueError, OverflowError):
        return None
