"""Draws the terminal of `make run`, and the dashboard: `make pictures`.

The command runs as it does in a terminal; rich draws its output, and each widget of the
template's dashboard with the names of what it shows.
"""

import io
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.text import Text
from samtranslator.yaml_helper import yaml_parse

from tools import generated

ROOT: Final = Path(__file__).resolve().parents[1]
PICTURES: Final = ROOT / "docs" / "pictures"
WIDTH: Final = 80
WIDE: Final = 96
GRID: Final = 24
"""Of CloudWatch."""
FETCHED_FONT: Final = re.compile(r"@font-face \{.*?\}\s*", flags=re.DOTALL)
REFERENCE: Final = re.compile(r"\$\{(?:AWS::)?(\w+)(?:\.Arn)?\}")


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


def dashboard() -> RenderableType:
    """Return the widgets of the dashboard, side by side where they stand so."""
    template = yaml_parse((ROOT / "template.yaml").read_text(encoding="utf-8"))
    properties = template["Resources"]["NumberingDashboard"]["Properties"]
    text, more = properties["DashboardBody"]["Fn::Sub"]
    alarms = text.replace(
        "${CanaryErrors}", more["CanaryErrors"]["Fn::If"][1]["Fn::Sub"]
    )
    rows = defaultdict(list)
    taken = 0
    for widget in json.loads(REFERENCE.sub(r"\1", alarms))["widgets"]:
        width = WIDE * widget["width"] // GRID
        rows[taken // GRID].append(_panel(widget["properties"], width))
        taken += widget["width"]
    return Group(*(Columns(row, padding=0) for row in rows.values()))


def _panel(shown: dict[str, Any], width: int) -> Panel:
    """Return a widget: its text, or the names of its alarms or lines."""
    lines = [
        {"label": metric[1], **(metric[-1] if isinstance(metric[-1], dict) else {})}
        for metric in shown.get("metrics", [])
    ]
    names = ", ".join(shown.get("alarms", ())) + "\n".join(
        line["label"] for line in lines
    )
    return Panel(shown.get("markdown", names), title=shown.get("title"), width=width)


def drawn(name: str, title: str, shown: RenderableType, width: int) -> str:
    """Return a picture; its name keeps its styles from those of others."""
    console = Console(record=True, width=width, file=io.StringIO())
    console.print(shown)
    svg = console.export_svg(title=title, unique_id=name)
    # The reader's own fixed-width font will do; a picture fetches nothing.
    return FETCHED_FONT.sub("", svg)


def dashboard_svg() -> str:
    """Return the picture of the dashboard."""
    return drawn("dashboard", "The dashboard of a stack", dashboard(), WIDE)


if __name__ == "__main__":
    run = drawn("run", "make run", terminal(), WIDTH)
    generated.write({"run.svg": run, "dashboard.svg": dashboard_svg()}, PICTURES)
