"""Checks every request of a file, and keeps the good ones on disk for the sending.

So nothing is sent of a file of which a line is wrong, and what is sent is what was
checked, whatever becomes of the file; in memory there are two digests a line.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import IO, Final

from ticketctl.send.derived_keys import DerivedKeys, content
from ticketctl.send.request_lines import Line
from ticketctl.system.contract import Fields, body_of, problem_of
from ticketctl.system.items import PROJECT_ID

MAX_TOLD: Final = 100
_DIGEST_BYTES: Final = 16
_NO_KEY: Final = (
    "idempotency_key: is missing; give it, or --key-prefix to have keys made"
)


@dataclass(frozen=True)
class Request:
    """A ticket to ask for, as it is sent."""

    line: int
    project_id: str
    idempotency_key: str
    title: str
    body: str

    @property
    def identity(self) -> tuple[str, str]:
        """Under what it is numbered once."""
        return self.project_id, self.idempotency_key


def request_of(line: int, fields: Fields) -> Request:
    """Return the request that valid fields make."""
    own = fields["project_id"], fields["idempotency_key"], fields["title"]
    return Request(line, *own, body_of(fields))


@dataclass
class Prepared:
    """The requests of a file that are good, and what is wrong with the others."""

    spool: IO[bytes]
    good: int = 0
    bad: int = 0
    repeats: int = 0
    """Lines that say what an earlier one says, under the same key."""
    told: list[tuple[int, str]] = field(default_factory=list)
    """What is wrong with the first hundred bad lines, by their number."""
    projects: set[str] = field(default_factory=set)
    key_prefix: str | None = None
    """What keys were made from, if any were made."""

    def requests(self) -> Iterator[Request]:
        """Return the good requests, in the file's order."""
        self.spool.seek(0)
        for each in self.spool:
            yield Request(*json.loads(each))


@dataclass
class Preparation:
    """Completes and checks one request after the other."""

    project: str | None = None
    """For requests that name none."""
    keys: DerivedKeys | None = None
    from_line: int = 1
    unchecked: bool = False
    """Whether requests pass that the worker will refuse."""
    _known: dict[bytes, tuple[bytes, int]] = field(default_factory=dict)

    def prepare(self, lines: Iterable[Line], spool: IO[bytes]) -> Prepared:
        """Check all lines.

        Args:
            lines: What the file holds.
            spool: A new file for the good ones; whoever opened it closes it.
        """
        prepared = Prepared(spool)
        for line in lines:
            self._add(prepared, line)
        if self.keys and self.keys.used:
            prepared.key_prefix = self.keys.prefix
        return prepared

    def _add(self, prepared: Prepared, line: Line) -> None:
        found = self._complete(line)
        # Lines before the first count for the keys of those that are like them.
        if line.number < self.from_line:
            return
        if isinstance(found, str):
            prepared.bad += 1
            if prepared.bad <= MAX_TOLD:
                prepared.told.append((line.number, found))
        elif found is None:
            prepared.repeats += 1
        else:
            prepared.good += 1
            prepared.projects.add(found.project_id)
            own = found.line, *found.identity, found.title, found.body
            prepared.spool.write(json.dumps(own).encode() + b"\n")

    def _complete(self, line: Line) -> Request | str | None:
        """Return a request, or what is wrong, or nothing for a repeat."""
        if line.problem:
            return line.problem
        fields = dict(line.fields)
        if self.project is not None:
            fields.setdefault("project_id", self.project)
        if "idempotency_key" not in fields and self.keys:
            fields["idempotency_key"] = self.keys.key(fields)
        if self.unchecked:
            return _as_it_is(line.number, fields)
        if "idempotency_key" not in fields:
            return _NO_KEY
        if problem := problem_of(body_of(fields)):
            return problem
        request = request_of(line.number, fields)
        return self._if_new(request, fields)

    def _if_new(self, request: Request, fields: Fields) -> Request | str | None:
        # "#" is in no project's name.
        identity = _digest("#".join(request.identity).encode())
        asked = _digest(content(fields))
        before = self._known.setdefault(identity, (asked, request.line))
        if before == (asked, request.line):
            return request
        if before[0] == asked:
            return None
        return f"idempotency_key: line {before[1]} has it, for another ticket"


def _as_it_is(line: int, fields: Fields) -> Request:
    """Return a request that need not be valid, under a name that SQS takes."""
    project = str(fields.get("project_id"))
    group = project if PROJECT_ID.fullmatch(project) else "-"
    key, title = str(fields.get("idempotency_key")), str(fields.get("title"))
    return Request(line, group, key, title, body_of(fields))


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()[:_DIGEST_BYTES]
