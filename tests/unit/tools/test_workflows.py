"""The targets of the workflows, and their rights."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from tests.support.paths import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def read(path: Path) -> dict[str, Any]:
    workflow: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return workflow


def writes(permissions: dict[str, str]) -> bool:
    return "write" in permissions.values()


JOBS = [
    pytest.param(job, id=f"{path.stem}-{name}")
    for path in WORKFLOWS
    for name, job in read(path)["jobs"].items()
]


MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = {*re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE)} - {"always"}
_RULE = re.compile(r"^([a-z-]+):([^#\n]*)(?:.*\n(?:\t.*\$\(MAKE\)(.*))?)", re.MULTILINE)
NEEDED = {name: f"{first} {called}" for name, first, called in _RULE.findall(MAKEFILE)}
"""By target the words of its prerequisites, and of its own call of `make`."""


def targets_in(text: str) -> set[str]:
    return {*re.findall(r"(?<![\w./-])[a-z-]+(?![\w./-])", text)} & TARGETS


def run_targets() -> set[str]:
    """Return the targets that a workflow or `.ci` runs, with their prerequisites."""
    paths = [*WORKFLOWS, ROOT / ".ci" / "run", ROOT / ".ci" / "fresh"]
    lines = "\n".join(path.read_text(encoding="utf-8") for path in paths).splitlines()
    calls = [line for line in lines if re.search(r"^[^#]*\bmake |^ +checks: ", line)]
    targets = targets_in("\n".join(calls))
    while more := targets_in(" ".join(NEEDED[name] for name in targets)) - targets:
        targets |= more
    return targets


def test_each_target_of_the_makefile_is_run_by_something() -> None:
    """By a change, at night, for a release, or, `test-aws`, by hand."""
    # The parts of `lab` run side by side.
    assert TARGETS - run_targets() == {"lab"}
    assert targets_in(NEEDED["lab"]) <= run_targets()


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
