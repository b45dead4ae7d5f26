"""The queries for exported tables find what an audit finds."""

import re
import sqlite3
from collections.abc import Callable

import pytest

from tests.support.audit_tables import Tables, audited
from tests.support.markdown_commands import ROOT, blocks
from ticketctl.audit.findings import Kind

PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
GAPS, MISMATCHES = [
    query for query in blocks(PAGE, "sql") if query.lstrip().startswith("SELECT")
]


def rows(tables: Tables, query: str) -> set[tuple[object, ...]]:
    """Ask for what the tables hold, as the views of the page show it."""
    database = sqlite3.connect(":memory:")
    database.execute(
        "CREATE TABLE tickets"
        "(project_id, number, idempotency_key, origin, reserved_up_to)"
    )
    database.execute("CREATE TABLE key_records(project_id, number, idempotency_key)")
    for item in tables.items["tickets"].values():
        number = int(item["number"]["N"])
        key = item.get("idempotency_key", {}).get("S")
        origin = item.get("origin", {}).get("S", "")
        up_to = int(item.get("reserved_up_to", {}).get("N", "0"))
        values = item["project_id"]["S"], number, key, origin, up_to
        database.execute("INSERT INTO tickets VALUES (?, ?, ?, ?, ?)", values)
    for item in tables.items["keys"].values():
        record = item["project_id"]["S"], int(item["number"]["N"])
        key = item["idempotency_key"]["S"]
        database.execute("INSERT INTO key_records VALUES (?, ?, ?)", (*record, key))
    return {*database.execute(re.sub(r"\s+", " ", query))}


def sequence(*numbers: int) -> Tables:
    """Return tables of two projects; A has these numbers, B is whole."""
    tables = Tables()
    for number in numbers:
        tables.both("A", number)
    tables.both("B", 1)
    return tables


def seeded(*reserved: tuple[int, int]) -> Tables:
    """Return tables in which seeds up to a number reserved some."""
    tables = sequence(1, 2)
    for number, up_to in reserved:
        tables.ticket("A", number, None, status="reserved", origin="elsewhere")
        tables.items["tickets"]["A", str(number)]["reserved_up_to"] = {"N": str(up_to)}
    return tables


@pytest.mark.parametrize(
    "tables",
    [
        sequence(1, 2, 3),
        sequence(2, 5),
        seeded((3, 10), (10, 10)),
        seeded((4, 10), (10, 10)),
        seeded((10, 10)),
        seeded((3, 4), (4, 4), (9, 9)),
        seeded((3, 10), (7, 10), (10, 10)),
    ],
    ids=["clean", "gaps", "seed", "lost", "unfinished", "second seed", "follower"],
)
def test_query_finds_the_gaps_that_an_audit_finds(tables: Tables) -> None:
    expected = {
        (finding.project_id, *finding.numbers)
        for finding in audited(tables).findings
        if finding.kind in {Kind.GAP, Kind.UNFINISHED_SEED}
    }

    assert rows(tables, GAPS) == expected


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
    spoil(tables)

    assert rows(tables, MISMATCHES) == found
