"""Completes and validates requests before they are sent."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from ticket_numbering.contract.errors import PoisonMessageError
from ticket_numbering.contract.limits import Limits
from ticket_numbering.contract.messages import CreateTicket, RequestKey
from ticketctl.aws.request_fields import Fields, body_of
from ticketctl.aws.sender import MAX_BATCH_BYTES, Request
from ticketctl.cli.errors import InputError
from ticketctl.cli.output import print_note, sanitized
from ticketctl.files.lines import Line, Problems, shown_name
from ticketctl.send.derived_keys import DerivedKeys
from ticketctl.send.spool import Spool

_NOTHING: Final = (
    ", so nothing is sent; fix the file, or send the rest with --skip-invalid"
)
_NO_KEY: Final = (
    "idempotency_key: is missing; give it, or --key-prefix to have keys made"
)
_TOO_LONG: Final = f"body: SQS takes no message of more than {MAX_BATCH_BYTES} bytes"


@dataclass(frozen=True)
class Check:
    """The check of a file's lines."""

    project: str | None = None
    """For lines that name none."""
    keys: DerivedKeys | None = None
    """For lines that bring none."""
    limits: Limits = field(default_factory=Limits)
    """Those of the stack; none if it is not known."""
    unchecked: bool = False
    """Whether to send invalid requests, too."""
    skip_invalid: bool = False
    """Whether a file with bad lines has good ones to send."""

    def run(self, lines: Iterable[Line], problems: Problems, spool: Spool) -> None:
        """Put the good lines' requests on the spool, and print the bad lines."""
        for line in lines:
            checked = line.problem or self._request(line, spool)
            if isinstance(checked, str):
                problems.add(line.number, checked)
            else:
                spool.add(checked)

    def _request(self, line: Line, spool: Spool) -> Request | str:
        """Return the request of a line, or its problem."""
        fields = self._completed(line.fields, spool)
        request = Request(body_of(fields), line.number)
        if self.unchecked:
            length = len(request.body.encode(errors="surrogatepass"))
            return _TOO_LONG if length > MAX_BATCH_BYTES else request
        if "idempotency_key" not in fields:
            return _NO_KEY
        try:
            ticket = CreateTicket.parse(request.body)
        except PoisonMessageError as error:
            return str(error)
        if refusal := self.limits.refusal(ticket):
            return str(refusal)
        first, fingerprint = spool.first(ticket, line.number)
        if fingerprint != ticket.fingerprint:
            return f"idempotency_key: line {first} has it, for another ticket"
        return request

    def _completed(self, fields: Fields, spool: Spool) -> Fields:
        completed = {
            name: value
            for name, value in fields.items()
            if value is not None or name not in RequestKey._fields
        }
        if self.project is not None:
            completed.setdefault("project_id", self.project)
        if "idempotency_key" not in completed and self.keys:
            completed["idempotency_key"] = self.keys.key(completed, spool.count)
        return completed


def check_file(file: str, lines: Iterable[Line], check: Check, spool: Spool) -> int:
    """Put the good lines of a file on the spool; return the number of bad ones.

    Raises:
        InputError: It cannot be read, holds nothing, or has bad lines that are not to
            be skipped.
    """
    problems = Problems(file)
    check.run(lines, problems, spool)
    problems.end("" if check.skip_invalid else _NOTHING)
    if not (spool or problems.number):
        raise InputError(f"{shown_name(file)}: holds no ticket")
    if check.keys and check.keys.are_used:
        prefix = sanitized(check.keys.prefix)
        print_note(
            f"keys made from {prefix}; another file of that name or prefix shares them"
        )
    return problems.number


def checked_request(fields: Fields, limits: Limits | None = None) -> Request:
    """Return the request for one ticket; without limits any stack's may allow it.

    Raises:
        InputError: The worker would refuse it.
    """
    request = Request(body_of(fields))
    try:
        ticket = CreateTicket.parse(request.body)
    except PoisonMessageError as error:
        raise InputError(str(error)) from error
    if limits and (refusal := limits.refusal(ticket)):
        raise InputError(str(refusal))
    return request
