"""The command lines that a page shows, whether in a block or within a sentence."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT: Final = Path(__file__).parents[2]

MARKDOWN: Final = MarkdownIt().enable("table")
_SHELLS: Final = frozenset({"bash", "console", "sh", "shell"})
_SEPARATORS: Final = frozenset(
    {"$", "|", "||", "&&", "&", ";", ">", ">>", "<", "<<", "(", ")", "until", "do"}
)


@dataclass(frozen=True)
class Shown:
    """A command line on a page."""

    page: str
    words: tuple[str, ...]
    is_in_block: bool
    """Else it stands in a sentence, and may lack its arguments."""

    def __str__(self) -> str:
        """Name a test."""
        return f"{self.page}: {' '.join(self.words)}"


def pages() -> list[Path]:
    """Return every page that people read, but what is said of the past."""
    found = {*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "spec" / "README.md"}
    return sorted(found - {ROOT / "CHANGELOG.md"})


def blocks(text: str, language: str) -> list[str]:
    """Return the fenced blocks of a language."""
    return [
        token.content
        for token in MARKDOWN.parse(text)
        if token.type == "fence" and token.info == language
    ]


def commands(program: str, text: str, page: str = "") -> list[Shown]:
    """Return what a text calls of one program."""
    return [
        Shown(page, tuple(words[1:]), is_in_block)
        for token in MARKDOWN.parse(text)
        for line, is_in_block in _lines(token)
        for words in _calls(line)
        if Path(words[0]).name == program and len(words) > 1
    ]


def on_all_pages(program: str) -> list[Shown]:
    """Return every call of a program that a page shows."""
    return [
        shown
        for page in pages()
        for shown in commands(program, page.read_text(encoding="utf-8"), page.name)
    ]


def _lines(token: Token) -> Iterator[tuple[str, bool]]:
    if token.type == "fence" and token.info in _SHELLS:
        yield token.content, True
    for child in token.children or []:
        if child.type == "code_inline":
            yield child.content, False


def _calls(text: str) -> Iterator[list[str]]:
    """Yield the words of each call: a shell begins one at a prompt or a separator."""
    lexer = shlex.shlex(
        text.replace("\\\n", " "), posix=True, punctuation_chars="|&;<>()"
    )
    lexer.whitespace_split = True
    words: list[str] = []
    try:
        for word in lexer:
            if word not in _SEPARATORS:
                words.append(word)
                continue
            yield from _without_variables(words)
            words = []
    except ValueError:  # Code of another language, with a quotation mark in it.
        return
    yield from _without_variables(words)


def _without_variables(words: list[str]) -> Iterator[list[str]]:
    """Yield a call without the variables that are set for it."""
    while words and re.match(r"\w+=", words[0]):
        words = words[1:]
    if words:
        yield words
