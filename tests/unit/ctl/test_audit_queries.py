"""The queries for exported tables have the findings of an audit."""

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing

import pytest

from tests.support.audit_tables import MISSING, Tables, sequence
from tests.support.markdown_commands import ROOT
from ticketctl.aws.items import plain
from ticketctl.evidence.findings import Kind

STATEMENTS = (ROOT / "docs" / "examples" / "audit.sql").read_text(encoding="utf-8")
GAPS, MISMATCHES = re.findall(
    r"^--[^\n]*\n(SELECT.*?;)$", STATEMENTS, re.DOTALL | re.MULTILINE
)


def rows(tables: Tables, query: str) -> set[tuple[object, ...]]:
    """Query the tables through the views of the page."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(
            "CREATE TABLE tickets"
            "(project_id, number, idempotency_key, origin, reserved_up_to)"
        )
        database.execute(
            "CREATE TABLE key_records(project_id, number, idempotency_key)"
        )
        for item in map(plain, tables.items("tickets")):
            origin, up_to = item.get("origin", ""), int(item.get("reserved_up_to", 0))
            number, key = int(item["number"]), item.get("idempotency_key")
            values = item["project_id"], number, key, origin, up_to
            database.execute("INSERT INTO tickets VALUES (?, ?, ?, ?, ?)", values)
        for item in map(plain, tables.items("keys")):
            record = item["project_id"], int(item["number"]), item["idempotency_key"]
            database.execute("INSERT INTO key_records VALUES (?, ?, ?)", record)
        return {*database.execute(re.sub(r"\s+", " ", query))}


@pytest.mark.parametrize(("tables", "expected"), MISSING.values(), ids=MISSING)
def test_query_finds_what_is_missing(
    tables: Tables, expected: tuple[tuple[Kind, int, int], ...]
) -> None:
    assert rows(tables, GAPS) == {("A", *numbers) for _, *numbers in expected}


@pytest.mark.parametrize(
    ("spoil", "found"),
    [
        (lambda _: None, set()),
        (
            lambda tables: tables.ticket("A", 3, "key-2"),
            {("A", "key-2", 3, 2)},
        ),
        (lambda tables: tables.ticket("A", 3, "lone"), {("A", "lone", 3, None)}),
        (lambda tables: tables.key("A", 9, "lone"), {("A", "lone", None, 9)}),
        (lambda tables: tables.key("A", 1, "key-2"), {("A", "key-2", 2, 1)}),
    ],
    ids=["clean", "duplicate", "no key", "no ticket", "another number"],
)
def test_query_finds_keys_and_tickets_that_do_not_match(
    spoil: Callable[[Tables], None], found: set[tuple[object, ...]]
) -> None:
    tables = sequence(1, 2)
    tables.both("B", 1)
    spoil(tables)

    assert rows(tables, MISMATCHES) == found
