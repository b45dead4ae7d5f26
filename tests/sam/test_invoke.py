"""Events, given to the built function in a container by `sam local invoke`."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import System
from tests.sam.conftest import Invocation
from tests.support.audits import numbers_of
from tests.support.paths import ROOT
from tests.unit.worker.test_events import EXPECTED
from tools import events

Invoke = Callable[[Path], Invocation]

NO_FAILURE: dict[str, list[dict[str, str]]] = {"batchItemFailures": []}


@pytest.mark.parametrize("name", ["batch.json", "poison-deep-nesting.json"])
def test_event_is_answered_in_a_container_as_the_table_of_expectations_says(
    invoke: Invoke, system: System, name: str
) -> None:
    path = events.DIRECTORY / name
    event = json.loads(path.read_bytes())
    numbers, poison = EXPECTED[name]
    keys = [f"{project}-{number}" for project in numbers for number in numbers[project]]

    invocation = invoke(path)

    system.wait_for(lambda: len(system.announced) >= len(keys))
    assert invocation.response == NO_FAILURE
    announced = [json.loads(message.body) for message in system.announced]
    ids = [event["id"] for event in announced if "number" in event["data"]]
    assert sorted(ids) == sorted(keys)
    assert all(system.audit(project).is_clean for project in numbers)
    assert invocation.outcomes.keys() == {
        record["messageId"] for record in event["Records"]
    }
    system.wait_for(lambda: len(system.dead_letters) >= bool(poison))
    bodies = [event["Records"][-1]["body"]] if poison else []
    assert [letter.body for letter in system.dead_letters] == bodies


def test_ticket_is_replayed_when_invoked_again_and_new_when_events_are_fresh(
    invoke: Invoke, system: System, tmp_path: Path
) -> None:
    subprocess.run(  # noqa: S603 - no shell, no argument from outside.
        [sys.executable, "-m", "tools.events", tmp_path],
        check=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": "src"},
    )

    for path in (
        *[events.DIRECTORY / "create-ticket.json"] * 2,
        events.DIRECTORY / "redelivery.json",
        tmp_path / "create-ticket.json",
    ):
        assert invoke(path).response == NO_FAILURE

    system.wait_for(lambda: len(system.announced) >= 4)
    ids = [event["id"] for event in system.events("PROJ")]
    assert ids == ["PROJ-1", "PROJ-1", "PROJ-1", "PROJ-2"]
    assert system.replays("PROJ") == [False, True, True, False]
    assert numbers_of(system.audit("PROJ")) == (1, 2)
