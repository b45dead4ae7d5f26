"""Counts the mutants that nothing refused, package by package: `make mutants`.

`[tool.mutants]` in `pyproject.toml` has the floor of each package.
"""

import json
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

REFUSED = {1, 3, 37, -24, 24, 36, 152}
"""mutmut's status of what a test, the type checker or the time limit refused.

So 255 is none, of tests that pytest could not run; mutmut takes it for a time limit.
"""


def problems(mutants: Path, floors: Mapping[str, float]) -> Iterator[str]:
    """Yield the packages below their floor, and how to see their worst file."""
    packages = defaultdict[str, list[tuple[str, dict[str, int]]]](list)
    for results in sorted(mutants.rglob("*.meta")):
        statuses = json.loads(results.read_bytes())["exit_code_by_key"]
        file = results.relative_to(mutants).with_suffix("")
        packages[str(file.parent)].append((str(file), statuses))
    for package, files in packages.items():
        survivors = {
            file: [name for name, status in statuses.items() if status not in REFUSED]
            for file, statuses in files
        }
        number = sum(len(statuses) for _, statuses in files)
        survived = sum(map(len, survivors.values()))
        floor = floors.get(package, 100)
        if 100 * (number - survived) < floor * number:
            worst = max(survivors, key=lambda file: len(survivors[file]))
            yield f"{package}: {survived} of {number} survived; {floor} % must not"
            yield f"  most of them in {worst}: {len(survivors[worst])}"
            for name in survivors[worst]:
                yield f"  .venv-mutation/bin/mutmut show {name}"


if __name__ == "__main__":
    settings = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
    found = problems(Path("mutants"), settings["tool"]["mutants"])
    sys.exit("\n".join(found) or None)
