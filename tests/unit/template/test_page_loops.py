"""The loops of the pages and their script, in a terminal and after interruptions."""

import os
import re
import select
import shlex
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.aws_cli import called, check_aws
from tests.support.markdown_commands import blocks, pages
from tests.support.paths import EXAMPLES
from tests.support.stage import Stage
from tools.rights import tasks

SWAP = EXAMPLES / "swap_table.sh"

WAITING = [
    found[1].strip()
    for page in pages()
    for block in blocks(page.read_text(encoding="utf-8"), "sh")
    for found in re.finditer(
        r"(?=\b((?:until aws|aws \w+ wait) .*)\Z)", block, re.DOTALL
    )
]
"""Each loop and each `wait`, with the rest of its block."""

# Ctrl-C ends them, though the AWS CLI catches the signal: this ends as that does, and
# never says that anything is ready. A pipe does not hold its answer, so whoever reads
# that is there when it says that it was asked.
AWS = r"""#!/bin/sh
trap 'exit 130' INT
echo "$*" >> "$0.calls"
yes CREATING | head -n 20000
echo asked > /dev/tty
while :; do sleep 0.1; done
"""

SECONDS = 30


def program(folder: Path, text: str, name: str = "aws") -> Path:
    """Write a program that stands for another, such as the AWS CLI."""
    aws = folder / name
    aws.write_text(text)
    aws.chmod(0o755)
    return aws


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


@pytest.mark.parametrize("line", [*WAITING, f"sh {shlex.quote(str(SWAP))} p t"])
def test_nothing_more_runs_when_ctrl_c_comes_once(line: str, tmp_path: Path) -> None:
    aws = program(tmp_path, AWS)
    program(tmp_path, "#!/bin/sh\necho the worker is stopped: it is", "ticketctl")

    with shell(tmp_path) as terminal:
        os.write(terminal, f"{line}\n".encode())
        read_until(terminal, b"asked")
        os.write(terminal, b"\x03echo the $((1 + 1))nd line\n")
        read_until(terminal, b"the 2nd line")

    assert len(Path(f"{aws}.calls").read_text().splitlines()) == 1


# A file is a table, and has the name of the table that it was restored from; one that
# is deleted after the restore is lost, and so is one without an available backup of the
# table that comes, or of the items that go.
TABLES = r"""#!/bin/sh
echo "$*" >> calls
number=$(wc -l < calls)
[ "$number" != "$UNSENT" ] || exit 130
gone() { echo ResourceNotFoundException; exit 254; }
case "$2 $*" in
describe-table*Source*) cat place 2> /dev/null || gone ;;
describe-table*) [ -e place ] || gone; echo ACTIVE ;;
create-backup*) rm -f "arn:$4"; echo "arn:$4" ;;
describe-backup*) touch "$4"; echo AVAILABLE ;;
scan*) cat items ;;
update-table*) [ -e place ] || gone; echo False > protected ;;
delete-table*)
    grep -q False protected || exit 254
    [ -e arn:restored ] && ! grep -q restored place || touch lost
    grep -qx 0 items || [ -e arn:place ] || touch lost
    rm place ;;
restore-table*arn:restored*) [ ! -e place ] && echo arn:table/restored > place ;;
esac
[ "$number" != "$UNHEARD" ] || exit 130
"""


# Another service may fail meanwhile.
STATUS = "#!/bin/sh\ncat worker\nexit 3\n"


def swap(folder: Path, *words: str, **failing: str) -> int:
    """Run the script on the tables of a folder, and return its status."""
    variables = {"PATH": f"{folder}:/usr/bin:/bin"}
    command = ["/bin/sh", str(SWAP), "place", *words]
    return subprocess.call(command, cwd=folder, env=variables | failing)  # noqa: S603


class TestSwap:
    """A table is deleted only with a backup of the one that takes its place."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        program(tmp_path, TABLES)
        (tmp_path / "sleep").symlink_to("/bin/true")
        program(tmp_path, STATUS, "ticketctl")
        (tmp_path / "worker").write_text("the worker is stopped: its mapping is off\n")
        (tmp_path / "place").write_text("None\n")
        (tmp_path / "items").write_text("0\n")
        (tmp_path / "protected").write_text("True\n")
        return tmp_path

    @pytest.mark.parametrize("failing", ["UNSENT", "UNHEARD"])
    @pytest.mark.parametrize("number", range(1, 14))
    def test_swap_goes_on_when_a_call_failed_or_its_answer_was_lost(
        self, folder: Path, number: int, failing: str
    ) -> None:
        (folder / "items").write_text("1\n")
        words = "arn:table/restored", "with-items"
        swap(folder, *words, **{failing: str(number)})

        assert swap(folder, *words) == 0
        assert (folder / "place").read_text() == "arn:table/restored\n"
        assert swap(folder, *words) == 0
        assert not (folder / "lost").exists()

    @pytest.mark.parametrize(
        ("worker", "unsent", "calls"),
        [
            ("the worker is stopping: 1 message in flight", "", 0),
            ("mapping  Disabled", "", 0),
            ("", "", 0),
            ("the worker is stopped: its mapping is Disabled", "1", 1),
        ],
    )
    def test_nothing_is_done_when_the_worker_runs_or_the_place_is_unknown(
        self, folder: Path, worker: str, unsent: str, calls: int
    ) -> None:
        (folder / "worker").write_text(f"{worker}\n")

        assert swap(folder, "restored", "with-items", UNSENT=unsent) == 1
        made = folder / "calls"
        assert (made.read_text().count("\n") if made.exists() else 0) == calls

    def test_worker_counts_as_stopped_when_status_says_so(self, folder: Path) -> None:
        stage = Stage(folder)
        (folder / "worker").write_text(stage.call("status").out)
        assert swap(folder, "restored") == 1

        stage.call("stop")
        (folder / "worker").write_text(stage.call("status").out)

        assert swap(folder, "restored") == 0

    def test_table_goes_only_when_it_is_empty_unless_a_word_says_so(
        self, folder: Path
    ) -> None:
        (folder / "items").write_text("1\n")

        assert swap(folder) == swap(folder, "restored") == 1
        assert swap(folder, "", "with-items") > 0
        assert swap(folder, "-tickets", "with-items") == 1
        assert (folder / "place").read_text() == "None\n"
        assert swap(folder, "restored", "with-items") == 0
        (folder / "items").write_text("0\n")
        assert swap(folder) == 0
        assert not (folder / "place").exists()

    def test_whoever_restores_may_make_its_calls(self, folder: Path) -> None:
        swap(folder, "restored")
        [restore] = [task for task in tasks() if "recovery.md#restore" in task.runbooks]

        for line in (folder / "calls").read_text().splitlines():
            words = tuple(line.split())
            check_aws(words)
            assert restore.allows(":".join(called(words)), "the tickets")
