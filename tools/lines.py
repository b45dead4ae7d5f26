"""Counts the lines of each area, whose ceilings are in `pyproject.toml`: `make lint`.

A ceiling goes down with each clean-up, and up in a commit that says for what.
"""

import subprocess
import sys
import tomllib
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path

WRITTEN = ("# ", "> ", "< ", "$ ")
"""The lines of a transcript that a person writes; what comes is recorded."""


def area_of(file: str, areas: list[str]) -> str | None:
    """Return the narrowest area of a file: its name, or the folder of a module."""
    named = [area for area in areas if fnmatch(file, area)]
    ends = "*.py", "transcripts/*.txt"
    inside = [a for a in areas if any(fnmatch(file, f"{a}/{end}") for end in ends)]
    return max(named + inside, key=len, default=None)


if __name__ == "__main__":
    settings = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
    ceilings: dict[str, int] = settings["tool"]["lines"]
    lines: Counter[str] = Counter()
    listed = subprocess.check_output(["git", "ls-files"], text=True)  # noqa: S607
    for name in filter(Path.exists, map(Path, listed.splitlines())):
        if area := area_of(str(name), [*ceilings]):
            text = name.read_text(encoding="utf-8").splitlines()
            recorded = name.suffix == ".txt"
            lines[area] += sum(line[:2] in WRITTEN or not recorded for line in text)
    above = [area for area, most in ceilings.items() if lines[area] > most]
    said = (f"{a}: {lines[a]} lines, and at most {ceilings[a]}" for a in above)
    sys.exit("\n".join(said) or None)
