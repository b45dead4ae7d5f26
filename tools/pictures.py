"""Pictures of the command line at work, for the README: `make pictures`.

The commands run as they do in a terminal; rich draws what they print.
"""

import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from rich.console import Console
from rich.text import Text

from ticketctl.local.artifact import ROOT
from ticketctl.local.sample import sample_messages
from ticketctl.local.shell_file import variables
from ticketctl.local.stack import local_stack
from ticketctl.system.queues import messages_on_queue

DIRECTORY: Final = ROOT / "docs" / "pictures"
WIDTH: Final = 110
SECONDS: Final = 120

FETCHED_FONT: Final = re.compile(r"@font-face \{.*?\}\s*", flags=re.DOTALL)


def main(directory: Path = DIRECTORY) -> None:
    """Write the pictures of `make run`, `ticketctl watch` and `ticketctl audit`."""
    directory.mkdir(parents=True, exist_ok=True)
    _draw("make run", _said("run", environment={}), directory / "run.svg")
    with local_stack() as stack:
        environment = variables(stack)
        with _running("watch", "--count", "24", environment=environment) as watch:
            # Its remark that it is listening.
            _remarks(watch).readline()
            bodies = "\n".join(sample_messages()[:24])
            _said("send-file", "-", environment=environment, typed=bodies)
            watched, _ = watch.communicate(timeout=SECONDS)
        _draw("ticketctl watch", watched, directory / "watch.svg")
        while messages_on_queue(stack):
            pass
        audited = _said("audit", environment=environment)
        _draw("ticketctl audit", audited, directory / "audit.svg")


def _said(*arguments: str, environment: Mapping[str, str], typed: str = "") -> str:
    with _running(*arguments, environment=environment) as process:
        said, _ = process.communicate(typed, timeout=SECONDS)
    return said


@contextmanager
def _running(
    *arguments: str, environment: Mapping[str, str]
) -> Iterator["subprocess.Popen[str]"]:
    colours = {"FORCE_COLOR": "1", "COLUMNS": str(WIDTH), "TERM": "xterm-256color"}
    with subprocess.Popen(  # noqa: S603 - our own commands.
        [sys.executable, "-m", "ticketctl", *arguments],
        cwd=ROOT,
        env=os.environ | environment | colours,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        yield process


def _remarks(process: "subprocess.Popen[str]") -> IO[str]:
    if process.stderr is None:
        message = "it was started without a pipe for its remarks"
        raise ValueError(message)
    return process.stderr


def _draw(title: str, said: str, path: Path) -> None:
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    console.print(Text.from_ansi(said.rstrip()))
    drawn = console.export_svg(title=title, unique_id=path.stem)
    # The reader's own fixed-width font will do; a picture fetches nothing.
    path.write_text(FETCHED_FONT.sub("", drawn), encoding="utf-8")


if __name__ == "__main__":
    main()
