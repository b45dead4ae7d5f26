"""The services of one history, and the network to them."""

from collections.abc import Hashable, Mapping
from typing import Final

from simulation.aws.dynamodb import DynamoDB
from simulation.aws.fifo_queues import FifoQueue
from simulation.aws.network import Network
from simulation.aws.queues import Queue
from simulation.aws.tables import Observer, Tables
from simulation.aws.topics import Topic
from simulation.engine.choices import Choices
from simulation.engine.scheduler import Scheduler
from simulation.faults import FaultPlan
from simulation.history import History
from simulation.monitor import KEYS, TICKETS
from simulation.scenario import Scenario

SCHEMA: Final[Mapping[str, Mapping[str, str]]] = {
    TICKETS: {"project_id": "S", "number": "N"},
    KEYS: {"id": "S"},
}


class Services:
    """DynamoDB, SNS and SQS, with the parameters of a scenario."""

    def __init__(  # noqa: PLR0913 - the parts of a history.
        self,
        scenario: Scenario,
        choices: Choices,
        scheduler: Scheduler,
        faults: FaultPlan,
        history: History,
        *,
        observer: Observer,
    ) -> None:
        self._scenario, self._choices, self._scheduler = scenario, choices, scheduler
        self.network = Network(
            scheduler,
            choices,
            faults,
            scenario.latency,
            history,
            slow_calls=scenario.slow_calls,
            redelivery=0.0 if choices.are_exhaustive else scenario.visibility_seconds,
        )
        self._make_queues()
        self.topic = Topic(choices)
        self.tables = self._make_tables(observer)
        self.dynamodb = DynamoDB(self.tables)

    def state(self) -> Hashable:
        """Return what stands for the state of all services.

        The used throughput is left out: configurations stay far below its limit.
        """
        published = self.topic.published.items()
        return (
            self.tables.state(),
            # Without a retry no token is sent again.
            self.dynamodb.state() if self.network.attempts > 1 else (),
            self.queue.state(),
            self.dead_letters.state(),
            tuple(sorted((event, *sorted({*bodies})) for event, bodies in published)),
        )

    def _make_queues(self) -> None:
        make = FifoQueue if self._scenario.fifo else Queue
        clock = self._scheduler.clock
        self.dead_letters = make("dead", self._choices, clock)
        self.queue = make(
            "message",
            self._choices,
            clock,
            visibility_seconds=self._scenario.visibility_seconds,
            max_receives=self._scenario.max_receives,
            dead_letters=self.dead_letters,
        )
        self.queue.on_send = self._wake_pollers

    def _wake_pollers(self) -> None:
        idle, self.queue.idle = self.queue.idle, []
        for future in idle:
            self._scheduler.resolve(future)

    def _make_tables(self, observer: Observer) -> Tables:
        scenario, scheduler = self._scenario, self._scheduler
        return Tables(
            SCHEMA,
            self._choices,
            observer,
            clock=scheduler.clock,
            step=lambda steps: scheduler.sleep(
                scenario.latency.sample_step(self._choices, steps)
            ),
            observe=scheduler.observe,
            partition_units=scenario.partition_units,
            throttled=scenario.throttled,
            partial_reasons=scenario.partial_reasons,
        )
