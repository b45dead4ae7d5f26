"""Files that a restore must refuse, or of which it must not believe a hash."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from simulation.engine.choices import Choices, one_of
from ticket_numbering.contract.chain import chain_of
from ticketctl.audit.heads import KeptHead
from ticketctl.ledger.chain import covered_before, own_commitment
from ticketctl.ledger.item import Ticket, parse

Fields = dict[str, Any]

FORGED: Final = "Forged"
"""The start of a forged text."""


def lines_of(path: Path) -> list[Fields]:
    """Return the lines of an export."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def write(path: Path, lines: list[Fields]) -> Path:
    """Write lines, and return their file."""
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def keys_in(path: Path) -> dict[str, int]:
    """Return the keys that an export has, with their last numbers."""
    numbers: dict[str, int] = {}
    for line in lines_of(path):
        fields = line.get("record", line)
        if "idempotency_key" in fields:
            numbers[fields["idempotency_key"]] = int(fields["number"])
    return numbers


def items_in(path: Path) -> dict[int, Fields]:
    """Return the items that an export has, by their numbers."""
    return {int(item["number"]): item for item in lines_of(path) if "number" in item}


def part_of(path: Path, choices: Choices) -> list[Path]:
    """Return an export in two parts, in any order."""
    parts: list[list[Fields]] = [[], []]
    for line in lines_of(path)[:-1]:
        one_of(choices, parts).append(line)
    return [
        write(path.with_name(f"part-{number}"), part)
        for number, part in enumerate(parts)
        if part
    ]


def _cut(lines: list[Fields], at: int) -> list[Fields]:
    return lines[:at]


def _one_less(lines: list[Fields], at: int) -> list[Fields]:
    return lines[:at] + lines[at + 1 :]


def _twice(lines: list[Fields], at: int) -> list[Fields]:
    return [*lines[:at], lines[at], *lines[at:]]


def _unknown(lines: list[Fields], at: int) -> list[Fields]:
    return [*lines[:at], lines[at] | {"colour": "red"}, *lines[at + 1 :]]


def _null(lines: list[Fields], at: int) -> list[Fields]:
    return [*lines[:at], lines[at] | {"title": None}, *lines[at + 1 :]]


CUT: Final = "cut"
ONE_LESS: Final = "of which a line is missing"
PARTS: Final = (CUT, ONE_LESS)
"""The files that count as a part with `--partial`."""

WRONG: Final[Mapping[str, Callable[[list[Fields], int], list[Fields]]]] = {
    CUT: _cut,
    ONE_LESS: _one_less,
    "with a line twice": _twice,
    "with an unknown attribute": _unknown,
    "with null": _null,
}
"""How a file is spoiled that must be refused."""


def spoiled(path: Path, choices: Choices, name: str) -> Path:
    """Return an export with an item, in a form that must be refused."""
    lines = lines_of(path)
    items = [at for at, line in enumerate(lines) if "number" in line]
    return write(path.with_name("spoiled"), WRONG[name](lines, one_of(choices, items)))


def forge(path: Path, choices: Choices) -> tuple[Path, list[KeptHead]] | None:
    """Return an export with other texts from a number on, whose hashes fit again.

    And the heads that were kept before. None if it has no ticket with a hash.
    """
    items = items_in(path)
    tickets = [n for n in items if _own(items[n])]
    if not tickets:
        return None
    first, heads = one_of(choices, tickets), list[KeptHead]()
    for number in range(first, max(items) + 1):
        ticket = _own(items.get(number, {}))
        if ticket is None:
            break
        before = items.get(number - 1, {}).get("chain", "")
        heads.append(KeptHead(ticket.project_id, number, ticket.chain))
        items[number] = _forged(ticket, before)
    others = [line for line in lines_of(path) if "number" not in line]
    return write(path.with_name("forged"), [*items.values(), *others]), heads


def _own(fields: Fields) -> Ticket | None:
    """Return a ticket that was numbered here, and has its text and a hash."""
    if "salt" not in fields or "chain" not in fields:
        return None
    item = parse(fields)
    return item if isinstance(item, Ticket) else None


def _forged(ticket: Ticket, before: str) -> Fields:
    fields = {**ticket.fields, "title": f"{FORGED} {ticket.number}"}
    forged = ticket.having(fields)
    commitment = own_commitment(forged)
    assert commitment  # noqa: S101 - It has a salt.
    chain = chain_of(
        before,
        project_id=forged.project_id,
        number=forged.number,
        idempotency_key=forged.idempotency_key,
        commitment=commitment,
        assigned_at=str(fields["assigned_at"]),
    )
    return fields | {"chain": chain}


def meeting(file: Mapping[int, Fields], there: Mapping[int, Fields]) -> int:
    """Return the first number at which file and tables are of two histories; or 0."""
    for number in sorted(file.keys() & there.keys()):
        own, other = file[number], there[number]
        if "chain" in own and "chain" in other:
            is_other = own["chain"] != other["chain"]
        else:
            keys = own.get("idempotency_key"), other.get("idempotency_key")
            is_other = None not in keys and len({*keys}) > 1
        if is_other:
            return number
    return 0


def goes_on(file: Mapping[int, Fields], there: Mapping[int, Fields]) -> bool:
    """Return whether the file's next ticket covers the tables' last hash."""
    last = max(there)
    following = parse(file[last + 1]) if last + 1 in file else None
    chain = str(there[last].get("chain", ""))
    if not (isinstance(following, Ticket) and chain):
        return False
    return covered_before(following, own_commitment(following), chain) == chain
