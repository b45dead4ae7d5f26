"""A dead-letter queue without a network, and dead letters to lie there."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from types import SimpleNamespace
from typing import Any

from tests.support.builders import ticket_fields
from tests.support.model_services import ModelServices
from ticket_numbering.adapters.dynamodb_store import serialized
from ticketctl.dead_letters.dead_letter import DeadLetter

QUEUE = "https://sqs.eu-west-1.amazonaws.com/123456789012/create-ticket"
DEAD = "https://sqs.eu-west-1.amazonaws.com/123456789012/dead"

_serial = count(1)


def text(value: str) -> dict[str, Any]:
    return {"DataType": "String", "StringValue": value}


def dead_letter(
    project_id: str = "PROJ", body: str = "", **attributes: str
) -> DeadLetter:
    """Return a dead letter with an id of its own."""
    return DeadLetter(
        f"{next(_serial):08x}-0000-4000-8000-000000000000",
        body or json.dumps(ticket_fields(project_id)),
        {name: text(value) for name, value in attributes.items()},
    )


def dead_letters(count_of: int, project_id: str = "PROJ") -> list[DeadLetter]:
    return [dead_letter(project_id) for _ in range(count_of)]


@dataclass
class Sqs:
    """A dead-letter queue and its source, which can refuse operations."""

    dead_letters: list[DeadLetter] = field(default_factory=list)
    refused: dict[str, BaseException] = field(default_factory=dict)
    """Errors to raise, by the operation, or by the body of a message to send."""
    never_restored: set[str] = field(default_factory=set)
    """Message ids that an answer with status 200 names as failed."""
    calls: list[str] = field(default_factory=list)
    sent: list[dict[str, Any]] = field(default_factory=list)
    hidden: set[str] = field(default_factory=set)
    longest_seconds: int = 0
    """For how long a message was ever hidden."""
    silent: int = 0
    """How many receives after the first give nothing."""
    task: dict[str, Any] | None = None
    """The arguments of a move task."""

    @property
    def bodies(self) -> list[str]:
        """The messages on the create-ticket queue, in order."""
        return [message["MessageBody"] for message in self.sent]

    @property
    def ids(self) -> list[str]:
        return [one.message_id for one in self.dead_letters]

    def get_queue_attributes(self, **_: Any) -> dict[str, Any]:
        hidden = len(self.hidden)
        return {
            "Attributes": {
                "ApproximateNumberOfMessages": str(len(self.dead_letters) - hidden),
                "ApproximateNumberOfMessagesDelayed": "0",
                "ApproximateNumberOfMessagesNotVisible": str(hidden),
            }
        }

    def receive_message(self, **call: Any) -> dict[str, Any]:
        """Give three messages at most, as a queue with few servers does."""
        self._call("receive")
        if self.silent and self.calls.count("receive") > 1:
            self.silent -= 1
            return {}
        given = [one for one in self.dead_letters if one.message_id not in self.hidden]
        given = given[:3]
        self.hidden |= {one.message_id for one in given}
        self.longest_seconds = max(self.longest_seconds, call["VisibilityTimeout"])
        return {
            "Messages": [
                {
                    "MessageId": one.message_id,
                    "ReceiptHandle": one.message_id,
                    "Body": one.body,
                }
                | ({"MessageAttributes": one.attributes} if one.attributes else {})
                | ({"Attributes": one.system} if one.system else {})
                for one in given
            ]
        }

    def send_message(self, **message: Any) -> None:
        self._call("send")
        if error := self.refused.get(message["MessageBody"]):
            raise error
        assert message.pop("QueueUrl").startswith(QUEUE)
        self.sent.append(message)

    def delete_message(self, **call: Any) -> None:
        self._call("delete")
        assert call["QueueUrl"].startswith(DEAD)
        message_id = call["ReceiptHandle"]
        self.hidden.remove(message_id)
        self.dead_letters = [
            one for one in self.dead_letters if one.message_id != message_id
        ]

    def change_message_visibility_batch(self, **call: Any) -> dict[str, Any]:
        self._call("change")
        entries = {entry["ReceiptHandle"]: entry["Id"] for entry in call["Entries"]}
        assert len(entries) <= 10
        assert {entry["VisibilityTimeout"] for entry in call["Entries"]} == {0}
        self.hidden -= entries.keys() - self.never_restored
        failed = entries.keys() & self.never_restored
        return {"Failed": [{"Id": entries[handle]} for handle in failed]}

    def start_message_move_task(self, **call: Any) -> dict[str, str]:
        """Start to move all that no consumer holds."""
        self._call("move")
        assert not self.hidden
        self.task = call
        return {"TaskHandle": "handle"}

    def _call(self, operation: str) -> None:
        self.calls.append(operation)
        if error := self.refused.get(operation):
            raise error


def keys(numbers: Mapping[str, int], fingerprint: str = "v1:of-another-ticket") -> Any:
    """Return DynamoDB with records of idempotency keys, by their ids."""
    dynamodb = ModelServices().dynamodb
    for name, number in numbers.items():
        record = {"id": name, "number": number, "fingerprint": fingerprint}
        dynamodb.put_item(TableName="keys", Item=serialized(record))
    return dynamodb


@dataclass(frozen=True)
class Harness:
    """A deployed system that is its queues and its keys alone."""

    sqs: Any
    dynamodb: Any = field(default_factory=lambda: keys({}))
    outputs: Mapping[str, str] = field(
        default_factory=lambda: {
            "DeadLetterQueueUrl": DEAD,
            "CreateTicketQueueUrl": QUEUE,
            "DeadLetterQueueArn": "arn:aws:sqs:eu-west-1:123456789012:dead",
            "CreateTicketQueueArn": "arn:aws:sqs:eu-west-1:123456789012:create-ticket",
            "IdempotencyKeysTableName": "keys",
            "AllowedProjects": ".*",
        }
    )

    def client(self, service_name: str) -> Any:
        return {"sqs": self.sqs, "dynamodb": self.dynamodb}[service_name]

    @property
    def context(self) -> Any:
        """The context of a command that finds this system."""
        return SimpleNamespace(obj=lambda: self)

    def fifo(self) -> "Harness":
        urls = {name: f"{url}.fifo" for name, url in self.outputs.items()}
        return replace(self, outputs=urls)
