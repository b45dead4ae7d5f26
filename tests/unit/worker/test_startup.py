"""The function's start: what it loads, and who collects garbage afterwards."""

import gc
import importlib
import re
import sys
import sysconfig
from pathlib import Path

import pytest

from benchmarks.function_init import needless_modules
from benchmarks.function_site import Site
from ticketctl.local.artifact import SOURCE

PACKAGES = Path(sysconfig.get_path("purelib"))
SITE = Site(Path(sys.executable), (SOURCE, PACKAGES))
MODULES = sorted(SOURCE.rglob("*.py"))


class TestImports:
    """A start loads what the function uses."""

    def test_start_loads_no_needless_module(self) -> None:
        """Each is paid for in every cold start."""
        assert needless_modules(SITE) == []

    @pytest.mark.parametrize("needless", ["unittest.mock", "moto.core", "pydantic.v1"])
    def test_needless_module_is_named_when_loaded(
        self, needless: str, tmp_path: Path
    ) -> None:
        """The check above can fail."""
        package = tmp_path / "ticket_numbering"
        package.mkdir()
        package.joinpath("__init__.py").touch()
        package.joinpath("handler.py").write_text(f"import {needless}\n")

        found = needless_modules(Site(SITE.python, (tmp_path, PACKAGES)))

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
