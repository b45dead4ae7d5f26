"""Compares the mutants that no test refused with `tests/mutants-baseline.txt`."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

BASELINE = Path("tests/mutants-baseline.txt")
MUTANTS = Path("mutants")
MUTMUT = ".venv-mutation/bin/mutmut"
REFUSED = ("caught by type check", "timeout")
"""States of a mutant that is refused, as in mutmut's own count."""
COULD_NOT_RUN = 255
"""The exit status of a run that pytest refused, which mutmut counts as a timeout."""
QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
EXPRESSION = re.compile(r"\b(AND|SET|REMOVE)\b|[#:(]\w")
"""Marks a text as an expression of DynamoDB, which is no sentence."""


def survivors(results: str) -> Iterator[str]:
    """Yield the names of the mutants that nothing refused.

    `mutmut results` leaves out those that tests refused.
    """
    for line in results.splitlines():
        name, _, status = line.strip().rpartition(": ")
        if status not in REFUSED:
            yield name


def without_tests(mutants: Path) -> list[str]:
    """Return the names of the mutants whose tests could not run."""
    return [
        name
        for results in mutants.rglob("*.meta")
        for name, status in json.loads(results.read_bytes())["exit_code_by_key"].items()
        if status == COULD_NOT_RUN
    ]


def entries(baseline: str) -> set[str]:
    """Return the changes that a baseline explains, a paragraph each."""
    return {change(entry) for entry in baseline.split("\n\n")} - {""}


def change(diff: str) -> str:
    """Return a diff's file, and the lines that it takes out and puts in."""
    lines = re.findall(r"^(?:-|\+(?!\+\+ )).*$", diff, re.MULTILINE)
    return "\n".join(line.rstrip() for line in lines)


def is_wording(mutant: str) -> bool:
    """Tell whether only the letters of a sentence changed, which a person reads."""
    old, new = (
        "\n".join(line[1:] for line in mutant.splitlines()[1:] if line[0] == sign)
        for sign in "-+"
    )
    texts = zip(QUOTED.findall(old), QUOTED.findall(new), strict=False)
    changed = [was for was, is_now in texts if was != is_now]
    return (
        all(" " in text and not EXPRESSION.search(text) for text in changed)
        and old.casefold() == new.replace("XX", "").casefold()
    )


def main() -> None:
    """Fail for a survivor without an entry, or an entry without a survivor."""
    changes = {change(_mutmut("show", name)) for name in survivors(_mutmut("results"))}
    survived = {mutant for mutant in changes if not is_wording(mutant)}
    explained = entries(BASELINE.read_text("utf-8"))
    problems = [
        *(f"survived, and not explained:\n{mutant}" for mutant in survived - explained),
        *(f"explained, and no survivor:\n{mutant}" for mutant in explained - survived),
        *(f"its tests could not run: {name}" for name in without_tests(MUTANTS)),
    ]
    if problems:
        sys.exit("\n\n".join(sorted(problems)))


def _mutmut(*arguments: str) -> str:
    return subprocess.run(  # noqa: S603 - no shell, and no argument from outside.
        [MUTMUT, *arguments], check=True, capture_output=True, text=True
    ).stdout


if __name__ == "__main__":
    main()
