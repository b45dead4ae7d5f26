"""The axioms: the facts about AWS of docs/proof.md, and how each is known."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

REPORTS: Final = Path(__file__).parents[2] / "docs" / "aws"
"""The reports of `make test-aws`."""


@dataclass(frozen=True)
class Axiom:
    """A fact, where the model relies on it, and how it is known before a report."""

    text: str
    used: str
    source: str


_GUIDE: Final = (
    "documented in the DynamoDB developer guide, "
    '"Amazon DynamoDB Transactions: How it works"'
)

AXIOMS: Final[Sequence[Axiom]] = (
    Axiom(
        "A transaction takes effect as a whole, and only if all of its conditions hold "
        "at that moment.",
        "a block, an import and a line that goes back are one step each",
        _GUIDE,
    ),
    Axiom(
        "No read shows a write that is not decided.",
        "the state has decided items only",
        _GUIDE,
    ),
    Axiom(
        "`ConditionalCheckFailed` on a put that is conditional on absence means that "
        "the item exists, committed.",
        "a worker learns of a ticket that has the number",
        "documented in the API reference of DynamoDB, TransactWriteItems",
    ),
    Axiom(
        "No other program puts a number or deletes a ticket",
        "there are no other steps",
        "a condition, not a fact about AWS",
    ),
    Axiom(
        "A query returns the highest item of one moment, except blocks just decided.",
        "above what it shows there may be tickets, and no item that an operator put, "
        "but where nothing was",
        f"our reading of what is {_GUIDE}",
    ),
)

OUT: Final[Sequence[str]] = (
    "that a step is taken at all: the histories check that every message is done",
    "what is announced, and the fates of messages",
    "texts, fingerprints and salts: a chain covers a number, its key and its link",
    "several requests of one key in a batch, and their caps",
    "the moment between the loss of a ticket and its reserved item",
    "tables that go back in time, of which workers still know the later numbers",
    "a lost ticket whose chain is unknown, writers in other Regions",
    "how the code reads the reasons of a cancellation: tests enumerate them",
)
"""The omissions of the model."""


def source(axiom: Axiom, reports: Path = REPORTS) -> str:
    """Return how an axiom is known, or that the newest report observed it."""
    for path in sorted(reports.glob("*.json"))[-1:]:
        report = json.loads(path.read_text(encoding="utf-8"))
        seen = {row["axiom"] for row in report.get("axioms", ())}
        wrong = report["contradicted"] or report["cannot_show"]
        if axiom.text in seen and not wrong:
            return f"observed on {report['time'][:10]}"
    return axiom.source
