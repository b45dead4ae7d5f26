"""The function's start: what it loads, and who collects garbage afterwards."""

import gc
import importlib
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[3] / "src"
PACKAGES = Path(sysconfig.get_path("purelib"))
MODULES = sorted(SOURCE.rglob("*.py"))

NEVER_LOADED = (
    # What Powertools and Pydantic can do besides; the parser comes with the batch
    # utility if Pydantic is loaded before it, and builds models of many events.
    "aws_xray_sdk",
    "aws_lambda_powertools.event_handler",
    "aws_lambda_powertools.metrics.provider.datadog",
    "aws_lambda_powertools.utilities.idempotency",
    "aws_lambda_powertools.utilities.parser",
    "pydantic.deprecated",
    "pydantic.v1",
    # What only a test or a tool needs.
    "moto",
    "pytest",
    "requests",
    "rich",
    "ticketctl",
    "typer",
    "unittest",
)
"""Modules that a start must not load, with all below them."""

START = "import sys; sys.path[:0] = sys.argv[1:]; import ticket_numbering.handler; "
SHOW_MODULES = "print(*sys.modules)"


def needless_modules(source: Path) -> list[str]:
    """Return the modules that a start loads and must not."""
    command = [sys.executable, "-I", "-S", "-c", START + SHOW_MODULES]
    loaded = subprocess.check_output([*command, source, PACKAGES], text=True)  # noqa: S603
    return [
        name
        for name in loaded.split()
        if any(name == never or name.startswith(f"{never}.") for never in NEVER_LOADED)
    ]


class TestImports:
    """A start loads what the function uses."""

    def test_start_loads_no_needless_module(self) -> None:
        """Each is paid for in every cold start."""
        assert needless_modules(SOURCE) == []

    @pytest.mark.parametrize("needless", ["unittest.mock", "moto.core", "pydantic.v1"])
    def test_needless_module_is_named_when_loaded(
        self, needless: str, tmp_path: Path
    ) -> None:
        """The check above can fail."""
        package = tmp_path / "ticket_numbering"
        package.mkdir()
        package.joinpath("__init__.py").touch()
        package.joinpath("handler.py").write_text(f"import {needless}\n")

        found = needless_modules(tmp_path)

        assert needless in found

    @pytest.mark.parametrize("module", MODULES, ids=lambda module: module.stem)
    def test_module_uses_no_resource_api(self, module: Path) -> None:
        """It builds its classes anew at each start, and shares them with no thread."""
        assert not re.search(r"\.resource\(|boto3\.resources", module.read_text())


class TestGarbageCollection:
    """It rests while the function starts, and only then."""

    def test_collector_runs_when_the_function_has_started(self) -> None:
        """A warm function must not grow."""
        importlib.import_module("ticket_numbering.handler")

        assert gc.isenabled()

    def test_collector_leaves_out_what_the_start_made(self) -> None:
        """It all stays; looking through it again finds nothing."""
        importlib.import_module("ticket_numbering.handler")

        assert gc.get_freeze_count() > 0
