"""`audit`: what was planted is found, and what is right is clean."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.e2e.conftest import System
from tests.support.builders import ticket_fields
from tests.support.ctl_process import Ctl, Ended
from tests.support.seed_items import Item, key_item, planted, sequence, ticket_item
from tests.support.tables import create_table
from ticketctl.local.stack import LocalStack

pytestmark = pytest.mark.emulator

# What to plant beside the tickets 1 and 2, and what the audit calls it.
FLAWS: dict[str, Callable[[str], list[Item]]] = {
    "gap": lambda project: sequence(project, 4),
    "two-tickets-of-one-key": lambda project: [ticket_item(project, 3, "key-2")],
    "key-without-ticket": lambda project: [key_item(project, 3, "lone")],
    "ticket-without-key": lambda project: [ticket_item(project, 3, "lone")],
    "key-names-another-ticket": lambda project: [
        ticket_item(project, 3, "x"),
        key_item(project, 1, "x"),
    ],
    "malformed-item": lambda project: [ticket_item(project, 3, None)],
}


def of(ended: Ended, project_id: str) -> list[dict[str, Any]]:
    """Return what was found in a project; other tests have tables of their own."""
    return [each for each in ended.json["findings"] if each["project_id"] == project_id]


@contextmanager
def tables(deployed: LocalStack, name: str, *items: Item) -> Iterator[list[str]]:
    """Restore tables of these items; return the options that name them."""
    dynamodb = deployed.client("dynamodb")
    names = f"{name}-tickets", f"{name}-keys"
    create_table(dynamodb, names[0], project_id="S", number="N")
    create_table(dynamodb, names[1], id="S")
    for item in items:
        dynamodb.put_item(TableName=names["id" in item], Item=item)
    try:
        yield ["--tickets-table", names[0], "--keys-table", names[1]]
    finally:
        for each in names:
            dynamodb.delete_table(TableName=each)


class TestFindings:
    """Whatever is wrong is named, once, and for both kinds of readers."""

    @pytest.mark.parametrize("kind", FLAWS)
    def test_audit_finds_what_was_planted(
        self, deployed: LocalStack, project: str, ctl: Ctl, kind: str
    ) -> None:
        """In text and in JSON; and no more when it is gone."""
        with planted(deployed, *sequence(project, 1, 2)):
            with planted(deployed, *FLAWS[kind](project)):
                text, document = ctl("audit"), ctl("audit", "--json")
            after = ctl("audit", "--json")

        assert (text.status, document.status) == (1, 1)
        assert [each["kind"] for each in of(document, project)] == [kind]
        [finding] = of(document, project)
        assert finding["message"] in text.out
        assert "NOT CLEAN" in text.out
        assert document.json["clean"] is False
        assert of(after, project) == []

    def test_table_shows_all_findings_when_the_terminal_is_narrow(
        self, deployed: LocalStack, project: str, ctl: Ctl
    ) -> None:
        """A terminal of 80 columns, and every pipe."""
        lone = ticket_item(project, 4, "lone")
        with planted(deployed, *sequence(project, 1, 2), lone):
            ended = ctl("audit", "--project", project, COLUMNS="80")

        assert f"│ {project:<7} │ 3-3  │     1 │" in ended.out

    def test_audit_tells_numbers_from_elsewhere_from_gaps(
        self, deployed: LocalStack, project: str, ctl: Ctl
    ) -> None:
        """Those between two that another system gave are explained."""
        elsewhere = {"status": "reserved", "origin": "elsewhere"}
        first = ticket_item(project, 3, None, **elsewhere)
        reserved = ticket_item(project, 9, None, **elsewhere)
        voided = ticket_item(project, 10, "v", status="voided")
        more = (first, reserved, voided, key_item(project, 10, "v"))
        with planted(deployed, *sequence(project, 1, 2), *more):
            ended = ctl("audit", "--project", project, "--json")

        assert ended.status == 0
        [found] = ended.json["projects"]
        assert found == {
            "project_id": project,
            "count": 5,
            "first": 1,
            "last": 10,
            "next": 11,
            "voided": 1,
            "reserved": 2,
            "from_elsewhere": 2,
            "elsewhere": [[4, 8]],
            "gaps": [],
            "expired_keys": 0,
            "findings": 0,
        }


class TestCleanAudit:
    """Status 0 means that all was looked at and nothing is wrong."""

    def test_project_is_clean_after_the_main_job(
        self, system: System, project: str, ctl: Ctl
    ) -> None:
        """Numbered by the worker; audited alone."""
        system.send(*[ticket_fields(project) for _ in range(5)])
        system.wait_for(lambda: len(system.events(project)) >= 5)

        ended = ctl("audit", "--project", project)
        document = ctl("audit", "--project", project, "--json")

        assert ended.status == 0
        assert ended.out.rstrip().endswith("clean")
        assert "keys without a ticket were not looked for" in ended.out
        assert "key-without-ticket" in document.json["not_looked_for"]
        assert document.json["tickets_read"] == 5
        assert document.json["keys_read"] == 5

    def test_restored_tables_are_audited_by_their_names(
        self, deployed: LocalStack, project: str, ctl: Ctl
    ) -> None:
        """Whole, in as many segments as one likes."""
        items = [*sequence(project, 1, 2, 3), *sequence(f"{project}-B", 1)]
        with tables(deployed, project, *items) as options:
            ended = ctl("audit", *options, "--segments", "7", "--json")
            text = ctl("audit", *options)

        assert (ended.status, text.status) == (0, 0)
        assert ended.json["clean"] is True
        assert ended.json["not_looked_for"] == []
        assert [each["last"] for each in ended.json["projects"]] == [3, 1]
        assert f"{project}-tickets" in text.out
        assert "total" in text.out

    def test_restored_tables_may_lack_the_last_moments(
        self, deployed: LocalStack, project: str, ctl: Ctl
    ) -> None:
        """A key came back, and its ticket did not."""
        items = [*sequence(project, 1), key_item(project, 2, "key-2")]
        with tables(deployed, project, *items) as options:
            ended = ctl("audit", *options)

        assert ended.status == 1
        assert f"{project}-2: named by the key key-2" in ended.out


class TestCoverage:
    """What was not read is not judged."""

    def test_audit_is_incomplete_when_the_budget_is_spent(
        self, deployed: LocalStack, project: str, ctl: Ctl
    ) -> None:
        """Nothing was found, but it is not clean: status 1."""
        items = [
            each
            for number in range(1, 6)
            for each in (
                ticket_item(project, number, f"k{number}", description="x" * 300_000),
                key_item(project, number, f"k{number}"),
            )
        ]
        with tables(deployed, project, *items) as options:
            budget = [*options, "--max-read-units", "1", "--segments", "1"]
            text, document = ctl("audit", *budget), ctl("audit", *budget, "--json")
            enough = ctl("audit", *options, "--max-read-units", "100000")

        assert (text.status, document.status, enough.status) == (1, 1, 0)
        assert "INCOMPLETE" in text.out
        assert "nothing wrong so far" in text.out
        assert document.json["complete"] is False
        assert document.json["findings"] == []
        assert document.json["looked_for"] == []
        assert document.json["keys_read"] == 0
        assert 0 < document.json["tickets_read"] < 5

    def test_audit_keeps_to_the_budget_when_many_threads_are_asked_for(
        self, deployed: LocalStack, project: str, ctl: Ctl
    ) -> None:
        """Each of them would take what the others had left."""
        with tables(deployed, project, *sequence(project, *range(1, 41))) as options:
            budget = [*options, "--max-read-units", "2", "--segments", "50"]
            ended = ctl("audit", *budget, "--json")

        assert ended.status == 1
        assert 0 < ended.json["read_units"] <= 2

    def test_audit_is_complete_when_it_reads_slowly(
        self, deployed: LocalStack, project: str, ctl: Ctl
    ) -> None:
        """With pauses between pages."""
        with tables(deployed, project, *sequence(project, *range(1, 9))) as options:
            ended = ctl("audit", *options, "--read-units-per-second", "8", "--json")

        assert ended.status == 0
        assert (ended.json["tickets_read"], ended.json["keys_read"]) == (8, 8)

    def test_unknown_project_is_a_finding(self, project: str, ctl: Ctl) -> None:
        """A slip of the pen is not clean."""
        ended = ctl("audit", "--project", project)

        assert ended.status == 1
        assert "there is no ticket of this project" in ended.out


class TestBadInput:
    """One line, and nothing is read."""

    def test_unknown_table_is_refused(self, ctl: Ctl) -> None:
        """Status 2: a wrong name is no finding."""
        ended = ctl("audit", "--tickets-table", "absent-t", "--keys-table", "absent-k")

        assert (ended.status, ended.out) == (2, "")
        assert "no table absent-t" in ended.err
        assert ended.err.count("\n") == 1

    def test_tables_that_were_mixed_up_are_refused(
        self, deployed: LocalStack, ctl: Ctl
    ) -> None:
        """Their keys give them away."""
        outputs = deployed.outputs
        ended = ctl(
            "audit",
            *("--tickets-table", outputs["IdempotencyKeysTableName"]),
            *("--keys-table", outputs["TicketsTableName"]),
        )

        assert ended.status == 2
        assert "its key is id, not project_id, number" in ended.err

    @pytest.mark.parametrize(
        "arguments",
        [
            ["--tickets-table", "t"],
            ["--project", "A#B"],
            ["--segments", "0"],
            ["--max-read-units", "0"],
            ["--max-read-units", "inf"],
            ["--read-units-per-second", "none"],
            ["--read-units-per-second", "inf"],
        ],
    )
    def test_options_that_make_no_sense_are_refused(
        self, ctl: Ctl, arguments: list[str]
    ) -> None:
        """Status 2."""
        assert ctl("audit", *arguments).status == 2
