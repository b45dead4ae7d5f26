"""Only a person's yes is a yes."""

import io
from collections.abc import Callable
from typing import Any

import pytest
import typer

from tests.support.command_harness import Harness
from tests.support.ctl_process import Terminal
from ticketctl.cli.errors import InputError
from ticketctl.cli.prompts import confirm
from ticketctl.commands import sequences
from ticketctl.commands.importing import import_tickets


@pytest.mark.parametrize("typed", ["y\n", "YES\n"])
def test_command_goes_on_when_a_person_agrees(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str
) -> None:
    """Standard output may be a file, and has nothing of the question."""
    monkeypatch.setattr("sys.stdin", Terminal(typed))

    confirm("Really?", yes=False)

    assert capsys.readouterr() == ("", "Really? [y/N]: ")


@pytest.mark.parametrize(("typed", "status"), [("\n", 0), ("no\n", 0), ("", 130)])
def test_command_ends_when_a_person_declines_or_hangs_up(
    monkeypatch: pytest.MonkeyPatch, typed: str, status: int
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(typed))

    with pytest.raises(typer.Exit) as ended:
        confirm("Really?", yes=False)

    assert ended.value.exit_code == status


def test_command_needs_the_option_when_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))

    with pytest.raises(InputError, match="--yes"):
        confirm("Really?", yes=False)
    confirm("Really?", yes=True)


@pytest.mark.parametrize(
    ("command", "options"),
    [
        (sequences.void, {"ticket_key": "PROJ-42", "reason": "spam"}),
        (sequences.erase, {"ticket_key": "PROJ-42", "reason": "asked to"}),
        (sequences.seed, {"project": "PROJ", "last": 99}),
        (import_tickets, {}),
    ],
)
def test_nothing_is_written_when_it_was_not_confirmed(
    harness: Harness, command: Callable[..., None], options: dict[str, Any]
) -> None:
    harness.put(42)
    before = harness.tickets()
    options = options or {"file": harness.file(7)}

    with pytest.raises(InputError, match="--yes"):
        harness.call(command, **options, yes=False)

    assert harness.tickets() == before
    assert harness.published == []
