"""The pollers of a history, each with its release of the worker and its clients."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from simulation.aws.clients import Client, with_puts
from simulation.aws.fault_plans import FaultPlan
from simulation.aws.lambda_service import Handler, Poller
from simulation.aws.network import Request
from simulation.engine.choices import Choices
from simulation.engine.scheduler import Scheduler
from simulation.execution_environment import (
    SHIPPED,
    Algorithm,
    Clock,
    ExecutionEnvironment,
)
from simulation.history import History
from simulation.monitor import FOREIGN
from simulation.scenario import Scenario
from simulation.services import Services
from ticket_numbering.adapters.dynamodb_store import DynamoDBTicketStore
from ticket_numbering.allocation.sequence_cache import SequenceCache

NEXT_RETENTION_DAYS: Final = 365


def _next_version(environment: ExecutionEnvironment) -> Handler:
    """Build a worker that writes attributes which this version does not know."""

    def change(put: Request) -> Request:
        return {**put, "Item": {**put["Item"], FOREIGN: {"S": "yes"}}}

    store = partial(DynamoDBTicketStore, retention_days=NEXT_RETENTION_DAYS)
    changed = replace(environment, dynamodb=with_puts(environment.dynamodb, change))
    return changed.handler(store=store)


NEXT_VERSION: Final = Algorithm(
    "a later release: other items, other settings", _next_version
)
"""Works beside the shipped one while a deployment goes on."""


@dataclass(frozen=True)
class Pollers:
    """Builds the pollers of a history on its services."""

    scenario: Scenario
    choices: Choices
    scheduler: Scheduler
    faults: FaultPlan
    history: History
    services: Services
    algorithm: Algorithm

    def build(self) -> list[Poller]:
        """Return every poller."""
        return [self._build(number) for number in range(self.scenario.pollers)]

    def _algorithm_of(self, poller: int) -> Algorithm:
        """Return the release that a poller runs."""
        scenario = self.scenario
        if self.algorithm is not SHIPPED:
            return self.algorithm
        if poller < scenario.next_version:
            return NEXT_VERSION
        return SHIPPED

    def _build(self, number: int) -> Poller:
        services, scenario = self.services, self.scenario
        environment = ExecutionEnvironment(
            self.scheduler,
            self.choices,
            Client("dynamodb", services.dynamodb, services.network),
            Client("sns", services.topic, services.network),
            Client("sqs", services.dead_letters, services.network),
            Client("sqs", services.queue, services.network),
            Clock(self.scheduler, self.choices, scenario.clock_error),
            scenario.max_attempts,
            SequenceCache(scenario.cache_ttl),
            dead_letter_queue=f"dead-letters{'.fifo' if scenario.fifo else ''}",
        )
        algorithm = self._algorithm_of(number)
        return Poller(
            f"worker{number}",
            self.scheduler,
            self.faults,
            self.history,
            services.queue,
            lambda: algorithm.build(environment),
            scenario.batch_size,
            lambda: scenario.latency.sample(self.choices),
            environment.cache_state,
        )
