"""A contender at work on the model of AWS, on a virtual clock.

Times are parameters here, taken for DynamoDB's; requests, units and attempts follow
from the algorithm and from them.
"""

import math
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from random import Random
from typing import Any, Final

from benchmarks.contenders import CONTENDERS
from benchmarks.measurement import Measurement
from benchmarks.model_services import (
    Announced,
    BenchQueue,
    CountingNetwork,
    FifoBenchQueue,
    NoHistory,
    RequestId,
)
from benchmarks.site import Handler, Site
from benchmarks.tally import Tally
from benchmarks.timing import timed
from benchmarks.workload import Limits, Workload, bodies
from simulation.aws.clients import DynamoDBClient, SNSClient, SQSClient
from simulation.aws.dynamodb import DynamoDB
from simulation.aws.items import Address, Item, plain
from simulation.aws.lambda_service import Poller, TaskPool
from simulation.aws.network import Latency
from simulation.aws.queues import EPOCH_SECONDS
from simulation.aws.tables import PARTITION_UNITS, Tables
from simulation.engine.choices import RandomChoices
from simulation.engine.scheduler import Process, Scheduler
from simulation.environment import SETTINGS
from simulation.faults import RandomFaults

SCHEMA: Final = {
    SETTINGS.tickets_table: {"project_id": "S", "number": "N"},
    SETTINGS.idempotency_keys_table: {"id": "S"},
}

LATENCY: Final = Latency(shortest=0.0015, longest=0.0035, phase=(0.0006, 0.0014))
"""A call and its answer take 5 ms; a transaction 15 ms in all."""

UNITS_A_TICKET: Final = 2
"""Of the project's partition: a transactional write of up to 1 KB."""

CEILING: Final = PARTITION_UNITS / UNITS_A_TICKET
"""Tickets a second of one project."""

FIRST_WORKERS: Final = 5
"""What Lambda starts a queue with; Lambda guide, "SQS event source scaling"."""

REFILL_SECONDS: Final = 0.02
SPARE_BATCHES: Final = 5
FINISH_SECONDS: Final = 2.0


class _OverError(Exception):
    """Ends a run."""


class ModelRun:
    """One contender with one workload; ends when its time is over."""

    def __init__(
        self, contender: str, workload: Workload, limits: Limits, seed: int = 1
    ) -> None:
        self._contender, self._workload, self._limits = contender, workload, limits
        self._tally = Tally()
        self._tickets: list[tuple[str, int, str]] = []
        self._source = bodies(workload, Random(seed))  # noqa: S311 - not for secrets.
        self._choices = RandomChoices(seed)
        self._scheduler = Scheduler(self._choices)
        self._history = NoHistory(self._clock, lambda: "", tally=self._tally)
        self._faults = RandomFaults(self._choices, 0.0)
        self._network = CountingNetwork(
            self._scheduler,
            self._choices,
            self._faults,
            LATENCY,
            self._history,
            tally=self._tally,
        )
        queue = FifoBenchQueue if workload.is_fifo else BenchQueue
        self._queue = queue(
            "message",
            self._choices,
            self._clock,
            tally=self._tally,
            redelivered=workload.redelivered,
        )
        self._queue.on_send = self._wake_workers
        self._topic = Announced(self._choices, on_event=self._see_announcement)
        self._tables = self._make_tables()
        self._dynamodb = DynamoDB(self._tables)

    def run(self) -> Measurement:
        """Work, and return what was counted after the warm-up."""
        outside = Process("outside")
        self._scheduler.spawn(outside, "producer", self._produce, is_local=True)
        for number in range(self._workload.workers):
            poller = self._make_poller(f"worker{number}")
            start = self._start_of(number)
            self._scheduler.spawn(outside, poller.name, poller.run, start)
        with suppress(_OverError):
            self._scheduler.run()
        self._scheduler.end()
        return self._measurement

    def decided(self, writes: Mapping[Address, Item | None]) -> None:
        """See each ticket at the moment that it is written."""
        for address, item in writes.items():
            if address.table == SETTINGS.tickets_table and item is not None:
                project, number = address.key
                key = str(plain(item["idempotency_key"]))
                self._tickets.append((str(project), int(number), key))

    def _clock(self) -> float:
        return self._scheduler.now

    def _start_of(self, number: int) -> float:
        """Return when Lambda starts a worker."""
        pace = self._limits.workers_a_second
        return max(0, number + 1 - FIRST_WORKERS) / pace if pace else 0.0

    def _make_tables(self) -> Tables:
        return Tables(
            SCHEMA,
            self._choices,
            self,
            clock=self._clock,
            step=lambda steps: self._scheduler.sleep(
                LATENCY.sample_step(self._choices, steps)
            ),
            learn=lambda _: None,
            hold=lambda: self._scheduler.sleep(
                self._choices.duration(*self._workload.transaction)
            ),
        )

    def _make_poller(self, name: str) -> Poller:
        # Lambda's pollers delete beside the workers, so it costs these no time.
        return Poller(
            name,
            self._scheduler,
            self._faults,
            self._history,
            self._queue,
            self._sandbox,
            self._workload.batch_size,
            deleting_takes=lambda: 0.0,
        )

    def _sandbox(self) -> Handler:
        site = Site(
            DynamoDBClient(self._dynamodb, self._network),
            SNSClient(self._topic, self._network),
            SQSClient(self._queue, self._network),
            SETTINGS,
            self._tally,
            sleep=self._scheduler.sleep,
            jitter=self._choices.duration,
            now=lambda: datetime.fromtimestamp(EPOCH_SECONDS + self._clock(), UTC),
            pool=lambda threads: TaskPool(self._scheduler, threads),
        )
        handler = CONTENDERS[self._contender](site)
        return timed(self._slowed(handler), self._clock, self._tally)

    def _slowed(self, handler: Handler) -> Handler:
        """Let half of the overhead come before the handler's work, and half after."""
        pause = self._workload.overhead / 2
        if not pause:
            return handler

        def handle(event: dict[str, Any], context: Any) -> Any:
            self._scheduler.sleep(pause)
            answer = handler(event, context)
            self._scheduler.sleep(pause)
            return answer

        return handle

    def _produce(self) -> None:
        """Send, and count what happens between the warm-up and the end."""
        limits = self._limits
        self._send_until(limits.warm_up, limits.warm_up_requests)
        start, before = self._clock(), self._count()
        most_calls = self._network.calls + limits.requests
        self._send_until(start + limits.seconds, most_calls)
        counted, seconds = self._count().since(before), self._clock() - start
        self._queue.is_closed = True
        self._let_finish()
        self._measurement = Measurement.of(counted, seconds, self._tickets)
        raise _OverError

    def _let_finish(self) -> None:
        """Let what is in flight come to its end, or the last of it go on without us.

        A number that is given and not yet written would look like a gap.
        """
        end, most_calls = self._clock() + FINISH_SECONDS, self._network.calls + 2_000
        while self._clock() < end and self._network.calls < most_calls:
            self._scheduler.sleep(REFILL_SECONDS)

    def _count(self) -> Tally:
        self._tally.write_units = self._tables.units_written
        self._tally.read_units = self._tables.units_read
        self._tally.tickets = len(self._tickets)
        return self._tally.snapshot()

    def _send_until(self, end: float, most_calls: int) -> None:
        workload = self._workload
        while self._clock() < end and self._network.calls < most_calls:
            if workload.rate is None:
                self._send(self._missing())
                self._scheduler.sleep(min(REFILL_SECONDS, end - self._clock()))
            else:
                self._send(workload.sent_together)
                mean = workload.sent_together / workload.rate
                chance = self._choices.duration(0.0, 1.0)
                self._scheduler.sleep(-mean * math.log(1.0 - chance))

    def _missing(self) -> int:
        """Return how many must be sent so that more wait than the workers can take."""
        now = self._clock()
        waiting = sum(each.visible_at <= now for each in self._queue.messages.values())
        wanted = (self._workload.workers + SPARE_BATCHES) * self._workload.batch_size
        return wanted - waiting

    def _send(self, messages: int) -> None:
        for project, key, body in islice(self._source, max(0, messages)):
            self._queue.ids[body] = project, key
            self._queue.send(body, group=project)

    def _wake_workers(self) -> None:
        idle, self._queue.idle = self._queue.idle, []
        for promise in idle:
            self._scheduler.keep(promise)

    def _see_announcement(self, request: RequestId) -> None:
        received = self._queue.first_received.pop(request, None)
        if received is not None:
            self._tally.waits.append(self._clock() - received)
