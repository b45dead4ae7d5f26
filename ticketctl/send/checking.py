"""Completes and validates requests before they are sent."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

from ticket_numbering.contract.errors import PoisonMessageError
from ticket_numbering.contract.messages import CreateTicket, RequestKey
from ticketctl.aws.allowed_projects import project_problem
from ticketctl.aws.request_fields import Fields, body_of
from ticketctl.aws.sender import MAX_BATCH_BYTES, Request
from ticketctl.cli.errors import InputError
from ticketctl.cli.output import console, print_json_line, remark, visible
from ticketctl.send.derived_keys import DerivedKeys
from ticketctl.send.request_file import Format, Line, read_lines, shown_name

_NO_KEY: Final = (
    "idempotency_key: is missing; give it, or --key-prefix to have keys made"
)
_TOO_LONG: Final = f"body: SQS takes no message of more than {MAX_BATCH_BYTES} bytes"


@dataclass
class Check:
    """The check of a file's lines."""

    project: str | None = None
    """For lines that name none."""
    keys: DerivedKeys | None = None
    """For lines that bring none."""
    unchecked: bool = False
    """Whether to send invalid requests, too."""
    requests: list[Request] = field(default_factory=list)
    """The requests to send."""
    problems: list[tuple[int, str]] = field(default_factory=list)
    """The numbers of bad lines, with the reasons."""
    _first: dict[RequestKey, tuple[int, str]] = field(default_factory=dict)
    """The first line of each key, and its fingerprint."""

    def run(self, lines: Iterable[Line]) -> None:
        """Check all lines."""
        for line in lines:
            found = line.problem or self._request(line)
            if isinstance(found, str):
                self.problems.append((line.number, found))
            else:
                self.requests.append(found)

    def run_file(
        self, file: str, file_format: Format | None, *, skip_invalid: bool
    ) -> None:
        """Check a file, and print its problems.

        Raises:
            InputError: It cannot be read, holds nothing, or has bad lines that are
                not to be skipped.
        """
        self.run(read_lines(file, file_format))
        if not (self.requests or self.problems):
            raise InputError(f"{shown_name(file)}: holds no ticket")
        _report(file, self.problems, skip_invalid=skip_invalid)
        if self.keys and self.keys.counts:
            prefix = visible(self.keys.prefix)
            remark(f"keys made from {prefix}; another file of that name shares them")

    def refuse_projects(
        self, allowed: re.Pattern[str], file: str, *, skip_invalid: bool
    ) -> None:
        """Drop the requests of projects that the stack refuses, and print them.

        Raises:
            InputError: There are some, and they are not to be skipped.
        """
        problems = [
            (request.line, problem)
            for request in self.requests
            if request.ticket
            and (problem := project_problem(request.ticket.project_id, allowed))
        ]
        _report(file, problems, skip_invalid=skip_invalid)
        lines = {number for number, _ in problems}
        self.requests = [one for one in self.requests if one.line not in lines]
        self.problems += problems

    def print_counts(self, *, as_json: bool) -> None:
        """Print the counts of good and of bad lines."""
        if as_json:
            print_json_line({"good": len(self.requests), "bad": len(self.problems)})
        else:
            console().print(f"good tickets: {len(self.requests)}; nothing is sent")

    def _request(self, line: Line) -> Request | str:
        """Return the request of a line, or its problem."""
        fields = self._completed(line.fields)
        body = body_of(fields)
        if self.unchecked:
            is_too_long = len(body.encode(errors="surrogatepass")) > MAX_BATCH_BYTES
            return _TOO_LONG if is_too_long else Request(body, line=line.number)
        if "idempotency_key" not in fields:
            return _NO_KEY
        try:
            ticket = CreateTicket.parse(body)
        except PoisonMessageError as error:
            return str(error)
        own = (line.number, ticket.fingerprint)
        first, fingerprint = self._first.setdefault(ticket.key, own)
        if fingerprint != ticket.fingerprint:
            return f"idempotency_key: line {first} has it, for another ticket"
        return Request(body, ticket, line.number)

    def _completed(self, fields: Fields) -> Fields:
        completed = dict(fields)
        if self.project is not None:
            completed.setdefault("project_id", self.project)
        if "idempotency_key" not in completed and self.keys:
            completed["idempotency_key"] = self.keys.key(completed)
        return completed


def _report(
    file: str, problems: Collection[tuple[int, str]], *, skip_invalid: bool
) -> None:
    name = shown_name(file)
    for number, problem in problems:
        remark(f"{name}:{number}: {visible(problem)}")
    if problems and not skip_invalid:
        raise InputError(
            f"{name}: bad lines: {len(problems)}, so nothing is sent; fix "
            "the file, or send the rest with --skip-invalid"
        )


def checked_request(fields: Fields) -> Request:
    """Return the request for one ticket.

    Raises:
        InputError: The worker would refuse it.
    """
    check = Check()
    check.run([Line(1, fields)])
    for _, problem in check.problems:
        raise InputError(problem)
    return check.requests[0]
