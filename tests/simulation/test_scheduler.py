"""The ground that the simulation stands on: one seed, one history."""

import gc
import os
import subprocess
import sys
import weakref

import pytest

from simulation.engine.choices import RandomChoices
from simulation.engine.scheduler import Process, Promise, Scheduler
from simulation.faults import RandomFaults
from simulation.scenario import random_scenario
from simulation.world import World, play, quiet


@pytest.fixture
def scheduler() -> Scheduler:
    """Return a scheduler at time 0."""
    return Scheduler(RandomChoices(1))


class TestVirtualTime:
    """Sleeping takes no time of ours, and time never goes back."""

    def test_sleepers_wake_in_the_order_of_their_times(
        self, scheduler: Scheduler
    ) -> None:
        """A year is over at once."""
        woken: list[float] = []

        def sleeper(seconds: float) -> None:
            scheduler.sleep(seconds)
            woken.append(scheduler.now)

        for seconds in (31_536_000.0, 2.0, 1.0):
            scheduler.spawn(
                Process("p"),
                str(seconds),
                lambda s=seconds: sleeper(s),  # type: ignore[misc]
            )
        scheduler.run()

        assert woken == [1.0, 2.0, 31_536_000.0]

    @pytest.mark.parametrize(("patience", "kept"), [(5.0, True), (0.5, False)])
    def test_promise_is_waited_for_only_so_long(
        self, scheduler: Scheduler, patience: float, *, kept: bool
    ) -> None:
        """Who waits is told whether it was worth it."""
        promise = Promise()
        seen: list[tuple[float, bool]] = []

        def keeper() -> None:
            scheduler.sleep(1.0)
            scheduler.keep(promise)

        def waiter() -> None:
            arrived = scheduler.wait(promise, patience)
            seen.append((scheduler.now, arrived))

        scheduler.spawn(Process("p"), "keeper", keeper)
        scheduler.spawn(Process("p"), "waiter", waiter)
        scheduler.run()

        assert seen == [(min(1.0, patience), kept)]


class TestDeath:
    """A killed process does nothing more, not even tidy up among others."""

    def test_killed_process_never_goes_on(self, scheduler: Scheduler) -> None:
        """Its siblings die where they stand."""
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
        assert process.ended.kept

    def test_history_leaves_nothing_behind(self) -> None:
        """Who waits for ever is ended with it, or millions would fill the memory."""
        choices = RandomChoices(3)
        world = World(random_scenario(choices), choices, RandomFaults(choices, 0.1))
        with quiet():
            world.run()

        remains = weakref.ref(world)
        del world
        gc.collect()

        assert remains() is None


class TestReplay:
    """A seed is all that it takes to see a history again."""

    @pytest.mark.parametrize("seed", [3, 10, 23, 77])
    def test_seed_replays_exactly(self, seed: int) -> None:
        """Line by line, faults included."""
        with quiet():
            first, second = play(seed), play(seed)

        assert first.history.lines() == second.history.lines()
        assert len(first.history.lines()) > 10

    def test_seed_replays_exactly_in_another_process(self) -> None:
        """Python hashes texts differently in each, and sets come in another order."""
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

    def test_seeds_differ(self) -> None:
        """Another seed is another history."""
        with quiet():
            histories = {tuple(play(seed).history.lines()) for seed in range(1, 20)}

        assert len(histories) == 19

    def test_history_says_who_did_what_and_what_was_answered(self) -> None:
        """A line for each event, with the time, the actor, the call and its answer."""
        with quiet():
            lines = play(4).history.lines()

        written = [line for line in lines if "> transact_write_items" in line]
        assert "worker" in written[0]
        assert "Put P" in written[0]
        assert any("< transact_write_items" in line for line in lines)
        assert any("!! " in line for line in lines)
