"""Prints text for people and JSON for scripts."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final, TypeVar

from rich.console import Console
from rich.progress import Progress, ProgressColumn, SpinnerColumn, TextColumn  # noqa: TID251 - the one place that makes them.
from rich.table import Table
from rich.text import Text

Item = TypeVar("Item")

_ENDLESS: Final = 10_000
_INDENT: Final = "  "
_NARROW: Final = 73
"""The columns below which a table has no room for texts."""
_STEP: Final = 1_000
"""The items between two lines of progress, if no terminal shows a bar."""


def console() -> Console:
    """Return the console for results."""
    return Console(highlight=False, soft_wrap=True, emoji=False)


@cache
def stderr_console() -> Console:
    """Return the console for progress and notes; a pipe gets only results.

    All code shares one, so that a note does not break into a progress bar.
    """
    return Console(highlight=False, soft_wrap=True, emoji=False, stderr=True)


def print_note(line: str) -> None:
    """Print a line unchanged to standard error, apart from the results."""
    stderr_console().print(line, markup=False)


@contextmanager
def note_if_interrupted(
    note: str | Callable[[], str],
    *,
    by: tuple[type[BaseException], ...] = (BaseException,),
) -> Iterator[None]:
    """Print a note about the progress of the block if an error ends it.

    The error can be Ctrl-C, a closed terminal, a full disk, a closed pipe or one of
    AWS; `by` restricts the kinds. An empty note is not printed.
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
    """Show the progress of an iteration: a bar on a terminal, else occasional lines.

    The bar disappears at the end of the context, also at Ctrl-C.
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
    """Show a text with a spinner on a terminal; yield a function to change the text."""
    plain = TextColumn("{task.description}", markup=False)
    with _progress(SpinnerColumn(), plain) as progress:
        task = progress.add_task(text, total=None)
        yield lambda text: progress.update(task, description=text)


def _progress(*columns: ProgressColumn) -> Progress:
    """Return a progress display that leaves standard output alone.

    rich's default redirects all standard output to its own console, even for a file.
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
    """Print a line; if a terminal is too narrow, break it between words, indented.

    A pipe gets it in one line, for `grep`.
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
    """Print one line of a stream of JSON documents, and flush it."""
    _write(json.dumps(value, ensure_ascii=False))


def json_line(value: Any) -> bytes:
    """Return one line of a file of JSON documents, escaped as for printing."""
    return f"{_spelled(json.dumps(value, ensure_ascii=False), 'utf-8')}\n".encode()


def _write(document: str) -> None:
    sys.stdout.write(f"{_spelled(document, sys.stdout.encoding or 'utf-8')}\n")
    sys.stdout.flush()


def _spelled(document: str, encoding: str) -> str:
    """Return JSON with unprintable characters escaped: texts may be anyone's.

    A raw C1 control would drive the terminal, and a lone surrogate stop the printing.
    A character that the output's encoding lacks is escaped, too.
    """
    for sign in {*document} - {"\n"}:
        if not (sign.isprintable() and sign.encode(encoding, "ignore")):
            document = document.replace(sign, json.dumps(sign)[1:-1])
    return document


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 project`, `2,000 projects`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def utc(time: datetime) -> str:
    """Return a time in UTC, to the second, in the form of every output."""
    text = time.astimezone(UTC).isoformat(timespec="seconds")
    return text.replace("+00:00", "Z")


def is_narrow(out: Console) -> bool:
    """Tell whether the terminal is too narrow for a row with a text on one line."""
    return out.is_terminal and out.width < _NARROW


def print_row_narrow(out: Console, cells: Iterable[str], text: str) -> None:
    """Print a row as two lines: its short cells, and its text, indented."""
    out.print(Text("  ".join(filter(None, cells))))
    for line in _wrapped(Text(text), out):
        out.print(Text(_INDENT) + line)


def print_table_whole(table: Table, out: Console | None = None) -> None:
    """Print a table; a pipe gets it at full width, for `grep`."""
    out = out or console()
    if not out.is_terminal:
        room = out.options.update(width=_ENDLESS)
        out.width = out.measure(table, options=room).maximum
    out.print(table, soft_wrap=False)


def printable(text: str) -> str:
    """Return a text with its lines and tabs, and other control characters escaped."""
    return "".join(
        sign
        if sign.isprintable() or sign in "\n\t"
        else sign.encode("unicode_escape", "surrogatepass").decode()
        for sign in text
    )


def sanitized(text: str, width: int | None = None) -> str:
    """Return a text as one line that a terminal can show, cut to a width.

    A foreign text may have escape sequences that clear or fake a screen.
    """
    line = " ".join(text.split())
    shown = "".join(sign if sign.isprintable() else "\ufffd" for sign in line)
    if width is None or len(shown) <= width:
        return shown
    return shown[:width] + "..."
