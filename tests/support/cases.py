"""Parameters of a test with the name of each case beside its value."""

from collections.abc import Mapping
from typing import Any

import pytest


def cases(named: Mapping[str, Any]) -> list[Any]:
    """Return the parameters of `parametrize`; a tuple holds several arguments."""
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), id=name)
        for name, case in named.items()
    ]
