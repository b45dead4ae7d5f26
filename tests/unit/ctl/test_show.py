"""`show`, `list` and `find`, for people and for scripts."""

from typing import Any

import pytest

from tests.support.cases import plain_id
from tests.support.command_harness import Harness
from tests.support.ctl_process import Ctl
from tests.support.seed_items import Item, key_item, ticket_item
from ticket_numbering.contract.dynamodb_items import CHAIN, COMMITMENT, SALT
from ticketctl.aws.tickets import parse_ticket_key
from ticketctl.cli.errors import NotThereError
from ticketctl.commands.show import find, list_tickets, show

EVIDENCE = {CHAIN: "v1:abc", SALT: "s", COMMITMENT: "c0ffee"}
EVIL = "\x1b[2J[red]\u202eevil[/red]"


class TestShow:
    """A ticket, whole."""

    def test_show_prints_all_fields_when_others_wrote_them(
        self, harness: Harness
    ) -> None:
        """Known ones first, the description as it is; no text drives the terminal."""
        item: Any = ticket_item(
            "P", 1, "k", title=EVIL, description="a\n\tb\x07", x="y"
        )
        item["attributes"] = {"M": {"browser": {"S": "Firefox"}}}
        item["labels"] = {"L": [{"S": "ui"}, {"S": "login"}]}
        harness.write(item)

        ended = harness.call(show, "P-1")

        assert ended.out.splitlines() == [
            "P-1",
            "project_id       P",
            "number           1",
            r"title            \x1b[2J[red]\u202eevil[/red]",
            "priority         medium",
            "assigned_at      2026-11-21T05:53:00.123Z",
            "idempotency_key  k",
            "labels           ui",
            "                 login",
            "x                y",
            "attributes       browser: Firefox",
            "description      a",
            r"                     b\x07",
        ]

    def test_show_prints_hashes_and_salt_when_they_are_wanted(
        self, harness: Harness
    ) -> None:
        """Else a person reads past a hundred characters that say nothing."""
        harness.write(ticket_item("P", 1, "k", **EVIDENCE))

        without = harness.call(show, "P-1").out.splitlines()
        whole = harness.call(show, "P-1", evidence=True).out.splitlines()

        assert {line.split()[0] for line in whole if line not in without} == {*EVIDENCE}

    def test_show_prints_one_document_when_json_is_wanted(
        self, harness: Harness
    ) -> None:
        """Also the attributes that others have added to the item."""
        odd: Any = {"half": {"N": "0.5"}, "set": {"SS": ["a"]}, "bytes": {"B": b"x"}}
        harness.write(ticket_item("P", 1, "k") | odd)

        document = harness.call(show, "P-1", as_document=True).json

        assert (document["ticket_key"], document["number"]) == ("P-1", 1)
        assert (document["half"], document["set"]) == (0.5, ["a"])

    def test_number_stands_behind_the_last_hyphen(self) -> None:
        """A project's id may hold hyphens and dots, and end as a number."""
        assert parse_ticket_key("P.x-7-3") == ("P.x-7", 3)


class TestList:
    """A project's latest tickets."""

    def test_list_ends_with_how_to_see_more_when_there_are_more(
        self, harness: Harness
    ) -> None:
        harness.write(*(ticket_item("P", number, "k") for number in range(5, 9)))

        options = {"limit": 2, "before": 8, "as_document": True}
        shown = harness.call(list_tickets, "P", **options)

        assert [line["number"] for line in shown.json_lines] == [7, 6]
        assert shown.err.endswith("ticketctl list P --limit 2 --before 6\n")

    def test_list_reads_on_when_a_page_of_dynamodb_is_full(
        self, harness: Harness
    ) -> None:
        """A page ends at 1 MB, before the limit."""
        harness.write(*(ticket_item("P", number, "k") for number in (1, 2, 3)))
        harness.dynamodb.page = 2

        shown = harness.call(list_tickets, "P")

        rows = [line for line in shown.out.splitlines() if "Ticket" in line]
        assert [row.split()[1] for row in rows] == ["3", "2", "1"]
        assert shown.err == ""

    def test_title_is_whole_when_a_pipe_reads_the_list(self, harness: Harness) -> None:
        """`grep` finds the end of a long title."""
        title = "T" * 400
        harness.write(ticket_item("P", 1, "k", title=title))

        assert title in harness.call(list_tickets, "P").out

    def test_list_fails_when_there_are_no_tickets(self, harness: Harness) -> None:
        harness.write(ticket_item("P", 9, "k"))

        with pytest.raises(NotThereError, match="P has no tickets below 9"):
            harness.call(list_tickets, "P", before=9)


class TestFind:
    """By the key that the producer chose."""

    def test_find_prints_hashes_and_salt_when_they_are_wanted(
        self, harness: Harness
    ) -> None:
        record = key_item("P", 1, "k", chain=EVIDENCE[CHAIN])
        harness.write(record, ticket_item("P", 1, "k", **EVIDENCE))

        without = harness.call(find, "P", "k").out
        whole = harness.call(find, "P", "k", evidence=True).out

        assert not any(value in without for value in (CHAIN, COMMITMENT, SALT))
        assert (whole.count(EVIDENCE[CHAIN]), whole.count(SALT)) == (2, 1)

    @pytest.mark.parametrize(
        ("record", "ticket", "why"),
        [
            (None, None, "ticketctl dead-letters list --project P --key k$"),
            (key_item("P", 1, "k"), None, "but there is no such ticket.*audit"),
            (
                key_item("P", 1, "k"),
                ticket_item("P", 1, "a"),
                "P-1, which has another key.*audit",
            ),
            (
                key_item("P", 1, "k") | {"number": {"S": "1"}},
                None,
                "the record P#k is malformed; see: ticketctl audit",
            ),
        ],
        ids=["unknown", "gone", "another key", "malformed"],
    )
    def test_find_fails_when_record_and_ticket_do_not_match(
        self, harness: Harness, record: Item | None, ticket: Item | None, why: str
    ) -> None:
        harness.write(*filter(None, (record, ticket)))

        with pytest.raises(NotThereError, match=why):
            harness.call(find, "P", "k")


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
