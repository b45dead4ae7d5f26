"""The script of the pages that swaps a table, after every interruption."""

import subprocess
from pathlib import Path

import pytest

from tests.support.aws_cli import called, check_aws
from tests.support.paths import EXAMPLES
from tests.support.stage import Stage
from tools.rights import tasks

SWAP = EXAMPLES / "swap_table.sh"


def program(folder: Path, text: str, name: str = "aws") -> None:
    """Write a program that stands for another, such as the AWS CLI."""
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


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
