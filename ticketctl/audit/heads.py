"""Heads: hashes of tickets that are saved outside, and checked against the table.

A file of heads is append-only, one JSON object a line. The `data` of an announcement
is a head, too: it has project, number and chain.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from io import FileIO
from itertools import islice
from pathlib import Path
from typing import Final

from ticket_numbering.contract.chain import valid_chain
from ticket_numbering.contract.field_types import is_project_id
from ticketctl.aws.table_reader import MAX_KEYS, TableReader
from ticketctl.cli.errors import InputError
from ticketctl.files.json_lines import open_lines
from ticketctl.files.lines import Line, shown_name
from ticketctl.ledger import HIGHEST
from ticketctl.ledger.chain import chain_problem
from ticketctl.ledger.findings import RANGES, Finding, FindingKind
from ticketctl.ledger.item import Item, Ticket, TicketId
from ticketctl.ledger.sequence import is_given_here

_AT_A_TIME: Final = MAX_KEYS // 2
"""Each ticket is read with the one before it."""


@dataclass(frozen=True)
class KeptHead:
    """A head from a file or an announcement: a ticket's earlier hash."""

    project_id: str
    number: int
    chain: str
    when: str = ""
    """The time of its reading; "" for an announcement."""

    @property
    def ticket_id(self) -> TicketId:
        """The table key of the ticket."""
        return self.project_id, self.number


def read_heads(path: str, projects: Sequence[str] = ()) -> list[KeptHead]:
    """Read a file of heads, of all projects if none are given.

    Raises:
        InputError: The file cannot be read, has no head, or a line is no head.
    """
    with open_lines(path) as lines:
        heads = [_head(path, line) for line in lines]
    if not heads:
        raise InputError(f"{shown_name(path)}: no head")
    return [head for head in heads if not projects or head.project_id in projects]


def last_heads(heads: Sequence[KeptHead]) -> list[KeptHead]:
    """Return the heads with the highest number of each project."""
    last: dict[str, int] = defaultdict(int)
    for head in heads:
        last[head.project_id] = max(last[head.project_id], head.number)
    return [head for head in heads if head.number == last[head.project_id]]


def add_heads(path: str, heads: Iterable[KeptHead]) -> None:
    """Append heads to a file, even if its last line has no line break.

    Raises:
        InputError: The file cannot be written.
    """
    lines = [json.dumps(asdict(head)).encode() + b"\n" for head in heads]
    there = Path(path)
    try:
        is_ended = not there.is_file() or there.read_bytes()[-1:] in {b"", b"\n"}
        with there.open("ab", buffering=0) as file:
            end, separator = file.tell(), b"" if is_ended or not lines else b"\n"
            try:
                _write_all(file, separator + b"".join(lines))
            except OSError:
                file.truncate(end)  # A partial line is no head.
                raise
    except OSError as error:
        raise InputError(
            f"{shown_name(path)}: cannot be written: {error.strerror}"
        ) from error


def _write_all(file: FileIO, text: bytes) -> None:
    """Write a text, with several calls if one writes only a part of it."""
    while text:
        text = text[file.write(text) :]


def check_heads(reader: TableReader, heads: Iterable[KeptHead]) -> Iterator[Finding]:
    """Yield the wrong heads: the ticket lacks the hash, or does not fit it.

    A restarted chain is a finding by itself, and its hash covers the ticket.
    """
    known: dict[TicketId, dict[str, KeptHead]] = defaultdict(dict)
    for head in heads:
        known[head.ticket_id][head.chain] = head
    for ticket_id, ticket, before in _with_hashes(reader, known):
        for head in known[ticket_id].values():
            if failure := _failure(head, ticket, before):
                kind, detail = failure
                numbers = (head.number,) * (2 if kind in RANGES else 1)
                yield Finding(kind, head.project_id, numbers, detail=detail)


def heads_of(
    reader: TableReader, ticket_ids: Iterable[TicketId], when: str
) -> Iterator[KeptHead]:
    """Yield the heads of the tickets that fit the chain."""
    for ticket_id, ticket, before in _with_hashes(reader, ticket_ids):
        head = ticket and KeptHead(*ticket_id, ticket.chain, when)
        if head and not _failure(head, ticket, before):
            yield head


def _failure(
    head: KeptHead, ticket: Item | None, before: str
) -> tuple[FindingKind, str] | None:
    """Return the problem of a head; None if it is right."""
    if ticket is None:
        return FindingKind.HEAD, "there is no such ticket"
    if ticket.chain != head.chain:
        return FindingKind.HEAD, "it has another hash"
    other: Final = FindingKind.CHANGED
    match chain_problem(ticket, before) if isinstance(ticket, Ticket) else other:
        case None | FindingKind.RESTARTED if not is_given_here(ticket.kind):
            return FindingKind.HEAD, "it is marked as external"
        case None | FindingKind.RESTARTED:
            return None
        case FindingKind.NOT_VERIFIABLE:
            return FindingKind.NOT_VERIFIABLE, ""
        case FindingKind.CHANGED:
            return FindingKind.HEAD, "its content does not have its hash"


def _with_hashes(
    reader: TableReader, ticket_ids: Iterable[TicketId]
) -> Iterator[tuple[TicketId, Item | None, str]]:
    """Yield tickets, each with the hash of the one before it."""
    rest = iter(ticket_ids)
    while wanted := [*islice(rest, _AT_A_TIME)]:
        both = {*wanted, *((project_id, number - 1) for project_id, number in wanted)}
        tickets = reader.tickets(both)
        for project_id, number in wanted:
            before = tickets.get((project_id, number - 1))
            previous = before.chain if before else ""
            yield (project_id, number), tickets.get((project_id, number)), previous


def _head(path: str, line: Line) -> KeptHead:
    match line.fields:
        case {"project_id": project_id, "number": int() | float() as number}:
            chain, when = valid_chain(line.fields.get("chain")), line.fields.get("when")
            is_whole = 1 <= number <= HIGHEST and number == int(number)
            if chain and is_project_id(project_id) and is_whole:
                return KeptHead(project_id, int(number), chain, str(when or ""))
    raise InputError(
        f"{shown_name(path)}:{line.number}: no head: "
        "one has project_id, number and chain"
    )
