"""What `ticketctl export` prints can be imported into another stack."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import System
from tests.e2e.ctl.test_sequences import number
from tests.support.builders import ticket_fields
from tests.support.ctl_process import Ctl
from tests.support.sample_messages import FULL
from ticketctl.cli.errors import Status
from ticketctl.importing.lines import LEFT_BEHIND

pytestmark = pytest.mark.emulator


def test_tickets_keep_numbers_and_keys_when_their_export_is_imported_elsewhere(
    ctl: Ctl, system: System, project: str, tmp_path: Path
) -> None:
    """A project without numbers stands for an empty stack; it has each kind."""
    other, file = f"{project}-NEW", tmp_path / "saved.jsonl"
    number(system, project, FULL | {"project_id": project})
    number(system, project, *(ticket_fields(project) for _ in range(3)))
    ctl("void", f"{project}-2", "--reason", "spam", "--yes")
    ctl("erase", f"{project}-3", "--reason", "asked to", "--yes")
    ctl("seed", project, "--last", "9", "--yes")
    number(system, project, ticket_fields(project, "k-10"))
    exported = ctl("export", "--project", project)
    *items, end = exported.json_lines
    lines = [*(line | {"project_id": other} for line in items), end]
    file.write_text("\n".join(map(json.dumps, lines)))

    ended = ctl("import", str(file), "--yes")
    number(system, other, FULL | {"project_id": other})
    number(system, other, ticket_fields(other, "new"))
    *again, _ = ctl("export", "--project", other).json_lines
    *everything, _ = ctl("export").json_lines

    assert (exported.status, ended.status) == (Status.OK, Status.OK)
    assert ended.out.startswith("imported 5, there already 0, refused 0, ")
    kept = {line["number"]: requested(line) for line in again}
    tickets = [line for line in items if line.get("status") != "reserved"]
    assert {line["number"]: requested(line) for line in tickets}.items() <= kept.items()
    # The key of the first was known, and the next one follows the highest.
    assert [line["number"] for line in again if "chain" in line] == [11]
    assert ctl("audit", "--project", other).status == Status.OK
    tables = [line for line in everything if "kind" not in line]
    places = {(line["project_id"], line["number"]) for line in tables}
    assert places >= {(project, 1), (other, 11)}


def requested(line: dict[str, Any]) -> dict[str, Any]:
    """Return what an import takes of a line, but for the project."""
    left = LEFT_BEHIND | {"project_id"}
    return {name: value for name, value in line.items() if name not in left}
