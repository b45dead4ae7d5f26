"""A subscriber: handles each announcement on its queue once, then deletes it.

    python subscriber.py https://sqs.eu-west-1.amazonaws.com/123456789012/my-queue

It needs boto3 alone. docs/consuming.md shows how to create the queue.
Ctrl-C ends it with status 130.
"""

import argparse
import json
import signal
import sys
from typing import Any

import boto3

FACTS = {
    "ticket-numbering.TicketNumberAssigned.v1": "{ticket_key}: {title}",
    "ticket-numbering.TicketVoided.v1": "{ticket_key}: void",
    "ticket-numbering.TicketErased.v1": "{ticket_key}: erase its text here too",
    "ticket-numbering.TicketRefused.v1": "{idempotency_key}: refused, {error_type}",
}
"""The types that this program handles; here each is printed."""

parser = argparse.ArgumentParser(description="Handle announcements, each once.")
parser.add_argument("queue_url")
parser.add_argument("--count", type=int, help="end after this count of announcements")
arguments = parser.parse_args()

# A real subscriber stores these in the same transaction as their effects, for example
# in a table whose primary key is source and id. In memory they last until the end.
handled: set[tuple[str, str]] = set()


def event_of(body: str) -> dict[str, Any]:
    """Return the CloudEvents object, delivered raw or in the envelope of SNS."""
    event: dict[str, Any] = json.loads(body)
    if event.get("Type") == "Notification":
        event = json.loads(event["Message"])
    return event


def handle(event: dict[str, Any]) -> None:
    """Process one event, unless it is a repeat or of an unknown type."""
    identity = (event["source"], event["id"])  # The id alone is unique in one stack.
    if event["type"] not in FACTS:
        # Skipped, and deleted like the others: a new type must not block the queue.
        print(f"skipped {identity}: {event['type']}", file=sys.stderr)
    elif identity not in handled:  # Announced at least once: drop repeats.
        print(FACTS[event["type"]].format(**event["data"]), flush=True)
        handled.add(identity)


signal.signal(signal.SIGINT, lambda *_: sys.exit(130))
sqs = boto3.client("sqs")
while arguments.count is None or len(handled) < arguments.count:
    answer = sqs.receive_message(
        QueueUrl=arguments.queue_url, MaxNumberOfMessages=10, WaitTimeSeconds=20
    )
    for message in answer.get("Messages", []):
        try:
            handle(event_of(message["Body"]))
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            # Not deleted: it comes again, and then goes to the dead-letter queue.
            print(f"cannot handle {message['MessageId']}: {error}", file=sys.stderr)
            continue
        # Only now: after a crash before this, the message comes again.
        sqs.delete_message(
            QueueUrl=arguments.queue_url, ReceiptHandle=message["ReceiptHandle"]
        )
