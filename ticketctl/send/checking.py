"""Completes and checks requests: what is sent is what the worker takes."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from ticket_numbering.errors import PoisonMessageError
from ticket_numbering.messages import CreateTicket, RequestKey
from ticketctl.send.derived_keys import DerivedKeys
from ticketctl.send.request_file import Line
from ticketctl.system.contract import Fields, body_of, is_project_id

_NO_KEY: Final = (
    "idempotency_key: is missing; give it, or --key-prefix to have keys made"
)
_NOBODY: Final = "-"


@dataclass(frozen=True)
class Request:
    """A message that asks for a ticket."""

    line: int
    body: str
    group: str
    """The project, if the message names one; SQS shares its attention among groups."""
    ticket: CreateTicket | None = None
    """What the message asks for, unless it is sent unchecked."""


@dataclass
class Checked:
    """The requests of a file that can be sent, and what is wrong with other lines."""

    requests: list[Request] = field(default_factory=list)
    problems: list[tuple[int, str]] = field(default_factory=list)
    repeats: int = 0
    """Lines that say what an earlier one says, under the same key."""


@dataclass
class Check:
    """Checks one line after the other."""

    project: str | None = None
    """For lines that name none."""
    keys: DerivedKeys | None = None
    """For lines that bring none."""
    unchecked: bool = False
    """Whether to send what the worker will refuse, too."""
    _known: dict[RequestKey, Request] = field(default_factory=dict)

    def run(self, lines: Iterable[Line]) -> Checked:
        """Check all lines."""
        checked = Checked()
        for line in lines:
            self._add(line, checked)
        return checked

    def _add(self, line: Line, checked: Checked) -> None:
        """Put a line where it belongs."""
        found = line.problem or self._request(line)
        if isinstance(found, str):
            checked.problems.append((line.number, found))
        elif found.ticket is None:
            checked.requests.append(found)
        else:
            self._add_once(found, found.ticket, checked)

    def _request(self, line: Line) -> Request | str:
        """Return the request that a line makes, or what is wrong with it."""
        fields = self._completed(line.fields)
        body = body_of(fields)
        if self.unchecked:
            return Request(line.number, body, _group(fields))
        if "idempotency_key" not in fields:
            return _NO_KEY
        try:
            ticket = CreateTicket.parse(body)
        except PoisonMessageError as error:
            return str(error)
        return Request(line.number, body, ticket.project_id, ticket)

    def _add_once(
        self, request: Request, ticket: CreateTicket, checked: Checked
    ) -> None:
        before = self._known.setdefault(ticket.key, request)
        if before is request:
            checked.requests.append(request)
        elif before.ticket == ticket:
            checked.repeats += 1
        else:
            problem = f"idempotency_key: line {before.line} has it, for another ticket"
            checked.problems.append((request.line, problem))

    def _completed(self, fields: Fields) -> Fields:
        completed = dict(fields)
        if self.project is not None:
            completed.setdefault("project_id", self.project)
        if "idempotency_key" not in completed and self.keys:
            completed["idempotency_key"] = self.keys.key(completed)
        return completed


def _group(fields: Fields) -> str:
    """Return a group that SQS takes, whatever the project is."""
    project = str(fields.get("project_id"))
    return project if is_project_id(project) else _NOBODY
