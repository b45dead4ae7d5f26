"""The command lines that a page shows, whether in a block or within a sentence."""

import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import dropwhile, groupby
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.support.paths import EXAMPLES, ROOT

_MARKDOWN: Final = MarkdownIt().enable("table")
SHELL: Final = "sh"
_SEPARATOR: Final = re.compile(r"[|&;()<>\n]+|\$|until|do|if|then")


@dataclass(frozen=True)
class Shown:
    """A command line on a page."""

    page: str
    words: tuple[str, ...]
    is_in_block: bool
    """Else it stands in a sentence, and may lack its arguments."""

    def __str__(self) -> str:
        return f"{self.page}: {' '.join(self.words)}"


def pages() -> list[Path]:
    """Return every page that people read, except the changelog."""
    pages = {*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")}
    return sorted(pages - {ROOT / "CHANGELOG.md"})


@cache
def tokens(text: str) -> list[Token]:
    """Return the parts of a page; only for reading."""
    return _MARKDOWN.parse(text)


def anchor_of(heading: str) -> str:
    """Return the anchor that GitHub makes of a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def fences(text: str) -> list[Token]:
    return [token for token in tokens(text) if token.type == "fence"]


def blocks(text: str, language: str) -> list[str]:
    return [fence.content for fence in fences(text) if fence.info == language]


def commands(program: str, text: str, page: str = "") -> list[Shown]:
    """Return a text's calls of one program."""
    return [
        Shown(page, tuple(words[1:]), is_in_block)
        for code, is_in_block in _codes(text)
        for words in calls(code)
        if len(words) > 1 and Path(words[0]).name == program
    ]


def in_comments(example: Path) -> str:
    """Return the block of commands that an example's comments show, indented."""
    text = example.read_text(encoding="utf-8")
    lines = re.findall(r"^#   (.*)$", text, re.MULTILINE)
    return "\n".join([f"```{SHELL}", *lines, "```", ""])


def on_all_pages(program: str) -> list[Shown]:
    """Return the calls of one program, those in comments of the examples too."""
    texts = {page.name: page.read_text(encoding="utf-8") for page in pages()}
    texts |= {path.name: in_comments(path) for path in sorted(EXAMPLES.glob("*.*"))}
    return [shown for name in texts for shown in commands(program, texts[name], name)]


def _codes(text: str) -> Iterator[tuple[str, bool]]:
    for token in tokens(text):
        if token.type == "fence" and token.info == SHELL:
            yield token.content, True
        for child in token.children or []:
            if child.type == "code_inline":
                yield child.content, False


@cache
def calls(code: str) -> list[list[str]]:
    """Return the words of each call, without the variables that are set for it."""
    text = code.replace("\\\n", " ")
    lexer = shlex.shlex(text, posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace = " \t"
    lexer.whitespace_split = True
    shown = []
    with suppress(ValueError):  # Code of another language, with a quotation mark in it.
        for is_separator, words in groupby(
            lexer, lambda word: bool(_SEPARATOR.fullmatch(word))
        ):
            call = [*dropwhile(re.compile(r"\w+=").match, words)]
            if call and not is_separator:
                shown.append(call)
    return shown
