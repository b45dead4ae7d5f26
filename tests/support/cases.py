"""Parameters of a test that name each case."""

from collections.abc import Mapping
from typing import Any

import pytest


def cases(named: Mapping[str, Any]) -> list[Any]:
    """Return the parameters of `parametrize`; a tuple holds several arguments."""
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), id=name)
        for name, case in named.items()
    ]
