"""The promises, while calls fail in every way we know and workers are killed."""

import json
import os
import secrets
import shutil
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.e2e.conftest import System
from tests.e2e.worker.test_main_job import redrive_policy
from tests.support.fault_proxy import fault_proxy
from tests.support.fault_run import REPEATS, SEED_VARIABLE, TICKETS, Load, Run
from tests.support.faults import DECKS
from ticket_numbering.errors import PoisonMessageError, TransientError
from ticket_numbering.messages import RequestKey
from ticketctl.local.stack import local_stack
from ticketctl.system.queues import subscribe

pytestmark = pytest.mark.emulator

DELIVERIES_AT_ONCE: Final = 6
VISIBILITY_SECONDS: Final = 5
"""Shorter than some deliveries take, so that a message is worked on twice at once."""

MAX_RECEIVES: Final = 1000
"""The most that SQS takes: no message runs out of deliveries."""

ROOM_FOR_WORKERS: Final = 2**30


@pytest.fixture(scope="module")
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    """Run it all once; the tests look at the result from many sides."""
    seed = int(os.environ.get(SEED_VARIABLE) or secrets.randbelow(1_000_000))
    sys.stdout.write(f"{SEED_VARIABLE}={seed}\n")  # For a run that ends in an error.
    parameters = {"MaximumConcurrency": str(DELIVERIES_AT_ONCE)}
    with (
        fast_temporary_files(),
        local_stack(parameters) as stack,
        fault_proxy(stack, seed) as proxy,
    ):
        system = System(stack, subscribe(stack, "faults"))
        run = Run(seed, Load.of(seed), system, proxy)
        policy = redrive_policy(system, after=MAX_RECEIVES)
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


@contextmanager
def fast_temporary_files() -> Iterator[None]:
    """Keep them in memory, if there is room: each new worker unpacks its code again."""
    memory = Path("/dev/shm")  # noqa: S108 - a name made up by `tempfile` is below it.
    with pytest.MonkeyPatch.context() as patch:
        if memory.is_dir() and shutil.disk_usage(memory).free > ROOM_FOR_WORKERS:
            patch.setattr(tempfile, "tempdir", str(memory))
        yield


class TestGaplessAndInOrder:
    """Promise 1: a project's numbers are exactly 1..n, at every moment."""

    def test_numbers_are_contiguous_at_every_look(self, run: Run) -> None:
        """Somebody reads the table consistently, all the time."""
        assert run.watch.broken == []
        assert run.watch.looks >= 20

    def test_numbers_reach_the_count_of_keys_in_the_end(self, run: Run) -> None:
        """No number is left out and none is given in vain."""
        assert {each: run.audits[each].numbers for each in run.audits} == {
            project: tuple(range(1, count + 1)) for project, count in TICKETS.items()
        }


class TestOncePerKey:
    """Promise 2: a key has one ticket and one number, for ever."""

    def test_tickets_and_keys_name_each_other(self, run: Run) -> None:
        """Both tables tell the same, and hold every key that was sent, no other."""
        assert [each for each in run.audits.values() if not each.is_clean] == []
        assert run.stored.keys() == {
            RequestKey(each["project_id"], each["idempotency_key"])
            for each in run.load.tickets
        }


class TestAnnouncedAtLeastOnce:
    """Promise 3: every number is announced, with the same event every time."""

    def test_tickets_are_announced_with_one_payload_each(self, run: Run) -> None:
        """Repeats are equal byte for byte."""
        payloads = defaultdict(set)
        for message in run.system.announced:
            payloads[json.loads(message.body)["id"]].add(message.body)

        assert {id_ for id_, bodies in payloads.items() if len(bodies) > 1} == set()
        assert payloads.keys() == {
            f"{each['project_id']}-{each['number']}" for each in run.stored.values()
        }

    def test_announcements_say_what_is_stored(self, run: Run) -> None:
        """Number, title and time are those of the ticket."""
        said = {
            RequestKey(data["project_id"], data["idempotency_key"]): (
                data["number"],
                data["title"],
                data["assigned_at"],
            )
            for message in run.system.announced
            for data in [json.loads(message.body)["data"]]
        }
        assert said == {
            key: (each["number"], each["title"], each["assigned_at"])
            for key, each in run.stored.items()
        }


class TestNothingLost:
    """Promise 4: numbered and announced, or dead-lettered byte for byte."""

    def test_queue_drains(self, run: Run) -> None:
        """Every delivery that failed came back and succeeded."""
        assert run.drained

    def test_poison_and_nothing_else_is_dead_lettered(self, run: Run) -> None:
        """With its body unchanged and the reason; a copy too many is allowed."""
        letters = {
            (
                letter.attributes.get("SourceMessageId", letter.message_id),
                letter.body,
                letter.attributes.get("ErrorType", "received too often"),
            )
            for letter in run.system.dead_letters
        }
        assert letters == run.poison


class TestFaults:
    """What the other tests prove is worth as much as what went wrong meanwhile."""

    def test_every_fault_was_met_by_every_call_that_can(self, run: Run) -> None:
        """The worker makes five kinds of calls, and each went through the proxy."""
        assert run.proxy.calls.keys() == DECKS.keys()
        assert run.proxy.faults.keys() >= {
            (operation, fault)
            for operation, (_, faults) in DECKS.items()
            for fault in faults
        }

    def test_workers_were_killed_and_writes_came_late(self, run: Run) -> None:
        """A late write is one that nobody waits for any more."""
        assert run.proxy.kills >= 20
        assert run.proxy.late_writes.total() >= 5

    def test_messages_were_delivered_again(self, run: Run) -> None:
        """Both after a failure and after a success that was not heard of."""
        outcomes = Counter(each["outcome"] for each in run.outcomes)

        assert outcomes["transient"] >= 50
        assert outcomes["replayed"] > REPEATS

    def test_failures_are_those_that_the_worker_expects(self, run: Run) -> None:
        """Anything else would be a bug that a later delivery hides."""
        expected = PoisonMessageError.__subclasses__() + TransientError.__subclasses__()

        failures = {each["error_type"] for each in run.outcomes if "error_type" in each}
        assert failures <= {each.__name__ for each in expected}

    def test_calls_are_fewer_than_three_a_message(self, run: Run) -> None:
        """With every retry: what the textbook's loop needs where nothing fails."""
        assert run.proxy.calls.total() < 3 * len(run.sent)
