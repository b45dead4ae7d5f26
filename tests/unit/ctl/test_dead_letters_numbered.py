"""A number that was perhaps never announced is not lost with its letter."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.audit_tables import Tables
from tests.support.builders import ticket_fields
from tests.support.ctl_process import command_context
from tests.support.dead_letter_queue import Site, Sqs, letter
from ticketctl.cli.errors import InputError, NotThereError
from ticketctl.commands.dead_letters import edit
from ticketctl.dead_letters.choosing import Choice
from ticketctl.dead_letters.letters import Filter, Letter
from ticketctl.dead_letters.tasks import delete_chosen
from ticketctl.system.contract import body_of

EVERYTHING = Choice((), everything=True, filter=Filter())


def asking(key: str, **attributes: str) -> Letter:
    """Return a letter that asks under this key."""
    return letter(body=body_of(ticket_fields("PROJ", key)), **attributes)


@dataclass
class Desk:
    """Dead letters, and a table in which some of their keys are recorded."""

    letters: list[Letter]
    tables: Tables = field(default_factory=Tables)

    def __post_init__(self) -> None:
        """Lay the letters into a queue."""
        self.sqs = Sqs(self.letters)
        self.site: Any = Site(self.sqs, self.tables)

    def delete(self, *, force: bool = False) -> None:
        """Delete all letters."""
        delete_chosen(self.site, EVERYTHING, None, yes=True, force=force)

    def edit(self, file: Path, **options: bool) -> None:
        """Put a mended body in place of the only letter."""
        file.write_text(body_of(ticket_fields("PROJ", "k-1", title="Mended")))
        [letter] = self.letters
        edit(command_context(self.site), letter.message_id, file=file, **options)


class TestNumberIsHeardOf:
    """Whoever would lose an announcement is told the number, and nothing is done."""

    def test_nothing_is_deleted_when_a_letter_has_a_number(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Its neighbours wait, too."""
        desk = Desk([asking("k-1"), asking("k-2")])
        desk.tables.key("PROJ", 7, "k-2")

        with pytest.raises(InputError, match=r"nothing is done.*redrive"):
            desk.delete()

        assert desk.sqs.letters == desk.letters
        assert set(desk.sqs.hidden.values()) == {0}
        said = capsys.readouterr().err
        assert f"{desk.letters[1].message_id}: has PROJ-7" in said
        assert desk.letters[0].message_id not in said

    @pytest.mark.parametrize("new_key", [False, True])
    def test_nothing_is_sent_when_the_edited_letter_has_a_number(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], *, new_key: bool
    ) -> None:
        """A new key would even give it a second number."""
        desk = Desk([asking("k-1")])
        desk.tables.key("PROJ", 7, "k-1")

        with pytest.raises(InputError, match="redrive"):
            desk.edit(tmp_path / "body.json", new_key=new_key)

        assert desk.sqs.letters == desk.letters
        assert desk.sqs.sent == []
        assert "has PROJ-7" in capsys.readouterr().err

    def test_letters_are_done_with_when_somebody_insists(self, tmp_path: Path) -> None:
        """The tables need not even be readable."""
        deleted, edited = Desk([asking("k-1")]), Desk([asking("k-1")])
        deleted.tables.key("PROJ", 7, "k-1")
        edited.tables.key("PROJ", 7, "k-1")

        deleted.delete(force=True)
        edited.edit(tmp_path / "body.json", force=True)

        assert deleted.sqs.letters == edited.sqs.letters == []
        assert len(edited.sqs.sent) == 1
        assert deleted.tables.requests == edited.tables.requests == []

    def test_every_number_is_named_when_there_are_many_letters(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """More than a request takes, of a busy table, and one key twice."""
        desk = Desk([asking(f"k-{number}") for number in (*range(1, 131), 1)])
        desk.tables.busy = True
        for number in range(1, 131):
            desk.tables.key("PROJ", number, f"k-{number}")

        with pytest.raises(InputError):
            desk.delete()

        said = capsys.readouterr().err.splitlines()
        named = [line.rpartition("has ")[2].partition(",")[0] for line in said]
        assert named == [f"PROJ-{number}" for number in (*range(1, 131), 1)]

    def test_nothing_is_deleted_when_a_record_cannot_be_read(self) -> None:
        """It may hold a number."""
        desk = Desk([asking("k-1")])
        desk.tables.key("PROJ", 7, "k-1")
        del desk.tables.items["keys"]["PROJ#k-1",]["number"]

        with pytest.raises(NotThereError, match="malformed"):
            desk.delete()

        assert desk.sqs.letters == desk.letters


class TestUnnumbered:
    """Letters without a number of their own are in nobody's way."""

    @pytest.mark.parametrize(
        "body",
        [
            body_of(ticket_fields("PROJ", "k-1")),
            body_of(ticket_fields("OTHER", "k-7")),
            "{",
            '{"project_id": "PROJ", "idempotency_key": 7}',
            '{"project_id": "A#B", "idempotency_key": "k-7"}',
            '{"project_id": "PROJ", "idempotency_key": "\u00fc"}',
        ],
    )
    def test_letter_is_deleted_when_its_request_has_no_number(self, body: str) -> None:
        """The worker gave it none, or never can."""
        desk = Desk([letter(body=body)])
        desk.tables.key("PROJ", 7, "k-7")

        desk.delete()

        assert desk.sqs.letters == []

    def test_letter_is_deleted_when_the_number_is_of_another_request(self) -> None:
        """The worker found the key taken, and said so."""
        desk = Desk([asking("k-7", ErrorType="IdempotencyMismatchError")])
        desk.tables.key("PROJ", 7, "k-7")

        desk.delete()

        assert desk.sqs.letters == []
