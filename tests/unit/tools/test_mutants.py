"""No file has more mutants that nothing refused than it may have."""

import json
from pathlib import Path

from tools.mutants import problems

STATUSES = {"killed": 1, "survived": 0, "untested": 33, "ill-typed": 37, "slow": 36}


def written(folder: Path, **statuses: int) -> Path:
    """Write mutmut's results of a file; return the folder."""
    results = folder / "src" / "worker.py.meta"
    results.parent.mkdir(exist_ok=True)
    results.write_text(json.dumps({"exit_code_by_key": statuses}))
    return folder


def test_survivors_are_named_when_they_are_more_than_the_file_may_have(
    tmp_path: Path,
) -> None:
    found = "\n".join(problems(written(tmp_path, **STATUSES), {"src/worker.py": 1}))

    assert found.startswith("src/worker.py: 2 survived, and at most 1 may")
    assert [name for name in STATUSES if f"show {name}" in found] == [
        "survived",
        "untested",
    ]
    assert not [*problems(tmp_path, {"src/worker.py": 2})]


def test_file_may_have_no_survivor_when_it_is_not_listed(tmp_path: Path) -> None:
    assert [*problems(written(tmp_path, survived=0), {})]
    assert not [*problems(written(tmp_path, killed=1), {})]


def test_mutant_is_not_refused_when_pytest_could_not_run_its_tests(
    tmp_path: Path,
) -> None:
    assert [*problems(written(tmp_path, not_run=255), {})]
