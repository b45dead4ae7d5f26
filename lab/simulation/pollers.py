"""The pollers of a history, each with its release of the worker and its clients."""

from dataclasses import dataclass

from simulation.aws.clients import Client
from simulation.aws.fault_plans import FaultPlan
from simulation.aws.lambda_service import Poller
from simulation.engine.choices import Choices
from simulation.engine.scheduler import Scheduler
from simulation.execution_environment import (
    SHIPPED,
    Algorithm,
    Clock,
    ExecutionEnvironment,
)
from simulation.history import History
from simulation.releases import EARLIER_VERSION, NEXT_VERSION
from simulation.scenario import Scenario
from simulation.services import Services
from ticket_numbering.allocation.sequence_cache import SequenceCache


def poller_name(number: int) -> str:
    """Return the name of a poller, with which those of its invocations begin."""
    return f"worker{number}"


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

    def unchained(self) -> list[str]:
        """Return the pollers whose release neither writes nor announces a chain."""
        return [
            poller_name(number)
            for number in range(self.scenario.pollers)
            if self._algorithm_of(number) is EARLIER_VERSION
        ]

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
        if poller >= scenario.pollers - scenario.earlier_version:
            return EARLIER_VERSION
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
            poller_name(number),
            self.scheduler,
            self.faults,
            self.history,
            services.queue,
            lambda: algorithm.build(environment),
            scenario.batch_size,
            lambda: scenario.latency.sample(self.choices),
            environment.cache_state,
        )
