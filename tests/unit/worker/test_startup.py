"""The modules that the function's start loads."""

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.support.environment import ENVIRONMENT
from tests.support.paths import ROOT

SOURCE = ROOT / "src"
MODULES = sorted(SOURCE.rglob("*.py"))
PACKAGES = Path(sysconfig.get_path("purelib"))

NEVER_LOADED = (
    # Other features of Powertools and Pydantic; the parser comes with the batch
    # utility if Pydantic is loaded before it, and builds models of many events.
    "aws_xray_sdk",
    "aws_lambda_powertools.event_handler",
    "aws_lambda_powertools.metrics.provider.datadog",
    "aws_lambda_powertools.utilities.idempotency",
    "aws_lambda_powertools.utilities.parser",
    "pydantic.deprecated",
    "pydantic.v1",
    # Modules that only a test or a tool needs.
    "moto",
    "pytest",
    "requests",
    "rich",
    "ticketctl",
    "typer",
    "unittest",
)
"""Modules that a start must not load, with all below them."""

START = (
    "import sys; sys.path[:0] = sys.argv[1:]; "
    "import ticket_numbering.function.lambda_function; print(*sys.modules)"
)


def test_start_loads_no_needless_module() -> None:
    """Each is paid for in every cold start."""
    loaded = subprocess.check_output(  # noqa: S603 - nothing from outside.
        [sys.executable, "-I", "-S", "-c", START, SOURCE, PACKAGES],
        text=True,
        env=os.environ | ENVIRONMENT,
    )

    needless = [
        name
        for name in loaded.split()
        if any(name == never or name.startswith(f"{never}.") for never in NEVER_LOADED)
    ]
    assert needless == []


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.stem)
def test_module_uses_no_resource_api(module: Path) -> None:
    """It builds its classes again at each start, and shares them with no thread."""
    assert not re.search(r"\.resource\(|boto3\.resources", module.read_text())
