"""Tickets of another system keep numbers and keys, and the worker goes on."""

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import System
from tests.e2e.ctl.test_sequences import announced, number
from tests.support.builders import ticket_fields
from tests.support.ctl_process import Ctl
from ticketctl.cli.errors import Status

pytestmark = pytest.mark.emulator


def test_worker_goes_on_behind_the_numbers_that_were_imported(
    ctl: Ctl, system: System, project: str, tmp_path: Path
) -> None:
    """A request under an imported ticket's key is a repeat, and erased is there."""
    saved = tmp_path / "tickets.jsonl"
    lines = [{"key": f"{project}-{n}", "title": f"Old {n}"} for n in (2, 3, 7)]
    saved.write_text("".join(f"{json.dumps(line)}\n" for line in lines))

    seeded = ctl("seed", project, "--last", "9", "--yes")
    ended = ctl("import", str(saved), "--yes")
    erased = ctl("erase", f"{project}-2", "--reason", "asked to", "--yes")
    repeated = ticket_fields(project, f"import:{project}-3", title="Old 3")
    number(system, project, repeated)
    number(system, project, ticket_fields(project, "new"))
    again = ctl("import", str(saved), "--verify")

    assert {run.status for run in (seeded, ended, erased)} == {Status.OK}
    assert ended.out.startswith("imported 3, there already 0, refused 0; ")
    assert announced(system, project) == {f"import:{project}-3": 3, "new": 10}
    assert again.status == Status.OK, again.out
    assert ctl("audit", "--project", project).status == Status.OK
