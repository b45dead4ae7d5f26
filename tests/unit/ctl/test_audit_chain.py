"""The audit recomputes the chain, and raises no false alarm about it.

The kinds of tampering are in `docs/evidence.md`, and `test_evidence.py`.
"""

import json
import os
import resource
from collections.abc import Callable, Mapping
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.support.audits import BOTH_WAYS, audited, disorder, findings_of, only
from tests.support.builders import block_of, create_ticket, create_tickets
from tests.support.cases import cases, plain_id
from tests.support.evidence import erase, run_verifier, verifier
from tests.support.seed_items import (
    block_items,
    imported_items,
    key_item,
    reserved_item,
    sequence,
)
from tests.support.steps import Steps
from ticket_numbering.contract.dynamodb_items import CHAIN, EXTERNAL
from ticket_numbering.contract.dynamodb_items import SALT as SALT_NAME
from ticket_numbering.contract.field_types import timestamp
from ticketctl.audit.heads import KeptHead, add_heads, last_heads, read_heads
from ticketctl.cli.errors import InputError
from ticketctl.ledger.chain import ERASED_TITLE
from ticketctl.ledger.findings import Finding, FindingKind

Tamper = Callable[[Steps], object]
LATER = {"title": "Covered otherwise", "x_of_a_later_release": "1"}
"""Fields of a ticket whose fingerprint covers one that is unknown here."""


def segment(steps: Steps, first: int, *requests: Any) -> None:
    """Put tickets of the project A in, whose chain starts with them."""
    requests = requests or (create_ticket("A"),)
    steps.put(*block_items(block_of(requests, first)))


def chain_of(steps: Steps, number: int) -> str:
    return str(steps.read("A", number)[CHAIN]["S"])


def remove(steps: Steps, *numbers: int) -> None:
    """Delete tickets and the records of their keys."""
    for number in numbers:
        steps.loses("A", number)
        steps.loses_key("A", f"k-{number}")


def retitle(steps: Steps, *numbers: int) -> None:
    for number in numbers:
        steps.changes("A", number, title="Changed")


def erased(steps: Steps, number: int, **left: Any) -> None:
    """Erase a ticket, but leave something of its text."""
    erase(steps.read("A", number), steps.read("A", f"k-{number}"), ERASED_TITLE)
    steps.changes("A", number, **left)


def erased_but(name: str) -> Tamper:
    return lambda steps: erased(steps, 2, **{name: "left"})


def behind_a_gap(steps: Steps) -> None:
    remove(steps, 3)
    retitle(steps, 5)


def dated_before_a_gap(steps: Steps) -> None:
    """Behind a gap a segment may start, and the date before it is unknown."""
    remove(steps, 3, 4, 5, 6)
    date = "2020-01-01T00:00:00.000Z"
    steps.put(*block_items(block_of([create_ticket("A")], 4, date)))


def erased_with_fingerprint(steps: Steps) -> None:
    """It could test a guess of the text."""
    erased(steps, 2)
    steps.changes_key("A", "k-2", fingerprint=create_ticket().fingerprint)


def later_chain(steps: Steps) -> None:
    """The next ticket covers it as it is."""
    steps.changes("A", 6, chain="v2:later")
    steps.changes_key("A", "k-6", chain="v2:later")
    steps.ticket("A", "k-7")


FOUND: dict[str, tuple[Tamper, list[tuple[Any, ...]]]] = {
    "tickets-in-a-row": (
        lambda steps: retitle(steps, 2, 3, 4, 6),
        [(FindingKind.CHANGED, 2, 4), (FindingKind.CHANGED, 6, 6)],
    ),
    "binary": (
        lambda steps: steps.changes("A", 2, attributes={"a": b"x"}),
        [(FindingKind.CHANGED, 2, 2)],
    ),
    # None fits the chain behind the gap, which is found as such.
    "changed-behind-a-gap": (
        behind_a_gap,
        [(FindingKind.GAP, 3, 3), (FindingKind.CHANGED, 5, 5)],
    ),
    **{
        f"erased-with-{name}": (
            erased_but(name),
            [(FindingKind.ERASED_WITH_TEXT, 2, 2)],
        )
        for name in (SALT_NAME, "title", "description")
    },
    "erased-with-what-is-unknown-and-another-hash": (
        lambda steps: erased(steps, 2, unheard_of="left", commitment="other"),
        [(FindingKind.CHANGED, 2, 2), (FindingKind.NOT_VERIFIABLE, 2, 2)],
    ),
    "dated-before-a-gap": (dated_before_a_gap, [(FindingKind.GAP, 3, 3)]),
    "erased-with-fingerprint": (erased_with_fingerprint, [(FindingKind.DIFFERING, 2)]),
    "record-of-a-later-release": (
        lambda steps: steps.changes_key("A", "k-2", fingerprint="v2:other"),
        [(FindingKind.NOT_VERIFIABLE, 2, 2)],
    ),
    "chain-of-a-later-release": (later_chain, [(FindingKind.NOT_VERIFIABLE, 6, 6)]),
}
"""The changes of six tickets, and the findings."""


class TestRuns:
    """A broken chain counts once, and names the first ticket that does not fit."""

    @BOTH_WAYS
    @pytest.mark.parametrize("page", [1, 3, 100])
    def test_chain_is_clean_when_nobody_changed_it(
        self, steps: Steps, projects: tuple[str, ...], page: int
    ) -> None:
        fields: dict[str, Any] = {
            "labels": ["b", "a"],
            "attributes": {"z": "", "a": "1"},
        }
        segment(steps, 1, *(create_ticket("A", **fields) for _ in range(3)))
        for number in range(4, 12):
            steps.ticket("A", f"k-{number}")
        steps.services.dynamodb.page = page

        assert not findings_of(steps, *projects)

    @pytest.mark.parametrize(
        ("projects", "since"),
        [((), {}), (("A",), {}), (("A",), {"A": 1})],
        ids=["all", "single", "since"],
    )
    @pytest.mark.parametrize(("tamper", "expected"), cases(FOUND))
    def test_tickets_are_named_once_when_they_do_not_fit(
        self,
        steps: Steps,
        tamper: Tamper,
        expected: list[tuple[Any, ...]],
        projects: tuple[str, ...],
        since: dict[str, int],
    ) -> None:
        steps.numbers("A", 6)
        tamper(steps)

        assert findings_of(steps, *projects, since=since) == expected

    def test_many_changed_texts_are_one_finding_and_no_wrong_pair_of_tables(
        self, steps: Steps
    ) -> None:
        segment(steps, 1, *create_tickets(10_050, "A"))
        retitle(steps, *range(1, 10_051))
        steps.services.dynamodb.page = 100_000

        assert findings_of(steps) == [(FindingKind.CHANGED, 1, 10_050)]

    def test_chain_is_followed_when_a_scan_has_another_order(
        self, steps: Steps
    ) -> None:
        steps.numbers("A", 12)
        retitle(steps, 11)
        disorder(steps)

        report = audited(steps)

        [changed] = report.findings
        assert (changed.kind, *changed.numbers) == (FindingKind.CHANGED, 11, 11)
        assert report.reading.tickets_read == 12


class TestFalseAlarms:
    """The system's own writes, and its repairs, are no findings."""

    @BOTH_WAYS
    @pytest.mark.parametrize("changed", [3, 4, 5], ids=["first", "last", "next"])
    def test_block_that_shows_late_is_checked_and_the_next_ticket_too(
        self, steps: Steps, projects: tuple[str, ...], changed: int
    ) -> None:
        """And is no finding beside a changed ticket."""
        steps.numbers("A", 6)
        retitle(steps, changed)
        late = [steps.read("A", number) for number in (3, 4)]
        for number in (3, 4):
            steps.loses("A", number)
        steps.stage.on_pause = partial(steps.put, *late)

        of_text = (
            (FindingKind.CHANGED, changed, changed),
            (FindingKind.DIFFERING, changed),
        )
        assert findings_of(steps, *projects) == [*of_text]

    def test_segments_are_named_when_something_else_is_between(
        self, steps: Steps
    ) -> None:
        """An import, a seed, and a ticket that was lost but for its hash."""
        steps.numbers("A", 2)
        steps.put(*imported_items(create_tickets(2, "A"), 3))
        segment(steps, 5, *create_tickets(2, "A"))
        steps.put(*(reserved_item("A", number, 20) for number in (7, 20)))
        steps.put(*sequence("A", 15, origin=EXTERNAL))
        segment(steps, 21, *create_tickets(3, "A"))
        steps.loses_text("A", 22)

        report = audited(steps)

        assert only(report).is_clean
        assert [*only(report).unchained] == [(3, 4), (7, 20)]
        assert [*only(report).lost] == [22]
        assert [head.number for head in report.heads()] == [2, 6, 21, 23]

    def test_date_of_an_imported_ticket_is_not_compared(self, steps: Steps) -> None:
        """It is the other system's."""
        steps.put(*imported_items(create_tickets(1, "A")))
        steps.changes("A", 1, assigned_at="2999-01-01T00:00:00.000Z")
        key = steps.read("A", 1)["idempotency_key"]["S"]
        steps.changes_key("A", key, assigned_at="2999-01-01T00:00:00.000Z")
        segment(steps, 2)

        assert not findings_of(steps)


class TestLostTickets:
    """A lost ticket explains its own number alone."""

    def test_lost_ticket_explains_the_record_of_its_own_key_alone(
        self, steps: Steps
    ) -> None:
        steps.numbers("A", 3)
        steps.loses_text("A", 2)
        steps.put(key_item("A", 2, "foreign"))

        assert findings_of(steps) == [(FindingKind.KEY_WITHOUT_TICKET, 2)]

    def test_lost_ticket_is_no_finding_when_it_is_reserved_between_two_reads(
        self, steps: Steps
    ) -> None:
        steps.numbers("A", 3)
        steps.loses_text("A", 2)
        steps.stage.on_pause = partial(steps.put, steps.read("A", 2))
        steps.loses("A", 2)

        assert findings_of(steps) == []


def verified(steps: Steps) -> Any:
    """Return the problems that the verifier has with the tickets."""
    return verifier()(steps.services.tables.items("tickets"))


class TestVerifier:
    """The file that an auditor downloads, as it is run without our code."""

    @staticmethod
    def run(
        directory: Path, steps: Steps, *heads: Mapping[str, Any]
    ) -> tuple[int, list[str]]:
        """Run it with a file for each head; return the status and the output."""
        for index, head in enumerate(heads):
            (directory / f"{index}.jsonl").write_text(f"{json.dumps(head)}\n\n")
        answer = {"Items": steps.services.tables.items("tickets")}
        names = (f"{index}.jsonl" for index in range(len(heads)))
        ended = run_verifier(json.dumps(answer), directory, *names)
        return ended.returncode, (ended.stdout + ended.stderr).splitlines()

    @pytest.fixture
    def tickets(self, steps: Steps) -> Steps:
        """Return two projects; in the second, the last tickets have no chain."""
        steps.numbers("A", 2)
        steps.numbers("B", 1)
        steps.put(*imported_items([create_ticket("B")] * 3, 2))
        steps.changes("A", 1, status="voided")
        return steps

    def test_heads_are_compared_and_what_nobody_covers_is_named(
        self, tickets: Steps, tmp_path: Path
    ) -> None:
        """Those of each file; marked tickets, and those without a chain."""
        head = {"project_id": "A", "number": 2, "chain": chain_of(tickets, 2)}
        wrong = head | {"chain": "v1:other"}, head | {"number": 3}
        named = ["A-1 is voided", "B-2 to B-4 are without a chain"]
        problems = [f"A-{number}: a head does not hold" for number in (2, 3)]

        clean = self.run(tmp_path, tickets, head, head)
        broken = self.run(tmp_path, tickets, *wrong)

        assert clean == (0, [*named, "6 items, 2 heads, 0 problems"])
        assert broken == (1, [*named, *problems, "6 items, 2 heads, 2 problems"])

    def test_first_number_above_1_is_a_problem_without_a_chain_too(
        self, steps: Steps
    ) -> None:
        steps.put(*sequence("A", 2))

        assert verified(steps) == ["A-2: the number before it is missing"]

    def test_nothing_at_all_is_no_success(self, steps: Steps, tmp_path: Path) -> None:
        assert self.run(tmp_path, steps) == (1, ["0 items, 0 heads, 0 problems"])

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
        self, tickets: Steps, tmp_path: Path
    ) -> None:
        """A list that was not read is not taken for a clean one."""
        given = json.dumps({"Items": tickets.services.tables.items("tickets")})
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "wb") as closed:
            ended = run_verifier(given, tmp_path, stdout=closed.fileno())

        assert (ended.returncode, ended.stderr) == (1, "")

    @pytest.mark.parametrize(
        ("tamper", "problem"),
        [
            (lambda steps: remove(steps, 3), "A-4: the number before it is missing"),
            (
                lambda steps: steps.changes("A", 2, origin=EXTERNAL),
                "A-2: external, but it has a chain",
            ),
            (
                lambda steps: erased(steps, 1, title=None),
                "A-1: erased, but it has text",
            ),
            (
                lambda steps: steps.changes("A", 5, title=7),
                "A-5: it was changed, or the chain of the ticket before it was",
            ),
            (
                lambda steps: segment(steps, 6),
                "A-6: its chain restarts after a ticket with a chain",
            ),
        ],
        ids=["gap", "external", "erased-without-title", "type-alone", "restarted"],
    )
    def test_problem_says_what_is_wrong(
        self, steps: Steps, tamper: Tamper, problem: str
    ) -> None:
        steps.numbers("A", 4)
        steps.ticket("A", "k-5", "title=7")
        assert verified(steps) == []
        tamper(steps)

        assert verified(steps) == [problem]


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
        self,
        steps: Steps,
        dates: dict[int, str],
        wrong: list[int],
        projects: tuple[str, ...],
    ) -> None:
        steps.numbers("A", 5)
        for number, date in dates.items():
            steps.changes("A", number, assigned_at=date)

        ends = [
            finding[1:]
            for finding in findings_of(steps, *projects)
            if finding[0] is FindingKind.MISDATED
        ]

        named = {n for first, last in ends for n in range(first, last + 1)}
        assert named == {*wrong}


class TestDamage:
    """An item that no program of the system wrote is named, and the audit goes on."""

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("labels", {"SS": ["a"]}),
            # The worker writes no default, so neither of the two leaves it out.
            *product(["labels", "description"], ({"L": []}, {"NULL": True})),
            (CHAIN, {"S": "zzz"}),
            *product(("assigned_at", SALT_NAME), [None]),
            *product(
                ("assigned_at", CHAIN, "title", SALT_NAME),
                ({"N": "7"}, {"NULL": True}, {"L": []}, {"M": {"a": {"N": "1"}}}),
            ),
        ],
    )
    def test_ticket_is_changed_when_an_attribute_is_damaged_or_gone(
        self, steps: Steps, name: str, value: dict[str, Any] | None
    ) -> None:
        steps.numbers("A", 2)
        ticket = steps.read("A", 2)
        ticket.pop(name, None)
        if value:
            ticket[name] = value

        assert (FindingKind.CHANGED, 2, 2) in findings_of(steps)
        assert any(problem.startswith("A-2:") for problem in verified(steps))

    @pytest.mark.parametrize(
        ("fields", "is_erased"),
        [
            *product(
                (
                    *({"note": "paid"}, {"reserved_at": "x"}, {"imported_by": "x"}),
                    *({"max_number": 3}, {"reserved_up_to": 99}),
                ),
                (False, True),
            ),
            ({"voided_reason": "void after all"}, False),
            ({"commitment": "x"}, False),
            ({"status": "closed"}, False),
        ],
        ids=plain_id,
    )
    def test_ticket_is_not_verifiable_when_it_says_more_than_its_hash_covers(
        self, steps: Steps, fields: dict[str, Any], *, is_erased: bool
    ) -> None:
        steps.numbers("A", 3)
        if is_erased:
            erased(steps, 2)
        steps.changes("A", 2, **fields)

        assert findings_of(steps) == [(FindingKind.NOT_VERIFIABLE, 2, 2)]
        assert verified(steps) == [
            "A-2: it has an attribute or a status that no hash covers"
        ]

    def test_record_differs_when_its_ticket_says_more_than_its_hash_covers(
        self, steps: Steps
    ) -> None:
        """The one hides nothing of the other; nor does a gap before the ticket."""
        steps.numbers("A", 5)
        steps.changes("A", 2, status="closed")
        steps.changes_key("A", "k-2", fingerprint="v1:other")
        remove(steps, 4)
        steps.changes("A", 5, status="closed")

        assert findings_of(steps) == [
            (FindingKind.GAP, 4, 4),
            (FindingKind.DIFFERING, 2),
            (FindingKind.NOT_VERIFIABLE, 2, 2),
            (FindingKind.NOT_VERIFIABLE, 5, 5),
        ]

    def test_record_differs_when_it_may_have_expired(self, steps: Steps) -> None:
        """It need not be there; but where it is, it agrees."""
        steps.numbers("A", 1)
        old: dict[str, Any] = {"chain": None, "assigned_at": "2020-01-01T00:00:00.000Z"}
        steps.changes("A", 1, **old)
        steps.changes_key("A", "k-1", **old, fingerprint="v1:other")

        assert (FindingKind.DIFFERING, 1) in findings_of(steps, retention_days=30)


class TestHeads:
    """A head holds if its ticket has its chain and fits it."""

    def test_last_ticket_before_a_gap_is_a_head_and_a_broken_end_is_none(
        self, steps: Steps
    ) -> None:
        steps.numbers("A", 5)
        remove(steps, 3)
        steps.numbers("B", 1)
        steps.changes("B", 1, title="Changed")

        report = audited(steps)

        when = timestamp(report.reading.started)
        assert report.heads() == [
            KeptHead("A", number, chain_of(steps, number), when) for number in (2, 5)
        ]

    def test_head_holds_when_the_chain_restarts_at_its_ticket(
        self, steps: Steps
    ) -> None:
        """The hash of the ticket before was put back: the head says no more."""
        steps.numbers("A", 1)
        segment(steps, 2)
        head = KeptHead("A", 2, chain_of(steps, 2))

        assert findings_of(steps, heads=[head]) == [(FindingKind.RESTARTED, 2, 2)]

    def test_head_cannot_be_verified_when_its_ticket_cannot(self, steps: Steps) -> None:
        steps.numbers("A", 1)
        heads = audited(steps).heads()
        steps.changes("A", 1, **LATER)

        of_ticket, of_head = audited(steps, heads=heads).findings
        assert of_ticket == of_head == Finding(FindingKind.NOT_VERIFIABLE, "A", (1, 1))

    @pytest.mark.parametrize("turn", [1, -1], ids=["first", "last"])
    def test_each_head_is_checked_when_two_are_of_one_ticket(
        self, steps: Steps, turn: int
    ) -> None:
        steps.numbers("A", 1)
        heads = [*audited(steps).heads(), KeptHead("A", 1, "v1:other")]

        assert findings_of(steps, heads=heads[::turn]) == [(FindingKind.HEAD, 1)]


class TestHeadFiles:
    """A file of heads is only added to."""

    def test_heads_are_read_when_the_last_line_was_not_ended(
        self, tmp_path: Path
    ) -> None:
        """For any name of the file; also the data of an announcement."""
        file = tmp_path / "heads.csv"
        line = '{"project_id": "A", "number": 2, "chain": "v1:a", "x": 1}'
        file.write_text(line)
        second = KeptHead("B", 1, "v1:b", "now")

        add_heads(str(file), [])
        assert file.read_text() == line
        add_heads(str(file), [second])

        assert read_heads(str(file)) == [KeptHead("A", 2, "v1:a"), second]

    def test_no_part_of_a_head_is_left_when_the_room_ends_within_it(
        self, tmp_path: Path
    ) -> None:
        """A system call then writes a part, and says so by its count alone."""
        file, heads = (
            tmp_path / "heads.jsonl",
            [KeptHead("A", 1, "v1:a"), KeptHead("A", 2, "v1:b")],
        )
        add_heads(str(file), heads[:1])
        before = file.read_bytes()
        room = resource.getrlimit(resource.RLIMIT_FSIZE)

        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 20, room[1]))
        try:
            with pytest.raises(InputError, match="cannot be written"):
                add_heads(str(file), heads[1:])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, room)

        assert file.read_bytes() == before

    def test_last_heads_are_all_of_each_project_s_highest_number(self) -> None:
        """In any order, and also those that contradict each other."""
        last = [
            KeptHead("A", 3, "v1:a"),
            KeptHead("A", 3, "v1:b"),
            KeptHead("B", 1, "v1:c"),
        ]

        assert last_heads([*last, KeptHead("A", 2, "v1:d")]) == last

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
