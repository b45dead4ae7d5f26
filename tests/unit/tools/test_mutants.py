"""In no package survive more mutants than its floor lets."""

import json
from pathlib import Path

from tools.mutants import problems


def test_worst_file_is_named_when_a_package_is_below_its_floor(tmp_path: Path) -> None:
    files = {
        "good": {"killed": 1, "ill-typed": 37, "slow": 36},
        "worse": {"survived": 0, "untested": 33, "not-run": 255},
        "bad": {"other": 0, "again": 1},
    }
    for file, statuses in files.items():
        results = tmp_path / "src" / f"{file}.py.meta"
        results.parent.mkdir(exist_ok=True)
        results.write_text(json.dumps({"exit_code_by_key": statuses}))

    assert not [*problems(tmp_path, {"src": 50})]
    [package, worst, *shown] = problems(tmp_path, {"src": 51})
    assert package.startswith("src: 4 of 8 survived")
    assert worst.endswith("src/worse.py: 3")
    assert [line.rpartition(" ")[2] for line in shown] == [*files["worse"]]
    assert [*problems(tmp_path, {})]
    # The worst file has a floor of its own, and leaves its package.
    assert not [*problems(tmp_path, {"src": 60, "src/worse.py": 0})]
