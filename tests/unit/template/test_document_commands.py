"""The commands of every page parse, and its links lead somewhere."""

import json
import re
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.support.aws_cli import check_aws
from tests.support.markdown_commands import (
    EXAMPLES,
    ROOT,
    Shown,
    blocks,
    commands,
    on_all_pages,
    pages,
    tokens,
)
from ticketctl.commands import app


def inert(command: Any) -> Any:
    """Remove a command's action, and keep its parser."""
    command.callback = None
    for child in getattr(command, "commands", {}).values():
        inert(child)
    return command


@cache
def parser() -> Any:
    return inert(typer.main.get_command(app))


def check_ticketctl(*words: str) -> None:
    parser().main(list(words), prog_name="ticketctl", standalone_mode=False)


class TestCommandLines:
    """The programs know the commands of the pages and their options."""

    @pytest.mark.parametrize("shown", on_all_pages("ticketctl"), ids=str)
    def test_ticketctl_parses_the_command(self, shown: Shown) -> None:
        check_ticketctl(*shown.words, *([] if shown.is_in_block else ["--help"]))

    @pytest.mark.parametrize("line", ["nonsense", "list PROJ surplus", "list --x"])
    def test_ticketctl_refuses_what_it_does_not_know(self, line: str) -> None:
        with pytest.raises(typer.TyperException):
            check_ticketctl(*line.split())

    @pytest.mark.parametrize("shown", on_all_pages("aws"), ids=str)
    def test_aws_knows_operation_and_options_and_its_files_exist(
        self, shown: Shown
    ) -> None:
        check_aws(shown.words)
        paths = [word.partition("file://docs/")[2] for word in shown.words]
        assert all((ROOT / "docs" / path).is_file() for path in paths if path)

    @pytest.mark.parametrize(
        ("line", "refusal"),
        [
            ("dynamodb delete-table --name x", SystemExit),
            ("dynamodb delete-table --table-name x surplus", SystemExit),
            ("dynamodb delete-table", SystemExit),
            ("lambda update-event-source-mapping --no-uuid", SystemExit),
            ("dynamodb list-tables --query [", SystemExit),
            ("dynamodb restore-table", KeyError),
            ("dynamodb wait table-restored", KeyError),
        ],
    )
    def test_aws_refuses_what_it_does_not_know(
        self, line: str, refusal: type[BaseException]
    ) -> None:
        with pytest.raises(refusal):
            check_aws(tuple(line.split()))

    @pytest.mark.parametrize("shown", on_all_pages("make"), ids=str)
    def test_makefile_has_the_target(self, shown: Shown) -> None:
        makefile = (ROOT / "Makefile").read_text()

        target = next(word for word in shown.words if re.fullmatch(r"[a-z-]+", word))
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)

    @pytest.mark.parametrize("shown", on_all_pages("python"), ids=str)
    def test_module_or_script_exists(self, shown: Shown) -> None:
        first, *others = shown.words
        assert find_spec(others[0]) if first == "-m" else (ROOT / first).is_file()

    @pytest.mark.parametrize("shown", on_all_pages("pytest"), ids=str)
    def test_tests_exist(self, shown: Shown) -> None:
        assert all(list(ROOT.glob(word)) for word in shown.words if "/" in word)

    def test_commands_are_found_wherever_they_stand(self) -> None:
        text = """Say `aws a` or `not aws x`.

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
        found = [shown.words for shown in commands("aws", text)]

        assert found[:4] == [("a",), ("t", "a|b"), ("b", "c d", "--e"), ("f",)]
        assert found[4:] == [("h", "--i"), ("j",), ("k", '{\n    "l": 1}')]


@pytest.mark.parametrize(
    "text",
    [
        *(block for page in pages() for block in blocks(page.read_text(), "json")),
        *(path.read_text() for path in EXAMPLES.glob("*.json")),
    ],
)
def test_json_of_a_page_or_an_example_can_be_parsed(text: str) -> None:
    assert json.loads(text)


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub makes of a page's headings."""
    parts = pairwise(tokens(page.read_text(encoding="utf-8")))
    headings = [text.content for token, text in parts if token.type == "heading_open"]
    return {
        re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        for heading in headings
    }


def links(page: Path) -> Iterator[str]:
    """Return where a page's links and images lead within the repository."""
    for token in tokens(page.read_text(encoding="utf-8")):
        for child in token.children or []:
            target = str(child.attrGet("href") or child.attrGet("src") or "")
            if target and ":" not in target:
                yield target


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_links_lead_to_files_and_headings_that_exist(page: Path) -> None:
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_links_are_found() -> None:
    assert "docs/proof.md" in links(ROOT / "README.md")
