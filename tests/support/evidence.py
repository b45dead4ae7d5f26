"""The verifier and the table of tampering of `docs/evidence.md`."""

import re
from typing import Any, Final, NamedTuple

from tests.support.markdown_commands import ROOT, blocks

PAGE: Final = (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8")


class Tampering(NamedTuple):
    """A row of the page's table."""

    finding: str
    """The kind that an audit with heads has; empty if there is none."""
    verifier: str
    """Whether the verifier finds it: yes, no, or with heads."""


def program() -> str:
    """Return the page's verifier."""
    [found] = blocks(PAGE, "python")
    return found


def verifier() -> Any:
    """Return the page's `verify`, which takes items, and heads."""
    names: dict[str, Any] = {"__name__": "page"}
    exec(program(), names)  # noqa: S102 - The page's own program.
    return names["verify"]


def tamperings() -> dict[str, Tampering]:
    """Return the rows of the page's table, by their names."""
    rows = re.findall(
        r"^\| `([\w-]+)` \|[^|]+\| (?:`([\w-]+)`|none) \| (yes|no|with heads) \|$",
        PAGE,
        re.MULTILINE,
    )
    return {name: Tampering(finding, seen) for name, finding, seen in rows}
