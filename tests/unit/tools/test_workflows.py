"""What the workflows run, and what they may do with their rights."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from tests.support.paths import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def writes(permissions: dict[str, str]) -> bool:
    return "write" in permissions.values()


JOBS = [
    pytest.param(job, id=f"{path.stem}-{name}")
    for path in WORKFLOWS
    for name, job in read(path)["jobs"].items()
]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflow_as_a_whole_only_reads(path: Path) -> None:
    assert not writes(read(path)["permissions"])


@pytest.mark.parametrize("job", JOBS)
def test_job_that_can_get_a_token_installs_no_package(job: dict[str, Any]) -> None:
    """Each of its steps can get it; another job hands the built files over."""
    if not writes(job.get("permissions", {})):
        return
    lines = [step["run"] for step in job["steps"] if "run" in step]

    assert job["needs"]
    assert not [line for line in lines if re.search(r"\bpip\b|make (?!test-aws)", line)]


@pytest.mark.parametrize("job", JOBS)
def test_script_has_no_expression_and_action_is_pinned(job: dict[str, Any]) -> None:
    """GitHub writes an expression's value into the script, as code."""
    for step in job["steps"]:
        assert "${{" not in step.get("run", "")
        assert re.search(r"@[0-9a-f]{40}$", step.get("uses", "@" + "0" * 40))
