"""The scheduler: virtual time, killed processes, and histories that replay."""

import gc
import os
import subprocess
import sys
import weakref
from dataclasses import replace
from functools import partial

import pytest

from simulation.engine.choices import Choices
from simulation.engine.scheduler import Scheduler
from simulation.engine.tasks import Future, Process
from simulation.play import play
from simulation.scenarios.random_scenarios import random_scenario
from simulation.world.world import World


@pytest.fixture
def scheduler() -> Scheduler:
    """Return a scheduler at time 0."""
    return Scheduler(Choices(1))


class TestVirtualTime:
    """Sleeping takes no real time, and time never goes back."""

    def test_tasks_wake_in_order_when_they_sleep_for_a_year(
        self, scheduler: Scheduler
    ) -> None:
        woken: list[float] = []

        def sleeper(seconds: float) -> None:
            scheduler.sleep(seconds)
            woken.append(scheduler.now)

        for seconds in (31_536_000.0, 2.0, 1.0):
            scheduler.spawn(Process("p"), str(seconds), partial(sleeper, seconds))
        scheduler.run()

        assert woken == [1.0, 2.0, 31_536_000.0]

    @pytest.mark.parametrize(("timeout", "expected"), [(5.0, True), (0.5, False)])
    def test_wait_ends_when_the_future_is_done_or_its_time_is_over(
        self, scheduler: Scheduler, timeout: float, *, expected: bool
    ) -> None:
        future = Future()
        seen: list[tuple[float, bool]] = []

        def resolver() -> None:
            scheduler.sleep(1.0)
            scheduler.resolve(future)

        def waiter() -> None:
            arrived = scheduler.wait(future, timeout)
            seen.append((scheduler.now, arrived))

        scheduler.spawn(Process("p"), "resolver", resolver)
        scheduler.spawn(Process("p"), "waiter", waiter)
        scheduler.run()

        assert seen == [(min(1.0, timeout), expected)]


class TestDeath:
    """A killed process does nothing more, not even clean up."""

    def test_task_never_goes_on_when_its_process_is_killed(
        self, scheduler: Scheduler
    ) -> None:
        went_on: list[str] = []
        process = Process("p")

        def victim() -> None:
            try:
                scheduler.sleep(1.0)
            finally:
                scheduler.sleep(1.0)
                went_on.append("tidied up")

        def killer() -> None:
            scheduler.sleep(0.5)
            scheduler.kill(process)
            went_on.append("killed itself and went on")

        scheduler.spawn(process, "victim", victim)
        scheduler.spawn(process, "killer", killer)
        scheduler.run()

        assert went_on == []
        assert process.ended.done

    def test_world_is_collected_when_its_history_is_over(self) -> None:
        """Millions of tasks that wait for ever would fill the memory."""
        choices = Choices(3)
        world = World(replace(random_scenario(choices), fault_rate=0.1), choices)
        world.run()

        remains = weakref.ref(world)
        del world
        gc.collect()

        assert remains() is None


class TestReplay:
    """A history follows from its seed alone."""

    def test_history_is_the_same_when_played_in_another_process(self) -> None:
        """Each process hashes strings differently, so its sets have another order."""
        stories = {
            subprocess.run(
                [sys.executable, "-m", "simulation", "seed", "2"],
                check=True,
                capture_output=True,
                env={"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": salt},
            ).stdout
            for salt in ("0", "1")
        }

        assert len(stories) == 1

    def test_history_shows_calls_answers_and_faults_when_printed(self) -> None:
        lines = play(4).history.lines()

        written = [line for line in lines if "> transact_write_items" in line]
        assert "worker" in written[0]
        assert "Put P" in written[0]
        assert any("< transact_write_items" in line for line in lines)
        assert any("!! " in line for line in lines)
