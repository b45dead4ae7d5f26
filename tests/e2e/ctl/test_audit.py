"""`audit`: what was planted is found, and what is right is clean."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.e2e.conftest import System
from tests.support.builders import ticket_fields
from tests.support.ctl_process import Ctl
from tests.support.seed_items import Item, key_item, planted, sequence, ticket_item
from tests.support.tables import create_table
from ticketctl.local.stack import LocalStack

pytestmark = pytest.mark.emulator


def flaws(project: str) -> dict[str, list[Item]]:
    """Return what is wrong, project by project, and what the audit calls it."""
    return {
        "gap": sequence(f"{project}-A", 1, 3),
        "two-tickets-of-one-key": [
            *sequence(f"{project}-B", 1),
            ticket_item(f"{project}-B", 2, "key-1"),
        ],
        "key-without-ticket": [key_item(f"{project}-C", 1, "lone")],
        "ticket-without-key": [ticket_item(f"{project}-D", 1, "lone")],
        "key-names-another-ticket": [
            *sequence(f"{project}-E", 1),
            ticket_item(f"{project}-E", 2, "x"),
            key_item(f"{project}-E", 1, "x"),
        ],
        "malformed-item": [ticket_item(f"{project}-F", 1, None)],
        "unfinished-seed": [
            ticket_item(f"{project}-G", 9, None, status="reserved", origin="elsewhere")
        ],
    }


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
        for table in names:
            dynamodb.delete_table(TableName=table)


class TestAudit:
    """Whatever is wrong is named, and status 0 means that nothing is."""

    def test_audit_names_each_finding_when_restored_tables_have_all(
        self, deployed: LocalStack, project: str, ctl: Ctl
    ) -> None:
        planted_flaws = flaws(project)
        items = [item for some in planted_flaws.values() for item in some]
        with tables(deployed, project, *items) as options:
            text, document = ctl("audit", *options), ctl("audit", *options, "--json")

        assert (text.status, document.status) == (1, 1)
        found = document.json["findings"]
        assert [finding["kind"] for finding in found] == [*planted_flaws]
        assert all(finding["message"] in text.out for finding in found)
        assert "NOT CLEAN: 7 findings" in text.out
        assert document.json["clean"] is False

    def test_audit_is_clean_when_restored_tables_are(
        self, deployed: LocalStack, project: str, ctl: Ctl
    ) -> None:
        items = [*sequence(project, *range(1, 9)), *sequence(f"{project}-B", 1)]
        with tables(deployed, project, *items) as options:
            ended = ctl("audit", *options, "--rate", "100", "--json")

        assert ended.status == 0
        assert ended.json["clean"] is True
        assert [found["last"] for found in ended.json["projects"]] == [8, 1]
        assert (ended.json["tickets_read"], ended.json["keys_read"]) == (9, 9)

    def test_project_is_clean_after_the_main_job(
        self, system: System, project: str, ctl: Ctl
    ) -> None:
        system.send(*[ticket_fields(project) for _ in range(5)])
        system.wait_for(lambda: len(system.events(project)) >= 5)

        ended = ctl("audit", "--project", project)

        assert ended.status == 0
        assert "1 projects, 5 items and 5 keys read consistently" in ended.out
        assert "keys without a ticket were not looked for" in ended.out
        assert ended.out.rstrip().endswith("clean")

    def test_audit_tells_numbers_from_elsewhere_from_gaps(
        self, deployed: LocalStack, project: str, ctl: Ctl
    ) -> None:
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
            "count": 3,
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


class TestBadInput:
    """One line, and nothing is read."""

    def test_audit_is_refused_when_a_table_is_unknown(self, ctl: Ctl) -> None:
        """Status 2: a wrong name is no finding."""
        ended = ctl("audit", "--tickets-table", "absent-t", "--keys-table", "absent-k")

        assert (ended.status, ended.out) == (2, "")
        assert "no table absent-t" in ended.err
        assert ended.err.count("\n") == 1

    @pytest.mark.parametrize(
        "arguments",
        [["--tickets-table", "t"], ["--project", "A#B"], ["--rate", "0"]],
    )
    def test_audit_is_refused_when_an_option_makes_no_sense(
        self, ctl: Ctl, arguments: list[str]
    ) -> None:
        assert ctl("audit", *arguments).status == 2
