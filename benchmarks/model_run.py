"""A contender at work on the model of AWS, on a virtual clock.

Times are parameters here, taken for DynamoDB's; requests, units and attempts follow
from the algorithm and from them.
"""

import math
from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from statistics import mean
from typing import Any, Final

from benchmarks.contenders import CONTENDERS, OURS
from benchmarks.counting import (
    CountedFifoQueue,
    CountedQueue,
    CountedTopic,
    CountingHistory,
    Counts,
    Meter,
    gaps_and_duplicates,
)
from benchmarks.figures import Figures, percentile
from benchmarks.workloads import FIRST_WORKERS, Workload, span_of
from simulation.aws.clients import DynamoDBClient, SNSClient, SQSClient
from simulation.aws.dynamodb import DynamoDB
from simulation.aws.items import Address, Item, plain
from simulation.aws.lambda_service import Handler, Poller
from simulation.aws.network import Latency, Network
from simulation.aws.tables import PARTITION_UNITS, Tables
from simulation.clocks import Clock
from simulation.engine.choices import RandomChoices
from simulation.engine.scheduler import Process, Scheduler
from simulation.execution_environment import ExecutionEnvironment
from simulation.faults import RandomFaults
from simulation.monitor import TICKETS
from simulation.world import SCHEMA, quiet

LATENCY: Final = Latency(shortest=0.0015, longest=0.0035, phase=(0.0006, 0.0014))
"""A call and its answer take 5 ms; a transaction 15 ms in all."""

UNITS_A_TICKET: Final = 2
"""Of the project's partition: a transactional write of up to 1 KB."""

CEILING: Final = PARTITION_UNITS / UNITS_A_TICKET
"""Tickets a second of one project."""

REFILL_SECONDS: Final = 0.02
SPARE_BATCHES: Final = 10
SETTLE_SECONDS: Final = 0.2
SETTLE_STEP_SECONDS: Final = 0.001
FINISH_SECONDS: Final = 2.0
FINISH_CALLS: Final = 2_000


class _OverError(Exception):
    """Ends a run."""


def play(contender: str, workload: Workload, seed: int, scale: float = 1.0) -> Figures:
    """Measure one contender with one workload, in silence."""
    with quiet():
        return ModelRun(contender, workload, seed, scale).run()


class ModelRun:
    """One contender with one workload; ends when its time is over."""

    def __init__(
        self, contender: str, workload: Workload, seed: int, scale: float
    ) -> None:
        """Set the scene."""
        self._build, self._workload = CONTENDERS[contender], workload
        self._span = span_of(workload, scale, learns=contender == OURS)
        self._tickets: list[tuple[str, int, str]] = []
        self._bodies = workload.bodies()
        self._choices = RandomChoices(seed)
        self._scheduler = Scheduler(self._choices)
        self._meter = Meter(self._clock)
        self._history = CountingHistory(self._clock, lambda: "", meter=self._meter)
        self._faults = RandomFaults(self._choices, 0.0)
        self._network = Network(
            self._scheduler, self._choices, self._faults, LATENCY, self._history
        )
        kind = CountedFifoQueue if workload.is_fifo else CountedQueue
        self._queue = kind(
            "message",
            self._choices,
            self._clock,
            meter=self._meter,
            scheduler=self._scheduler,
            window=workload.window,
            redelivered=workload.redelivered,
            on_send=self._wake_workers,
        )
        self._topic = CountedTopic(self._choices, meter=self._meter)
        self._tables = self._make_tables()
        self._dynamodb = DynamoDB(self._tables)

    def run(self) -> Figures:
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
        return self._figures

    def decided(self, writes: Mapping[Address, Item | None]) -> None:
        """See each ticket at the moment that it is written."""
        before = len(self._tickets)
        for address, item in writes.items():
            if address.table == TICKETS and item is not None:
                project, number = address.key
                key = str(plain(item["idempotency_key"]))
                self._tickets.append((str(project), int(number), key))
        written = len(self._tickets) - before
        self._meter.counts.tickets += written
        self._meter.counts.commits += written > 0

    def _clock(self) -> float:
        return self._scheduler.now

    def _start_of(self, number: int) -> float:
        """Return when Lambda starts a worker."""
        rate = self._span.workers_a_second
        return max(0, number + 1 - FIRST_WORKERS) / rate if rate else 0.0

    def _make_tables(self) -> Tables:
        return Tables(
            SCHEMA,
            self._choices,
            self,
            clock=self._clock,
            step=lambda steps: self._scheduler.sleep(
                LATENCY.sample_step(self._choices, steps)
            ),
            observe=lambda _: None,
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
            self._make_handler,
            self._workload.batch_size,
            deletion_latency=lambda: 0.0,
        )

    def _make_handler(self) -> Handler:
        """Return the contender's handler in a cold execution environment."""
        site = ExecutionEnvironment(
            self._scheduler,
            self._choices,
            DynamoDBClient(self._dynamodb, self._network),
            SNSClient(self._topic, self._network),
            SQSClient(self._queue, self._network),
            SQSClient(self._queue, self._network),
            Clock(self._scheduler, self._choices),
        )
        return self._timed(self._build(site))

    def _timed(self, handler: Handler) -> Handler:
        """Count invocations, and let half of the overhead precede the work."""

        def handle(event: dict[str, Any], context: Any) -> Any:
            start, starved = self._clock(), len(event["Records"])
            half = self._choices.duration(*self._workload.overhead) / 2
            try:
                self._sleep(half)
                answer = handler(event, context)
                self._sleep(half)
                starved = len(answer["batchItemFailures"])
            finally:  # Lambda ends what runs into its timeout.
                self._meter.counts.batches.append(self._clock() - start)
                self._meter.counts.starved += starved
            return answer

        return handle

    def _sleep(self, seconds: float) -> None:
        if seconds:
            self._scheduler.sleep(seconds)

    def _produce(self) -> None:
        """Send, and count what happens between the warm-up and the end."""
        span, network = self._span, self._network
        self._send_until(span.warm_up, span.calls)
        self._settle()
        self._meter.counts = counts = Counts()
        start, written = self._clock(), self._tables.units_written
        read = self._tables.units_read
        self._send_until(start + span.seconds, network.calls + span.calls)
        self._settle()
        self._meter.counts = Counts()
        seconds = self._clock() - start
        written = self._tables.units_written - written
        read = self._tables.units_read - read
        self._queue.is_closed = True
        self._let_finish()
        self._figures = self._summary(counts, seconds, written, read)
        raise _OverError

    def _settle(self) -> None:
        """Cut no batch in two where there is a calm moment between them."""
        end = self._clock() + SETTLE_SECONDS
        while self._workload.rate and self._queue.messages and self._clock() < end:
            self._scheduler.sleep(SETTLE_STEP_SECONDS)

    def _summary(
        self, counts: Counts, seconds: float, written: float, read: float
    ) -> Figures:
        tickets = max(1, counts.tickets)
        gaps, duplicates = gaps_and_duplicates(self._tickets)
        return Figures(
            requests=counts.requests.total() / tickets,
            publishes=counts.requests["publish_batch"] / tickets,
            lookups=counts.requests["batch_get_item"] / tickets,
            write_units=written / tickets,
            read_units=read / tickets,
            attempts=counts.attempts / max(1, counts.commits),
            tickets_a_second=counts.tickets / seconds,
            batches=len(counts.batches) / tickets,
            batch_seconds=mean(counts.batches or [0.0]),
            p50=percentile(counts.waits, 0.5),
            p99=percentile(counts.waits, 0.99),
            longest=percentile(counts.waits, 1.0),
            p99_from_sending=percentile(counts.delays, 0.99),
            starved=counts.starved,
            gaps=gaps,
            duplicates=duplicates,
        )

    def _let_finish(self) -> None:
        """Let what is in flight come to its end, or the last of it go on without us.

        A number that is given and not yet written would look like a gap.
        """
        end, most_calls = self._clock() + FINISH_SECONDS, self._network.calls
        while self._clock() < end and self._network.calls < most_calls + FINISH_CALLS:
            self._scheduler.sleep(REFILL_SECONDS)

    def _send_until(self, end: float, most_calls: float) -> None:
        """Send what the workload says, until a time or a number of calls."""
        workload = self._workload
        if workload.burst and end:
            self._send(workload.burst)
        while self._clock() < end and self._network.calls < most_calls:
            if workload.burst and not self._queue.messages:
                break
            if workload.rate:
                self._send(workload.sent_together)
                pause = workload.sent_together / workload.rate
                chance = self._choices.duration(0.0, 1.0)
                self._scheduler.sleep(-pause * math.log(1.0 - chance))
            else:
                self._send(0 if workload.burst else self._missing())
                self._scheduler.sleep(min(REFILL_SECONDS, end - self._clock()))

    def _missing(self) -> int:
        """Return how many must be sent so that more wait than the workers can take."""
        now = self._clock()
        messages = self._queue.messages.values()
        waiting = sum(message.visible_at <= now for message in messages)
        # Hardly one in ten asks for a batch before the next refill.
        batches = SPARE_BATCHES + self._workload.workers // 10
        return batches * self._workload.batch_size - waiting

    def _send(self, messages: int) -> None:
        for project, key, body in islice(self._bodies, max(0, messages)):
            self._meter.keys[body] = key
            self._meter.sent[key] = self._clock()
            self._queue.send(body, group=project)

    def _wake_workers(self) -> None:
        idle, self._queue.idle = self._queue.idle, []
        for future in idle:
            self._scheduler.resolve(future)
