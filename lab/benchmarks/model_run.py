"""A contender at work on the model of AWS, on a virtual clock.

The times are a profile's; requests, units and attempts follow from the algorithm and
from them.
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, Final

from benchmarks.contenders import CONTENDERS, QUEUEING
from benchmarks.counting import Counts, Figures, Meter
from benchmarks.profiles import Profile, ProfileLatency
from benchmarks.queues import QUEUES
from benchmarks.workloads import FIRST_WORKERS, Workload, overhead_of, span_of
from simulation.aws.clients import Client
from simulation.aws.dynamodb import DynamoDB
from simulation.aws.fault_plans import FaultPlan
from simulation.aws.faults import CALLS_OF_OTHERS, Fault, possible
from simulation.aws.items import Address, Item, plain
from simulation.aws.lambda_service import Handler, Poller
from simulation.aws.network import Network
from simulation.aws.tables import LINES, TICKETS, Tables
from simulation.aws.topics import Topic
from simulation.engine.choices import Choices, one_of
from simulation.engine.scheduler import Scheduler
from simulation.engine.tasks import Process
from simulation.world.execution_environment import Clock, ExecutionEnvironment, quiet

REFILL_SECONDS: Final = 0.02
SPARE_BATCHES: Final = 10


FATAL: Final = [fault for fault in Fault if fault.value.kills]


class Faults(FaultPlan):
    """The worker's calls fail by chance, and its doomed invocations as they write."""

    def __init__(
        self, choices: Choices, scheduler: Scheduler, workload: Workload
    ) -> None:
        super().__init__()
        self._choices, self._scheduler, self._rate = choices, scheduler, workload.faults
        self._has_deaths = workload.has_deaths
        self.doomed: set[Process] = set()

    def draw(self, call: str) -> Fault | None:
        """Choose a fault of this call, or none."""
        if call == "transact_write_items" and self._scheduler.process in self.doomed:
            return one_of(self._choices, FATAL)
        is_safe = not self._rate or call in CALLS_OF_OTHERS
        if is_safe or not self._choices.chance(self._rate):
            return None
        faults = possible(call)
        if not self._has_deaths:
            faults = [fault for fault in faults if not fault.value.kills]
        return one_of(self._choices, faults)


class _OverError(Exception):
    """Ends a run."""


def play(
    contender: str, workload: Workload, profile: Profile, seed: int, scale: float = 1.0
) -> Figures:
    """Measure one contender with one workload, in silence."""
    with quiet():
        return ModelRun(contender, workload, profile, seed, scale).run()


class ModelRun:
    """One contender with one workload; ends when its time is over."""

    def __init__(
        self,
        contender: str,
        workload: Workload,
        profile: Profile,
        seed: int,
        scale: float,
    ) -> None:
        self._build = {**CONTENDERS, **QUEUEING}[contender]
        self._workload = workload
        self._bound = workload.bound(profile)
        self._span = span_of(workload, scale, learns=contender in QUEUEING)
        # Choices of their own: the same seed sends the same to every contender.
        self._bodies = workload.bodies(Choices(seed))
        self._numbered: set[tuple[str, str]] = set()
        self._choices = Choices(seed)
        self._scheduler = Scheduler(self._choices)
        self._meter = Meter(self._scheduler)
        self._faults = Faults(self._choices, self._scheduler, workload)
        latency = ProfileLatency(profile=profile)
        self._network = Network(
            self._scheduler, self._choices, self._faults, latency, self._meter
        )
        self._queue = QUEUES[workload.queue](
            "message",
            self._choices,
            self._scheduler,
            meter=self._meter,
            window=workload.window,
            redelivered=workload.redelivered,
        )
        self._topic = Topic(self._choices, on_publish=self._meter.announced)
        self._tables = Tables(
            self._scheduler, self._choices, latency, on_decision=self._decided
        )
        if workload.dead:
            line = {"project_id": {"S": "P0"}, "upto": {"N": str(workload.dead)}}
            self._tables.write(Address(LINES, ("P0",)), line)
        self._dynamodb = DynamoDB(self._tables)

    def run(self) -> Figures:
        """Work, and return the figures after the warm-up."""
        outside = Process("outside")
        self._scheduler.spawn(outside, "producer", self._produce, is_local=True)
        for number in range(self._workload.workers):
            poller = Poller(
                f"worker{number}",
                self._scheduler,
                self._faults,
                self._meter,
                self._queue,
                self._make_handler,
                self._workload.batch_size,
                # Lambda deletes while the worker goes on, at no cost of its time.
                deletion_latency=lambda: 0.0,
            )
            later = max(0, number + 1 - FIRST_WORKERS)
            start = later / self._span.workers_a_second
            self._scheduler.spawn(outside, poller.name, poller.run, start)
        with suppress(_OverError):
            self._scheduler.run()
        self._scheduler.end()
        return self._figures

    def _decided(self, writes: Mapping[Address, Item | None]) -> None:
        """See each ticket at the moment that it is written."""
        counts = self._meter.counts
        before = counts.tickets
        for address, item in writes.items():
            if address.table == TICKETS and item is not None:
                request = str(address.key[0]), str(plain(item["idempotency_key"]))
                counts.tickets += 1
                counts.duplicates += request in self._numbered
                self._numbered.add(request)
        counts.commits += counts.tickets > before

    def _make_handler(self) -> Handler:
        """Return the contender's handler in a cold execution environment."""
        environment = ExecutionEnvironment(
            self._scheduler,
            self._choices,
            Client("dynamodb", self._dynamodb, self._network),
            Client("sns", self._topic, self._network),
            Client("sqs", self._queue, self._network),
            Client("sqs", self._queue, self._network),
            Clock(self._scheduler, self._choices),
        )
        return self._timed(self._build(environment))

    def _timed(self, handler: Handler) -> Handler:
        """Count invocations; the cold start and half of the overhead come first."""
        before = [self._choices.duration(*self._workload.cold_start)]

        def handle(event: dict[str, Any], context: Any) -> Any:
            start, starved = self._scheduler.now, len(event["Records"])
            half = self._overhead(event["Records"]) / 2
            share = self._workload.killed
            if share and self._choices.chance(share):
                self._faults.doomed.add(self._scheduler.process)
            try:
                self._scheduler.sleep(half + (before.pop() if before else 0.0))
                answer = handler(event, context)
                self._scheduler.sleep(half)
                starved = len(answer["batchItemFailures"])
            finally:  # Lambda ends an invocation at its timeout.
                self._meter.counts.batches.append(self._scheduler.now - start)
                self._meter.counts.starved += starved
            return answer

        return handle

    def _overhead(self, records: Sequence[Mapping[str, Any]]) -> float:
        if not self._workload.has_overhead:
            return 0.0
        groups = {record["attributes"]["MessageGroupId"] for record in records}
        return overhead_of(len(records), len(groups))

    def _produce(self) -> None:
        """Send, and count the calls between the warm-up and the end."""
        span, tables = self._span, self._tables
        self._send_until(span.warm_up, span.calls)
        self._meter.counts = counts = Counts()
        start = self._scheduler.now
        written, read = tables.units_written, tables.units_read
        self._send_until(start + span.seconds, self._network.calls.total() + span.calls)
        now = self._scheduler.now
        # Or a wait as long as the run would not count.
        counts.waits += [
            now - received for received, _ in self._meter.received.values()
        ]
        self._figures = counts.figures(
            now - start,
            tables.units_written - written,
            tables.units_read - read,
            self._bound,
        )
        raise _OverError

    def _send_until(self, end: float, most_calls: float) -> None:
        """Send the workload's messages, until a time or a number of calls."""
        workload = self._workload
        if workload.burst and end:
            self._send(workload.burst)
        while self._scheduler.now < end and self._network.calls.total() < most_calls:
            if workload.burst and not self._queue.messages:
                break
            if workload.rate:
                self._send(workload.sent_together)
                pause = workload.sent_together / workload.rate
                chance = self._choices.duration(0.0, 1.0)
                self._scheduler.sleep(-pause * math.log(1.0 - chance))
            else:
                self._send(0 if workload.burst else self._missing())
                self._scheduler.sleep(min(REFILL_SECONDS, end - self._scheduler.now))

    def _missing(self) -> int:
        """Return the messages needed to keep more waiting than the workers can take."""
        now = self._scheduler.now
        messages = self._queue.messages.values()
        waiting = sum(message.visible_at <= now for message in messages)
        # Hardly one in ten asks for a batch before the next refill.
        batches = SPARE_BATCHES + self._workload.workers // 10
        return batches * self._workload.batch_size - waiting

    def _send(self, messages: int) -> None:
        for project, body in islice(self._bodies, max(0, messages)):
            self._queue.send(body, group=project)
