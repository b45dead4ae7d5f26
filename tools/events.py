"""Writes the Lambda SQS events below `events/`, as SQS delivers them.

For `sam local invoke`, the console's test events and the tests.
By default the files never change; `--fresh` gives messages that no table knows yet.
"""

import argparse
import base64
import hashlib
import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from tools import generated
from tools.poison import POISON

DIRECTORY: Final = Path(__file__).resolve().parents[1] / "events"

# As sent, one a second; three projects take turns.
_BATCH: Final = (
    ("WEB", "Login page flickers in dark mode"),
    ("API", "Pagination skips the last page"),
    ("DOCS", "Tutorial skips the first step"),
    ("WEB", "Search forgets its filters"),
    ("API", "Dates lack a time zone"),
    ("DOCS", "Screenshots show the old logo"),
    ("WEB", "Basket loses items after a refresh"),
    ("API", "Webhooks are not signed"),
    ("WEB", "Footer links to last year's terms"),
)
# A standard queue delivers in any order: API's second message overtakes its first.
_DELIVERED: Final = (0, 2, 4, 1, 3, 5, 6, 7, 8)


_REGION: Final = "eu-west-1"
_QUEUE_ARN: Final = f"arn:aws:sqs:{_REGION}:123456789012:create-ticket"
_EPOCH: Final = 1_795_000_000_000  # 2026-11-18, in milliseconds.
_QUEUED_FOR: Final = 85  # Milliseconds between sending and first delivery.


@dataclass(frozen=True)
class Message:
    """One delivery of a message."""

    name: str
    """Its ids are made from it."""
    body: str
    sent_after: int = 0
    """When it was sent, in milliseconds after the first."""
    group_id: str | None = None
    receive_count: int = 1


@dataclass(frozen=True)
class Events:
    """Makes events; the same salt gives the same ids."""

    salt: str

    def all(self) -> dict[str, list[Message]]:
        """Return the messages of every event, by the event's name."""
        first = self._request("create-ticket", "PROJ", "Invoice shows the wrong total")
        return {
            "create-ticket": [first],
            "redelivery": [replace(first, receive_count=2)],
            "batch": self._batch(),
            "poison-reused-key": [
                self._request("reused-key", "PROJ", "Printer is on fire"),
                self._request("reused-key", "PROJ", "Printer is out of paper", 1),
            ],
        } | {f"poison-{kind}": [self._poison(kind)] for kind in POISON}

    def record(self, message: Message) -> dict[str, Any]:
        """Return the record of a delivery, member for member as SQS gives it."""
        sent_at = _EPOCH + message.sent_after
        group = {"MessageGroupId": message.group_id} if message.group_id else {}
        seed = f"{self.salt}/{message.name}/{message.receive_count}".encode()
        # Not for security: SQS says by it what it received.
        md5 = hashlib.md5(message.body.encode(), usedforsecurity=False)
        return {
            "messageId": self._uuid("message", message.name),
            # It differs with every delivery.
            "receiptHandle": "AQEB"
            + base64.b64encode(hashlib.shake_256(seed).digest(72)).decode(),
            "body": message.body,
            "attributes": {
                "ApproximateReceiveCount": str(message.receive_count),
                "SentTimestamp": str(sent_at),
                "SenderId": "AIDAIENQZJOLO23YVJ4VO",
                "ApproximateFirstReceiveTimestamp": str(sent_at + _QUEUED_FOR),
                **group,
            },
            "messageAttributes": {},
            "md5OfBody": md5.hexdigest(),
            "eventSource": "aws:sqs",
            "eventSourceARN": _QUEUE_ARN,
            "awsRegion": _REGION,
        }

    def _batch(self) -> list[Message]:
        sent = [
            self._request(f"batch-{second}", project_id, title, second)
            for second, (project_id, title) in enumerate(_BATCH)
        ]
        delivered = [sent[position] for position in _DELIVERED]
        # Unsure whether it arrived, the first one's producer sent it again.
        again = replace(sent[0], name="batch-again", sent_after=len(sent) * 1000)
        return [*delivered[:-1], again, delivered[-1]]

    def _request(
        self, key: str, project_id: str, title: str, second: int = 0
    ) -> Message:
        body = json.dumps(self._ticket(key, project_id, title))
        return Message(f"{key}-{second}", body, second * 1000, project_id)

    def _poison(self, kind: str) -> Message:
        ticket = self._ticket(kind, "PROJ", f"Poison: {kind}")
        return Message(kind, POISON[kind](ticket))

    def _ticket(self, key: str, project_id: str, title: str) -> dict[str, Any]:
        return {
            "project_id": project_id,
            "idempotency_key": self._uuid("key", key),
            "title": title,
        }

    def _uuid(self, what: str, name: str) -> str:
        """Return an id that looks random, as SQS's and producers' do."""
        digest = hashlib.sha256(f"{self.salt}/{what}/{name}".encode()).digest()
        return str(uuid.UUID(bytes=digest[:16], version=4))


def event_files(salt: str = "events") -> dict[str, str]:
    """Return the text of every event, by file name; another salt gives other ids."""
    events = Events(salt)
    return {
        f"{name}.json": generated.as_json(
            {"Records": [events.record(message) for message in messages]}
        )
        for name, messages in events.all().items()
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the events."""
    parser = argparse.ArgumentParser("python -m tools.events")
    parser.add_argument("directory", nargs="?", type=Path, default=DIRECTORY)
    parser.add_argument(
        "--fresh", action="store_true", help="new message ids and idempotency keys"
    )
    given = parser.parse_args(arguments)
    files = event_files(uuid.uuid4().hex) if given.fresh else event_files()
    generated.write(files, given.directory)


if __name__ == "__main__":
    main()
