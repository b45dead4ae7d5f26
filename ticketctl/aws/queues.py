"""Receives, deletes and counts the messages of a queue."""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from ticket_numbering.contract.attributes import SOURCE_MESSAGE_ID
from ticketctl.aws.aws_errors import AWS_ERRORS
from ticketctl.aws.stack import StackAccess
from ticketctl.cli.errors import CloudError
from ticketctl.cli.output import counted, print_note

MAX_ENTRIES: Final = 10  # SendMessageBatch, ReceiveMessage and DeleteMessageBatch.
NO_GROUP: Final = "-"  # A FIFO queue demands a group.
GROUP_ID: Final = re.compile(r"[!-~]{1,128}")  # SendMessage: MessageGroupId.
RECEIVED_TOO_OFTEN: Final = "received too often"
"""The reason of a dead letter that SQS itself moved."""

_COUNTS: Final = {
    "waiting": "ApproximateNumberOfMessages",
    "delayed": "ApproximateNumberOfMessagesDelayed",
    "in_flight": "ApproximateNumberOfMessagesNotVisible",
}


@dataclass(frozen=True)
class Received:
    """A received message, with the text of its attributes."""

    message_id: str
    body: str
    attributes: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> "Received":
        """Parse a message of `ReceiveMessage`."""
        attributes = message.get("MessageAttributes", {})
        texts = {name: of.get("StringValue", "") for name, of in attributes.items()}
        return cls(message["MessageId"], message["Body"], texts)

    @property
    def source(self) -> str:
        """The original message id: SQS keeps it, and the worker's copy has it."""
        return self.attributes.get(SOURCE_MESSAGE_ID) or self.message_id


@dataclass
class Receiver:
    """Receives messages of a queue, and deletes them or makes them visible again."""

    sqs: Any
    queue_url: str
    visibility_seconds: int = 30
    """The visibility timeout."""
    receipts: dict[str, str] = field(default_factory=dict)
    """Receipt handles of the received messages, by message id."""

    def receive(self, wait_seconds: int = 0) -> list[dict[str, Any]]:
        """Receive at most ten messages, and return the new ones."""
        messages = self.sqs.receive_message(
            QueueUrl=self.queue_url,
            MaxNumberOfMessages=MAX_ENTRIES,
            WaitTimeSeconds=wait_seconds,
            VisibilityTimeout=self.visibility_seconds,
            MessageAttributeNames=["All"],
            MessageSystemAttributeNames=["All"],
        ).get("Messages", [])
        new = [
            message for message in messages if message["MessageId"] not in self.receipts
        ]
        self.receipts |= {
            message["MessageId"]: message["ReceiptHandle"] for message in messages
        }
        return new

    def receive_all(
        self,
        seconds: float,
        wait_seconds: int,
        most_empty: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> Iterator[list[dict[str, Any]]]:
        """Yield each call's new messages, until calls return none or the time is up.

        A long poll queries all of SQS's servers, a short one only some; ReceiveMessage
        API.
        """
        end, empty = clock() + seconds, 0
        while empty < most_empty and clock() < end:
            new = self.receive(wait_seconds)
            empty = 0 if new else empty + 1
            yield new

    def delete(self, message_ids: Sequence[str]) -> None:
        """Delete at most ten received messages.

        Raises:
            CloudError: SQS rejects the deletion of one.
        """
        # A message that SQS itself failed to delete is delivered again, as a repeat.
        for entry in self.delete_batch(message_ids).values():
            if entry.get("SenderFault"):
                why = f"{entry.get('Code')}: {entry.get('Message', '')}"
                raise CloudError(f"SQS does not delete a received message: {why}")

    def delete_batch(self, message_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Delete at most ten received messages; return SQS's failures by message id."""
        if not message_ids:
            return {}
        answer = self.sqs.delete_message_batch(
            QueueUrl=self.queue_url,
            Entries=[
                {"Id": str(index), "ReceiptHandle": self.receipts[message_id]}
                for index, message_id in enumerate(message_ids)
            ],
        )
        # An entry counts as deleted only if the response lists it as successful.
        for entry in answer.get("Successful", []):
            del self.receipts[message_ids[int(entry["Id"])]]
        said = {
            message_ids[int(failure["Id"])]: failure
            for failure in answer.get("Failed", [])
        }
        return {
            message_id: said.get(message_id, {})
            for message_id in message_ids
            if message_id in self.receipts
        }

    def give_back(self) -> None:
        """Make the received messages visible to others at once.

        A failure does not fail the command: they are visible again in a minute.
        """
        handles, still_hidden = iter(self.receipts.values()), 0
        while batch := [*islice(handles, MAX_ENTRIES)]:
            entries = [
                {"Id": str(index), "ReceiptHandle": handle, "VisibilityTimeout": 0}
                for index, handle in enumerate(batch)
            ]
            try:
                answer = self.sqs.change_message_visibility_batch(
                    QueueUrl=self.queue_url, Entries=entries
                )
            except AWS_ERRORS:
                answer = {"Failed": entries}
            still_hidden += len(answer.get("Failed", []))
        if still_hidden:
            print_note(
                f"hidden for up to {self.visibility_seconds} s: "
                f"{counted(still_hidden, 'message')}"
            )


def take(stack: StackAccess, queue_url: str, wait_seconds: int = 0) -> list[Received]:
    """Receive some messages of a queue, and delete them."""
    receiver = Receiver(stack.client("sqs"), queue_url)
    messages = receiver.receive(wait_seconds)
    receiver.delete([*receiver.receipts])
    return [*map(Received.of, messages)]


def message_counts(stack: StackAccess, output: str) -> dict[str, int]:
    """Return the approximate counts of a queue, named by its output."""
    attributes = stack.client("sqs").get_queue_attributes(
        QueueUrl=stack.outputs[output], AttributeNames=[*_COUNTS.values()]
    )["Attributes"]
    return {name: int(attributes[attribute]) for name, attribute in _COUNTS.items()}


def messages_on(stack: StackAccess, output: str) -> int:
    """Return the count of visible and hidden messages of a queue, by its output.

    Delayed messages do not count: no consumer can have received them.
    """
    counts = message_counts(stack, output)
    return counts["waiting"] + counts["in_flight"]
