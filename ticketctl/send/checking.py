"""Completes and validates requests before they are sent."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ticket_numbering.contract.errors import PoisonMessageError
from ticket_numbering.contract.limits import Limits
from ticket_numbering.contract.messages import (
    CONTENT_DEFAULTS,
    CreateTicket,
    RequestKey,
)
from ticketctl.aws.request_fields import Fields, body_of
from ticketctl.aws.sender import MAX_BATCH_BYTES, Request
from ticketctl.cli.errors import InputError
from ticketctl.cli.output import print_note, sanitized
from ticketctl.files.lines import STANDARD_INPUT, Line, Problems, shown_name
from ticketctl.send.spool import Spool

_NOTHING: Final = (
    ", so nothing is sent; fix the file, or send the rest with --skip-invalid"
)
_NO_KEY: Final = (
    "idempotency_key: is missing; give it, or --key-prefix to have keys made"
)
_TOO_LONG: Final = f"body: SQS takes no message of more than {MAX_BATCH_BYTES} bytes"

_MAX_PREFIX: Final = 64
_DIGITS: Final = 24  # 96 bits: no two requests of a file share them by chance.
_INVISIBLE: Final = re.compile("[^!-~]")


@dataclass
class DerivedKeys:
    """Makes idempotency keys for requests of a file without a key.

    A key is derived from the file's name (or a given prefix), the request's content,
    and a count of equal lines. So a second run of the file makes the same keys, in any
    folder, and with lines added, removed or sorted; an edited line requests another
    ticket. Another file of the same name makes the same keys, too, like a second run:
    it needs another prefix, or keys in its lines.
    """

    prefix: str
    """The file's name, or the given prefix."""
    are_used: bool = False
    """Whether a request needed a key."""

    def key(self, fields: Fields, count: Callable[[str], int]) -> str:
        """Return the key of the next request; `count` counts requests by digest."""
        self.are_used = True
        asked = {
            name: value
            for name, value in fields.items()
            if value is not None and value != CONTENT_DEFAULTS.get(name, ...)
        }
        asked.pop("max_number", None)  # With another cap it is the same request.
        content = json.dumps(asked, sort_keys=True).encode()
        # The whole prefix, because another file may have the same visible part.
        prefix = self.prefix.encode(errors="replace")
        digest = hashlib.sha256(prefix + b"\0" + content).hexdigest()[:_DIGITS]
        shown = _INVISIBLE.sub("_", self.prefix[:_MAX_PREFIX])
        return f"{shown}-{digest}-{count(digest)}"


def keys_of(file: str, prefix: str | None) -> DerivedKeys | None:
    """Return the keys of a file; standard input and pipes need a prefix.

    Raises:
        InputError: The prefix cannot be the start of a key.
    """
    if prefix is None:
        path = Path(file).absolute()
        if path.parts[1:2] in {("dev",), ("proc",)}:
            path = path.resolve()  # The name of an open file.
        # The next pipe has the same name.
        is_unnamed = file == STANDARD_INPUT or not path.is_file()
        return None if is_unnamed else DerivedKeys(path.name)
    if not prefix or len(prefix) > _MAX_PREFIX or _INVISIBLE.search(prefix):
        raise InputError(
            f"--key-prefix: give 1 to {_MAX_PREFIX} visible ASCII characters"
        )
    return DerivedKeys(prefix)


@dataclass(frozen=True)
class Check:
    """The check of a file's lines."""

    project: str | None = None
    """The project of lines without one."""
    keys: DerivedKeys | None = None
    """The keys of lines without one."""
    limits: Limits = field(default_factory=Limits)
    """The stack's limits; none if the stack is unknown."""
    unchecked: bool = False
    """Whether to send invalid requests."""
    skip_invalid: bool = False
    """Whether to send the valid lines of a file with invalid ones."""

    def run(self, lines: Iterable[Line], problems: Problems, spool: Spool) -> None:
        """Add the valid lines' requests to the spool, and print the invalid lines."""
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
    """Add the valid lines of a file to the spool; return the count of invalid ones.

    Raises:
        InputError: The file cannot be read, is empty, or has invalid lines that must
            not be skipped.
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
    """Return the request for one ticket, checked against the stack's limits if given.

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
