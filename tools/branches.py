"""Compares the branches that no history takes with the list of them: `make branches`.

The list names beside each branch a test that takes it; the tests that it names are run.
A branch is named by its text, so that it stays the same when lines move.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Final

LIST: Final = Path("lab/untaken-branches.txt")
NO_TEST: Final = "no test"
"""The entry of a branch that no test takes."""
HISTORIES: Final = range(1, 601)
OF_OPERATORS: Final = range(1, 101)


def play_histories() -> None:
    """Play histories of each kind.

    Raises:
        SystemExit: A promise is broken.
    """
    from operators.play import play  # noqa: PLC0415 - imports are traced.
    from operators.restored_history import play_restores  # noqa: PLC0415
    from simulation.play import play_all  # noqa: PLC0415

    every = play_all(HISTORIES), play(OF_OPERATORS), play_restores(OF_OPERATORS)
    if broken := [*chain(*(totals.violations for totals in every))]:
        sys.exit(f"a promise is broken, see `make simulate`: {broken}")


def untaken(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the branches that a run did not take, by coverage's report of it.

    A function that was not entered counts once.
    """
    for file, result in report["files"].items():
        lines = Path(file).read_text(encoding="utf-8").splitlines()
        for name, function in result["functions"].items():
            if function["missing_lines"] and not function["executed_lines"]:
                if name:
                    yield f"{file} {name}: not entered"
                continue
            for start, end in function["missing_branches"]:
                target = lines[end - 1].strip() if end > 0 else "the end"
                yield f"{file} {name}: {lines[start - 1].strip()} -> {target}"


def listed(text: str) -> dict[str, str]:
    """Return the test of each branch of the list."""
    lines = [line for line in text.splitlines() if line and line[0] != "#"]
    return dict(zip(lines[::2], map(str.strip, lines[1::2]), strict=True))


def problems(
    branches: Mapping[str, str], histories: set[str], tests: set[str]
) -> Iterator[str]:
    """Yield the errors of the list, by the branches that histories and tests lack."""
    for branch in sorted(histories - branches.keys()):
        yield f"no history takes it, and the list lacks it: {branch}"
    for branch, test in branches.items():
        if branch not in histories:
            yield f"a history takes it, or it is gone: {branch}"
        elif tests.isdisjoint({branch, _not_entered(branch)}) is (test == NO_TEST):
            yield f"not taken as the list says, by {test}: {branch}"


def _not_entered(branch: str) -> str:
    """Return the name of the function's own row."""
    return f"{branch.partition(': ')[0]}: not entered"


def main(action: str, *reports: str) -> None:
    """Play the histories, print the listed tests, or compare the reports of both."""
    branches = listed(LIST.read_text(encoding="utf-8"))
    match action:
        case "play":
            play_histories()
        case "tests":
            sys.stdout.write("\n".join(sorted({*branches.values()} - {NO_TEST})))
        case _:
            histories, tests = (
                {*untaken(json.loads(Path(report).read_bytes()))} for report in reports
            )
            sys.exit("\n".join(problems(branches, histories, tests)) or None)


if __name__ == "__main__":
    main(*sys.argv[1:])
