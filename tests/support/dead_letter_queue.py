"""A dead-letter queue without a network, and letters to lie there."""

import signal
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from botocore.exceptions import ClientError

from tests.support.audit_tables import Tables
from tests.support.builders import ticket_fields
from ticketctl.dead_letters.letters import Letter
from ticketctl.system.contract import body_of

DEAD = "https://sqs.eu-west-1.amazonaws.com/123456789012/dead"
QUEUE = "https://sqs.eu-west-1.amazonaws.com/123456789012/create-ticket"
FIFO_QUEUE = f"{QUEUE}.fifo"

_LONG = 0.05

_serial = count(1)

Entries = Sequence[dict[str, Any]]


def text(value: str) -> dict[str, Any]:
    """Return a message attribute."""
    return {"DataType": "String", "StringValue": value}


def letter(project_id: str = "PROJ", body: str = "", **attributes: str) -> Letter:
    """Return a letter with an id of its own."""
    return Letter(
        f"{next(_serial):08x}-0000-4000-8000-000000000000",
        body or body_of(ticket_fields(project_id)),
        {name: text(value) for name, value in attributes.items()},
    )


def letters(count_of: int, project_id: str = "PROJ") -> list[Letter]:
    """Return letters of one project."""
    return [letter(project_id) for _ in range(count_of)]


def interrupt(kind: signal.Signals) -> None:
    """Let a signal come to the main thread, in the middle of a call that takes long."""
    main = threading.main_thread().ident
    assert main is not None
    signal.pthread_kill(main, kind)
    time.sleep(_LONG)


@dataclass
class Sqs:
    """A dead-letter queue and its source, which refuse what they are told to."""

    letters: list[Letter] = field(default_factory=list)
    """What lies there, seen by others or not."""
    refused_sends: set[str] = field(default_factory=set)
    """Bodies."""
    refused_handles: set[str] = field(default_factory=set)
    """Message ids; their handles are of no use any more."""
    broken: set[str] = field(default_factory=set)
    """Operations that fail as a whole."""
    interrupted_by: signal.Signals | None = None
    """Comes before the first letters arrive; Ctrl-C is SIGINT."""
    extra_receives: int = 0
    """How often SQS gives what it gave before."""
    calls: list[str] = field(default_factory=list)
    sent: list[dict[str, Any]] = field(default_factory=list)
    hidden: dict[str, int] = field(default_factory=dict)
    """For how many seconds, by message id."""
    renewed: threading.Event = field(default_factory=threading.Event)

    @property
    def bodies(self) -> list[str]:
        """What lies on the queue, in order."""
        return [each["MessageBody"] for each in self.sent]

    @property
    def ids(self) -> list[str]:
        """The letters that are there."""
        return [each.message_id for each in self.letters]

    def get_queue_attributes(self, **_: Any) -> dict[str, Any]:
        """Count."""
        return {
            "Attributes": {
                "ApproximateNumberOfMessages": str(len(self.letters)),
                "ApproximateNumberOfMessagesNotVisible": "0",
            }
        }

    def receive_message(self, **call: Any) -> dict[str, Any]:
        """Give three messages at most, as a queue with few servers does."""
        self._called("receive")
        visible = [
            each for each in self.letters if not self.hidden.get(each.message_id)
        ]
        if not visible and self.extra_receives:
            self.extra_receives -= 1
            visible = self.letters
        given = visible[:3]
        seconds = call["VisibilityTimeout"]
        self.hidden |= {each.message_id: seconds for each in given}
        if self.interrupted_by:
            interrupt(self.interrupted_by)
            self.interrupted_by = None
        return {
            "Messages": [
                {
                    "MessageId": each.message_id,
                    "ReceiptHandle": each.message_id,
                    "Body": each.body,
                    "MessageAttributes": each.attributes,
                }
                for each in given
            ]
        }

    def send_message_batch(self, **call: Any) -> dict[str, Any]:
        """Take entries."""
        self._called("send")
        assert len(call["Entries"]) <= 10
        failed = [
            each
            for each in call["Entries"]
            if each["MessageBody"] in self.refused_sends
        ]
        taken = [each for each in call["Entries"] if each not in failed]
        self.sent += taken
        return {
            "Successful": [{"Id": each["Id"]} for each in taken],
            "Failed": [
                {"Id": each["Id"], "Code": "No", "Message": "not now"}
                for each in failed
            ],
        }

    def delete_message_batch(self, **call: Any) -> dict[str, Any]:
        """Delete."""
        self._called("delete")
        known, answer = self._known(call["Entries"])
        self.letters = [each for each in self.letters if each.message_id not in known]
        return answer

    def change_message_visibility_batch(self, **call: Any) -> dict[str, Any]:
        """Hide, or make visible."""
        self._called("change")
        known, answer = self._known(call["Entries"])
        for each in call["Entries"]:
            if each["ReceiptHandle"] in known:
                self.hidden[each["ReceiptHandle"]] = each["VisibilityTimeout"]
            if each["VisibilityTimeout"]:
                self.renewed.set()
        return answer

    def _called(self, operation: str) -> None:
        self.calls.append(operation)
        if operation in self.broken:
            raise ClientError({"Error": {"Code": "AccessDenied"}}, operation)

    def _known(self, entries: Entries) -> tuple[set[str], dict[str, Any]]:
        assert len(entries) <= 10
        known = {each["ReceiptHandle"] for each in entries} - self.refused_handles
        return known, {
            "Successful": [
                {"Id": each["Id"]} for each in entries if each["ReceiptHandle"] in known
            ],
            "Failed": [
                {"Id": each["Id"], "Code": "ReceiptHandleIsInvalid"}
                for each in entries
                if each["ReceiptHandle"] not in known
            ],
        }


@dataclass(frozen=True)
class Site:
    """A deployed system that is its queues and tables alone."""

    sqs: Any
    dynamodb: Any = field(default_factory=Tables)
    outputs: Mapping[str, str] = field(
        default_factory=lambda: {
            "DeadLetterQueueUrl": DEAD,
            "CreateTicketQueueUrl": QUEUE,
            "DeadLetterQueueArn": "arn:aws:sqs:eu-west-1:123456789012:dead",
            "CreateTicketQueueArn": "arn:aws:sqs:eu-west-1:123456789012:create-ticket",
            "IdempotencyKeysTableName": "keys",
        }
    )

    def client(self, service_name: str) -> Any:
        """Return the client."""
        return {"sqs": self.sqs, "dynamodb": self.dynamodb}[service_name]
