"""Every call of AWS that the worker on AWS makes, through each method of its ports."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

import boto3
import pytest

from tests.support.builders import (
    announcement,
    block_of,
    create_ticket,
    plenty,
    queue_record,
)
from tests.support.environment import ENVIRONMENT, TUNED
from ticket_numbering.allocation.place import LineStore
from ticket_numbering.allocation.store import TicketStore
from ticket_numbering.contract.errors import InvalidMessageError
from ticket_numbering.function.bootstrap import bootstrap
from ticket_numbering.function.settings import Settings
from ticket_numbering.worker.ports import DeadLetterQueue, Publisher
from ticket_numbering.worker.results import Poison
from ticket_numbering.worker.worker import Worker

DEFAULT: Final = Settings.from_environ(ENVIRONMENT)
SETTINGS: Final = Settings.from_environ(ENVIRONMENT | TUNED)
_REQUEST: Final = create_ticket()
ENVELOPES: Final = [announcement(create_ticket()) for _ in range(11)]
DEAD_LETTERS: Final = [
    Poison(queue_record("{"), InvalidMessageError("bad")) for _ in ENVELOPES
]

METHODS: Final[Mapping[type, Mapping[str, Callable[[Worker], object]]]] = {
    TicketStore: {
        "head": lambda worker: worker.allocator.store.head("PROJ"),
        "read_keys": lambda worker: worker.allocator.store.read_keys([_REQUEST.key]),
        "read_keys_in_transaction": lambda worker: (
            worker.allocator.store.read_keys_in_transaction([_REQUEST.key])
        ),
        "write_block": lambda worker: worker.allocator.store.write_block(
            block_of([_REQUEST])
        ),
    },
    LineStore: {
        "take": lambda worker: (
            worker.allocator.line and worker.allocator.line.store.take("PROJ", 0, 1)
        ),
        "give_up": lambda worker: (
            worker.allocator.line and worker.allocator.line.store.give_up("PROJ", 0, 1)
        ),
    },
    Publisher: {"publish": lambda worker: worker.publisher.publish(ENVELOPES, plenty)},
    DeadLetterQueue: {
        "send": lambda worker: worker.dead_letters.send(DEAD_LETTERS, plenty)
    },
}
"""Of each port: its methods, called once; those of a batch with more than one takes."""

LINE: Final = "line"

_ANSWERS: Final[Mapping[str, Any]] = {
    "Query": {"Items": []},
    "BatchGetItem": {"Responses": {}},
    "TransactGetItems": {"Responses": [{}]},
    "UpdateItem": {"Attributes": {}},
}
_EMPTY_BATCH: Final[Mapping[str, Any]] = {"Successful": [], "Failed": []}


@dataclass(frozen=True)
class Call:
    """A call as the client got it."""

    service: str
    operation: str
    parameters: Mapping[str, Any]


def clients_and_calls() -> tuple[frozenset[str], tuple[Call, ...]]:
    """Return the services that the worker has clients of, and its calls.

    Those of the worker by default and of the tuned one, for a setting may choose
    another adapter.
    """
    plain, tuned = calls_with(DEFAULT), calls_with(SETTINGS)
    return plain.services | tuned.services, plain.calls + tuned.calls


@contextmanager
def clients_made() -> Iterator[dict[str, Any]]:
    """Collect the clients that boto3 makes meanwhile, by service.

    Another one of a service is that of the line.
    """
    made: dict[str, Any] = {}
    create: Any = boto3.client

    def client(service: str, **options: Any) -> Any:
        name = LINE if service in made else service
        made[name] = create(service, **options)
        return made[name]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(boto3, "client", client)
        yield made


class Calls(NamedTuple):
    """The services of a worker's clients, its calls, and their results."""

    services: frozenset[str]
    calls: tuple[Call, ...]
    results: Mapping[str, Any]
    """By method; no answer confirms anything."""


@cache
def calls_with(settings: Settings) -> Calls:
    """Return the calls of the worker that some settings make."""
    calls: list[Call] = []

    def remember(params: dict[str, Any], model: Any, **_: Any) -> None:
        service = model.service_model.service_name
        calls.append(Call(service, model.name, params))

    def answer(model: Any, **_: Any) -> Any:
        answer = _ANSWERS.get(model.name, _EMPTY_BATCH)
        return SimpleNamespace(status_code=200, headers={}, content=b"{}"), answer

    with clients_made() as made:
        worker = bootstrap(settings)
    for client in made.values():
        client.meta.events.register("provide-client-params.*.*", remember)
        client.meta.events.register("before-call.*.*", answer)
    results = {
        name: method(worker)
        for methods in METHODS.values()
        for name, method in methods.items()
    }
    return Calls(frozenset({*made} - {LINE}), tuple(calls), results)
