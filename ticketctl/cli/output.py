"""Prints text for people and JSON for scripts."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final, TypeVar

from rich.console import Console
from rich.progress import (  # noqa: TID251 - the one place that makes them.
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
)
from rich.table import Table
from rich.text import Text

Item = TypeVar("Item")

_ENDLESS: Final = 10_000
_INDENT: Final = "  "
_NARROW: Final = 73
"""Columns below which a table of texts has no room for them."""
_STEP: Final = 1_000
"""Items between two lines of progress, where no terminal shows a bar."""


def console() -> Console:
    """Return the console for results."""
    return Console(highlight=False, soft_wrap=True, emoji=False)


@cache
def stderr_console() -> Console:
    """Return the console for progress and remarks; a pipe gets results alone.

    One for all, so that a remark does not break into a progress bar.
    """
    return Console(highlight=False, soft_wrap=True, emoji=False, stderr=True)


def print_note(line: str) -> None:
    """Print a line apart from the results, as it is."""
    stderr_console().print(line, markup=False)


@contextmanager
def note_if_interrupted(
    note: str | Callable[[], str],
    *,
    by: tuple[type[BaseException], ...] = (BaseException,),
) -> Iterator[None]:
    """Print how far the block came, if it ends before its end.

    By Ctrl-C, a closed terminal, a full disk, a reader that is gone, or AWS; or only by
    these kinds of errors. Nothing is printed if there is no text.
    """
    try:
        yield
    except by:
        if text := note if isinstance(note, str) else note():
            print_note(text)
        raise


@contextmanager
def with_progress(
    items: Iterable[Item], text: str, total: int
) -> Iterator[Iterable[Item]]:
    """Show the progress of an iteration: a bar on a terminal, a line at times else.

    The bar goes at the end of the context, also at Ctrl-C.
    """
    with _progress() as progress:
        if stderr_console().is_terminal:
            yield progress.track(items, total, description=text)
        else:
            yield _with_lines(items, text, total)


def _with_lines(items: Iterable[Item], text: str, total: int) -> Iterator[Item]:
    for count, item in enumerate(items, 1):
        yield item
        if count % _STEP == 0:
            print_note(f"{text}: {count} of {total}")


@contextmanager
def spinner(text: str) -> Iterator[Callable[[str], None]]:
    """Show a text with a spinner on a terminal; yield what changes the text."""
    plain = TextColumn("{task.description}", markup=False)
    with _progress(SpinnerColumn(), plain) as progress:
        task = progress.add_task(text, total=None)
        yield lambda text: progress.update(task, description=text)


def _progress(*columns: ProgressColumn) -> Progress:
    """Return what moves on a terminal; rich's default would print the results there.

    It sends all standard output to its own console, also what goes into a file.
    """
    screen = stderr_console()
    return Progress(
        *columns,
        console=screen,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
        disable=screen.is_dumb_terminal or not screen.is_terminal,
    )


def print_line(line: str | Text, style: str = "") -> None:
    """Print a line; where a terminal is too narrow, break it between words, indented.

    A pipe gets it whole, for `grep` wants that.
    """
    out, text = console(), Text(line, style) if isinstance(line, str) else line
    if out.is_terminal and text.cell_len > out.width:
        text = Text(f"\n{_INDENT}").join(_wrapped(text, out))
    out.print(text)


def _wrapped(text: Text, out: Console) -> Iterable[Text]:
    return text.wrap(out, out.width - len(_INDENT))


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object."""
    _write(json.dumps(value, ensure_ascii=False, indent=2))


def print_json_line(value: Any) -> None:
    """Print one line of a stream of JSON documents, at once."""
    _write(json.dumps(value, ensure_ascii=False))


def json_line(value: Any) -> bytes:
    """Return one line of a file of JSON documents, spelled as it would be printed."""
    return f"{_spelled(json.dumps(value, ensure_ascii=False), 'utf-8')}\n".encode()


def _write(document: str) -> None:
    sys.stdout.write(f"{_spelled(document, sys.stdout.encoding or 'utf-8')}\n")
    sys.stdout.flush()


def _spelled(document: str, encoding: str) -> str:
    """Return JSON, which may hold the text of others, without what cannot be shown.

    A raw C1 control would drive the terminal, and a lone surrogate stop the printing.
    A character that the output's encoding does not have gets JSON's spelling, too.
    """
    for sign in {*document} - {"\n"}:
        if not (sign.isprintable() and sign.encode(encoding, "ignore")):
            document = document.replace(sign, json.dumps(sign)[1:-1])
    return document


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 project`, `2,000 projects`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def utc(time: datetime) -> str:
    """Return a time in UTC, to the second, as every output has it."""
    text = time.astimezone(UTC).isoformat(timespec="seconds")
    return text.replace("+00:00", "Z")


def is_narrow(out: Console) -> bool:
    """Tell whether a row with a text needs two lines of this terminal."""
    return out.is_terminal and out.width < _NARROW


def print_row_narrow(out: Console, cells: Iterable[str], text: str) -> None:
    """Print a row as two lines: its short cells, and its text, indented."""
    out.print(Text("  ".join(filter(None, cells))))
    for line in _wrapped(Text(text), out):
        out.print(Text(_INDENT) + line)


def print_table_whole(table: Table, out: Console | None = None) -> None:
    """Print a table; in a pipe at its full width, for `grep` wants lines whole."""
    out = out or console()
    if not out.is_terminal:
        room = out.options.update(width=_ENDLESS)
        out.width = out.measure(table, options=room).maximum
    out.print(table, soft_wrap=False)


def printable(text: str) -> str:
    """Return a text with its lines and tabs, and its control characters spelled."""
    return "".join(
        sign
        if sign.isprintable() or sign in "\n\t"
        else sign.encode("unicode_escape", "surrogatepass").decode()
        for sign in text
    )


def sanitized(text: str, width: int | None = None) -> str:
    """Return a text as a line that a terminal can show, cut to a width.

    A text of others may hold escape sequences that clear or fake a screen.
    """
    line = " ".join(text.split())
    shown = "".join(sign if sign.isprintable() else "\ufffd" for sign in line)
    if width is None or len(shown) <= width:
        return shown
    return shown[:width] + "..."
