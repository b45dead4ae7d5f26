"""Counts the mutants that nothing refused, file by file: `make mutants`.

`[tool.mutants]` in `pyproject.toml` has the most of each file, and why they may stay.
"""

import json
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

REFUSED = {1, 3, 37, -24, 24, 36, 152}
"""mutmut's status of what a test, the type checker or the time limit refused.

So 255 is none, of tests that pytest could not run; mutmut takes it for a time limit.
"""


def problems(mutants: Path, most: Mapping[str, int]) -> Iterator[str]:
    """Yield the files with more survivors than they may have, and how to see them."""
    for results in sorted(mutants.rglob("*.meta")):
        file = str(results.relative_to(mutants).with_suffix(""))
        statuses = json.loads(results.read_bytes())["exit_code_by_key"]
        names = [name for name, status in statuses.items() if status not in REFUSED]
        if len(names) > most.get(file, 0):
            yield f"{file}: {len(names)} survived, and at most {most.get(file, 0)} may:"
            yield from (f"  .venv-mutation/bin/mutmut show {name}" for name in names)


if __name__ == "__main__":
    settings = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
    excess = problems(Path("mutants"), settings["tool"]["mutants"])
    sys.exit("\n".join(excess) or None)
