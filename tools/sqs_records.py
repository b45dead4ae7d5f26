"""Records of a Lambda SQS event, member for member as SQS delivers them."""

import base64
import hashlib
import uuid
from dataclasses import dataclass
from typing import Any, Final

_REGION: Final = "eu-west-1"
_QUEUE_ARN: Final = f"arn:aws:sqs:{_REGION}:123456789012:create-ticket"
_EPOCH: Final = 1_795_000_000_000  # 2026-11-18, in milliseconds.
_QUEUED_FOR: Final = 85  # Milliseconds between sending and first delivery.


@dataclass(frozen=True)
class Message:
    """One delivery of a message."""

    name: str
    """What its ids are made from."""
    body: str
    sent_after: int = 0
    """When it was sent, in milliseconds after the first."""
    group_id: str | None = None
    receive_count: int = 1


@dataclass(frozen=True)
class Records:
    """Makes records; the same salt gives the same ids."""

    salt: str

    def uuid(self, what: str, name: str) -> str:
        """Return an id that looks random, as SQS's and producers' do."""
        digest = hashlib.sha256(f"{self.salt}/{what}/{name}".encode()).digest()
        return str(uuid.UUID(bytes=digest[:16], version=4))

    def record(self, message: Message) -> dict[str, Any]:
        """Return the record of a delivery."""
        # Not for security: SQS says by it what it received.
        md5 = hashlib.md5(message.body.encode(), usedforsecurity=False)
        return {
            "messageId": self.uuid("message", message.name),
            "receiptHandle": self._receipt_handle(message),
            "body": message.body,
            "attributes": _attributes(message),
            "messageAttributes": {},
            "md5OfBody": md5.hexdigest(),
            "eventSource": "aws:sqs",
            "eventSourceARN": _QUEUE_ARN,
            "awsRegion": _REGION,
        }

    def _receipt_handle(self, message: Message) -> str:
        """Return a handle that differs with every delivery."""
        seed = f"{self.salt}/{message.name}/{message.receive_count}".encode()
        return "AQEB" + base64.b64encode(hashlib.shake_256(seed).digest(72)).decode()


def _attributes(message: Message) -> dict[str, str]:
    sent_at = _EPOCH + message.sent_after
    attributes = {
        "ApproximateReceiveCount": str(message.receive_count),
        "SentTimestamp": str(sent_at),
        "SenderId": "AIDAIENQZJOLO23YVJ4VO",
        "ApproximateFirstReceiveTimestamp": str(sent_at + _QUEUED_FOR),
    }
    if message.group_id:
        attributes["MessageGroupId"] = message.group_id
    return attributes
