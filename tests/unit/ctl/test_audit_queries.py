"""The queries for exported tables have the findings of an audit."""

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing

import pytest

from tests.support.audits import MISSING
from tests.support.cases import cases
from tests.support.markdown_commands import ROOT
from tests.support.seed_items import Item, key_item, sequence, ticket_item
from ticketctl.aws.items import plain
from ticketctl.evidence.findings import Kind

STATEMENTS = (ROOT / "docs" / "examples" / "audit.sql").read_text(encoding="utf-8")
GAPS, MISMATCHES = re.findall(
    r"^--[^\n]*\n(SELECT.*?;)$", STATEMENTS, re.DOTALL | re.MULTILINE
)


def rows(items: Sequence[Item], query: str) -> set[tuple[object, ...]]:
    """Query the items through the views of the page."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(
            "CREATE TABLE tickets"
            "(project_id, number, idempotency_key, origin, reserved_up_to)"
        )
        database.execute(
            "CREATE TABLE key_records(project_id, number, idempotency_key)"
        )
        for item in map(plain, items):
            number, key = int(item["number"]), item.get("idempotency_key")
            values: tuple[object, ...] = item["project_id"], number, key
            if "id" in item:
                database.execute("INSERT INTO key_records VALUES (?, ?, ?)", values)
                continue
            values += item.get("origin", ""), int(item.get("reserved_up_to", 0))
            database.execute("INSERT INTO tickets VALUES (?, ?, ?, ?, ?)", values)
        return {*database.execute(re.sub(r"\s+", " ", query))}


@pytest.mark.parametrize(("items", "expected"), cases(MISSING))
def test_query_finds_what_is_missing(
    items: list[Item], expected: list[tuple[Kind, int, int]]
) -> None:
    assert rows(items, GAPS) == {("A", *numbers) for _, *numbers in expected}


PAIR = sequence("A", 1, 2)


@pytest.mark.parametrize(
    ("items", "found"),
    [
        (PAIR, set()),
        ([*PAIR, ticket_item("A", 3, "key-2")], {("A", "key-2", 3, 2)}),
        ([*PAIR, ticket_item("A", 3, "lone")], {("A", "lone", 3, None)}),
        ([*PAIR, key_item("A", 9, "lone")], {("A", "lone", None, 9)}),
        ([*PAIR[:3], key_item("A", 1, "key-2")], {("A", "key-2", 2, 1)}),
    ],
    ids=["clean", "duplicate", "no key", "no ticket", "another number"],
)
def test_query_finds_keys_and_tickets_that_do_not_match(
    items: list[Item], found: set[tuple[object, ...]]
) -> None:
    assert rows([*items, *sequence("B", 1)], MISMATCHES) == found
