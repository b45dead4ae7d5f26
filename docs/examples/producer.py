"""Asks for one ticket, and waits for the answer; needs boto3 alone.

    python producer.py QUEUE_URL PROJECT TITLE [KEY] [--max-number N] [--answers URL]

The queue's URL is the stack's output CreateTicketQueueUrl. Choose the key from your own
system, such as an order's number. If in doubt, run it again: a key has one ticket.

With --answers it waits: a queue of this program alone, subscribed to its own keys as
docs/consuming.md shows. Status 0: a number; 3: no answer came; 4: refused;
130: Ctrl-C. Any other is that of an error.
"""

import argparse
import json
import signal
import sys
import time
from typing import Any
from uuid import uuid4

import boto3

parser = argparse.ArgumentParser(description="Ask for one ticket.")
parser.add_argument("queue_url")
parser.add_argument("project")
parser.add_argument("title")
parser.add_argument("key", nargs="?", default=str(uuid4()))
parser.add_argument("--max-number", type=int, help="accept no higher number")
parser.add_argument("--answers", help="the queue that receives the answers")
arguments = parser.parse_args()

ASSIGNED = "ticket-numbering.TicketNumberAssigned.v1"
REFUSED = "ticket-numbering.TicketRefused.v1"
KEY = arguments.project, arguments.key
sqs = boto3.client("sqs")


def send() -> str:
    """Put the create-ticket message on the queue; return its id."""
    message = {
        "project_id": arguments.project,
        "idempotency_key": arguments.key,
        "title": arguments.title,
    }
    if arguments.max_number is not None:
        message["max_number"] = arguments.max_number
    sent = sqs.send_message(
        QueueUrl=arguments.queue_url,
        # SQS limits the delay that a busy project causes for others.
        MessageGroupId=arguments.project,
        MessageBody=json.dumps(message),
    )
    return str(sent["MessageId"])


def event_of(body: str) -> dict[str, Any]:
    """Return the CloudEvents object, delivered raw or in the envelope of SNS."""
    event: dict[str, Any] = json.loads(body)
    if event.get("Type") == "Notification":
        event = json.loads(event["Message"])
    return event


def status_of(event: dict[str, Any], message_ids: set[str]) -> int | None:
    """Print an answer to the request; return the exit status, None if it is none."""
    if event["type"] not in {ASSIGNED, REFUSED}:  # New types may come.
        return None
    data = event["data"]
    if (data["project_id"], data["idempotency_key"]) != KEY:
        return None
    if event["type"] == ASSIGNED:
        print(arguments.key, data["ticket_key"])
        return 0
    # Each sender can get any key refused: believe refusals of your own messages.
    if data["message_id"] in message_ids:
        reason = data.get("reason", data["error_type"])  # Of an older worker.
        print(arguments.key, "refused:", reason, data["field"])
        return 4
    return None


def answer_of(body: str, message_ids: set[str]) -> int | None:
    """Print an answer to the request; a message of another sender is none.

    Such as the SubscriptionConfirmation of another topic, or any other message.
    """
    try:
        return status_of(event_of(body), message_ids)
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
        return None


def ask() -> int:
    """Send, and again while no answer comes; return the exit status."""
    answers = {"QueueUrl": arguments.answers}
    message_ids = set()
    for _ in range(3):
        message_ids.add(send())  # Answered before: the answer is announced again.
        end = time.monotonic() + 60
        while time.monotonic() < end:
            received = sqs.receive_message(
                **answers, MaxNumberOfMessages=10, WaitTimeSeconds=20
            )
            for message in received.get("Messages", []):
                status = answer_of(message["Body"], message_ids)
                sqs.delete_message(**answers, ReceiptHandle=message["ReceiptHandle"])
                if status is not None:
                    return status
    print(arguments.key, "no answer yet: ask again", file=sys.stderr)
    return 3


signal.signal(signal.SIGINT, lambda *_: sys.exit(130))
if arguments.answers:
    sys.exit(ask())
print(arguments.key, send())
