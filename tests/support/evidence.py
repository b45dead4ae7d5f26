"""The verifier, and the table of tampering of `docs/evidence.md`."""

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from simulation.checks.chains import VERIFIER as FUNCTIONS
from tests.support.builders import SALT
from tests.support.paths import ROOT
from ticket_numbering.contract.chain import commitment_of
from ticket_numbering.contract.dynamodb_items import COMMITMENT, ERASED
from ticket_numbering.contract.dynamodb_items import SALT as SALT_NAME

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


def erase(item: dict[str, Any], record: dict[str, Any], title: str) -> None:
    """Erase a ticket as `ticketctl erase` does, but for the title."""
    commitment = commitment_of(SALT, record["fingerprint"]["S"])
    marks = {"status": ERASED, "title": title, COMMITMENT: commitment}
    change(item, **{SALT_NAME: None}, **marks)
    change(record, fingerprint=f"{ERASED}:")


def chain_after(ticket: Mapping[str, Any], previous: str) -> str:
    """Return the hash that the verifier wants of a ticket after another's hash."""
    chain: str = FUNCTIONS["chain"](ticket, {"chain": previous})
    return chain


def verifier() -> Any:
    """Return the verifier's `verify` for items of DynamoDB, and heads."""
    plain, verify = FUNCTIONS["plain"], FUNCTIONS["verify"]
    return lambda items, heads=(): verify([plain({"M": item}) for item in items], heads)


def run_verifier(
    given: str, directory: Path, *heads: str, stdout: int = subprocess.PIPE
) -> "subprocess.CompletedProcess[str]":
    """Run the verifier in a directory, as an auditor does, without our code."""
    return subprocess.run(  # noqa: S603 - the project's own program.
        [sys.executable, "-I", str(VERIFIER), *heads],
        cwd=directory,
        input=given,
        text=True,
        stdout=stdout,
        stderr=subprocess.PIPE,
        check=False,
    )


def tamperings() -> dict[str, Tampering]:
    """Return the rows of the page's table, by their names."""
    rows = re.findall(
        r"^\| `([\w-]+)` \|[^|]+\| (?:`([\w-]+)`|none) \| (yes|no|with heads) \|$",
        PAGE,
        re.MULTILINE,
    )
    return {name: Tampering(finding, seen) for name, finding, seen in rows}
