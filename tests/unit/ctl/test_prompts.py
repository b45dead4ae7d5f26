"""A person is asked before something is done, and nobody else is."""

import io

import pytest
import typer

from ticketctl.cli.errors import InputError
from ticketctl.cli.prompts import agreed, confirm


class Terminal(io.StringIO):
    """A person, who types."""

    def isatty(self) -> bool:
        """Return that it is one."""
        return True


class TestAgreed:
    """Only a person's yes is a yes."""

    @pytest.mark.parametrize(
        ("typed", "answer"),
        [("y\n", True), ("YES\n", True), ("\n", False), ("no\n", False)],
    )
    def test_answer_counts_when_a_person_gives_it(
        self, monkeypatch: pytest.MonkeyPatch, typed: str, *, answer: bool
    ) -> None:
        monkeypatch.setattr("sys.stdin", Terminal(typed))

        assert agreed("Really?") is answer

    def test_nobody_is_asked_when_it_was_said_before(self) -> None:
        confirm("Really?", yes=True)

    def test_status_is_0_when_a_person_declines(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr("sys.stdin", Terminal("n\n"))

        with pytest.raises(typer.Exit) as ended:
            confirm("Really?", yes=False)

        assert ended.value.exit_code == 0
        assert capsys.readouterr().err.endswith("nothing was done\n")

    def test_status_is_2_when_nobody_can_be_asked(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))

        with pytest.raises(InputError, match="--yes") as refused:
            confirm("Really?", yes=False)

        assert refused.value.status == 2
