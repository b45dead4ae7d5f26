"""`show`, `list` and `find` on the deployed system."""

import pytest

from tests.e2e.conftest import System
from tests.support.builders import ticket_fields
from tests.support.ctl_process import Ctl

pytestmark = pytest.mark.emulator


def test_ticket_is_shown_listed_and_found_as_the_producer_sent_it(
    system: System, project: str, ctl: Ctl
) -> None:
    fields = ticket_fields(
        project,
        "form-1",
        title="Café ✓",
        description="First\n  second",
        labels=["ui", "login"],
        attributes={"browser": "Firefox"},
    )
    system.send(fields)
    system.wait_for(lambda: system.events(project))

    shown = ctl("show", f"{project}-1", "--json")
    listed = ctl("list", project, "--json")
    looked_up = ctl("find", project, "form-1", "--json")
    missing = ctl("show", f"{project}-2")

    assert {name: shown.json[name] for name in fields} == fields
    assert listed.json_lines == [shown.json]
    assert looked_up.json["ticket"] == shown.json
    assert looked_up.json["record"]["number"] == 1
    assert (missing.status, missing.out) == (1, "")
