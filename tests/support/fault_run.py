"""A run under faults: the messages sent, and their observed outcome."""

import json
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Event
from typing import Any, Final

from tests.e2e.conftest import System
from tests.support.builders import ticket_fields
from tests.support.fault_proxy import FaultProxy
from ticket_numbering.worker.answers import ANNOUNCED_DELIVERIES
from ticket_numbering.worker.results import Poison
from ticketctl.aws.queues import messages_on
from ticketctl.verify.observed import Observed
from tools.events import fresh_events

SEED_VARIABLE: Final = "FAULTS_SEED"
"""Set it to the seed of a run that failed: its calls meet the same faults again."""

TICKETS: Final = {"HOT": 500} | {f"COLD-{serial}": 125 for serial in range(1, 5)}
REPEATS: Final = 150
RIVALS: Final = 40
POISON_OF_A_KIND: Final = 3
REUSED_KEY: Final = "reused-key"
"""Its first record is a valid request, and so is the second without the first."""

FAULT_SECONDS: Final = 1500
"""A bound for a slow machine; on two free cores it takes about 60."""

CALM_SECONDS: Final = 700
TAIL: Final = 40
"""The last messages meet no faults: each would cost another visibility timeout."""

LOOK_SECONDS: Final = 0.5

QUIET_SECONDS: Final = 15
"""A worker waits for less: for a third of its time, at most."""


def messages_of(seed: int, poison: Sequence[str]) -> list[str]:
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
    repeats = [one | {"priority": "medium"} for one in dice.sample(tickets, REPEATS)]
    rivals = [one | {"title": "Rival"} for one in dice.sample(tickets, RIVALS)]
    bodies = [*map(json.dumps, [*tickets, *repeats, *rivals]), *poison]
    dice.shuffle(bodies)
    return bodies


def poison_bodies() -> list[str]:
    """Return the bodies of poison events, in the hot project."""
    return [
        record["body"].replace("PROJ", "HOT")
        for _ in range(POISON_OF_A_KIND)
        for name, text in fresh_events().items()
        for record in json.loads(text)["Records"]
        if (kind := name.removesuffix(".json").partition("poison-")[2])
        and kind != REUSED_KEY
    ]


@dataclass
class Watch:
    """Observations of the tickets table during the run."""

    looks: int = 0
    keys: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Each project's keys in the order of their numbers."""
    broken: list[str] = field(default_factory=list)

    def look(self, system: System) -> None:
        """Read every project's partition, consistently."""
        self.looks += 1
        pages = system.stack.client("dynamodb").get_paginator("query")
        for project in TICKETS:
            found = pages.paginate(
                TableName=system.stack.outputs["TicketsTableName"],
                KeyConditionExpression="project_id = :project",
                ExpressionAttributeValues={":project": {"S": project}},
                ProjectionExpression="#number, idempotency_key",
                ExpressionAttributeNames={"#number": "number"},
                ConsistentRead=True,
            )
            self._compare(project, [item for page in found for item in page["Items"]])

    def _compare(self, project: str, items: Sequence[Mapping[str, Any]]) -> None:
        numbers = [int(item["number"]["N"]) for item in items]
        if numbers != [*range(1, len(items) + 1)]:
            self.broken.append(f"{project} had the numbers {numbers}")
        keys = [item["idempotency_key"]["S"] for item in items]
        before = self.keys[project]
        if keys[: len(before)] != before:
            self.broken.append(f"a number of {project} changed its ticket")
        self.keys[project] = keys

    @contextmanager
    def during(self, system: System) -> Iterator[None]:
        """Look again and again within the block."""
        done = Event()

        def watch() -> None:
            while not done.wait(LOOK_SECONDS):
                self.look(system)

        with ThreadPoolExecutor(1) as thread:
            watching = thread.submit(watch)
            try:
                yield
            finally:
                done.set()
            watching.result()


@dataclass
class Run:
    """The messages sent, and their observed outcome."""

    seed: int
    poison: list[str]
    """Bodies that can never be numbered."""
    system: System
    proxy: FaultProxy
    watch: Watch = field(default_factory=Watch)
    drained: bool = False
    seconds: float = 0

    def work(self) -> None:
        """Send everything, and look on until nothing is left; calm for the rest."""
        start = time.monotonic()
        with self.watch.during(self.system), ThreadPoolExecutor(4) as producers:
            bodies = messages_of(self.seed, self.poison)
            parts = [bodies[part::4] for part in range(4)]
            [*producers.map(lambda part: self.system.send(*part), parts)]
            self._look_on(FAULT_SECONDS, lambda: self._left() <= TAIL)
            self.proxy.is_calm = True
            self.drained = self._look_on(CALM_SECONDS, self._is_over)
        self.watch.look(self.system)
        self.seconds = time.monotonic() - start

    def _look_on(self, seconds: float, is_done: Callable[[], bool]) -> bool:
        """Take announcements and letters until done; false if time ran out."""
        system, deadline = self.system, time.monotonic() + seconds
        seen = -1
        while time.monotonic() < deadline:
            before, seen = seen, len(system.announced) + len(system.dead_letters)
            if seen == before:
                if is_done():
                    return True
                time.sleep(LOOK_SECONDS)
            system.look()
        return False

    def _left(self) -> int:
        return messages_on(self.system.stack, "CreateTicketQueueUrl")

    def _is_over(self) -> bool:
        """No worker is busy; a late write is a call too."""
        return self.proxy.quiet_seconds() > QUIET_SECONDS and not self._left()

    @cached_property
    def observed(self) -> Observed:
        """The outcomes; from its fifth delivery on, poison need not be announced."""
        given_up = {
            line["message_id"]
            for line in self.outcomes
            if line["outcome"] == Poison.outcome
            and line["receive_count"] > ANNOUNCED_DELIVERIES
        }
        found, letters = self.system.observed(), self.system.dead_letters
        return replace(found, dead_letters=letters, given_up=given_up)

    @cached_property
    def outcomes(self) -> list[dict[str, Any]]:
        """The function's log, one line for each record whose delivery ended."""
        logged = self.system.logs()
        lines = (line[line.index("{") :] for line in logged if "{" in line)
        return [line for line in map(json.loads, lines) if "outcome" in line]

    def summary(self) -> str:
        """Return a report of one line, for the page of the proof."""
        outcomes = Counter(line["outcome"] for line in self.outcomes)
        return (
            f"{self.seconds:.0f} s, {len(self.system.sent)} messages, "
            f"{self.proxy.faults.total()} faults in {self.proxy.calls.total()} calls, "
            f"{self.proxy.kills} workers killed, outcomes {dict(outcomes)}"
        )
