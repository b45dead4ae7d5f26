"""Ctrl-C ends the loops of the pages, though the AWS CLI catches the signal."""

import os
import re
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.markdown_commands import blocks, pages

WAITING = [
    found[1].strip()
    for page in pages()
    for block in blocks(page.read_text(encoding="utf-8"), "console")
    for found in re.finditer(
        r"(?=\b((?:until aws|aws \w+ wait) .*?)(?:^\$ |\Z))",
        block,
        re.DOTALL | re.MULTILINE,
    )
]
"""Each loop and each `wait`, with the commands that come after it."""

# It ends as the AWS CLI does, and never says that anything is ready. A pipe does not
# hold its answer, so whoever reads that is there when it says that it was asked.
AWS = r"""#!/bin/sh
trap 'exit 130' INT
echo "$*" >> "$0.calls"
yes CREATING | head -n 20000
echo asked >&2
while :; do sleep 0.1; done
"""

SECONDS = 30


def read_until(terminal: int, end: bytes) -> None:
    """Read what a terminal shows until a text comes."""
    shown, deadline = b"", time.monotonic() + SECONDS
    while end not in shown:
        left = max(0.0, deadline - time.monotonic())
        assert select.select([terminal], [], [], left)[0], shown[-500:]
        shown += os.read(terminal, 65536)


@contextmanager
def shell(folder: Path) -> Iterator[int]:
    """Run bash as in a terminal, with our `aws`; yield that terminal."""
    terminal, end = os.openpty()
    # The first process of a session that opens a terminal gets its signals.
    bash = f"exec bash --norc --noprofile --noediting -i <>{os.ttyname(end)} >&0 2>&0"
    variables = {"PATH": f"{folder}:/usr/bin:/bin", "HISTFILE": ""}
    with subprocess.Popen(  # noqa: S603 - the lines of our own pages.
        ["/bin/sh", "-c", bash], env=variables, start_new_session=True
    ):
        try:
            yield terminal
        finally:
            os.close(end)
            os.close(terminal)


@pytest.mark.parametrize("line", WAITING)
def test_nothing_more_runs_when_ctrl_c_comes_once(line: str, tmp_path: Path) -> None:
    aws = tmp_path / "aws"
    aws.write_text(AWS)
    aws.chmod(0o755)

    with shell(tmp_path) as terminal:
        os.write(terminal, f"{line}\n".encode())
        read_until(terminal, b"asked")
        os.write(terminal, b"\x03echo the $((1 + 1))nd line\n")
        read_until(terminal, b"the 2nd line")

    assert len(Path(f"{aws}.calls").read_text().splitlines()) == 1
