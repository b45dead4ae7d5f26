"""Draws the terminal of `make run`: `make pictures`.

The command runs as it does in a terminal, and rich draws its output.
"""

import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from rich.console import Console, RenderableType
from rich.text import Text

from tools import generated

ROOT: Final = Path(__file__).resolve().parents[1]
PICTURES: Final = ROOT / "docs" / "pictures"
WIDTH: Final = 80
FETCHED_FONT: Final = re.compile(r"@font-face \{.*?\}\s*", flags=re.DOTALL)


def terminal() -> RenderableType:
    """Return what `make run` shows."""
    said = subprocess.run(
        [sys.executable, "-m", "ticketctl", "run"],
        check=True,
        cwd=ROOT,
        env=os.environ | {"FORCE_COLOR": "1", "COLUMNS": str(WIDTH), "TERM": "xterm"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    ).stdout
    return Text.from_ansi(said.rstrip())


def drawn(name: str, title: str, shown: RenderableType, width: int) -> str:
    """Return a picture; its name keeps its styles from those of others."""
    console = Console(record=True, width=width, file=io.StringIO())
    console.print(shown)
    svg = console.export_svg(title=title, unique_id=name)
    # The reader's own fixed-width font will do; a picture fetches nothing.
    return FETCHED_FONT.sub("", svg)


if __name__ == "__main__":
    picture = drawn("run", "make run", terminal(), WIDTH)
    generated.write({"run.svg": picture}, PICTURES)
