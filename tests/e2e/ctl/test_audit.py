"""`audit` finds planted faults, and calls correct tables clean."""

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import System
from tests.support.builders import ticket_fields
from tests.support.ctl_process import Ctl
from tests.support.seed_items import key_item, sequence
from tests.support.tables import restored_tables
from ticketctl.local.stack import LocalStack

pytestmark = pytest.mark.emulator


def test_audit_names_each_finding_when_restored_tables_lack_items(
    deployed: LocalStack, project: str, ctl: Ctl
) -> None:
    items = [*sequence(project, 1, 3), key_item(f"{project}-B", 1, "lone")]
    with restored_tables(deployed, project, items) as (tickets, keys):
        options = ["--tickets-table", tickets, "--keys-table", keys]
        text, document = ctl("audit", *options), ctl("audit", *options, "--json")

    assert (text.status, document.status) == (1, 1)
    found = document.json["findings"]
    kinds = [(finding["project_id"], finding["kind"]) for finding in found]
    assert kinds == [(project, "gap"), (f"{project}-B", "key-without-ticket")]
    assert all(finding["message"] in text.out for finding in found)


def test_project_is_clean_after_the_main_job(
    system: System, project: str, ctl: Ctl, tmp_path: Path
) -> None:
    heads = tmp_path / "heads.jsonl"
    system.send(*[ticket_fields(project) for _ in range(5)])
    system.wait_for(lambda: len(system.events(project)) >= 5)

    options = ("audit", "--project", project)
    text = ctl(*options, "--rate", "100", "--save-heads", str(heads))
    document = ctl(*options, "--check-heads", str(heads), "--json")

    assert (text.status, document.status) == (0, 0)
    assert json.loads(heads.read_text())["number"] == 5
    [found] = document.json["projects"]
    assert (found["project_id"], found["count"], found["last"]) == (project, 5, 5)
