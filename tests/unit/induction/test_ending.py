"""The proof ends red or green, and quietly when the reader is gone."""

import os
import subprocess
import sys

import pytest

from tests.support.paths import ROOT

MAIN = """
from induction.ending import end_after

def main():
    print("proved\\n" * {lines})
    yield from {red}

end_after(main)
"""


@pytest.mark.parametrize("lines", [1, 100_000])
@pytest.mark.parametrize(
    ("reader", "red", "ended"),
    [
        ("cat > /dev/null", [], (0, "")),
        ("cat > /dev/null", ["not proved"], (1, "not proved\n")),
        ("true", [], (1, "")),
    ],
    ids=["green", "red", "unread"],
)
def test_status_is_0_when_all_is_green_and_read(
    lines: int, reader: str, red: list[str], ended: tuple[int, str]
) -> None:
    """Also what is still in Python's buffer at the end is to be read."""
    program = MAIN.format(lines=lines, red=red)
    source, sink = os.pipe()
    with subprocess.Popen(["/bin/sh", "-c", reader], stdin=source) as other:  # noqa: S603
        os.close(source)
        if reader == "true":
            other.wait()
        done = subprocess.run(  # noqa: S603 - the program above.
            [sys.executable, "-c", program],
            env={"PYTHONPATH": str(ROOT / "lab")},
            stdout=sink,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        os.close(sink)

    assert (done.returncode, done.stderr) == ended
