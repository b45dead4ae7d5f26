"""Writes the reference of the command line: its help, as a page to copy from."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from tools import generated

ROOT: Final = Path(__file__).resolve().parents[1]
PAGE: Final = "docs/reference/ticketctl.md"
_TYPER: Final = "typer", "ticketctl.commands", "utils", "docs", "--name", "ticketctl"


def reference() -> str:
    """Return the page: each example is a block without a prompt.

    Raises:
        CalledProcessError: Typer failed; its own words are on standard error.
    """
    command = [sys.executable, "-m", *_TYPER]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    text = subprocess.check_output(command, env=environment, text=True)  # noqa: S603 - our own words.
    usages = re.sub(r"```console\n\$ (.+)\n```", r"```text\n\1\n```", text.strip())
    return re.sub(r"(?m)^\$ (.+)$", r"```sh\n\1\n```", usages) + "\n"


if __name__ == "__main__":
    generated.write({PAGE: reference()}, ROOT)
