"""The pollers of a history, each with its release of the worker and its clients."""

from dataclasses import replace
from functools import partial
from typing import Final

from simulation.aws.clients import Client, with_puts
from simulation.aws.lambda_service import Handler, Poller
from simulation.aws.network import Request
from simulation.checks.monitor import FOREIGN
from simulation.world.execution_environment import (
    SHIPPED,
    Algorithm,
    Clock,
    ExecutionEnvironment,
)
from simulation.world.services import Services
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


def build_pollers(services: Services, algorithm: Algorithm) -> list[Poller]:
    """Return every poller; where the shipped algorithm runs, some run the next one."""
    next_version = services.scenario.next_version if algorithm is SHIPPED else 0
    return [
        _build(services, number, NEXT_VERSION if number < next_version else algorithm)
        for number in range(services.scenario.pollers)
    ]


def _build(services: Services, number: int, algorithm: Algorithm) -> Poller:
    scenario, choices = services.scenario, services.choices
    environment = ExecutionEnvironment(
        services.scheduler,
        choices,
        Client("dynamodb", services.dynamodb, services.network),
        Client("sns", services.topic, services.network),
        Client("sqs", services.dead_letters, services.network),
        Client("sqs", services.queue, services.network),
        Clock(services.scheduler, choices, scenario.clock_error),
        scenario.max_attempts,
        SequenceCache(scenario.cache_ttl),
        dead_letter_queue=f"dead-letters{'.fifo' if scenario.fifo else ''}",
    )
    return Poller(
        f"worker{number}",
        services.scheduler,
        services.faults,
        services.history,
        services.queue,
        lambda: algorithm.build(environment),
        scenario.batch_size,
        lambda: scenario.latency.sample(choices),
        environment.clock.now,
    )
