"""Draws the terminal of `make run` for the README: `make pictures`.

The command runs as it does in a terminal; rich draws its output.
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

ROOT: Final = Path(__file__).resolve().parents[1]
PICTURE: Final = ROOT / "docs" / "pictures" / "run.svg"
WIDTH: Final = 80
FETCHED_FONT: Final = re.compile(r"@font-face \{.*?\}\s*", flags=re.DOTALL)


if __name__ == "__main__":
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
    drawn = console.export_svg(title="make run", unique_id=PICTURE.stem)
    # The reader's own fixed-width font will do; a picture fetches nothing.
    PICTURE.write_text(FETCHED_FONT.sub("", drawn), encoding="utf-8")
