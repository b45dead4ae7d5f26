"""The promises, while connections fail, answers come late and workers are killed."""

import json
import os
import random
import secrets
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Event
from typing import Any, Final

import pytest

from simulation.aws.faults import Fault
from tests.e2e.conftest import System
from tests.support.audits import numbers_of
from tests.support.builders import ticket_fields
from tests.support.proxy import DECKS, QUICK, SLOW, WRITE, FaultProxy, serving
from ticket_numbering.contract.errors import PoisonMessageError, TransientError
from ticket_numbering.worker.batch_progress import ANNOUNCED_DELIVERIES
from ticket_numbering.worker.results import Poison, Replayed, Retry
from ticketctl.aws.queues import messages_on
from ticketctl.aws.tickets import tickets_above
from ticketctl.aws.topic import subscribe
from ticketctl.local.stack import local_stack
from ticketctl.verify.observed import Observed
from ticketctl.verify.outcome import check_outcomes
from tools.events import fresh_events

pytestmark = pytest.mark.emulator

SEED_VARIABLE: Final = "FAULTS_SEED"
"""Set it to the seed of a run that failed: its calls meet the same faults again."""

TICKETS: Final = {"HOT": 500} | {f"COLD-{serial}": 125 for serial in range(1, 5)}
REPEATS: Final = 150
RIVALS: Final = 40
POISON_OF_A_KIND: Final = 3
REUSED_KEY: Final = "poison-reused-key.json"
"""Its first record is a valid request, and so is the second without the first."""

DELIVERIES_AT_ONCE: Final = 6
VISIBILITY_SECONDS: Final = 5
"""Shorter than some deliveries take, so that a message is worked on twice at once."""

MAX_RECEIVES: Final = 1000
"""The most that SQS takes: no message runs out of deliveries."""

FAULT_SECONDS: Final = 1500
"""A bound for a slow machine; on two free cores it takes about 60."""

CALM_SECONDS: Final = 700
TAIL: Final = 40
"""The last messages meet no faults: each would cost another visibility timeout."""

LOOK_SECONDS: Final = 0.5

QUIET_SECONDS: Final = 15
"""A worker waits for less: for a third of its time, at most."""


def messages_of(seed: int, poison: list[str]) -> list[str]:
    """Return all bodies, shuffled; the seed says which tickets have rivals.

    A repeat is a ticket in other words: a default is spelled out. A rival is another
    ticket under the same key; the first to be numbered wins.
    """
    dice = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret.
    tickets = [
        ticket_fields(project, title=f"Ticket {serial} ✓")
        for project, count in TICKETS.items()
        for serial in range(count)
    ]
    repeats = [
        ticket | {"priority": "medium"} for ticket in dice.sample(tickets, REPEATS)
    ]
    rivals = [ticket | {"title": "Rival"} for ticket in dice.sample(tickets, RIVALS)]
    bodies = [*map(json.dumps, [*tickets, *repeats, *rivals]), *poison]
    dice.shuffle(bodies)
    return bodies


def poison_bodies() -> list[str]:
    """Return the bodies of poison events, in the hot project."""
    return [
        record["body"].replace("PROJ", "HOT")
        for _ in range(POISON_OF_A_KIND)
        for name, text in fresh_events().items()
        if name.startswith("poison-") and name != REUSED_KEY
        for record in json.loads(text)["Records"]
    ]


@dataclass
class Run:
    """The messages sent, and their observed outcome."""

    seed: int
    system: System
    proxy: FaultProxy
    poison: list[str] = field(default_factory=poison_bodies)
    """Bodies that can never be numbered."""
    looks: int = 0
    keys: dict[str, list[str | None]] = field(default_factory=lambda: defaultdict(list))
    """Each project's keys in the order of their numbers."""
    broken: list[str] = field(default_factory=list)

    def work(self) -> None:
        """Send everything, and wait until nothing is left, finally without faults."""
        system, done = self.system, Event()
        with ThreadPoolExecutor(5) as threads:
            watching = threads.submit(self._watch, done)
            try:
                bodies = messages_of(self.seed, self.poison)
                parts = [bodies[part::4] for part in range(4)]
                [*threads.map(lambda part: system.send(*part), parts)]
                system.wait_for(lambda: self._left() <= TAIL, FAULT_SECONDS)
                self.proxy.is_calm = True
                system.wait_for(self._is_over, CALM_SECONDS)
                while system.look():
                    pass
            finally:
                done.set()
            watching.result()

    def _left(self) -> int:
        return messages_on(self.system.stack, "CreateTicketQueueUrl")

    def _is_over(self) -> bool:
        """No worker is busy; a late write is a call too."""
        return self.proxy.quiet_seconds() > QUIET_SECONDS and not self._left()

    def _watch(self, done: Event) -> None:
        """Read every project's tickets, consistently, again and again."""
        while not done.wait(LOOK_SECONDS):
            self.looks += 1
            for project in TICKETS:
                tickets = [*tickets_above(self.system.stack, project, 0)]
                numbers = [ticket.number for ticket in tickets]
                if numbers != [*range(1, len(numbers) + 1)]:
                    self.broken.append(f"{project} had the numbers {numbers}")
                before = self.keys[project]
                keys = [ticket.idempotency_key for ticket in tickets]
                if keys[: len(before)] != before:
                    self.broken.append(f"a number of {project} changed its ticket")
                self.keys[project] = keys

    @cached_property
    def observed(self) -> Observed:
        """The outcomes; from its fifth delivery on, poison need not be announced."""
        given_up = {
            line["message_id"]
            for line in self.outcomes
            if line["outcome"] == Poison.outcome
            and line["receive_count"] > ANNOUNCED_DELIVERIES
        }
        observed, letters = self.system.observed(), self.system.dead_letters
        return replace(observed, dead_letters=letters, given_up=given_up)

    @cached_property
    def outcomes(self) -> list[dict[str, Any]]:
        """The function's log, one line for each record whose delivery ended."""
        logged = self.system.logs()
        lines = (line[line.index("{") :] for line in logged if "{" in line)
        return [line for line in map(json.loads, lines) if "outcome" in line]


@pytest.fixture(scope="module")
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    """Run it all once; the tests look at the result from many sides."""
    seed = int(os.environ.get(SEED_VARIABLE) or secrets.randbelow(1_000_000))
    sys.stdout.write(f"{SEED_VARIABLE}={seed}\n")  # For a run that ends in an error.
    parameters = {"MaximumConcurrency": str(DELIVERIES_AT_ONCE)}
    with local_stack(parameters) as stack, serving(FaultProxy(stack, seed)) as proxy:
        system = System(stack, subscribe(stack, "faults"))
        run = Run(seed, system, proxy)
        policy = system.redrive_policy(after=MAX_RECEIVES)
        with (
            system.queue_attributes(
                VisibilityTimeout=str(VISIBILITY_SECONDS), RedrivePolicy=policy
            ),
            system.function_environment(AWS_ENDPOINT_URL=proxy.url),
        ):
            start = time.monotonic()
            run.work()
            capture = request.config.pluginmanager.getplugin("capturemanager")
            with capture.global_and_fixture_disabled():
                # For the page of the proof.
                sys.stdout.write(
                    f"{time.monotonic() - start:.0f} s, {len(system.sent)} messages, "
                    f"{proxy.faults.total()} faults in {proxy.calls.total()} calls, "
                    f"{proxy.kills} workers killed\n"
                )
            yield run


def test_numbers_are_contiguous_at_every_look_and_reach_the_count_of_keys(
    run: Run,
) -> None:
    """Promise 1: a consistent reader sees exactly 1..n, at every moment."""
    assert run.broken == []
    assert run.looks >= 20
    assert {audit.project_id: numbers_of(audit) for audit in run.system.audits()} == {
        project: tuple(range(1, count + 1)) for project, count in TICKETS.items()
    }


def test_outcomes_keep_the_promises_when_the_queue_has_drained(run: Run) -> None:
    """Promises 2, 3, 4 and 6: a copy of an announcement or dead letter is allowed."""
    verdict = check_outcomes(run.observed)
    assert (verdict.missing, verdict.wrong) == ((), ())


def test_poison_is_dead_lettered_whatever_the_judge_holds_for_poison(run: Run) -> None:
    """The judge reads bodies as the worker does."""
    letters = Counter(letter.body for letter in run.system.dead_letters)
    assert letters.keys() >= {*run.poison}


def test_every_fault_was_met_when_the_promises_were_kept(run: Run) -> None:
    """The tests above prove as much as their faults are many."""
    outcomes = Counter(line["outcome"] for line in run.outcomes)

    # The calls of the line are too few to meet each fault; the simulation's do.
    assert run.proxy.calls.keys() - {"UpdateItem"} == DECKS.keys()
    met = {(deck, fault) for deck in DECKS for fault in (*QUICK, *SLOW)}
    assert run.proxy.faults.keys() >= met
    assert run.proxy.kills >= 10
    # The caller of such a write no longer waits for it.
    late = (
        run.proxy.faults[WRITE, fault] for fault in (Fault.LATE, Fault.KILLED_DURING)
    )
    assert sum(late) >= 3
    assert outcomes[Retry.outcome] >= 30
    assert outcomes[Replayed.outcome] > REPEATS


def test_failures_are_those_that_the_worker_expects(run: Run) -> None:
    """Anything else would be a bug that a later delivery hides."""
    expected = PoisonMessageError.__subclasses__() + TransientError.__subclasses__()

    failures = {line.get("error_type") for line in run.outcomes}
    assert failures <= {None, *(error.__name__ for error in expected)}
