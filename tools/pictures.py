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

from rich.console import Console
from rich.text import Text

from tools import generated

ROOT: Final = Path(__file__).resolve().parents[1]
PICTURES: Final = ROOT / "docs" / "pictures"
WIDTH: Final = 80
FETCHED_FONT: Final = re.compile(r"@font-face \{.*?\}\s*", flags=re.DOTALL)


def picture() -> str:
    """Return the output of `make run` as rich draws it."""
    said = subprocess.run(
        [sys.executable, "-m", "ticketctl", "run"],
        check=True,
        cwd=ROOT,
        env=os.environ | {"FORCE_COLOR": "1", "COLUMNS": str(WIDTH), "TERM": "xterm"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    ).stdout
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    console.print(Text.from_ansi(said.rstrip()))
    svg = console.export_svg(title="make run", unique_id="run")
    # The reader's own fixed-width font is enough; a picture fetches nothing.
    return FETCHED_FONT.sub("", svg)


if __name__ == "__main__":
    generated.write({"run.svg": picture()}, PICTURES)
