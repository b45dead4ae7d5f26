"""A system that is the laboratory's queues and keys, and dead letters to lie there."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import typer

from simulation.aws.messages import received_of
from simulation.aws.queues import Queue
from tests.support.builders import ticket_fields
from tests.support.ctl_process import command_context
from tests.support.model_services import ModelServices
from ticket_numbering.adapters.dynamodb_store import serialized
from ticket_numbering.contract.envelope import text_attribute
from ticketctl.dead_letters.dead_letter import DeadLetter

_serial = count(1)


def dead_letter(
    project_id: str = "PROJ", body: str = "", **attributes: str
) -> DeadLetter:
    """Return a dead letter with an id of its own."""
    return DeadLetter(
        f"{next(_serial):08x}-0000-4000-8000-000000000000",
        body or json.dumps(ticket_fields(project_id)),
        {name: text_attribute(value) for name, value in attributes.items()},
    )


def dead_letters(count_of: int, project_id: str = "PROJ") -> list[DeadLetter]:
    return [dead_letter(project_id) for _ in range(count_of)]


@dataclass
class Harness:
    """A deployed system that is its queues and its keys alone."""

    fifo: bool = False
    allowed_projects: str = ".*"
    name: str = "queues"
    services: ModelServices = field(default_factory=ModelServices)

    @classmethod
    def of(cls, *dead_letters: DeadLetter, **options: Any) -> "Harness":
        """Return a system in which these are dead letters; SQS gives them new ids."""
        harness = cls(**options)
        for one in dead_letters:
            harness.dead.send(one.body, one.attributes)
        return harness

    @property
    def dead(self) -> Queue:
        return self._queue("dead")

    @property
    def source(self) -> Queue:
        return self._queue("source")

    @property
    def requests(self) -> Mapping[str, list[dict[str, Any]]]:
        """The requests to SQS by their operations."""
        requests: Mapping[str, list[dict[str, Any]]] = self.services.sqs.requests
        return requests

    @property
    def found(self) -> list[DeadLetter]:
        """What lies in the dead-letter queue."""
        messages = self.dead.messages.values()
        return [DeadLetter.of(received_of(message)) for message in messages]

    @property
    def ids(self) -> list[str]:
        return [*self.dead.messages]

    @property
    def left(self) -> list[str]:
        """The bodies of the dead letters."""
        return [message.body for message in self.dead.messages.values()]

    @property
    def bodies(self) -> list[str]:
        """The bodies on the create-ticket queue, in the order of their arrival."""
        return [message.body for message in self.source.arrived]

    @property
    def hidden(self) -> list[str]:
        """The ids of the dead letters that a consumer holds."""
        now = self.services.scheduler.now
        messages = self.dead.messages.items()
        return [one for one, message in messages if message.visible_at > now]

    def hold(self, *message_ids: str, seconds: float = 3600.0) -> None:
        """Let another consumer hold dead letters."""
        for message_id in message_ids:
            until = self.services.scheduler.now + seconds
            self.dead.messages[message_id].visible_at = until

    def before(self, operation: str, *acts: Callable[[], object]) -> None:
        """Let something happen before the next calls of an operation."""
        self.services.sqs.before[operation] = [*acts]

    def number(self, name: str, number: int, fingerprint: str = "v1:another") -> None:
        """Write the record of an idempotency key."""
        record = {"id": name, "number": number, "fingerprint": fingerprint}
        self.services.dynamodb.put(serialized(record))

    @property
    def outputs(self) -> Mapping[str, str]:
        arn = "arn:aws:sqs:eu-west-1:123456789012"
        return {
            "DeadLetterQueueUrl": self.dead.name,
            "CreateTicketQueueUrl": self.source.name,
            "DeadLetterQueueArn": f"{arn}:{self.dead.name}",
            "CreateTicketQueueArn": f"{arn}:{self.source.name}",
            "IdempotencyKeysTableName": "keys",
            "AllowedProjects": self.allowed_projects,
        }

    def client(self, service_name: str) -> Any:
        return getattr(self.services, service_name)

    @property
    def context(self) -> typer.Context:
        """The context of a command that finds this system."""
        return command_context(self)

    def _queue(self, name: str) -> Queue:
        return self.services.queues[f"{name}.fifo" if self.fifo else name]
