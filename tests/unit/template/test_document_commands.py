"""The commands of every page parse, and its links lead somewhere."""

import json
import re
import subprocess
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.support.aws_cli import check_aws
from tests.support.markdown_commands import (
    SHELL,
    Shown,
    anchor_of,
    blocks,
    calls,
    fences,
    on_all_pages,
    pages,
    tokens,
)
from tests.support.paths import EXAMPLES, ROOT
from ticketctl.commands import app


def inert(command: Any) -> Any:
    """Remove a command's action, and keep its parser."""
    command.callback = None
    for child in getattr(command, "commands", {}).values():
        inert(child)
    return command


@cache
def parser() -> Any:
    # A tree of its own: a test process keeps the built one for every call.
    return inert(deepcopy(typer.main.get_command(app)))


def check_ticketctl(shown: Shown) -> None:
    words = [*shown.words, *([] if shown.is_in_block else ["--help"])]
    parser().main(words, prog_name="ticketctl", standalone_mode=False)


def check_aws_and_files(shown: Shown) -> None:
    check_aws(shown.words)
    paths = [word.partition("file://docs/")[2] for word in shown.words]
    assert all((ROOT / "docs" / path).is_file() for path in paths if path)


def check_target(shown: Shown) -> None:
    makefile = (ROOT / "Makefile").read_text()
    target = next(word for word in shown.words if re.fullmatch(r"[a-z-]+", word))
    assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def check_module_or_script(shown: Shown) -> None:
    first, *others = shown.words
    assert find_spec(others[0]) if first == "-m" else (ROOT / first).is_file()
    assert all(list(ROOT.glob(word)) for word in others if word.startswith("tests/"))


def asks(words: list[str]) -> bool:
    """Tell whether a call of `ticketctl` asks before it acts."""
    command = parser()
    for word in words:
        command = getattr(command, "commands", {}).get(word, command)
    return any("--yes" in parameter.opts for parameter in command.params)


REFERENCE = ROOT / "docs" / "reference" / "ticketctl.md"
SHOWN_BLOCKS = [
    pytest.param(page.name, block, id=f"{page.stem}-{block[:40]!r}")
    for page in [*pages(), REFERENCE]
    for block in blocks(page.read_text(encoding="utf-8"), SHELL)
]
NO_COMMANDS = {"java", "js", "json", "mermaid", "python", "text", "transcript", "yaml"}
"""The languages of other blocks."""
WIDTH = 100
"""Characters that a page shows without a scroll bar."""

CHECKS = {
    "ticketctl": check_ticketctl,
    "aws": check_aws_and_files,
    "make": check_target,
    "python": check_module_or_script,
    "sh": check_module_or_script,
}


@pytest.mark.parametrize(
    ("program", "shown"),
    [(program, shown) for program in CHECKS for shown in on_all_pages(program)],
    ids=str,
)
def test_program_knows_the_command_and_its_options(program: str, shown: Shown) -> None:
    CHECKS[program](shown)


class TestBlocks:
    """The copy button of a page copies a whole block, for bash and zsh."""

    @pytest.mark.parametrize("page", [*pages(), REFERENCE], ids=lambda page: page.name)
    def test_block_has_no_prompt_and_commands_have_one_of_their_own(
        self, page: Path
    ) -> None:
        """A pasted `$ ticketctl export > FILE` runs nothing, and empties the file."""
        for block in fences(page.read_text(encoding="utf-8")):
            assert block.info in {SHELL, *NO_COMMANDS}, block.content
            is_transcript = block.info == "transcript"  # It shows how one is written.
            prompts = re.findall(r"^\s*[$%] .*", block.content, re.MULTILINE)
            assert is_transcript or not prompts

    @pytest.mark.parametrize(("page", "block"), SHOWN_BLOCKS)
    def test_block_can_be_read_whole_and_pasted(self, page: str, block: str) -> None:
        """An interactive zsh takes a comment for a command."""
        assert not re.search(r"(?:^|\s)#", block), page
        assert max(map(len, block.splitlines())) <= WIDTH
        subprocess.run(["/bin/bash", "-n"], input=block, text=True, check=True)

    @pytest.mark.parametrize(("page", "block"), SHOWN_BLOCKS)
    def test_command_that_asks_or_only_shows_is_the_last_of_its_block(
        self, page: str, block: str
    ) -> None:
        """The next line would be its answer, and a person should read it first."""
        for program, *words in calls(block)[:-1]:
            if program.endswith("ticketctl"):
                assert "--dry-run" not in words, page
                assert "--yes" in words or not asks(words), page


def test_json_of_pages_and_examples_can_be_parsed() -> None:
    texts = [path.read_text() for path in EXAMPLES.glob("*.json")]
    for page in pages():
        texts += blocks(page.read_text(), "json")

    assert all(map(json.loads, texts))


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings."""
    parts = pairwise(tokens(page.read_text(encoding="utf-8")))
    return {
        anchor_of(text.content) for token, text in parts if token.type == "heading_open"
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
