"""The command lines that a page shows, whether in a block or within a sentence."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

_BLOCK = re.compile(r"^[ \t]*```(\w*)[^\n]*\n(.*?)^[ \t]*```", re.MULTILINE | re.DOTALL)
_SHELLS = frozenset({"bash", "console", "sh", "shell"})
_INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
# What a shell makes of it: the command ends there.
_ENDS = frozenset({"|", "||", "&&", "&", ";", ">", ">>", "<", ")"})


@dataclass(frozen=True)
class Shown:
    """A command line on a page."""

    page: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        """Name a test."""
        return f"{self.page}: {' '.join(self.words)}"


def pages() -> list[Path]:
    """Return every page that people read."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(text: str, language: str) -> list[str]:
    """Return the fenced blocks of a language."""
    return [body for name, body in _BLOCK.findall(text) if name == language]


def commands(program: str, text: str, page: str = "") -> list[Shown]:
    """Return what a text calls of one program."""
    lines = [*_block_lines(text), *_INLINE.findall(_BLOCK.sub("", text))]
    return [
        Shown(page, words) for line in lines for words in _calls(program, line) if words
    ]


def _block_lines(text: str) -> Iterator[str]:
    """Yield the lines of blocks for a shell; a quoted text may span several."""
    for language, body in _BLOCK.findall(text):
        line = ""
        for part in body.replace("\\\n", " ").splitlines():
            line = f"{line}\n{part}" if line else part
            if language in _SHELLS and _is_whole(line):
                yield line
                line = ""


def _is_whole(line: str) -> bool:
    try:
        shlex.split(line, comments=True)
    except ValueError:
        return False
    return True


def _calls(program: str, line: str) -> Iterator[tuple[str, ...]]:
    """Yield the calls of a line, at its start and wherever a shell begins one."""
    starts = rf"(?:^|[|;&(]|\$ |\buntil )\s*(?:\.venv/bin/)?{program}(?= )"
    for found in re.finditer(starts, line.strip()):
        yield tuple(_until_end(line.strip()[found.end() :]))


def _until_end(rest: str) -> Iterator[str]:
    lexer = shlex.shlex(rest, posix=True, punctuation_chars="|&;<>()")
    lexer.whitespace_split = True
    for word in lexer:
        if word in _ENDS:
            return
        yield word
