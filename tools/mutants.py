"""Counts the surviving mutants, package by package: `make mutants`.

`[tool.mutants]` in `pyproject.toml` has the floor of each package, and of each file
that is counted apart from its package.
"""

import json
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

KILLED = {1, 3, 37, -24, 24, 36, 152}
"""mutmut's statuses of mutants killed by a test, the type checker or a timeout.

255 is none of them: pytest could not run the tests. mutmut counts it as a timeout.
"""


def problems(mutants: Path, floors: Mapping[str, float]) -> Iterator[str]:
    """Yield the packages below their floor, with the survivors of the worst file."""
    packages = defaultdict[str, list[tuple[str, dict[str, int]]]](list)
    for results in sorted(mutants.rglob("*.meta")):
        statuses = json.loads(results.read_bytes())["exit_code_by_key"]
        file = results.relative_to(mutants).with_suffix("")
        unit = file if str(file) in floors else file.parent
        packages[str(unit)].append((str(file), statuses))
    for package, files in packages.items():
        survivors = {
            file: [name for name, status in statuses.items() if status not in KILLED]
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
    failures = problems(Path("mutants"), settings["tool"]["mutants"])
    sys.exit("\n".join(failures) or None)
