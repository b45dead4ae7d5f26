"""`ticketctl stop` leaves nothing of the worker running, and `start` brings it back."""

from pathlib import Path

import pytest
from pydantic.alias_generators import to_pascal

from tests.support.controls import MAPPING, SECOND, TIMEOUT
from tests.support.rights import granted
from tests.support.stage import Stage
from ticketctl.aws.stack import Stack, find_stack
from ticketctl.aws.worker_state import worker_state
from ticketctl.cli.errors import Status
from ticketctl.switching.switching import Switch


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """A worker with two queues; the second mapping leads to no alias."""
    stage = Stage(tmp_path)
    stage.lead(monkeypatch)
    stage.services.create_queue("second")
    stage.controls.second = "Enabled"
    return stage


@pytest.fixture
def stack(stage: Stage) -> Stack:
    return find_stack(stage.name, stage.region, None)


class TestStop:
    """Nothing is called stopped that may still give a number."""

    def test_worker_runs_until_each_mapping_is_disabled_and_its_last_batch_is_over(
        self, stage: Stage, stack: Stack
    ) -> None:
        controls, began = stage.controls, stage.services.scheduler.now
        # Another function's, whose name begins as the worker's, stays out of it.
        assert [source.id for source in worker_state(stack).sources] == [
            MAPPING,
            SECOND,
        ]

        Switch(stack).stop()

        assert controls.mapping == controls.second == "Disabled"
        assert stage.services.scheduler.now - began >= TIMEOUT
        assert worker_state(stack).is_stopped

    @pytest.mark.parametrize("name", ["mapping", "second"])
    @pytest.mark.parametrize("state", ["Enabled", "Enabling", "Disabling", "Updating"])
    def test_worker_runs_when_one_mapping_is_not_disabled(
        self, stage: Stage, stack: Stack, name: str, state: str
    ) -> None:
        stage.controls.mapping = stage.controls.second = "Disabled"
        setattr(stage.controls, name, state)

        assert not worker_state(stack).is_stopped

    def test_mapping_is_disabled_when_it_comes_or_changes_meanwhile(
        self, stage: Stage, stack: Stack
    ) -> None:
        controls = stage.controls
        controls.second = None
        controls.errors["UpdateEventSourceMapping"] = "ResourceInUseException"

        def come() -> None:
            controls.errors.clear()
            controls.second = controls.second or "Enabled"

        stage.on_pause = come

        Switch(stack).stop()

        assert controls.mapping == controls.second == "Disabled"

    def test_worker_is_not_stopped_when_a_function_is_gone(
        self, stage: Stage, stack: Stack
    ) -> None:
        """Lambda's longest timeout has passed by then."""
        stage.controls.errors["GetFunctionConfiguration"] = "ResourceNotFoundException"
        began = stage.services.scheduler.now

        Switch(stack).stop()

        assert stage.services.scheduler.now - began >= 900


class TestStart:
    """Only stopped mappings are started."""

    def test_mappings_of_a_stop_are_started_by_another_shell(
        self, stage: Stage, stack: Stack
    ) -> None:
        stage.controls.second = "Disabled"
        Switch(stack).stop()

        assert Switch(find_stack("numbers", "eu-west-1", None)).start() == Status.OK

        assert (stage.controls.mapping, stage.controls.second) == (
            "Enabled",
            "Disabled",
        )
        assert stage.controls.tags[MAPPING] == stage.controls.tags[SECOND] == set()

    def test_both_need_the_rights_of_their_row_and_no_other(
        self, stage: Stage, stack: Stack
    ) -> None:
        Switch(stack).stop()
        Switch(stack).start()

        asked = {f"sqs:{to_pascal(call)}" for call in stage.services.sqs.requests}
        assert {*stage.controls.calls} | asked == granted("stop") == granted("start")
