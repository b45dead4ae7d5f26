"""`audit` finds planted faults."""

import pytest

from conformance.backends import create_table
from tests.support.ctl_process import Ctl
from tests.support.seed_items import key_item, sequence
from ticketctl.local.stack import LocalStack

pytestmark = pytest.mark.emulator


def test_audit_names_each_finding_when_restored_tables_lack_items(
    deployed: LocalStack, project: str, ctl: Ctl
) -> None:
    dynamodb = deployed.client("dynamodb")
    names = f"{project}-tickets", f"{project}-keys"
    create_table(dynamodb, names[0], project_id="S", number="N")
    create_table(dynamodb, names[1], id="S")
    for item in [*sequence(project, 1, 3), key_item(f"{project}-B", 1, "lone")]:
        dynamodb.put_item(TableName=names["id" in item], Item=item)

    options = ["--tickets-table", names[0], "--keys-table", names[1]]
    text, document = ctl("audit", *options), ctl("audit", *options, "--json")

    assert (text.status, document.status) == (1, 1)
    findings = document.json["findings"]
    kinds = [(finding["project_id"], finding["kind"]) for finding in findings]
    assert kinds == [(project, "gap"), (f"{project}-B", "key-without-ticket")]
    assert all(finding["message"] in text.out for finding in findings)
