"""`ticketctl export` prints every item once, and others can use its lines."""

import json
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.parsers import ResponseParserError

from tests.support.audits import BOTH_WAYS, MISSING, disorder, reader_of, seeded
from tests.support.builders import block_of, create_ticket, create_tickets
from tests.support.canned_aws import Reply, Wire, failing
from tests.support.cases import cases
from tests.support.evidence import run_verifier
from tests.support.sample_messages import FULL
from tests.support.seed_items import (
    Item,
    block_items,
    reserved_item,
    sequence,
    ticket_item,
)
from tests.support.stage import Stage
from tests.support.steps import Steps
from ticketctl.aws.aws_errors import explained
from ticketctl.aws.items import json_values, plain
from ticketctl.aws.stack import Stack
from ticketctl.cli.errors import Status
from ticketctl.export.command import STEP, Export, export
from ticketctl.ledger.database import AuditDatabase
from ticketctl.ledger.findings import FindingKind

TABLES = None, None
"""Those of the stack."""


def exported(steps: Steps, *projects: str, **limits: Any) -> tuple[list[str], Export]:
    """Return the ticket keys of all items in their order, and the counts."""
    with AuditDatabase({}) as numbers:
        export = Export(reader_of(steps), numbers, projects, **limits)
        return [ticket.ticket_key for ticket in export.tickets()], export


def keys(*numbers: int) -> list[str]:
    return [f"A-{number}" for number in numbers]


class TestItems:
    """Every item comes once, however the pages fall."""

    @BOTH_WAYS
    @pytest.mark.parametrize("page", [1, 3, 100])
    def test_each_item_comes_once_when_they_fill_many_pages(
        self, steps: Steps, projects: tuple[str, ...], page: int
    ) -> None:
        steps.put(*seeded(*range(1, 12), seeds=[(12, 20), (20, 20)]))
        steps.put(*sequence("B", 1))
        steps.services.dynamodb.page = page

        tickets, counts = exported(steps, *projects)

        others = [] if projects else ["B-1"]
        assert Counter(tickets) == Counter([*keys(*range(1, 13), 20), *others])
        assert (counts.items, counts.missing) == (len(tickets), 0)

    @BOTH_WAYS
    def test_rest_of_a_block_is_read_again_when_a_page_showed_half_of_it(
        self, steps: Steps, projects: tuple[str, ...]
    ) -> None:
        steps.put(*sequence("A", 1, 4, 6))
        steps.stage.on_pause = partial(steps.put, *sequence("A", *range(1, 7)))

        tickets, counts = exported(steps, *projects)

        assert tickets == keys(1, 4, 6, 2, 3, 5)
        assert (counts.items, counts.missing) == (6, 0)

    @BOTH_WAYS
    @pytest.mark.parametrize(("items", "expected"), cases(MISSING))
    def test_numbers_are_missing_exactly_when_an_audit_has_a_gap_for_them(
        self,
        steps: Steps,
        items: list[Item],
        expected: list[tuple[FindingKind, int, int]],
        projects: tuple[str, ...],
    ) -> None:
        """But for those of an unfinished seed, which were never given."""
        steps.put(*items)

        tickets, counts = exported(steps, *projects)

        gaps = [
            last - first + 1
            for kind, first, last in expected
            if kind is FindingKind.GAP
        ]
        assert counts.missing == sum(gaps)
        assert len(tickets) == sum("id" not in item for item in items)

    def test_item_comes_once_when_its_number_is_none(self, steps: Steps) -> None:
        """Another program wrote it; it fills no gap."""
        odd = [ticket_item("A", n, "odd") for n in ("-1", "0", "2.5", "3.5", "9" * 30)]
        steps.put(*sequence("A", 1, 4), *odd)

        tickets, counts = exported(steps, "A")

        assert len(tickets) == counts.items == 7
        assert counts.missing == 2

    def test_item_comes_once_when_a_scan_has_another_order(self, steps: Steps) -> None:
        steps.put(*sequence("A", 1, 2, 3, 5, 6))
        disorder(steps)

        tickets, counts = exported(steps)

        assert sorted(tickets) == keys(1, 2, 3, 5, 6)
        assert counts.missing == 1

    def test_only_so_many_gaps_are_read_again(self, steps: Steps) -> None:
        """The rest of a damaged table is exported all the same."""
        steps.put(*sequence("A", *range(2, 21, 2)))

        tickets, counts = exported(steps, max_gaps=2)

        assert tickets == keys(*range(2, 21, 2))
        assert counts.missing == 10
        assert len(steps.services.dynamodb.requests["query"]) == 2


class TestCommand:
    """Lines on standard output, the count beside them."""

    @pytest.mark.parametrize("is_terminal", [True, False])
    def test_progress_is_shown_beside_the_lines_alone(
        self,
        *,
        is_terminal: bool,
        stage: Stage,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """On the screen that has the lines it would be in their way."""
        stage.put(*range(1, STEP + 1))
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

        export(lambda: stage, (), TABLES, None, None)

        is_shown = f"exporting: {STEP} of about {STEP}" in capsys.readouterr().err
        assert is_shown is not is_terminal


@pytest.mark.parametrize("call", range(4))
def test_no_file_is_left_when_an_export_ends_at_one_of_its_calls(
    call: int, stage: Stage
) -> None:
    stage.write(*sequence("PROJ", *range(1, 8)))
    stage.services.dynamodb.page = 2
    stage.before("scan", *[int] * call, failing(KeyboardInterrupt()))
    path = stage.folder / "saved.jsonl"

    ended = stage.call("export", "--save", str(path))

    assert ended.status == Status.INTERRUPTED
    assert "NOT WHOLE" in ended.err
    assert not [*stage.folder.glob("*saved*")]
    assert stage.call("export", "--save", str(path)).status == Status.OK
    *items, _ = path.read_bytes().splitlines()
    assert len(items) == 7


class TestRecords:
    """A key that no ticket explains is exported, too: it has a number all the same."""

    @pytest.fixture
    def lost(self, stage: Stage) -> Stage:
        """Return a system that lost a ticket, and has another's hash in its place."""
        stage.write(*sequence("PROJ", *range(1, 6)), *sequence("OPS", 1, 2))
        kept = stage.read("PROJ", 4)
        stage.lose("PROJ", 2)
        stage.lose("OPS", 1)
        chain = kept.get("chain", {"S": f"v1:{'a' * 43}"})
        stage.change("PROJ", "key-4", chain=chain["S"])
        held = reserved_item("PROJ", 4, 4) | {"chain": chain}
        stage.write(held)
        return stage

    @pytest.mark.parametrize(
        ("options", "keys", "counts"),
        [
            ([], {"key-1", "key-2", "key-4"}, (5, 3, 2)),
            (["--project", "PROJ"], {"key-2", "key-4"}, (4, 2, 1)),
            (["--tickets-table", "tickets"], set(), (5, None, 2)),
            (
                ["--tickets-table", "tickets", "--keys-table", "keys"],
                {"key-1", "key-2", "key-4"},
                (5, 3, 2),
            ),
        ],
        ids=["all", "one-project", "tickets-alone", "both-tables"],
    )
    def test_records_and_counts_follow_the_items(
        self,
        lost: Stage,
        options: list[str],
        keys: set[str],
        counts: tuple[int, int | None, int],
    ) -> None:
        """A lost ticket's key is nowhere else, even if its hash is kept."""
        *lines, end = lost.call("export", *options).json_lines

        records = [line["record"] for line in lines if line.get("kind") == "record"]
        assert {record["idempotency_key"] for record in records} == keys
        assert len(lines) == counts[0] + len(records)
        names = ("items", "records", "missing")
        assert end == {"kind": "end", "end": dict(zip(names, counts, strict=True))}
        for record in records:
            if record["project_id"] == "PROJ":
                there = plain(lost.read("PROJ", record["idempotency_key"]))
                assert record == json_values(there)

    def test_record_has_no_line_when_its_ticket_came_late(self, stage: Stage) -> None:
        """A worker wrote both behind the tickets that were read, or a page hid one."""
        stage.write(*sequence("PROJ", 1))
        stage.before("scan", int, int, partial(stage.write, *sequence("PROJ", 2)))

        *lines, end = stage.call("export").json_lines

        assert [line["number"] for line in lines] == [1]
        assert end["end"] == {"items": 1, "records": 0, "missing": 0}

    def test_record_has_no_line_when_its_ticket_shows_after_a_pause(
        self, stage: Stage
    ) -> None:
        ticket, record = sequence("PROJ", 1)
        stage.write(record)
        stage.on_pause = partial(stage.write, ticket)

        [end] = stage.call("export").json_lines

        assert end["end"]["records"] == 0


class TestVerifier:
    """An auditor checks the lines without our code."""

    @pytest.mark.parametrize(
        ("changed", "status"),
        [({}, 0), ({"title": "x"}, 1), ({"Item": {}}, 1)],
        ids=["clean", "tampered", "disguised"],
    )
    @pytest.mark.parametrize("form", ["plain", "s3"])
    def test_lines_are_verified(
        self,
        changed: dict[str, Any],
        status: int,
        form: str,
        tmp_path: Path,
        stage: Stage,
    ) -> None:
        """Of each kind; an attribute that looks like another form hides nothing."""
        requests = [create_ticket(**FULL | {"project_id": "PROJ"}), *create_tickets(3)]
        stage.write(*block_items(block_of(requests)))
        stage.call("void", "PROJ-2", "--reason", "spam")
        stage.call("erase", "PROJ-3", "--reason", "asked to")
        stage.seed(9).apply()
        stage.change("PROJ", 1, **changed)
        lines = stage.call("export").out
        if form == "s3":
            items = stage.services.tables.items("tickets")
            lines = "\n".join(json.dumps({"Item": item}) for item in items)

        ended = run_verifier(lines, tmp_path)

        problems = {0: "0 problems", 1: "1 problem"}[status]
        assert ended.stdout.endswith(f"6 items, 0 heads, {problems}\n")
        assert ended.returncode == status


@pytest.mark.usefixtures("no_delay")
@pytest.mark.parametrize(
    "damaged",
    [
        Reply(checksum="0"),
        Reply(checksum="x"),
        Reply({"a": "\xe9"}, encoding="latin-1"),
    ],
    ids=["sum", "no-number", "no-text"],
)
def test_nothing_is_read_when_an_answer_is_damaged(damaged: Reply) -> None:
    """One line says so, as of a service that cannot be reached."""
    session = boto3.Session(region_name="eu-west-1")
    outputs = {"TicketsTableName": "tickets", "IdempotencyKeysTableName": "keys"}
    stack = Stack("numbers", "eu-west-1", outputs, {}, session)
    key = [{"AttributeName": name} for name in ("project_id", "number")]
    described = Reply({"Table": {"KeySchema": key}})
    Wire(stack.client("dynamodb"), [described, *[damaged] * 8])

    with pytest.raises(ResponseParserError) as caught:
        export(lambda: stack, (), TABLES, None, None)

    line = explained(caught.value)
    assert line.status == Status.CLOUD
    assert "damaged" in str(line)
