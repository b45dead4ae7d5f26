"""The check of `make test-aws` finds what contradicts the proof."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import pytest

from conformance.case import FAILED
from operators.model_services import ModelServices
from simulation.aws.dynamodb import STALENESS_SECONDS
from simulation.aws.items import Address, Item
from simulation.aws.tables import TICKETS, by_address
from tests.aws.contention import Reader
from tests.aws.findings import contradictions, of_cancellations, of_reads
from tests.aws.meter import Cancelled
from tests.support.seed_items import ticket_item
from ticket_numbering.contract.dynamodb_items import ticket_id

CONFLICT: Final = "TransactionConflict"

ticket = partial(ticket_item, "PROJ")


def record(key: str) -> dict[str, Any]:
    return {"id": {"S": f"PROJ#{key}"}}


def items(*keys: str) -> dict[Address, Item]:
    """Return the items of a sequence whose numbers these keys have."""
    tickets = (ticket(number, key) for number, key in enumerate(keys, 1))
    return by_address([*tickets, *map(record, keys)])


def cancelled(first: int, codes: Sequence[str], *keys: str) -> Cancelled:
    """Return a cancelled block; a failed condition shows the ticket of key `a`."""
    puts = [
        item
        for number, key in enumerate(keys, first)
        for item in (ticket(number, key), record(key))
    ]
    shown = {"Item": ticket(first, "a")}
    return Cancelled(
        puts, [{"Code": code, **(shown if code == FAILED else {})} for code in codes]
    )


def put(model: ModelServices, *tickets: Item) -> None:
    """Write tickets that every query sees from now on."""
    model.dynamodb.put(*tickets)
    model.wait(STALENESS_SECONDS)


def hide(model: ModelServices, number: int) -> None:
    """Let no query see a number from now on."""
    model.dynamodb.delete_item(TableName=TICKETS, Key=ticket_id("PROJ", number))
    model.wait(STALENESS_SECONDS)


class TestFindings:
    """AWS could contradict the proof; then the report says so."""

    def test_failed_condition_contradicts_when_the_item_is_another_one(self) -> None:
        blocks = [cancelled(1, [FAILED, "None"], "c")]

        assert not [*contradictions(of_cancellations(blocks, items("a")))]
        assert [*contradictions(of_cancellations(blocks, items("b")))]
        assert [*contradictions(of_cancellations(blocks, items()))]

    def test_conflict_left_the_number_free_when_its_own_ticket_got_it(self) -> None:
        blocks = [cancelled(1, [CONFLICT, "None"], "a")]

        for key, count in {"a": 1, "b": 0}.items():
            found = of_cancellations(blocks, items(key))
            assert found["conflicts_of_a_number_that_stayed_free"] == count
            assert found["reasons"] == {CONFLICT: 1}

    @pytest.mark.parametrize(
        ("codes", "count"),
        [
            (["None", "None", FAILED, "None"], 1),
            ([FAILED, "None", "None", "None"], 0),
            ([CONFLICT, "None", FAILED, "None"], 0),
        ],
    )
    def test_reason_is_left_out_when_a_higher_number_is_taken(
        self, codes: Sequence[str], count: int
    ) -> None:
        found = of_cancellations([cancelled(1, codes, "c", "d")], items("a", "b"))

        assert found["with_a_reason_left_out"] == count

    def test_read_contradicts_when_the_ticket_is_another_one_in_the_end(self) -> None:
        model = ModelServices()
        put(model, ticket(1, "a"))
        reader = Reader(model.dynamodb, TICKETS, "PROJ")
        reader.look()

        assert not [*contradictions(of_reads(reader, items("a")))]
        assert [*contradictions(of_reads(reader, items("b")))]

    def test_query_contradicts_when_it_lacks_a_number_seen_before(self) -> None:
        model = ModelServices()
        put(model, ticket(1, "a"), ticket(2, "b"))
        reader = Reader(model.dynamodb, TICKETS, "PROJ")

        reader.look()
        assert not [*contradictions(of_reads(reader, items("a", "b")))]
        hide(model, 2)
        reader.look()

        assert [*contradictions(of_reads(reader, items("a", "b")))]

    def test_reads_are_half_and_stale_when_numbers_are_missing(self) -> None:
        model = ModelServices()
        put(model, ticket(1, "a"), ticket(3, "c"))
        reader = Reader(model.dynamodb, TICKETS, "PROJ")
        model.dynamodb.before["query"] = [lambda: None, lambda: hide(model, 3)]
        reader.look()
        put(model, ticket(2, "b"), ticket(3, "c"))
        reader.look()

        found = of_reads(reader, items("a", "b", "c"))

        assert (found["queries"], found["half_seen_blocks"], found["stale"]) == (
            2,
            1,
            1,
        )
        asked = [one["ConsistentRead"] for one in model.dynamodb.requests["query"]]
        assert asked == [True, False] * 2
