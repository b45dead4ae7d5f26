"""All cases, and the table of those in which a backend differs."""

from typing import Any, Final

from conformance.case import Case
from conformance.facts import contradicted
from conformance.messages import MESSAGES
from conformance.single_items import SINGLE_ITEMS
from conformance.transactions import TRANSACTIONS

FACTS: Final[tuple[Case, ...]] = (
    *SINGLE_ITEMS,
    *TRANSACTIONS,
    Case("workers that contend for a project", contradicted, []),
)
"""The cases of DynamoDB, on which the proof rests."""

CASES: Final = (*FACTS, *MESSAGES)
DIFFERENT: Final = [case for case in CASES if case.instead]


def markdown() -> str:
    """Return the differences as a table."""
    heads = ("case", "source", "AWS", "moto", "emulator")
    rows: list[tuple[str, ...]] = [heads, ("---",) * len(heads)]
    rows += [
        (
            case.name,
            "observed" if case.observed else "documented",
            shown(case.aws),
            *(shown(case.instead.get(name, "=")) for name in ("moto", "emulator")),
        )
        for case in DIFFERENT
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def shown(outcome: Any) -> str:
    """Return an outcome for the table; of a transaction also the items."""
    if isinstance(outcome, tuple):
        code, written = outcome
        return f"{code}; {', '.join(written) or 'nothing'}"
    return str(outcome)
