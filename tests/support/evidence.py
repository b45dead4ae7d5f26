"""The verifier, and the table of tampering of `docs/evidence.md`."""

import re
import runpy
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from tests.support.markdown_commands import ROOT

PAGE: Final = (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8")
VERIFIER: Final = ROOT / "docs" / "examples" / "verify.py"


class Tampering(NamedTuple):
    """A row of the page's table."""

    finding: str
    """The kind that an audit with heads has; empty if there is none."""
    verifier: str
    """Whether the verifier finds it: yes, no, or with heads."""


def change(item: dict[str, Any], **texts: str | None) -> None:
    """Set texts of an item, or remove attributes."""
    for name, text in texts.items():
        item.pop(name, None)
        if text is not None:
            item[name] = {"S": text}


def chain_after(ticket: Mapping[str, Any], previous: str) -> str:
    """Return the hash that the verifier wants of a ticket after another's hash."""
    chain: str = runpy.run_path(str(VERIFIER))["chain"](ticket, {"chain": previous})
    return chain


def verifier() -> Any:
    """Return the verifier's `verify` for items of DynamoDB, and heads."""
    found = runpy.run_path(str(VERIFIER))
    plain, verify = found["plain"], found["verify"]
    return lambda items, heads=(): verify([plain({"M": one}) for one in items], heads)


def tamperings() -> dict[str, Tampering]:
    """Return the rows of the page's table, by their names."""
    rows = re.findall(
        r"^\| `([\w-]+)` \|[^|]+\| (?:`([\w-]+)`|none) \| (yes|no|with heads) \|$",
        PAGE,
        re.MULTILINE,
    )
    return {name: Tampering(finding, seen) for name, finding, seen in rows}
