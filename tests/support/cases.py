"""Parameters of a test that name each case."""

import re
from collections.abc import Mapping
from typing import Any

import pytest


def cases(named: Mapping[str, Any]) -> list[Any]:
    """Return the parameters of `parametrize`; a tuple holds several arguments."""
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), id=name)
        for name, case in named.items()
    ]


def plain_id(value: object) -> str:
    """Return a name for `ids` of which pytest has nothing to escape.

    It would escape it once more when it runs again in the same process, as in the
    mutation tests, and would not find the test by its first name.
    """
    return re.sub(r"[^ -~]|\\", "?", str(value))[:60]
