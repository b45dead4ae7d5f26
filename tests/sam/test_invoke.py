"""Events, given to the built function in a container by `sam local invoke`."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import System
from tests.sam.conftest import Invocation
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
