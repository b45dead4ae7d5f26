"""Completes and checks requests: what is sent is what the worker takes."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from ticket_numbering.errors import PoisonMessageError
from ticket_numbering.messages import CreateTicket, RequestKey
from ticketctl.send.derived_keys import DerivedKeys
from ticketctl.send.request_file import Line
from ticketctl.system.contract import Fields, body_of
from ticketctl.system.sender import Request

_NO_KEY: Final = (
    "idempotency_key: is missing; give it, or --key-prefix to have keys made"
)


@dataclass
class Check:
    """Checks one line after the other."""

    project: str | None = None
    """For lines that name none."""
    keys: DerivedKeys | None = None
    """For lines that bring none."""
    unchecked: bool = False
    """Whether to send what the worker will refuse, too."""
    requests: list[Request] = field(default_factory=list)
    """What can be sent."""
    problems: list[tuple[int, str]] = field(default_factory=list)
    """What is wrong with other lines, by their numbers."""
    _first: dict[RequestKey, Request] = field(default_factory=dict)

    def run(self, lines: Iterable[Line]) -> None:
        """Check all lines."""
        for line in lines:
            found = line.problem or self._request(line)
            if isinstance(found, str):
                self.problems.append((line.number, found))
            else:
                self.requests.append(found)

    def _request(self, line: Line) -> Request | str:
        """Return the request that a line makes, or what is wrong with it."""
        fields = self._completed(line.fields)
        body = body_of(fields)
        if self.unchecked:
            return Request(body, line=line.number)
        if "idempotency_key" not in fields:
            return _NO_KEY
        try:
            ticket = CreateTicket.parse(body)
        except PoisonMessageError as error:
            return str(error)
        request = Request(body, ticket, line.number)
        first = self._first.setdefault(ticket.key, request)
        if first.ticket != ticket:
            return f"idempotency_key: line {first.line} has it, for another ticket"
        return request

    def _completed(self, fields: Fields) -> Fields:
        completed = dict(fields)
        if self.project is not None:
            completed.setdefault("project_id", self.project)
        if "idempotency_key" not in completed and self.keys:
            completed["idempotency_key"] = self.keys.key(completed)
        return completed
