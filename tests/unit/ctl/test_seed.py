"""`ticketctl seed` continues a sequence among other writers."""

import json

import pytest

from tests.support.builders import CALLER
from tests.support.canned_aws import client_error, failing
from tests.support.markdown_commands import commands
from tests.support.paths import ROOT
from tests.support.stage import Stage
from ticketctl.cli.errors import InputError
from ticketctl.sequences.seeding import Seeded, given_between

RECOVERY = ROOT / "docs" / "recovery.md"


class TestSeed:
    """A sequence goes on after the last number of an external system."""

    @pytest.mark.parametrize(
        ("tickets", "last", "reserved"),
        [(0, 1, [1]), (0, 100, [100, 1]), (1, 2, [2]), (2, 100, [100, 3])],
    )
    def test_seed_reserves_the_last_number_and_then_the_one_after_the_tickets(
        self, stage: Stage, tickets: int, last: int, reserved: list[int]
    ) -> None:
        """In the other order a worker could go on between the two."""
        stage.put(*range(1, tickets + 1))

        seeded = stage.seed(last, "moved").apply()

        calls = stage.dynamodb.requests["put_item"]
        puts = [call["Item"] for call in calls]
        assert [int(item["number"]["N"]) for item in puts] == reserved
        assert all("ConditionExpression" in call for call in calls)
        top = stage.tickets()[last]
        assert (top["status"], top["origin"]) == ("reserved", "elsewhere")
        assert top["reserved_reason"] == "moved"
        assert {item["reserved_by"]["S"] for item in puts} == {CALLER}
        assert stage.given() == [*range(1, tickets + 1)]
        assert seeded == Seeded(
            "PROJ", last, last + 1, was_already=False, given_within=()
        )

    def test_seed_closes_what_follows_a_lost_ticket(self, stage: Stage) -> None:
        """A worker that read its reserved item, of the page, can still go on there."""
        page = RECOVERY.read_text(encoding="utf-8")
        words = {word for shown in commands("aws", page) for word in shown.words}
        [lost] = [json.loads(word) for word in words if '"reserved"' in word]
        stage.put(41)
        stage.write(lost)

        stage.seed(99).apply()

        assert sorted(stage.tickets()) == [41, 42, 43, 99]

    @pytest.mark.parametrize("last", [1, 3, 4, 98])
    def test_seed_is_refused_when_the_project_is_past_it(
        self, stage: Stage, last: int
    ) -> None:
        """Also where a ticket was imported at the number after the sequence."""
        stage.put(1, 2, 3)
        stage.seed(99).apply()
        stage.call("import", stage.file(4))

        with pytest.raises(InputError, match="has numbers up to 99 already"):
            stage.seed(last).apply()

        assert sorted(stage.tickets()) == [1, 2, 3, 4, 99]

    def test_seed_reads_again_when_one_of_two_due_numbers_is_given_meanwhile(
        self, stage: Stage
    ) -> None:
        """The proof's rule "a failed put is none": the other one is not enough."""
        stage.put(1, 2)
        stage.interrupt_seed(10, after=2)
        stage.before("put_item", lambda: None, lambda: stage.put(11))

        stage.seed(20).apply()

        assert stage.given() == [1, 2, 11]
        assert stage.tickets()[12]["status"] == "reserved"

    def test_seed_tries_again_when_another_transaction_holds_its_number(
        self, stage: Stage
    ) -> None:
        """It may yet be cancelled, and then nothing reserves the number."""
        conflict = failing(client_error("TransactionConflictException"))
        stage.before("put_item", conflict, lambda: None, conflict)

        stage.seed(4).apply()

        assert sorted(stage.tickets()) == [1, 4]

    def test_number_counts_as_given_when_its_ticket_is_not_visible_yet(
        self, stage: Stage
    ) -> None:
        """A read may see half a block; the ticket behind it is there."""
        stage.put(6, 8)
        stage.interrupt_seed(50, after=8)

        assert [*given_between(stage, "PROJ", 5, 50)] == [6, 7, 8]
        assert [*given_between(stage, "PROJ", 5, 8)] == [6]
