"""Compares the mutants that no test refused with those of `docs/mutants.md`."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

DOCUMENT = Path("docs/mutants.md")
MUTMUT = ".venv-mutation/bin/mutmut"


def survivors() -> Iterator[str]:
    """Return the change of each mutant that no test refused."""
    for line in _mutmut("results").splitlines():
        name, _, _ = line.strip().rpartition(": ")
        yield change(_mutmut("show", name))


def explained(document: str) -> set[str]:
    """Return the changes that a document explains: the parts of its diff blocks."""
    blocks = re.findall(r"^```diff\n(.*?)^```$", document, re.MULTILINE | re.DOTALL)
    return {change(part) for block in blocks for part in block.split("\n\n")}


def change(diff: str) -> str:
    """Return the lines that a diff takes out and puts in."""
    lines = re.findall(r"^(?:-(?!-- )|\+(?!\+\+ )).*$", diff, re.MULTILINE)
    return "\n".join(line.rstrip() for line in lines)


def main() -> None:
    """Fail if a survivor is not explained, or one is explained that is none."""
    survived, known = set(survivors()), explained(DOCUMENT.read_text("utf-8"))
    problems = [
        *(f"survived, and not explained:\n{each}" for each in survived - known),
        *(f"explained, and no survivor:\n{each}" for each in known - survived),
    ]
    if problems:
        sys.exit("\n\n".join(sorted(problems)))


def _mutmut(*arguments: str) -> str:
    return subprocess.run(  # noqa: S603 - no shell, and no argument from outside.
        [MUTMUT, *arguments], check=True, capture_output=True, text=True
    ).stdout


if __name__ == "__main__":
    main()
