"""The list has each branch that no history takes, beside a test that takes it."""

from pathlib import Path
from typing import Any

import pytest

from tools.branches import NO_TEST, listed, problems, untaken

CODE = """\
def judge(item):
    if item:
        return 1
    return 0
"""
LIST = """\
# A comment.
a.py judge: if item: -> return 0
    tests/test_a.py::test_nothing
"""
BRANCH = "a.py judge: if item: -> return 0"


def report(**judge: Any) -> dict[str, Any]:
    """Return coverage's report of a function."""
    function = {"executed_lines": [2], "missing_lines": [], "missing_branches": []}
    return {"files": {"a.py": {"functions": {"judge": function | judge}}}}


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ({"missing_branches": [[2, 4]], "missing_lines": [4]}, {BRANCH}),
        ({"missing_branches": [[2, -1]]}, {"a.py judge: if item: -> the end"}),
        (
            {
                "executed_lines": [],
                "missing_lines": [2, 3, 4],
                "missing_branches": [[2, 3], [2, 4]],
            },
            {"a.py judge: not entered"},
        ),
        ({}, set()),
    ],
)
def test_branch_has_its_text_when_it_is_not_taken(
    function: dict[str, Any],
    expected: set[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "a.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)

    assert {*untaken(report(**function))} == expected


@pytest.mark.parametrize(
    ("histories", "tests", "start"),
    [
        ({BRANCH, "other"}, set(), "no history takes it, and the list lacks it: other"),
        (set(), set(), "a history takes it, or it is gone: a.py"),
        ({BRANCH}, {"a.py judge: not entered"}, "not taken as the list says"),
        ({BRANCH}, {BRANCH}, "not taken as the list says, by tests/test_a.py::test_"),
    ],
)
def test_list_is_wrong_when_it_differs_from_what_was_run(
    histories: set[str], tests: set[str], start: str
) -> None:
    [problem] = problems(listed(LIST), histories, tests)

    assert problem.startswith(start)


def test_list_is_wrong_when_a_listed_test_takes_what_it_says_none_does() -> None:
    branches = {BRANCH: NO_TEST}

    assert not [*problems(branches, {BRANCH}, {BRANCH})]
    assert [*problems(branches, {BRANCH}, set())]


def test_list_is_right_when_histories_leave_what_tests_take() -> None:
    assert not [*problems(listed(LIST), {BRANCH}, {"other"})]
