"""Plays transcripts of the command line on a stage: in a terminal, and with a pipe.

A transcript begins with `# ` and the reason why it is there. The other lines are

    > a step of the stage, with its arguments; `< ` before the lines of a file
    $ a command: `ticketctl` or `cat`, with `NAME=value`, `< FILE` and `> FILE`
      a result, as a terminal shows it
    ! a note, or a question with the typed answer
    | a result, or `|!` a note, where it differs if the results go into a pipe
    status, unless it is 0

`APPROVE=1` records the current output, for a person to read.
"""

import io
import os
import pty
import re
import shlex
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from difflib import unified_diff
from itertools import chain
from pathlib import Path
from threading import Thread
from typing import Any, Final

import pytest

from simulation.aws.tables import TICKETS
from tests.support.paths import ROOT
from tests.support.stage import Stage
from tests.support.steps import Steps
from ticket_numbering.contract.dynamodb_items import ATTRIBUTES
from ticketctl.__main__ import main
from ticketctl.cli.output import stderr_console

FOLDER: Final = ROOT / "tests" / "transcripts"
WIDTH: Final = "80"

_BEGIN, _END = b"\x0e", b"\x0f"
"""Around each part of the results, for a terminal shows both streams as one."""

LAST: Final = b"\0"
"""Ends the output of a terminal, which may lose data when it closes."""

_PARTS: Final = re.compile(
    r"\x1b\[\??[\d;]*([a-zA-Z])|([\x0e\x0f\r\n])|([^\x0e\x0f\r\n])"
)

_OPEN: Final = " (no end of line)"
_KEPT: Final = re.compile("PATH|HOME|TZ|(LC|LANG|PY|COV|AWS_[ADES]).*")
"""The variables that stay: a shell's others may name a stack, or colour the output."""

_RECENT: Final = timedelta(days=4)
_TIME: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(?=Z)")
_SALTED: Final = re.compile(r"(?<=v1:)[-\w]{43}(?![-\w])|\b[0-9a-f]{64}\b")
_VARYING: Final = re.compile(
    r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"  # A random id.
    r"|(?<=days, [0-9]:)[0-9]{2}:[0-9]{2}"  # An age, to the hour.
    r"|\b1[789][0-9]{11}\b"  # Milliseconds since 1970.
    r"|(?<=-watch-)[0-9]{10}-[0-9a-f]{8}"  # The name of a temporary queue.
    r"|(?<=VERIFY-)[0-9]{8}-[0-9]{6}-[0-9a-f]{4}"  # A project of `verify`.
)
"""The parts that differ each time; an `x` for each character keeps the tables."""


class Results(io.FileIO):
    """A terminal's standard output, which marks its text."""

    def write(self, data: Any) -> int:
        """Write all of it."""
        rest = memoryview(_BEGIN + bytes(data) + _END)
        while rest:
            rest = rest[os.write(self.fileno(), rest) :]
        return len(data)


class Keyboard(io.TextIOWrapper):
    """A terminal's standard input; a person types when a line is read."""

    def __init__(self, terminal: int, person: int, lines: list[str]) -> None:
        """Type the lines, and at last Ctrl-D."""
        super().__init__(io.FileIO(os.dup(terminal)), "utf-8")
        self._person, self._lines = person, lines

    def readline(self, size: int | None = -1) -> str:  # type: ignore[override]
        """Return the next line that was typed."""
        line = f"{self._lines.pop(0)}\n" if self._lines else "\x04"
        if line == "^C\n":
            signal.raise_signal(signal.SIGINT)
        os.write(self._person, line.encode())
        return super().readline(-1 if size is None else size)


class Reader(Thread):
    """Reads all that comes, so that no writer has to wait."""

    def __init__(self, end: int) -> None:
        """Begin to read."""
        super().__init__(daemon=True)
        self._end, self._read = end, b""
        self.start()

    def run(self) -> None:
        """Read to the end, or to the last sign of a terminal."""
        # A bug leaves no last sign, and reading from a closed terminal fails.
        with suppress(OSError), io.FileIO(self._end) as end:
            while (part := os.read(end.fileno(), 65536)) and not part.endswith(LAST):
                self._read += part
            self._read += part.removesuffix(LAST)

    def text(self) -> str:
        """Return everything, once the other end is closed."""
        self.join()
        return self._read.decode()


@dataclass(frozen=True)
class Shown:
    """The outcome of a command."""

    results: list[str]
    notes: list[str]
    both: list[str]
    """In their order, with their signs."""
    status: int


def rows(text: str) -> list[tuple[bool, str]]:
    """Return the rows of a terminal's screen, and whether each is a result."""
    screen, at, column, is_result = [(False, "")], 0, 0, False
    for escape, control, sign in map(re.Match.groups, _PARTS.finditer(text)):
        kind, row = screen[at]
        if control in {"\x0e", "\x0f"}:
            is_result = control == "\x0e"
        elif control == "\n":
            screen[at] = kind or is_result, row
            at, column = at + 1, 0
            screen += [(False, "")] * (at == len(screen))
        elif control == "\r":
            column = 0
        elif escape == "A":
            at -= 1
        elif escape == "K":
            screen[at] = False, ""
        elif sign:
            changed = row[:column].ljust(column) + sign + row[column + 1 :]
            screen[at], column = (kind or is_result, changed), column + 1
    if column:
        screen[at] = screen[at][0], f"{screen[at][1]}{_OPEN}"
    while screen and screen[-1] == (False, ""):
        screen.pop()
    return screen


def normal(text: str) -> str:
    """Return a text without its varying parts and trailing blanks."""
    text = _SALTED.sub(lambda match: "x" * len(match[0]), text)
    text = _VARYING.sub(_crossed, _TIME.sub(_recent_crossed, text))
    spelled = (
        character if character.isprintable() else f"<U+{ord(character):04X}>"
        for character in text
    )
    return "".join(spelled).rstrip()


def _crossed(match: re.Match[str]) -> str:
    return re.sub(r"[^-:.TZ]", "x", match[0])


def _recent_crossed(match: re.Match[str]) -> str:
    past = datetime.now(UTC) - datetime.fromisoformat(match[1]).replace(tzinfo=UTC)
    return _crossed(match) if abs(past) < _RECENT else match[0]


class Shell:
    """Runs the commands of a transcript on one stage."""

    def __init__(self, typed: list[str], *, is_piped: bool) -> None:
        """Run them with a terminal, but for the results if they are piped."""
        self.typed, self.is_piped = typed, is_piped

    def run(self, line: str) -> Shown:
        """Run a command to its end."""
        words, files = _redirections(shlex.split(line))
        if words[0] == "cat":
            text = Path(words[1]).read_text(encoding="utf-8")
            shown = [normal(row) for row in text.splitlines()]
            return Shown(shown, [], [f"  {row}" for row in shown], 0)
        with pytest.MonkeyPatch.context() as patch:
            while "=" in words[0]:
                patch.setenv(*words.pop(0).split("=", 1))
            assert words[0] == "ticketctl", line
            return self._call(words[1:], files, patch)

    def _call(
        self, words: Sequence[str], files: dict[str, str], patch: pytest.MonkeyPatch
    ) -> Shown:
        person, terminal = pty.openpty()
        screen, piped = Reader(os.dup(person)), None
        keyboard: Any = Keyboard(terminal, person, self.typed)
        if "<" in files:
            keyboard.close()
            keyboard = Path(files["<"]).open(encoding="utf-8")  # noqa: SIM115 - below.
        if ">" in files:
            out: Any = Path(files[">"]).open("w", encoding="utf-8")  # noqa: SIM115
        elif self.is_piped:
            end, start = os.pipe()
            piped, out = Reader(end), io.TextIOWrapper(io.FileIO(start, "w"), "utf-8")
        else:
            marked: Any = Results(os.dup(terminal), "w")
            out = io.TextIOWrapper(marked, "utf-8", write_through=True)
        screen_end: Any = io.FileIO(terminal, "w")
        notes = io.TextIOWrapper(screen_end, "utf-8", write_through=True)
        with keyboard, out, notes:
            patch.setattr(sys, "stdin", keyboard)
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", notes)
            stderr_console.cache_clear()
            with pytest.raises(SystemExit) as ended:
                main(words)
            screen_end.write(LAST)
            screen.join()  # Before the terminal closes.
        shown = [(kind, normal(row)) for kind, row in rows(screen.text())]
        os.close(person)
        results = [row for kind, row in shown if kind]
        if piped:
            results = [normal(row) for _, row in rows(piped.text())]
        return Shown(
            results,
            [row for kind, row in shown if not kind],
            [f"{'  ' if kind else '! '}{row}".rstrip() for kind, row in shown],
            int(ended.value.code or 0),
        )


def _redirections(words: list[str]) -> tuple[list[str], dict[str, str]]:
    files = {}
    while len(words) > 2 and words[-2] in {"<", ">"}:
        *words, sign, name = words
        files[sign] = name
    return words, files


def played(text: str, folder: Path, *, is_piped: bool) -> Iterator[tuple[str, Any]]:
    """Yield each written line and its outcome."""
    folder.mkdir()
    lines = [line for line in text.splitlines() if line[:2] in {"> ", "$ ", "< "}]
    with pytest.MonkeyPatch.context() as patch:
        stage = Stage(folder)
        stage.lead(patch)
        steps = Steps(stage)
        shell = Shell(steps.typed, is_piped=is_piped)
        patch.chdir(folder)
        for name in [
            variable for variable in os.environ if not _KEPT.fullmatch(variable)
        ]:
            patch.delenv(name)
        patch.setenv("COLUMNS", WIDTH)
        patch.setenv("TERM", "xterm")
        for line in lines:
            if line.startswith("$ "):
                yield line, shell.run(line[2:])
            elif line.startswith("> "):
                name, *arguments = shlex.split(line[2:])
                said = getattr(steps, name.replace("-", "_"))(*arguments)
                yield line, [f"  {normal(row)}" for row in said or ()]
            else:
                steps.write(line[2:])
                yield line, []
        items = stage.services.tables.items(TICKETS)
        written = {name for item in items for name in item}
        assert written <= ATTRIBUTES | {*re.findall(r"\w+", text)}, "not in ATTRIBUTES"


def play(text: str, folder: Path) -> str:
    """Return a transcript as it goes now."""
    title = text.partition("\n")[0]
    seen = [*played(text, folder / "terminal", is_piped=False)]
    piped = played(text, folder / "pipe", is_piped=True)
    lines = [title]
    for (line, shown), (_, other) in zip(seen, piped, strict=True):
        lines += [line, *(_lines(shown, other) if isinstance(shown, Shown) else shown)]
    return "\n".join(lines) + "\n"


def _lines(shown: Shown, piped: Shown) -> Iterator[str]:
    """Yield the outcome of a command, and the differences in a pipe."""
    assert bool(shown.results) == bool(piped.results), "the pipe gets all results"
    yield from shown.both
    if piped.results != shown.results:
        yield from (f"| {row}".rstrip() for row in piped.results)
    if piped.notes != shown.notes:
        yield from (f"|! {row}".rstrip() for row in piped.notes)
    for status in dict.fromkeys((shown.status, piped.status)):
        if status:
            yield f"status {status}"


def transcripts(path: Path) -> list[str]:
    """Return the transcripts of a file."""
    return [part for part in re.split(r"(?m)^(?=# )", path.read_text("utf-8")) if part]


def compared(path: Path, folder: Path) -> str:
    """Play every transcript of a file; return the difference from the approved one."""
    recorded = [transcript.rstrip("\n") + "\n" for transcript in transcripts(path)]
    now = []
    for index, transcript in enumerate(recorded):
        within = folder / str(index)
        within.mkdir()
        now.append(play(transcript, within))
    if os.environ.get("APPROVE"):
        path.write_text("\n".join(now), encoding="utf-8")
    changed = ((a, b) for a, b in zip(recorded, now, strict=True) if a != b)
    return "\n".join(
        chain.from_iterable(
            unified_diff(a.splitlines(), b.splitlines(), "approved", "now", lineterm="")
            for a, b in changed
        )
    )
