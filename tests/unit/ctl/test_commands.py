"""A new command is named like its work, and tested end to end."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
import typer

from tests.support.paths import ROOT
from ticketctl import __version__, commands
from ticketctl.cli.errors import Status
from tools.reference import PAGE, reference

END_TO_END: Final = ROOT / "tests/e2e/ctl"


def test_package_of_work_has_the_name_of_its_command_module() -> None:
    folder = Path(commands.__file__).parent
    modules = {path.stem for path in folder.glob("*.py")}
    packages = {path.parent.name for path in folder.parent.glob("*/__init__.py")}

    assert modules - {"__init__", "application", "options"} <= packages


def called(node: ast.AST) -> str | None:
    """Return the command of `ctl("send", …)`, `"ticketctl send …"` or of a list."""
    match node:
        case ast.Call(ast.Name("ctl"), [ast.Constant(str(command)), *_]):
            return command
        case ast.Constant(str(line)) if line.startswith("ticketctl "):
            return line.removeprefix("ticketctl ").partition(" ")[0]
        case ast.List(
            [_, _, ast.Constant("ticketctl"), ast.Constant(str(command)), *_]
        ):
            return command
    return None


def test_command_is_called_by_an_end_to_end_test() -> None:
    names = vars(typer.main.get_command(commands.app))["commands"].keys()
    tests = [path.read_text(encoding="utf-8") for path in END_TO_END.glob("*.py")]
    nodes = [node for test in tests for node in ast.walk(ast.parse(test))]

    assert names <= {*map(called, nodes)}


def python(*words: str, **variables: str) -> str:
    """Return the output of a separate process."""
    path = {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.check_output(  # noqa: S603 - commands of the tests below.
        [sys.executable, *words], text=True, env=os.environ | path | variables
    )


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("--version", f"ticketctl {__version__}\n"),
        ("--help", "send-file"),
        ("se<Tab>", "send-file"),
        ("send --pr<Tab>", "--priority"),
        ("dead-letters list --reason T<Tab>", "TicketTooLargeError"),
    ],
)
def test_no_library_of_a_command_is_loaded_when_none_works(
    line: str, shown: str
) -> None:
    """A person waits, at each Tab."""
    script = (
        "import atexit, sys; atexit.register(lambda: print(*sys.modules)); "
        "from ticketctl.__main__ import main; main()"
    )
    words = line.removesuffix("<Tab>").split()
    tab = {
        "_TICKETCTL_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(["ticketctl", *words]),
        "COMP_CWORD": str(len(words)),
    }
    out = python("-c", script, *words, **(tab if line.endswith("<Tab>") else {}))

    *printed, modules = out.splitlines(keepends=True)
    assert shown in "".join(printed)
    assert not {"boto3", "botocore", "pydantic", "rich.progress"} & {*modules.split()}


@pytest.mark.parametrize(
    ("source", "where"),
    [
        ("Source, https://host/o/r", f"https://host/o/r/blob/v{__version__}/docs/"),
        ("Issues, https://host/o/r/issues", " docs/"),
    ],
)
def test_help_names_the_page_of_the_release_when_the_wheel_knows_its_host(
    tmp_path: Path, source: str, where: str
) -> None:
    """It has no page itself."""
    for package in ("ticketctl", "src/ticket_numbering"):
        shutil.copytree(ROOT / package, tmp_path / Path(package).name)
    wheel = tmp_path / "ticket_numbering-0.dist-info"
    wheel.mkdir()
    (wheel / "METADATA").write_text(f"Name: ticket-numbering\nProject-URL: {source}\n")
    installed = {"PYTHONPATH": str(tmp_path), "COLUMNS": "200"}
    out = python("-P", "-m", "ticketctl", "show", "--help", **installed)

    assert f"{where}evidence.md" in out


def test_reference_has_the_help_of_every_command() -> None:
    shown = (ROOT / PAGE).read_text("utf-8")

    assert shown == reference(), "run `make contracts`"


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("import - <&-", Status.USAGE),
        ("sample 1 >&-", Status.PROBLEM),
        ("sample 1 2>&-", Status.OK),
        ("import - <&- 2>&-", Status.USAGE),
    ],
)
def test_command_has_its_status_when_a_stream_is_closed(
    line: str, status: Status
) -> None:
    shell = ["sh", "-c", f'"$0" -m ticketctl {line}', sys.executable]
    path = os.pathsep.join(sys.path)
    ended = subprocess.run(  # noqa: S603 - the lines above.
        shell, capture_output=True, check=False, env=os.environ | {"PYTHONPATH": path}
    )

    assert ended.returncode == status
    assert b"Traceback" not in ended.stderr
    assert b"error" not in ended.stdout
