"""Writes the reference of the command line: its help, as a page to copy from."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from tools import generated

ROOT: Final = Path(__file__).resolve().parents[1]
TRANSCRIPTS: Final = ROOT / "tests" / "transcripts"
PAGE: Final = "docs/reference/ticketctl.md"
_TYPER: Final = "typer", "ticketctl.commands", "utils", "docs", "--name", "ticketctl"


def reference() -> str:
    """Return the page: each example is a block without a prompt.

    Raises:
        CalledProcessError: Typer failed; its error is on standard error.
    """
    command = [sys.executable, "-m", *_TYPER]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    text = subprocess.check_output(command, env=environment, text=True)  # noqa: S603 - own arguments.
    usages = re.sub(r"```console\n\$ (.+)\n```", r"```text\n\1\n```", text.strip())
    examples = re.sub(r"(?m)^\$ (.+)$", r"```sh\n\1\n```", usages)
    return _with_transcripts(_with_links(examples)) + "\n"


def _with_links(page: str) -> str:
    """Link each command of a list to its section, with its full first sentence."""
    for name, text in re.findall(r"#+ `ticketctl (.+)`\n\n((?:.+\n)+)", page):
        item = f"* `{name.split()[-1]}`: "
        sentence = " ".join(text.split())
        link = f"* [`{name}`](#ticketctl-{name.replace(' ', '-')}): {sentence}"
        # A subcommand of the same name is listed after the command.
        page = re.sub(f"(?m)^{re.escape(item)}.*", link, page, count=1)
    return page


def _with_transcripts(page: str) -> str:
    """Link the transcript of each command below its heading."""
    texts = {path.name: path.read_text("utf-8") for path in TRANSCRIPTS.glob("*.txt")}

    def link(heading: re.Match[str]) -> str:
        typed = re.compile(rf"(?m)^\$ ticketctl {heading[1]}( |$)")
        word = heading[1].split()[0]
        counts = {
            name: (word in name, len(typed.findall(text)))
            for name, text in sorted(texts.items())
            if typed.search(text)
        }
        if not counts:
            return heading[0]
        best = max(counts, key=lambda name: counts[name])
        return f"{heading[0]}\n\n[Its output](../../tests/transcripts/{best})."

    return re.sub(r"(?m)^#+ `ticketctl (.+)`$", link, page)


if __name__ == "__main__":
    generated.write({PAGE: reference()}, ROOT)
