"""The model, moto and the emulator behave as AWS, with the listed exceptions.

`python -m tests.integration.test_conformance` prints the list.
"""

import sys
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.backends import Backend
from tests.support.conformance.case import Case
from tests.support.conformance.messages import MESSAGES
from tests.support.conformance.single_items import SINGLE_ITEMS
from tests.support.conformance.transactions import TRANSACTIONS

PROOF: Final = Path(__file__).parents[2] / "docs" / "proof.md"
CASES: Final[tuple[Case, ...]] = (*SINGLE_ITEMS, *TRANSACTIONS, *MESSAGES)
DIFFERENT: Final = [case for case in CASES if case.instead]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_backend_does_what_aws_does_when_it_is_called(
    backend: Backend, case: Case
) -> None:
    assert case.outcome(backend) == case.expected(backend.name)


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


class TestDifferences:
    """The cases keep the list true; these tests keep it short and read."""

    def test_model_does_what_aws_does_when_others_do_not(self) -> None:
        assert {name for case in DIFFERENT for name in case.instead} == {
            "moto",
            "emulator",
        }

    def test_backend_is_listed_when_it_does_something_else_than_aws(self) -> None:
        for case in DIFFERENT:
            assert case.aws not in case.instead.values()

    def test_documentation_shows_the_list_when_it_is_printed(self) -> None:
        assert markdown() in PROOF.read_text(encoding="utf-8")


if __name__ == "__main__":
    sys.stdout.write(markdown() + "\n")
