"""The table of rights beside the operators' page."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests.support.markdown_commands import ROOT


def _page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


OPERATIONS: Final = (
    _page("operations.md") + "\n#" + _page("rights.md").replace("operations.md#", "#")
)
"""The operators' page, and the rights as its last section."""

RIGHT: Final = re.compile(r"`(\w+:\w+)`")
COMMAND: Final = re.compile("`ticketctl ([^`]+)`")


_LIVE: Final = ("tickets", "keys")
_RESTORED: Final = "restored-"
_BOTH: Final = "both tables"


def _named(words: str) -> set[str]:
    """Return the tables that the words after a right name; always nothing too."""
    if words.startswith("on all"):
        return {"", _BOTH, _RESTORED}
    names = re.findall(r"restored-|both tables|(?<!-)\b(?:tickets|keys)\b", words)
    return {"", *names}


@dataclass(frozen=True)
class Row:
    """A task, and what it may do to what."""

    task: str
    grants: tuple[tuple[frozenset[str], str], ...]
    """Rights, each with the words that say on what."""
    others: frozenset[str] = frozenset()
    """Commands whose rights it has, too."""

    def allows(self, right: str, table: str = "") -> bool:
        """Tell whether the task has a right, on a table if one is named."""
        wanted = {table, _BOTH} if table in _LIVE else {table}
        return any(
            right in rights and any(name in _named(on) for name in wanted)
            for rights, on in self.grants
        )


def rows() -> list[Row]:
    """Return the rows of the table."""
    _, _, section = OPERATIONS.partition("\n## Rights\n")
    cells = [
        line.strip("| ").split(" | ")
        for line in section.splitlines()
        if line.startswith("| ")
    ]
    return [
        Row(task, _grants(rights), frozenset(COMMAND.findall(rights)))
        for task, rights in cells
    ]


def granted(command: str) -> set[str]:
    """Return the rights of a command's row, and that which every command needs."""
    [row] = [row for row in rows() if command in COMMAND.findall(row.task)]
    own = {"cloudformation:DescribeStacks"}.union(*(names for names, _ in row.grants))
    return own.union(*map(granted, row.others))


def needed(service: str, operation: str, request: Mapping[str, Any]) -> set[str]:
    """Return the rights that a call needs; the caller's identity needs none."""
    if operation == "GetCallerIdentity":
        return set()
    if "TransactItems" in request:
        actions = {name for action in request["TransactItems"] for name in action}
        return {f"{service}:{action}Item" for action in actions}
    return {f"{service}:{operation.removesuffix('Batch')}"}


def _grants(text: str) -> tuple[tuple[frozenset[str], str], ...]:
    """Read `a`, `b` on X, and on Y; `c` on Z: words after rights say on what."""
    grants, names = list[tuple[frozenset[str], str]](), set[str]()
    for part in re.split(r"(?=`\w+:\w+`)", text):
        if found := RIGHT.match(part):
            names.add(found[1])
            words = part[found.end() :].strip(" ,")
            if words not in {"", "and"}:
                grants.append((frozenset(names), words))
                names = set()
    return tuple(grants)
