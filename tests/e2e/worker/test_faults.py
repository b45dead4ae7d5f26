"""The promises, while calls fail in every way we know and workers are killed."""

import os
import secrets
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Final

import pytest

from tests.e2e.conftest import System
from tests.support.audits import numbers_of
from tests.support.fault_proxy import fault_proxy
from tests.support.fault_run import (
    REPEATS,
    SEED_VARIABLE,
    TICKETS,
    Run,
    poison_bodies,
)
from tests.support.faults import DECKS
from ticket_numbering.contract.errors import PoisonMessageError, TransientError
from ticket_numbering.worker.results import Replayed, Retry
from ticketctl.aws.topic import subscribe
from ticketctl.local.stack import local_stack
from ticketctl.verify.verdict import judge

pytestmark = pytest.mark.emulator

DELIVERIES_AT_ONCE: Final = 6
VISIBILITY_SECONDS: Final = 5
"""Shorter than some deliveries take, so that a message is worked on twice at once."""

MAX_RECEIVES: Final = 1000
"""The most that SQS takes: no message runs out of deliveries."""


@pytest.fixture(scope="module")
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    """Run it all once; the tests look at the result from many sides."""
    seed = int(os.environ.get(SEED_VARIABLE) or secrets.randbelow(1_000_000))
    sys.stdout.write(f"{SEED_VARIABLE}={seed}\n")  # For a run that ends in an error.
    parameters = {"MaximumConcurrency": str(DELIVERIES_AT_ONCE)}
    with local_stack(parameters) as stack, fault_proxy(stack, seed) as proxy:
        system = System(stack, subscribe(stack, "faults"))
        run = Run(seed, poison_bodies(), system, proxy)
        policy = system.redrive_policy(after=MAX_RECEIVES)
        with (
            system.queue_attributes(
                VisibilityTimeout=str(VISIBILITY_SECONDS), RedrivePolicy=policy
            ),
            system.function_environment(AWS_ENDPOINT_URL=proxy.url),
        ):
            run.work()
            capture = request.config.pluginmanager.getplugin("capturemanager")
            with capture.global_and_fixture_disabled():
                sys.stdout.write(f"{run.summary()}\n")
            yield run


def test_numbers_are_contiguous_at_every_look_and_reach_the_count_of_keys(
    run: Run,
) -> None:
    """Promise 1: a consistent reader sees exactly 1..n, at every moment."""
    assert run.watch.broken == []
    assert run.watch.looks >= 20
    assert {audit.project_id: numbers_of(audit) for audit in run.system.audits()} == {
        project: tuple(range(1, count + 1)) for project, count in TICKETS.items()
    }


def test_outcomes_keep_the_promises_when_the_queue_has_drained(run: Run) -> None:
    """Promises 2, 3, 4 and 6: a copy of an announcement or dead letter is allowed."""
    assert run.drained
    verdict = judge(run.observed)
    assert (verdict.missing, verdict.wrong) == ((), ())


def test_poison_is_dead_lettered_whatever_the_judge_holds_for_poison(run: Run) -> None:
    """The judge reads bodies as the worker does."""
    letters = Counter(letter.body for letter in run.system.dead_letters)
    assert letters.keys() >= {*run.poison}


# These tests prove as much as their faults are many.


def test_every_fault_was_met_by_every_call_that_can(run: Run) -> None:
    assert run.proxy.calls.keys() == DECKS.keys()
    assert run.proxy.faults.keys() >= {
        (operation, fault)
        for operation, (_, faults) in DECKS.items()
        for fault in faults
    }


def test_workers_were_killed_writes_came_late_and_messages_again(run: Run) -> None:
    """A late write is one whose caller no longer waits."""
    outcomes = Counter(line["outcome"] for line in run.outcomes)

    assert run.proxy.kills >= 10
    assert run.proxy.late_writes.total() >= 3
    assert outcomes[Retry.outcome] >= 30
    assert outcomes[Replayed.outcome] > REPEATS


def test_failures_are_those_that_the_worker_expects(run: Run) -> None:
    """Anything else would be a bug that a later delivery hides."""
    expected = PoisonMessageError.__subclasses__() + TransientError.__subclasses__()

    failures = {line.get("error_type") for line in run.outcomes}
    assert failures <= {None, *(error.__name__ for error in expected)}
