"""`ticketctl seed` continues a sequence among other writers."""

import json
from collections.abc import Callable
from functools import partial

import pytest
from botocore.exceptions import ClientError

from tests.support.builders import CALLER
from tests.support.command_site import Site, fail, interrupt
from tests.support.markdown_commands import ROOT, commands
from ticketctl.cli.errors import InputError, Status
from ticketctl.commands import sequences
from ticketctl.commands.importing import import_tickets
from ticketctl.sequences.seeding import Seeded, given_between

RECOVERY = ROOT / "docs" / "recovery.md"


class TestSeed:
    """A sequence goes on after the last number used elsewhere."""

    @pytest.mark.parametrize(
        ("tickets", "last", "reserved"),
        [(0, 1, [1]), (0, 100, [100, 1]), (1, 2, [2]), (2, 100, [100, 3])],
    )
    def test_seed_reserves_the_last_number_and_then_the_one_after_the_tickets(
        self, site: Site, tickets: int, last: int, reserved: list[int]
    ) -> None:
        """In the other order a worker could go on between the two."""
        site.put(*range(1, tickets + 1))

        seeded = site.seed(last, "moved").apply()

        calls = site.dynamodb.requests["put_item"][tickets:]
        puts = [call["Item"] for call in calls]
        assert [int(item["number"]["N"]) for item in puts] == reserved
        assert all("ConditionExpression" in call for call in calls)
        top = site.tickets()[last]
        assert (top["status"], top["origin"]) == ("reserved", "elsewhere")
        assert top["reserved_reason"] == "moved"
        assert {item["reserved_by"]["S"] for item in puts} == {CALLER}
        assert site.given() == [*range(1, tickets + 1)]
        assert seeded == Seeded(
            "PROJ", last, last + 1, was_already=False, given_within=()
        )

    def test_second_seed_reserves_the_number_after_the_first(self, site: Site) -> None:
        site.seed(4).apply()

        site.seed(9).apply()

        assert sorted(site.tickets()) == [1, 4, 5, 9]

    def test_seed_closes_what_all_seeds_before_it_left_open(self, site: Site) -> None:
        """One of them may have read before the others, and written after them."""
        for last, before in ((1, 0), (100, 1), (7, 0)):
            site.interrupt_seed(last, after=before)

        site.seed(100).apply()

        assert sorted(site.tickets()) == [1, 2, 7, 8, 100]

    def test_seed_closes_what_follows_a_lost_ticket(self, site: Site) -> None:
        """A worker that read its reserved item, of the page, can still go on there."""
        page = RECOVERY.read_text(encoding="utf-8")
        words = {word for shown in commands("aws", page) for word in shown.words}
        [lost] = [json.loads(word) for word in words if '"reserved"' in word]
        site.put(41)
        site.dynamodb.put_item(TableName="tickets", Item=lost)

        site.seed(99).apply()

        assert sorted(site.tickets()) == [41, 42, 43, 99]

    @pytest.mark.parametrize("last", [1, 2, 3])
    def test_seed_is_refused_when_the_project_is_past_it(
        self, site: Site, last: int
    ) -> None:
        site.put(1, 2, 3)

        with pytest.raises(InputError, match="has numbers up to 3 already"):
            site.call(sequences.seed, "PROJ", last=last)

        assert sorted(site.tickets()) == [1, 2, 3]

    @pytest.mark.parametrize("last", [1, 99])
    def test_seed_is_refused_when_its_number_was_only_skipped(
        self, site: Site, last: int
    ) -> None:
        """Also where a ticket was imported at the number after the sequence."""
        site.call(sequences.seed, "PROJ", last=1234)
        site.call(import_tickets, site.file(1))

        with pytest.raises(InputError, match="has numbers up to 1234 already"):
            site.call(sequences.seed, "PROJ", last=last)

    def test_seed_changes_nothing_when_it_was_done_already(self, site: Site) -> None:
        """The answer to the first may have been lost; workers may have gone on."""
        site.call(sequences.seed, "PROJ", last=300)
        site.put(301)
        before = site.tickets()

        ended = site.call(sequences.seed, "PROJ", last=300)

        assert ended.status == Status.OK
        assert "was seeded already up to 300, and goes on with 302" in ended.out
        assert site.tickets() == before

    def test_seed_goes_on_when_it_was_killed_before_it_was_done(
        self, site: Site
    ) -> None:
        """Numbers that workers gave since are named, and they give no more."""
        site.put(1)
        site.interrupt_seed(300, after=1)
        site.put(2, 301)

        ended = site.call(sequences.seed, "PROJ", last=300)

        assert ended.status == Status.FOUND
        assert ended.err.endswith("being seeded: PROJ-2\n")
        assert sorted(site.tickets()) == [1, 2, 3, 300, 301]

    def test_seed_goes_on_from_tickets_that_come_in_between(self, site: Site) -> None:
        site.before("put_item", lambda: None, lambda: site.put(1))

        seeded = site.seed(4).apply()

        assert seeded.given_within == (1,)
        assert sorted(site.tickets()) == [1, 2, 4]

    def test_seed_tries_again_when_another_transaction_holds_its_number(
        self, site: Site
    ) -> None:
        """It may yet be cancelled, and then nothing reserves the number."""
        conflict = partial(fail, "TransactionConflictException")
        site.before("put_item", conflict, lambda: None, conflict)

        site.seed(4).apply()

        assert sorted(site.tickets()) == [1, 4]

    def test_seed_is_refused_when_its_number_is_given_in_between(
        self, site: Site
    ) -> None:
        site.before("put_item", lambda: site.put(3))

        with pytest.raises(InputError, match="has numbers up to 3 already"):
            site.seed(3).apply()

        assert site.given() == [3] == sorted(site.tickets())

    @pytest.mark.parametrize(
        ("failure", "error"),
        [
            (partial(fail, "InternalServerError"), ClientError),
            (interrupt, KeyboardInterrupt),
        ],
    )
    def test_seed_says_to_run_it_again_when_it_ends_in_between(
        self, site: Site, failure: Callable[[], None], error: type[BaseException]
    ) -> None:
        site.before("put_item", lambda: None, failure)

        with pytest.raises(error):
            site.call(sequences.seed, "PROJ", last=300)

        said = site.printed.readouterr().err
        assert said == "PROJ may be seeded in part: run it again\n"

    def test_number_counts_as_given_when_its_ticket_is_not_visible_yet(
        self, site: Site
    ) -> None:
        """A read may see half a block; the ticket behind it is there."""
        site.put(6, 8)
        site.interrupt_seed(50, after=8)

        assert [*given_between(site, "PROJ", 5, 50)] == [6, 7, 8]
        assert [*given_between(site, "PROJ", 5, 8)] == [6]

    def test_nothing_is_written_when_it_was_not_confirmed(self, site: Site) -> None:
        with pytest.raises(InputError, match="--yes"):
            site.call(sequences.seed, "PROJ", last=99, yes=False)

        assert site.tickets() == {}
