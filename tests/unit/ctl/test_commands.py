"""A new command is imported, and tested end to end."""

import ast
from pathlib import Path
from typing import Final

import typer

from tests.support.markdown_commands import ROOT
from ticketctl import commands

END_TO_END: Final = ROOT / "tests/e2e/ctl"
IN_THE_TOUR: Final = {"sample"}
"""Called as the README shows it."""


def command_names() -> set[str]:
    """Return the words that `ticketctl` takes first."""
    found: set[str] = set(vars(typer.main.get_command(commands.app))["commands"])
    return found


def test_module_of_a_command_is_imported() -> None:
    init = Path(commands.__file__)
    imported = {
        alias.name
        for node in ast.walk(ast.parse(init.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == commands.__name__
        for alias in node.names
    }
    modules = {path.stem for path in init.parent.glob("*.py")}

    assert imported == modules - {"__init__", "application"}


def test_command_is_called_by_an_end_to_end_test() -> None:
    tests = [path.read_text(encoding="utf-8") for path in END_TO_END.glob("*.py")]
    texts = {
        node.value
        for test in tests
        for node in ast.walk(ast.parse(test))
        if isinstance(node, ast.Constant)
    }

    assert command_names() - IN_THE_TOUR <= texts
