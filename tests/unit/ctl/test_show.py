"""Lookups read every page, and malformed arguments end before a lookup."""

from typing import Any

import pytest

from tests.support.cases import plain_id
from tests.support.ctl_process import Ctl
from tests.support.seed_items import ticket_item
from tests.support.stage import Stage


def test_item_of_others_is_a_document_whatever_types_its_fields_have(
    stage: Stage,
) -> None:
    odd: Any = {"half": {"N": "0.5"}, "set": {"SS": ["a"]}, "bytes": {"B": b"x"}}
    stage.write(ticket_item("P", 1, "k") | odd)

    document = stage.call("show", "P-1", "--json").json

    assert (document["half"], document["set"], "bytes" in document) == (
        0.5,
        ["a"],
        True,
    )


def test_list_reads_on_when_a_page_of_dynamodb_is_full(stage: Stage) -> None:
    """A page ends at 1 MB, before the limit."""
    stage.write(*(ticket_item("P", number, "k") for number in (1, 2, 3)))
    stage.dynamodb.page = 2

    shown = stage.call("list", "P", "--json")

    assert [line["number"] for line in shown.json_lines] == [3, 2, 1]


@pytest.mark.parametrize(
    "arguments",
    [
        *(("show", "PROJ"), ("show", "PROJ-0"), ("show", "PR#J-1")),
        *(("show", "P-1\x1b"), ("show", "P-٣")),
        *(("list", "PR#J"), ("list", "P" * 65), ("list", "P", "--limit", "0")),
        *(("list", "P", "--before", "9" * 40), ("find", "P", "with space")),
        *(("find", "P", ""), ("find", "P", "k" * 129), ("watch", "--project", "A B")),
        ("audit", "--tickets-table", "", "--keys-table", ""),
        *(("audit", "--tickets-table", "t"), ("audit", "--project", "A#B")),
        *(("audit", "--rate", "0"), ("seed", "P#1", "--last", "5")),
        *(("seed", "P", "--last", "0"), ("seed", "P", "--last", str(10**15 + 1))),
        ("seed", "P", "--last", "5", "--reason", "two\nlines"),
        ("import", "-", "--project", "P#1"),
        *(("import", "/nowhere/tickets.jsonl"), ("void", "P", "--reason", "spam")),
        ("erase", "P-1", "--reason", ""),
    ],
    ids=plain_id,
)
def test_command_is_refused_when_its_arguments_are_malformed(
    arguments: tuple[str, ...],
) -> None:
    """Before a system is even looked for."""
    ended = Ctl({"COLUMNS": "200"})(*arguments)

    assert (ended.status, ended.out) == (2, "")
    assert "\x1b" not in ended.err
