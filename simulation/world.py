"""One history: producers, a queue, workers, an operator, and faults."""

import json
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from greenlet import getcurrent

from simulation.aws.clients import DynamoDBClient, SNSClient, SQSClient
from simulation.aws.dynamodb import DynamoDB
from simulation.aws.fifo_queues import FifoQueue
from simulation.aws.items import Address, Item, plain
from simulation.aws.lambda_service import Poller
from simulation.aws.messages import Message
from simulation.aws.network import SERVICES, Network
from simulation.aws.queues import Queue
from simulation.aws.tables import Tables
from simulation.aws.topics import Topic
from simulation.clocks import Clock
from simulation.coverage import FAIR_DELIVERIES, conditions_of, coverage_of
from simulation.engine.choices import Choices
from simulation.engine.scheduler import Scheduler
from simulation.engine.tasks import Process, Task
from simulation.execution_environment import (
    NEXT_VERSION,
    SHIPPED,
    Algorithm,
    ExecutionEnvironment,
)
from simulation.faults import Fault, FaultPlan
from simulation.history import History
from simulation.monitor import KEYS, TICKETS, Monitor, Violation
from simulation.outages import WithOutages
from simulation.scenario import Scenario
from ticket_numbering.sequence_cache import SequenceCache

SCHEMA = {
    TICKETS: {"project_id": "S", "number": "N"},
    KEYS: {"id": "S"},
}

OUTSIDE: Final = "outside"
"""The process of tasks that are never killed."""

NAMED_BY_TASK: Final = {OUTSIDE, SERVICES}
"""Processes whose tasks appear in the history by their own names."""


@dataclass
class Outcome:
    """The result of one history."""

    violation: str | None
    history: History
    tickets: int = 0
    messages: int = 0
    attempts: int = 0
    """The number of transactions sent."""
    refusals: Counter[str] = field(default_factory=Counter)
    """The codes and reasons with which transactions were refused."""
    calls: int = 0
    steps: int = 0
    write_units: float = 0.0
    faults: Counter[Fault] = field(default_factory=Counter)
    coverage: Counter[str] = field(default_factory=Counter)


class World:
    """The services, workers and outside parties of one history."""

    def __init__(
        self,
        scenario: Scenario,
        choices: Choices,
        faults: FaultPlan,
        algorithm: Algorithm = SHIPPED,
    ) -> None:
        self.scenario, self.choices, self.algorithm = scenario, choices, algorithm
        self.scheduler = Scheduler(choices)
        self.faults = WithOutages(faults, scenario.outages, self._clock)
        self.history = History(lambda: self.scheduler.now, _actor)
        self.network = Network(
            self.scheduler,
            choices,
            self.faults,
            scenario.latency,
            self.history,
            slow_calls=scenario.slow_calls,
            redelivery=0.0 if choices.are_exhaustive else scenario.visibility_seconds,
        )
        self._make_queues()
        self.topic = Topic(choices, on_publish=self._announced)
        self.monitor = Monitor(
            self.topic,
            self.queue,
            self.dead_letters,
            has_key_records=algorithm.has_key_records,
            forbids_deletion=not algorithm.deletes_tickets,
        )
        self.queue.on_delete = self.monitor.deleted
        self.tables = self._make_tables()
        self.dynamodb = DynamoDB(self.tables)
        self.pollers = [self._make_poller(number) for number in range(scenario.pollers)]

    def run(self) -> Outcome:
        """Play the history to its end."""
        outside = Process(OUTSIDE)
        self.scheduler.spawn(outside, "producer", self._produce, is_local=True)
        self.scheduler.spawn(outside, "operator", self._operate, is_local=True)
        for poller in self.pollers:
            self.scheduler.spawn(outside, poller.name, poller.run)
        violation = None
        try:
            self.scheduler.run()
            self.monitor.finish({name: self.tables.items(name) for name in SCHEMA})
            self._check_costs()
        except Violation as error:
            violation = str(error)
        finally:
            self.scheduler.end()
        return Outcome(
            violation,
            self.history,
            tickets=len(self.monitor.numbered),
            messages=len(self.queue.arrived),
            attempts=self.history.attempts(),
            refusals=self.history.refusals(),
            calls=self.network.calls,
            steps=self.scheduler.steps,
            write_units=self.tables.units_written,
            faults=self.faults.injected,
            coverage=self._coverage(),
        )

    def decided(self, writes: Mapping[Address, Item | None]) -> None:
        """Log what is committed, and have it checked."""
        tickets = {
            "-".join(map(str, address.key)): (
                str(address.key[0]),
                plain(item["idempotency_key"]),
            )
            for address, item in writes.items()
            if address.table == TICKETS and item is not None
        }
        if tickets:
            self.history.note("commits", tickets)
        self.monitor.decided(writes)

    def _announced(self, event: Any) -> None:
        """Log what is announced, and have it checked."""
        self.history.note("announces", event["id"])
        self.monitor.announced(event)

    def _delivered(
        self, invocation: str, batch: Sequence[Message], failed: set[str]
    ) -> None:
        """Have an invocation of a fair day checked."""
        if self.scenario.is_fair:
            self.monitor.delivered(invocation, batch, failed)

    def _contended(self, address: Address, code: str) -> None:
        """Note the project in which another writer delayed an invocation."""
        if address.table == KEYS and code == "ConditionalCheckFailed":
            return  # A replay.
        project = str(address.key[0]).partition("#")[0]
        invocation = _actor().rpartition("/")[0]
        self.monitor.contended.add((invocation, project))

    def _coverage(self) -> Counter[str]:
        """Count the conditions that the history met."""
        requests = {
            message.id: self.monitor.sent.get(message.body)
            for message in self.queue.arrived
        }
        tickets = {
            request: json.loads(content)
            for request, (_, content) in self.monitor.numbered.items()
        }
        counts = coverage_of(self.history, tickets, requests)
        counts[FAIR_DELIVERIES] = self.monitor.fair_deliveries
        return counts + conditions_of(self.scenario)

    def _check_costs(self) -> None:
        """Check that the shipped algorithm keeps to its attempts and write units."""
        if self.algorithm is not SHIPPED:
            return
        # botocore sends each of the worker's attempts up to `network.attempts` times.
        bound = self.scenario.max_attempts * self.network.attempts
        for (process, project), attempts in self.history.most_attempts().items():
            if attempts > bound:
                raise Violation(
                    f"{process} tried {attempts} times in {project}, not {bound}"
                )
        units, due = self.tables.units_written, self.history.units_due()
        if units > due:
            raise Violation(f"{units} units written, at most {due} due")

    def _clock(self) -> float:
        return self.scheduler.now

    def _make_queues(self) -> None:
        make = FifoQueue if self.scenario.fifo else Queue
        self.dead_letters = make("dead", self.choices, self._clock)
        self.queue = make(
            "message",
            self.choices,
            self._clock,
            visibility_seconds=self.scenario.visibility_seconds,
            max_receives=self.scenario.max_receives,
            dead_letters=self.dead_letters,
        )
        self.queue.on_send = self._wake_pollers

    def _wake_pollers(self) -> None:
        idle, self.queue.idle = self.queue.idle, []
        for future in idle:
            self.scheduler.resolve(future)

    def _make_tables(self) -> Tables:
        return Tables(
            SCHEMA,
            self.choices,
            self,
            clock=self._clock,
            step=lambda steps: self.scheduler.sleep(
                self.scenario.latency.sample_step(self.choices, steps)
            ),
            observe=self.scheduler.observe,
            partition_units=self.scenario.partition_units,
            throttled=self.scenario.throttled,
            on_failed_action=self._contended,
            partial_reasons=self.scenario.partial_reasons,
        )

    def _make_poller(self, number: int) -> Poller:
        environment = ExecutionEnvironment(
            self.scheduler,
            self.choices,
            DynamoDBClient(self.dynamodb, self.network),
            SNSClient(self.topic, self.network),
            SQSClient(self.dead_letters, self.network),
            SQSClient(self.queue, self.network),
            Clock(self.scheduler, self.choices, self.scenario.clock_error),
            self.scenario.max_attempts,
            SequenceCache(self.scenario.cache_ttl),
            dead_letter_queue=f"dead-letters{'.fifo' if self.scenario.fifo else ''}",
        )
        is_next = self.algorithm is SHIPPED and number < self.scenario.next_version
        algorithm = NEXT_VERSION if is_next else self.algorithm
        return Poller(
            f"worker{number}",
            self.scheduler,
            self.faults,
            self.history,
            self.queue,
            lambda: algorithm.build(environment),
            self.scenario.batch_size,
            lambda: self.scenario.latency.sample(self.choices),
            environment.cache_state,
            self._delivered,
        )

    def state(self) -> Hashable:
        """Return what stands for everything that can still happen.

        The used throughput is left out: configurations stay far below its limit.
        """
        return (
            self.scheduler.now,
            self.scheduler.state(),
            self.tables.state(),
            # Without a retry no token is sent again.
            self.dynamodb.state() if self.network.attempts > 1 else (),
            self.queue.state(),
            self.dead_letters.state(),
            tuple(
                sorted(
                    (event, *sorted(set(messages)))
                    for event, messages in self.topic.published.items()
                )
            ),
            tuple(sorted(self.monitor.numbered.items())),
            self.faults.injected.total(),
        )

    def _produce(self) -> None:
        """Send every message; send some of them twice."""
        for sending in sorted(self.scenario.sendings, key=lambda sending: sending.at):
            if pause := sending.at - self.scheduler.now:
                self.scheduler.sleep(pause)
            self.monitor.requested(sending.body)
            self.history.note("sends", sending.body[:80])
            request = self.monitor.sent[sending.body]
            project = request[0] if request else "-"
            group = project if self.scenario.fifo else None
            if self.faults.next("send_message") is Fault.SENT_TWICE:
                self.history.note("sends again", sending.body[:80])
                self.queue.send(sending.body, sending.attributes, group)
            self.queue.send(sending.body, sending.attributes, group)

    def _operate(self) -> None:
        """Redrive the dead letters, whatever they are."""
        for time in self.scenario.redrives:
            self.scheduler.sleep(time - self.scheduler.now)
            self.history.note("redrives", len(self.dead_letters.messages))
            self.dead_letters.move_to(self.queue)


def _actor() -> str:
    task = getcurrent()
    if not isinstance(task, Task):
        return "-"
    return task.name if task.process.name in NAMED_BY_TASK else task.process.name
