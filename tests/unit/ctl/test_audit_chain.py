"""The audit recomputes the chain, and raises no false alarm about it.

The kinds of tampering are in `docs/evidence.md`, and `test_evidence.py`.
"""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.audit_tables import BOTH_WAYS, Tables, audited, found, only
from tests.support.builders import (
    block_of,
    create_ticket,
    create_tickets,
)
from tests.support.cases import plain_id
from tests.support.command_harness import Harness
from tests.support.evidence import change, erase, run_verifier, verifier
from tests.support.seed_items import block_items, imported_items
from ticket_numbering.allocation.block import Block
from ticket_numbering.contract.dynamodb_items import (
    CHAIN,
    EXTERNAL,
    RESERVED,
)
from ticket_numbering.contract.dynamodb_items import SALT as SALT_NAME
from ticket_numbering.contract.field_types import timestamp
from ticketctl.audit.heads import Head, add_heads, read_heads
from ticketctl.cli.errors import InputError, Status
from ticketctl.commands.audit import audit
from ticketctl.evidence.chain import ERASED_TITLE
from ticketctl.evidence.findings import Finding, Kind


def chained(count: int = 5, first: int = 1, previous: str = "") -> Tables:
    """Return tables with a block of the project A."""
    tables = Tables()
    add_block(tables, count, first, previous)
    return tables


def add_block(
    tables: Tables, count: int, first: int = 1, previous: str = "", **fields: Any
) -> Block:
    requests = [create_ticket("A", **fields) for _ in range(count)]
    block = block_of(requests, first, previous=previous)
    tables.put(*block_items(block))
    return block


def ticket_of(tables: Tables, number: int) -> Any:
    return tables.item("A", number)


def key_of(tables: Tables, number: int) -> Any:
    key = ticket_of(tables, number)["idempotency_key"]["S"]
    return tables.item(f"A#{key}")


def chain_of(tables: Tables, number: int) -> str:
    return str(ticket_of(tables, number)[CHAIN]["S"])


def heads_of(tables: Tables) -> list[Head]:
    return audited(tables).heads()


class TestRuns:
    """A broken chain counts once, and names the first ticket that does not fit."""

    @BOTH_WAYS
    @pytest.mark.parametrize("page", [1, 3, 100])
    def test_chain_is_clean_when_nobody_changed_it(
        self, projects: tuple[str, ...], page: int
    ) -> None:
        tables = chained(7)
        last = chain_of(tables, 7)
        add_block(tables, 4, 8, last, labels=["b", "a"], attributes={"z": "", "a": "1"})
        tables.dynamodb.page = page

        assert not found(tables, *projects)

    @BOTH_WAYS
    def test_broken_tickets_in_a_row_are_one_finding(
        self, projects: tuple[str, ...]
    ) -> None:
        tables = chained(9)
        for number in (3, 4, 5, 8):
            change(ticket_of(tables, number), title="Changed")

        assert found(tables, *projects) == [(Kind.CHANGED, 3, 5), (Kind.CHANGED, 8, 8)]

    def test_many_changed_texts_are_one_finding_and_no_wrong_pair_of_tables(
        self,
    ) -> None:
        tables = Tables(page=100_000)
        requests = create_tickets(10_050, "A")
        tables.put(*block_items(block_of(requests)))
        for item in tables.items("tickets"):
            change(item, title="Changed")

        assert found(tables) == [(Kind.CHANGED, 1, len(requests))]

    def test_chain_is_followed_when_a_scan_has_another_order(self) -> None:
        """DynamoDB promises the order of a query alone."""
        tables = chained(12)
        change(ticket_of(tables, 11), title="Changed")
        scan = tables.dynamodb.scan

        def unordered(**request: Any) -> Any:
            answer = scan(**request)
            return answer | {"Items": answer["Items"][::-1]}

        tables.dynamodb.page = 100
        tables.dynamodb.scan = unordered

        report = audited(tables)

        [changed] = report.findings
        assert (changed.kind, *changed.numbers) == (Kind.CHANGED, 11, 11)
        assert report.reading.tickets_read == 12


class TestFalseAlarms:
    """The system's own writes, and its repairs, are no findings."""

    def test_segment_behind_a_gap_does_not_restart_the_chain(self) -> None:
        tables = chained(2)
        add_block(tables, 2, 4)

        assert found(tables) == [(Kind.GAP, 3, 3)]

    def test_run_behind_a_gap_starts_with_the_next_ticket(self) -> None:
        """None fits the chain behind the gap, which is found as such."""
        tables = chained(6)
        remove(tables, 3)
        change(ticket_of(tables, 5), title="Changed")

        assert {*found(tables)} == {(Kind.GAP, 3, 3), (Kind.CHANGED, 5, 5)}
        said = [problem for problem in verified(tables) if problem.startswith("A-4")]
        assert said == ["A-4: the number before it is missing"]

    @BOTH_WAYS
    @pytest.mark.parametrize("changed", [3, 4, 5], ids=["first", "last", "next"])
    def test_block_that_shows_late_is_checked_and_the_next_ticket_too(
        self, projects: tuple[str, ...], changed: int
    ) -> None:
        """And is no finding beside what is changed."""
        tables = chained(6)
        change(ticket_of(tables, changed), title="Changed")
        late = [ticket_of(tables, number) for number in (3, 4)]
        for number in (3, 4):
            tables.remove("A", number)
        tables.on_pause = lambda: tables.put(*late)

        of_text = (Kind.CHANGED, changed, changed), (Kind.DIFFERING, changed)
        assert found(tables, *projects) == [*of_text]

    def test_segments_are_named_when_a_seed_and_an_import_are_between(self) -> None:
        tables = chained(2)
        tables.put(*imported_items(create_tickets(2, "A"), 3))
        add_block(tables, 2, 5)
        tables.reserved(7, 20)
        tables.both("A", 15, origin=EXTERNAL)
        tables.reserved(20, 20)
        add_block(tables, 1, 21)

        report = audited(tables)

        assert only(report).is_clean
        assert [*only(report).sequence.unchained()] == [(3, 4), (7, 20)]
        assert [head.number for head in report.heads()] == [2, 6, 21]

    def test_lost_ticket_is_named_when_its_hash_was_kept(self) -> None:
        """Its key keeps the number, and tells it to whoever repeats the request."""
        tables = chained(4)
        lose(tables, 3)

        report = audited(tables)

        assert only(report).is_clean
        assert [*only(report).sequence.lost()] == [3]
        assert [head.number for head in report.heads()] == [2, 4]

    @pytest.mark.parametrize("name", [SALT_NAME, "title", "description"])
    def test_erased_ticket_is_named_when_something_of_its_text_is_left(
        self, name: str
    ) -> None:
        tables = chained(3)
        erase(ticket_of(tables, 2), key_of(tables, 2), ERASED_TITLE)
        change(ticket_of(tables, 2), **{name: "left"})

        assert found(tables) == [(Kind.ERASED_WITH_TEXT, 2, 2)]

    def test_erased_ticket_differs_when_its_record_keeps_a_fingerprint(self) -> None:
        """It could test a guess of the text."""
        tables = chained(3)
        erase(ticket_of(tables, 2), key_of(tables, 2), ERASED_TITLE)
        change(key_of(tables, 2), fingerprint=create_ticket().fingerprint)

        assert found(tables) == [(Kind.DIFFERING, 2)]


def lose(tables: Tables, number: int) -> None:
    """Put a reserved item with its hash in place of a ticket."""
    marks = {"status": RESERVED, "origin": EXTERNAL}
    lost = chain_of(tables, number)
    tables.ticket("A", number, None, **marks, chain=lost)


def remove(tables: Tables, number: int) -> None:
    """Delete a ticket and the record of its key."""
    key = key_of(tables, number)["id"]["S"]
    tables.remove("A", number)
    tables.remove(key)


class TestLostTickets:
    """A lost ticket explains its own number alone."""

    def test_lost_ticket_explains_the_record_of_its_own_key_alone(self) -> None:
        tables = chained(3)
        lose(tables, 2)
        tables.key("A", 2, "foreign")

        assert found(tables) == [(Kind.KEY_WITHOUT_TICKET, 2)]

    @pytest.mark.parametrize(
        "name", ["title", "description", "idempotency_key", "assigned_at", SALT_NAME]
    )
    def test_reserved_item_is_malformed_when_it_has_an_attribute_of_a_ticket(
        self, name: str
    ) -> None:
        """Nothing covers it: it would be a text that anybody can put there."""
        tables = chained(3)
        lose(tables, 2)
        change(ticket_of(tables, 2), **{name: "x"})

        assert Kind.MALFORMED in {kind for kind, *_ in found(tables)}
        assert verified(tables) == ["A-2: reserved, but it has text"]


def verified(tables: Tables) -> Any:
    """Return the problems that the verifier has with the tickets."""
    return verifier()(tables.items("tickets"))


class TestVerifier:
    """The file that an auditor downloads, as it is run without our code."""

    @staticmethod
    def run(
        directory: Path, tables: Tables, *heads: Mapping[str, Any]
    ) -> tuple[int, list[str]]:
        """Run it with a file for each head; return the status and what it says."""
        for place, head in enumerate(heads):
            (directory / f"{place}.jsonl").write_text(f"{json.dumps(head)}\n\n")
        answer = {"Items": tables.items("tickets")}
        names = (f"{place}.jsonl" for place in range(len(heads)))
        ended = run_verifier(json.dumps(answer), directory, *names)
        return ended.returncode, (ended.stdout + ended.stderr).splitlines()

    @pytest.fixture
    def tables(self) -> Tables:
        """Return two projects; in the second, the last ticket has no chain."""
        tables = chained(2)
        tables.put(*block_items(block_of([create_ticket("B")])))
        tables.put(*imported_items([create_ticket("B")], 2))
        change(ticket_of(tables, 1), status="voided")
        return tables

    def test_projects_and_heads_are_clean_when_nobody_tampered(
        self, tables: Tables, tmp_path: Path
    ) -> None:
        """Marked tickets, and those without a chain, are named."""
        head = head_of(tables, 2)

        status, lines = self.run(tmp_path, tables, head, head)

        assert status == 0
        assert lines[:2] == ["A-1 is voided", "B-2 is without a chain"]
        assert lines[2:] == ["4 items, 2 heads, 0 problems"]

    def test_head_of_each_file_is_compared(
        self, tables: Tables, tmp_path: Path
    ) -> None:
        head = head_of(tables, 2)
        heads = head | {"chain": "v1:other"}, head | {"number": 3}

        status, lines = self.run(tmp_path, tables, *heads)

        assert status == 1
        assert lines[2:4] == ["A-2: a head does not hold", "A-3: a head does not hold"]

    def test_nothing_at_all_is_no_success(self, tmp_path: Path) -> None:
        assert self.run(tmp_path, Tables()) == (1, ["0 items, 0 heads, 0 problems"])

    @pytest.mark.parametrize(
        ("given", "heads", "named"),
        [
            ('{"Items": [', [], "standard input: Expecting value"),
            ("[]", [], "standard input: there is JSON that is no ticket"),
            ("{}\n{", [], "standard input: there is JSON that is no ticket"),
            ('{"Items": [], "NextToken": "x"}', [], "standard input: not all items"),
            ('{"Items": [], "LastEvaluatedKey": 1}', [], "standard input: not all"),
            ('{"Items": []}', ["absent"], "absent: No such file or directory"),
            ('{"Items": []}', ["cut"], "cut:2: Expecting value"),
            ('{"Items": []}', ["list"], "list:1: no head"),
            ('{"Items": []}', ["keyless"], "keyless:1: no head"),
            ('{"Items": []}', ["nested"], "nested:1: maximum recursion depth"),
            ('{"project_id": 1, "number": 1}', [], "standard input: there is JSON"),
            ('{"Items": []}', ["binary"], "binary: 'utf-8' codec"),
        ],
    )
    def test_status_is_2_when_a_file_cannot_be_read(
        self, tmp_path: Path, given: str, heads: list[str], named: str
    ) -> None:
        """One line names it."""
        head = '{"project_id": "A", "number": 1, "chain": "v1:a"}'
        (tmp_path / "cut").write_text(f'{head}\n{{"project_id":')
        (tmp_path / "list").write_text("[]")
        (tmp_path / "keyless").write_text('{"project_id": [], "number": 1}')
        (tmp_path / "nested").write_text("[" * 100_000)
        (tmp_path / "binary").write_bytes(b"\xff")

        ended = run_verifier(given, tmp_path, *heads)

        assert (ended.returncode, ended.stdout) == (2, "")
        assert ended.stderr.startswith(f"cannot read {named}")
        assert ended.stderr.count("\n") == 1

    def test_status_is_that_of_other_commands_when_nobody_reads_the_lines(
        self, tables: Tables, tmp_path: Path
    ) -> None:
        """Nobody takes a list that was not read for a clean one."""
        given = json.dumps({"Items": tables.items("tickets")})
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "wb") as closed:
            ended = run_verifier(given, tmp_path, stdout=closed.fileno())

        assert (ended.returncode, ended.stderr) == (1, "")

    def test_chain_of_an_external_ticket_is_a_problem(self) -> None:
        tables = chained(3)
        change(ticket_of(tables, 2), origin=EXTERNAL)

        assert verified(tables) == ["A-2: external, but it has a chain"]


def head_of(tables: Tables, number: int) -> dict[str, Any]:
    """Return the head that ends at a ticket of the project A."""
    chain = chain_of(tables, number)
    return {"project_id": "A", "number": number, "chain": chain}


class TestDates:
    """Of two dates in the wrong order the finding names the wrong one."""

    @pytest.mark.parametrize(
        ("dates", "wrong"),
        [
            ({3: "2020-01-01T00:00:00.000Z", 4: "2019-12-31T23:00:00.000Z"}, [2, 4]),
            ({3: "2999-01-01T00:00:00.000Z"}, [3]),
            ({2: "2999-01-01T00:00:00.000Z", 3: "2998-01-01T00:00:00.000Z"}, [2, 3]),
            ({3: "2026-11-22T06:00:00.000Z"}, [4]),
            ({3: "2026-11-22T06:00:00.001Z"}, [3]),
            ({3: "tomorrow"}, [3]),
            ({3: "2999-01-01"}, [3]),
            ({3: "9999-12-31T23:59:59.999-23:00"}, [3]),
            ({3: "0"}, [3]),
        ],
    )
    @BOTH_WAYS
    def test_ticket_is_named_when_no_worker_would_follow_its_date(
        self, dates: dict[int, str], wrong: list[int], projects: tuple[str, ...]
    ) -> None:
        tables = chained(5)
        for number, date in dates.items():
            change(ticket_of(tables, number), assigned_at=date)

        named = {
            number
            for kind, *ends in found(tables, *projects)
            if kind is Kind.MISDATED
            for number in range(ends[0], ends[1] + 1)
        }

        assert named == {*wrong}

    def test_date_of_an_imported_ticket_is_not_compared(self) -> None:
        """It is the other system's."""
        tables = Tables()
        tables.both("A", 1, origin=EXTERNAL, assigned_at="2999-01-01T00:00:00.000Z")
        add_block(tables, 1, 2)

        assert not found(tables)


class TestOtherReleases:
    """A text that this release does not know in full is a finding of its own."""

    @BOTH_WAYS
    @pytest.mark.parametrize("count", [1, 3])
    def test_tickets_of_a_later_release_cannot_be_verified(
        self, projects: tuple[str, ...], count: int
    ) -> None:
        """Their fingerprints cover a field that is unknown here."""
        tables = chained(4)
        for number in range(2, 2 + count):
            item, key = ticket_of(tables, number), key_of(tables, number)
            change(item, title="Covered otherwise", x_of_a_later_release="1")
            change(key, fingerprint="v1:" + "0" * 64)

        assert found(tables, *projects) == [(Kind.NOT_VERIFIABLE, 2, 1 + count)]

    def test_record_of_a_later_release_cannot_be_verified(self) -> None:
        tables = chained(2)
        change(key_of(tables, 1), fingerprint="v2:other")

        assert found(tables) == [(Kind.NOT_VERIFIABLE, 1, 1)]

    def test_chain_of_a_later_release_is_covered_as_it_is(self) -> None:
        tables = Tables()
        add_block(tables, 1)
        for item in (ticket_of(tables, 1), key_of(tables, 1)):
            change(item, chain="v2:later")
        add_block(tables, 2, 2, "v2:later")

        assert found(tables) == [(Kind.NOT_VERIFIABLE, 1, 1)]


class TestDamage:
    """An item that no program of the system wrote is named, and the audit goes on."""

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("title", {"N": "7"}),
            ("attributes", {"M": {"a": {"B": b"x"}}}),
            ("labels", {"SS": ["a"]}),
            (SALT_NAME, {"N": "7"}),
            (SALT_NAME, None),
            ("assigned_at", {"N": "7"}),
            ("assigned_at", None),
            (CHAIN, {"N": "7"}),
            (CHAIN, {"S": "zzz"}),
        ],
    )
    def test_ticket_is_changed_when_an_attribute_is_damaged(
        self, name: str, value: dict[str, Any] | None
    ) -> None:
        tables = chained(2)
        item = ticket_of(tables, 2)
        item.pop(name, None)
        if value:
            item[name] = value

        assert (Kind.CHANGED, 2, 2) in found(tables)

    @pytest.mark.parametrize(
        "value", [{"N": "7"}, {"NULL": True}, {"L": []}, {"M": {"a": {"N": "1"}}}]
    )
    @pytest.mark.parametrize("name", ["assigned_at", CHAIN, "title", SALT_NAME])
    def test_verifier_goes_on_when_an_attribute_is_damaged(
        self, name: str, value: dict[str, Any]
    ) -> None:
        tables = chained(3)
        ticket_of(tables, 2)[name] = value

        assert any(problem.startswith("A-2:") for problem in verified(tables))

    def test_verifier_sees_it_when_only_the_type_was_changed(self) -> None:
        tables = Tables()
        tables.put(*block_items(block_of([create_ticket("A", title="7")])))
        assert verified(tables) == []
        ticket_of(tables, 1)["title"] = {"N": "7"}

        assert verified(tables) == ["A-1: its chain does not fit the ticket before it"]

    def test_verifier_goes_on_when_an_erased_ticket_has_no_title(self) -> None:
        tables = chained(2)
        erase(ticket_of(tables, 1), key_of(tables, 1), ERASED_TITLE)
        change(ticket_of(tables, 1), title=None)

        assert verified(tables) == ["A-1: erased, but it has text"]

    @pytest.mark.parametrize(
        "names", [("assigned_at",), (CHAIN,), ("assigned_at", CHAIN)], ids=plain_id
    )
    @BOTH_WAYS
    def test_record_differs_when_one_side_was_changed(
        self, names: tuple[str, ...], projects: tuple[str, ...]
    ) -> None:
        tables = chained(2)
        record, detail = key_of(tables, 2), ", ".join(names)
        change(record, **dict.fromkeys(names, "v1:other"))

        [finding] = audited(tables, *projects).findings

        key = record["idempotency_key"]["S"]
        assert finding == Finding(Kind.DIFFERING, "A", (2,), key, detail=detail)

    def test_record_differs_when_it_may_have_expired(self) -> None:
        """It need not be there; but where it is, it agrees."""
        tables = chained(2)
        for item in (ticket_of(tables, 1), key_of(tables, 1)):
            change(item, chain=None, assigned_at="2020-01-01T00:00:00.000Z")
        change(key_of(tables, 1), fingerprint="v1:other")
        tables.remove("A", 2)

        assert (Kind.DIFFERING, 1) in found(tables, retention_days=30)


class TestHeads:
    """A head holds if its ticket has its chain and fits it."""

    def test_heads_hold_when_tickets_came_after_them(self) -> None:
        tables = chained(3)
        heads = heads_of(tables)
        add_block(tables, 2, 4, heads[0].chain)

        assert not found(tables, heads=heads)
        assert audited(tables).heads(heads)[0].number == 5

    def test_last_ticket_before_a_gap_is_a_head(self) -> None:
        tables = chained(5)
        remove(tables, 3)

        report = audited(tables)

        when = timestamp(report.reading.started)
        assert report.heads() == [
            Head("A", number, chain_of(tables, number), when) for number in (2, 5)
        ]

    def test_broken_end_is_no_head(self) -> None:
        tables = chained(3)
        change(ticket_of(tables, 3), title="Changed")

        assert not heads_of(tables)

    @pytest.mark.parametrize(
        ("spoil", "detail"),
        [
            (lambda item: item.clear(), "no such ticket"),
            (lambda item: change(item, title="Changed"), "does not have its hash"),
            (lambda item: change(item, chain="v1:other"), "another hash"),
            (lambda item: change(item, origin=EXTERNAL), "as external"),
        ],
    )
    def test_head_says_why_it_does_not_hold(
        self, spoil: Callable[[dict[str, Any]], None], detail: str
    ) -> None:
        tables = chained(3)
        heads = heads_of(tables)
        item = ticket_of(tables, 3)
        spoil(item)
        if not item:
            tables.remove("A", 3)

        [finding] = [
            finding
            for finding in audited(tables, heads=heads).findings
            if finding.kind is Kind.HEAD
        ]

        assert finding.numbers == (3,)
        assert detail in str(finding)

    def test_head_holds_when_the_chain_restarts_at_its_ticket(self) -> None:
        """Somebody put the hash of the ticket before back: the head says no more."""
        tables = chained(1)
        add_block(tables, 1, 2)
        head = Head("A", 2, chain_of(tables, 2))

        assert found(tables, heads=[head]) == [(Kind.RESTARTED, 2, 2)]

    def test_head_cannot_be_verified_when_its_ticket_cannot(self) -> None:
        tables = chained(1)
        heads = heads_of(tables)
        change(
            ticket_of(tables, 1), title="Covered otherwise", x_of_a_later_release="1"
        )

        of_ticket, of_head = audited(tables, heads=heads).findings
        assert of_ticket == of_head == Finding(Kind.NOT_VERIFIABLE, "A", (1, 1))

    def test_every_head_is_looked_up_when_there_are_many(self) -> None:
        tables = chained(130)
        chains = [chain_of(tables, number) for number in range(1, 131)]
        heads = [Head("A", number, chain) for number, chain in enumerate(chains, 1)]
        change(ticket_of(tables, 129), title="Changed")

        assert (Kind.HEAD, 129) in found(tables, heads=heads)


class TestHeadFiles:
    """A file of heads is only added to."""

    def test_heads_are_read_as_they_were_added(self, tmp_path: Path) -> None:
        """Whatever the file is named; without an empty line before or between."""
        path = tmp_path / "heads.csv"
        path.touch()
        file = str(path)
        first, second = Head("A", 3, "v1:a", "now"), Head("B", 1, "v1:b", "now")

        add_heads(file, [first])
        add_heads(file, [second])

        assert read_heads(file) == [first, second]
        assert len(path.read_bytes().splitlines()) == 2
        assert read_heads(file, ["B"]) == [second]

    def test_heads_are_read_when_the_last_line_was_not_ended(
        self, tmp_path: Path
    ) -> None:
        """Also the data of an announcement, which say more."""
        file = tmp_path / "heads.jsonl"
        line = '{"project_id": "A", "number": 2, "chain": "v1:a", "x": 1}'
        file.write_text(line)
        second = Head("B", 1, "v1:b", "now")

        add_heads(str(file), [])
        assert file.read_text() == line
        add_heads(str(file), [second])

        assert read_heads(str(file)) == [Head("A", 2, "v1:a"), second]

    @pytest.mark.parametrize(
        "line",
        [
            "x",
            "{}",
            *(
                json.dumps({"project_id": "A", "number": 2, "chain": "v1:a"} | wrong)
                for wrong in (
                    {"project_id": "A#"},
                    {"number": 0},
                    {"number": 1.5},
                    {"number": 1e400},
                    {"number": "2"},
                    {"chain": "zzz"},
                    {"chain": 1},
                )
            ),
        ],
    )
    def test_file_is_refused_when_a_line_is_no_head(
        self, tmp_path: Path, line: str
    ) -> None:
        file = tmp_path / "heads.jsonl"
        file.write_text(
            '{"project_id": "A", "number": 2, "chain": "v1:a"}\n' + line + "\n"
        )

        with pytest.raises(InputError, match=r"heads\.jsonl:2: no head"):
            read_heads(str(file))


class TestSince:
    """An audit since a number reads what came after it."""

    def test_only_later_tickets_are_read(self) -> None:
        tables = chained(50)
        add_block(tables, 3, 51, chain_of(tables, 50))
        tables.dynamodb.page = 100
        tables.on_pause = pytest.fail

        report = audited(tables, "A", since={"A": 50})

        assert not report.findings
        assert only(report).numbers == (51, 52, 53)
        assert report.reading.tickets_read == 3
        assert "scan" not in tables.dynamodb.requests

    @pytest.mark.parametrize(
        ("spoil", "expected"),
        [
            (
                lambda tables: change(ticket_of(tables, 4), title="X"),
                (Kind.CHANGED, 4, 4),
            ),
            (lambda tables: tables.remove("A", 4), (Kind.GAP, 4, 4)),
        ],
    )
    def test_later_tickets_are_checked(
        self, spoil: Callable[[Tables], None], expected: tuple[Any, ...]
    ) -> None:
        tables = chained(3)
        add_block(tables, 2, 4, chain_of(tables, 3))
        spoil(tables)

        assert expected in found(tables, "A", since={"A": 3})


class TestKeptHeads:
    """The command checks the heads of its files, and saves each head once."""

    @pytest.fixture
    def kept(self, harness: Harness, tmp_path: Path) -> Path:
        """Return a file with the head of the harness's only ticket."""
        harness.give(create_ticket("PROJ"), 1)
        path = tmp_path / "heads.jsonl"
        harness.call(audit, save=str(path))
        return path

    @pytest.mark.parametrize("option", ["since", "check"])
    @pytest.mark.parametrize("is_first", [True, False])
    def test_head_that_the_ticket_contradicts_is_named_beside_those_that_hold(
        self,
        harness: Harness,
        kept: Path,
        tmp_path: Path,
        option: str,
        *,
        is_first: bool,
    ) -> None:
        """Of all witnesses of one ticket, in one file and in two, each is checked."""
        heads = [Head("PROJ", 1, "v1:other"), *read_heads(str(kept))]
        other = str(tmp_path / "other.jsonl")
        add_heads(other, heads if is_first else reversed(heads))
        since, check = (other, kept) if option == "since" else (kept, other)
        checked = [str(kept), str(check)]

        ended = harness.call(audit, since=str(since), check=checked)

        assert ended.status == Status.FOUND
        assert "head-does-not-hold: PROJ-1: it has another hash" in ended.out

    def test_later_tickets_of_every_project_are_read_since_its_last_head(
        self, harness: Harness, kept: Path
    ) -> None:
        """The heads of a file are in any order."""
        chain = read_heads(str(kept))[0].chain
        harness.give(create_ticket("PROJ"), 2, chain)
        harness.give(create_ticket("OPS"), 1)
        harness.call(audit, save=str(kept))
        heads = read_heads(str(kept))
        kept.unlink()
        add_heads(str(kept), reversed(heads))
        harness.give(create_ticket("PROJ"), 3)
        harness.give(create_ticket("OPS"), 2)

        report = harness.call(audit, since=str(kept), as_document=True).json

        assert report["since"] == {"PROJ": 2, "OPS": 1}
        assert [
            (finding["kind"], finding["project_id"], *finding["numbers"])
            for finding in report["findings"]
        ] == [(Kind.RESTARTED, "OPS", 2, 2), (Kind.RESTARTED, "PROJ", 3, 3)]
