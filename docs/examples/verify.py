"""Checks the chain of tickets; needs Python 3.11 and its standard library alone.

    python verify.py [HEADS.jsonl ...] < tickets.jsonl

The tickets are those of `ticketctl export`, of the AWS CLI's `dynamodb scan`, or of an
export of the table to S3. docs/evidence.md defines the chain, and says how to get these
files and the heads. Status 0: nothing contradicts the chain; 1: a problem, no item at
all, or the reader of the lines is gone; 2: a file cannot be read.
"""

import base64
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# The fields of a request that a ticket has.
# <!-- generated: sets -->
OPTIONAL = {
    "description",
    "reporter",
    "labels",
    "attributes",
}
TEXT = {
    "project_id",
    "idempotency_key",
    "title",
    "priority",
    *OPTIONAL,
}
# <!-- /generated -->

# The other attributes of a ticket, and those of its status.
COVERED = {*TEXT, "number", "assigned_at", "chain", "salt"}
VOIDED = {"status", "voided_at", "voided_reason", "voided_by"}
ERASED = {*VOIDED, "commitment", "erased_at", "erased_reason", "erased_by"}
ADDED = {"voided": VOIDED, "erased": ERASED}

Ticket = dict[str, Any]


def plain(value: dict[str, Any]) -> Any:
    """Return a value of DynamoDB's JSON as Python's; of an unknown type, both parts."""
    [(kind, content)] = value.items()
    if kind == "M":
        return {name: plain(member) for name, member in content.items()}
    if kind == "L":
        return [plain(member) for member in content]
    if kind == "N":
        return json.loads(content)
    return str(content) if kind == "S" else [kind, content]


def sha256(value: Any) -> Any:
    """Return the hash of a value as JSON."""
    text = json.dumps(value, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(text.encode())


def chain(ticket: Ticket, before: Ticket) -> str:
    """Return the chain that a ticket must have after the one before it."""
    text = {name: ticket[name] for name in TEXT & {*ticket}}
    if text.get("priority") == "medium":
        del text["priority"]
    fingerprint = "v1:" + sha256(text).hexdigest()
    commitment = sha256([ticket.get("salt"), fingerprint]).hexdigest()
    if ticket.get("status") == "erased":
        commitment = ticket.get("commitment")
    previous = str(before.get("chain"))
    if not re.fullmatch("v[0-9]+:[A-Za-z0-9_-]{1,86}", previous):
        previous = ""
    names = ["project_id", "number", "idempotency_key"]
    covered = [previous, *map(ticket.get, names), commitment, ticket.get("assigned_at")]
    digest = sha256(covered).digest()
    return "v1:" + base64.urlsafe_b64encode(digest).decode().rstrip("=")


def problems(ticket: Ticket, before: Ticket) -> Iterator[str]:
    """Yield the contradictions of a ticket to the chain of the one before it."""
    status, attributes = ticket.get("status"), {*ticket}
    follows = before["number"] + 1 == ticket["number"]
    is_explained = "origin" in ticket and "origin" in before and "chain" not in ticket
    if not follows and not is_explained:
        yield "the number before it is missing"
    if status == "reserved" and attributes & {"salt", "assigned_at", *TEXT} != {
        "project_id"
    }:
        yield "reserved, but it has text"
    if status == "erased" and (
        ticket.get("title") != "erased" or attributes & {"salt", *OPTIONAL}
    ):
        yield "erased, but it has text"
    if "chain" not in ticket or status == "reserved":
        return
    if "origin" in ticket:
        yield "external, but it has a chain"
    elif attributes - COVERED - ADDED.get(str(status), set()):
        yield "it has an attribute or a status that no hash covers"
    dates = [str(item.get("assigned_at", "")) for item in (before, ticket)]
    if "origin" not in before and dates != sorted(dates):
        yield "dated before the ticket before it"
    if follows and ticket["chain"] != chain(ticket, before):
        if ticket["chain"] == chain(ticket, {}):
            yield "its chain restarts after a ticket with a chain"
        else:
            yield "it was changed, or the chain of the ticket before it was"


def remarks(tickets: Iterable[Ticket]) -> Iterator[str]:
    """Yield the tickets with a status or without a chain, a range as one line."""
    rows: list[tuple[str, int, int, str]] = []
    for ticket in sorted(tickets, key=place):
        project, number = place(ticket)
        what = ticket.get("status", "" if "chain" in ticket else "without a chain")
        if rows and rows[-1] == (project, rows[-1][1], number - 1, what):
            rows[-1] = (project, rows[-1][1], number, what)
        else:
            rows.append((project, number, number, what))
    for project, first, last, what in rows:
        if what and first == last:
            yield f"{project}-{first} is {what}"
        elif what:
            yield f"{project}-{first} to {project}-{last} are {what}"


def place(ticket: Ticket) -> tuple[str, int]:
    """Return the project and the number."""
    return ticket["project_id"], ticket["number"]


def verify(tickets: Iterable[Ticket], heads: Iterable[Any] = ()) -> list[str]:
    """Return the problems of tickets, and of heads."""
    failures: list[str] = []
    chains: dict[tuple[str, int], Any] = {}
    before: Ticket = {"project_id": None}
    for ticket in sorted(tickets, key=place):
        project, number = place(ticket)
        if project != before["project_id"]:
            before = {"number": 0}
        failures += [f"{project}-{number}: {text}" for text in problems(ticket, before)]
        chains[project, number], before = ticket.get("chain"), ticket
    for head in heads:
        if chains.get((head["project_id"], head["number"])) != head["chain"]:
            failures.append(
                f"{head['project_id']}-{head['number']}: a head does not hold"
            )
    return failures


@contextmanager
def reading(name: str) -> Iterator[None]:
    """End with a line and status 2 if a file cannot be read."""
    try:
        yield
    except (OSError, ValueError, RecursionError) as error:
        why = getattr(error, "strerror", None) or error
        print(f"cannot read {name}: {why}", file=sys.stderr)
        sys.exit(2)


def heads_of(paths: Iterable[str]) -> Iterator[Any]:
    """Yield the heads of all files."""
    for path in paths:
        with reading(path):
            lines = Path(path).read_text(encoding="utf-8").split("\n")
        for number, line in enumerate(lines, 1):
            with reading(f"{path}:{number}"):
                yield from map(head_of, filter(str.strip, [line]))


def head_of(line: str) -> Any:
    """Return a head."""
    match json.loads(line):
        case {"project_id": str(), "number": int() | float(), "chain": str()} as head:
            return head
    what = "no head: one has project_id, number and chain"
    raise ValueError(f"{what}; tickets come on standard input")


def tickets_of(text: str) -> Iterator[Ticket]:
    """Yield the tickets of JSON documents, one after the other."""
    decoder, place = json.JSONDecoder(), 0
    while match := re.compile(r"\S").search(text, place):
        document, place = decoder.raw_decode(text, match.start())
        match document:
            # First, because a writer can add attributes of the names below.
            case {"project_id": str(), "number": int() | float()}:
                yield document
            case {"kind": "record", "record": dict()} | {"kind": "end", "end": dict()}:
                pass  # Lines of `ticketctl export` that are no tickets.
            case {"NextToken": _} | {"LastEvaluatedKey": _}:
                raise ValueError("not all items: let the AWS CLI read all pages")
            case {"Items": [*items]}:  # The AWS CLI's answer.
                yield from (plain({"M": item}) for item in items)
            case {"Item": dict(item)}:  # A line of an export to S3.
                yield plain({"M": item})
            case _:
                raise ValueError("there is JSON that is no ticket")


def show(lines: Iterable[str]) -> None:
    """Print lines; end with status 1 if the reader of a pipe does not want them all."""
    try:
        print(*lines, sep="\n", flush=True)
    except BrokenPipeError:  # Python would complain of the rest at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def main() -> None:
    """Print the tickets with a status or without a chain, and the problems."""
    with reading("standard input"):
        tickets = [*tickets_of(sys.stdin.read())]
    heads = [*heads_of(sys.argv[1:])]
    failures = verify(tickets, heads)
    counts = {"item": len(tickets), "head": len(heads), "problem": len(failures)}
    ends = [f"{count} {noun}{'s' * (count != 1)}" for noun, count in counts.items()]
    show([*remarks(tickets), *failures, ", ".join(ends)])
    sys.exit(bool(failures) or not tickets)


if __name__ == "__main__":
    main()
