"""An export is restored beside the worker, if its keys are recorded."""

from pathlib import Path

import pytest

from tests.e2e.conftest import System
from tests.e2e.ctl.test_sequences import number
from tests.support.builders import ticket_fields
from tests.support.ctl_process import Ctl
from ticket_numbering.contract.dynamodb_items import ticket_id
from ticketctl.cli.errors import Status

pytestmark = pytest.mark.emulator


def test_ticket_is_as_it_was_when_it_was_lost_and_restored(
    ctl: Ctl, system: System, project: str, tmp_path: Path
) -> None:
    number(system, project, *(ticket_fields(project) for _ in range(3)))
    exported = ctl("export", "--project", project)
    (tmp_path / "saved.jsonl").write_text(exported.out)
    system.stack.client("dynamodb").delete_item(
        TableName=system.stack.outputs["TicketsTableName"], Key=ticket_id(project, 2)
    )

    ended = ctl("restore", str(tmp_path / "saved.jsonl"), "--yes")

    assert ended.status == Status.OK, ended.err
    assert ctl("export", "--project", project).json_lines == exported.json_lines
