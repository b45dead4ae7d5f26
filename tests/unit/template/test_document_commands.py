"""What a page tells to type can be typed."""

import ast
import json
import re
from functools import cache
from importlib.util import find_spec
from typing import Any

import pytest
import typer

from tests.support.aws_cli import check_aws
from tests.support.markdown_commands import (
    ROOT,
    Shown,
    blocks,
    commands,
    on_all_pages,
    pages,
)
from ticketctl.commands import app


def blocks_of_all_pages(language: str) -> list[str]:
    """Return the blocks of a language, whatever the page."""
    return [block for page in pages() for block in blocks(page.read_text(), language)]


def inert(command: Any) -> Any:
    """Take out what a command does, and leave what it parses."""
    command.callback = None
    for child in getattr(command, "commands", {}).values():
        inert(child)
    return command


@cache
def parser() -> Any:
    """Return the program's own parser."""
    return inert(typer.main.get_command(app))


def check_ticketctl(*words: str) -> None:
    """Parse a command line as the program does."""
    parser().main(list(words), prog_name="ticketctl", standalone_mode=False)


class TestCommandLines:
    """The programs know the commands of the pages and their options."""

    @pytest.mark.parametrize("shown", on_all_pages("ticketctl"), ids=str)
    def test_ticketctl_parses_the_command(self, shown: Shown) -> None:
        check_ticketctl(*shown.words, *([] if shown.is_in_block else ["--help"]))

    @pytest.mark.parametrize(
        "line",
        ["nonsense", "list PROJ --nonsense", "list PROJ surplus", "list PROJ --limit"],
    )
    def test_ticketctl_refuses_what_it_does_not_know(self, line: str) -> None:
        with pytest.raises(typer.TyperException):
            check_ticketctl(*line.split())

    @pytest.mark.parametrize("shown", on_all_pages("aws"), ids=str)
    def test_aws_knows_the_operation_and_its_options(self, shown: Shown) -> None:
        check_aws(shown.words)

    @pytest.mark.parametrize(
        "line",
        [
            "dynamodb delete-table --name x",
            "dynamodb delete-table --table-name x surplus",
            "dynamodb delete-table",
            "lambda update-event-source-mapping --no-uuid",
        ],
    )
    def test_aws_refuses_options_that_it_does_not_know(self, line: str) -> None:
        with pytest.raises(SystemExit):
            check_aws(tuple(line.split()))

    @pytest.mark.parametrize(
        "line", ["dynamodb restore-table", "dynamodb wait table-restored"]
    )
    def test_aws_refuses_operations_that_it_does_not_know(self, line: str) -> None:
        with pytest.raises(KeyError):
            check_aws(tuple(line.split()))

    @pytest.mark.parametrize("shown", on_all_pages("make"), ids=str)
    def test_makefile_has_the_target(self, shown: Shown) -> None:
        makefile = (ROOT / "Makefile").read_text()

        [target] = [word for word in shown.words if re.fullmatch(r"[a-z-]+", word)][:1]
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)

    @pytest.mark.parametrize("shown", on_all_pages("python"), ids=str)
    def test_module_exists(self, shown: Shown) -> None:
        assert shown.words[0] == "-m"
        assert find_spec(shown.words[1])

    @pytest.mark.parametrize("shown", on_all_pages("pytest"), ids=str)
    def test_tests_exist(self, shown: Shown) -> None:
        assert all(list(ROOT.glob(word)) for word in shown.words if "/" in word)


class TestBlocks:
    """Code that a page shows is code."""

    @pytest.mark.parametrize("block", blocks_of_all_pages("python"))
    def test_python_can_be_parsed(self, block: str) -> None:
        assert ast.parse(block).body

    @pytest.mark.parametrize("block", blocks_of_all_pages("json"))
    def test_json_can_be_parsed(self, block: str) -> None:
        assert json.loads(block)


def test_commands_are_found_wherever_they_stand() -> None:
    text = """Say `aws s3 a` or `not aws x`.

| a | `aws t "a\\|b"` |
| --- | --- |

```console
$ aws b 'c d' \\
    --e | aws f > g
$ X=$(aws h --i) # it's
$ until aws j; do sleep 1; done
$ A=b .venv/bin/aws k '{
    "l": 1}'
```
"""

    assert [shown.words for shown in commands("aws", text)] == [
        ("s3", "a"),
        ("t", "a|b"),
        ("b", "c d", "--e"),
        ("f",),
        ("h", "--i"),
        ("j",),
        ("k", '{\n    "l": 1}'),
    ]
