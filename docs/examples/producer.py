"""Asks for one ticket, as a producer should; needs boto3 alone.

    python producer.py QUEUE_URL PROJECT TITLE [KEY]

The queue's URL is the stack's output CreateTicketQueueUrl. Choose the key from your own
system, such as an order's number. Run it again with the same key as often as you like,
and whenever you do not know whether the message arrived: there is one ticket.
"""

import json
import sys
from uuid import uuid4

import boto3


def ask_for_ticket(queue_url: str, project: str, title: str, key: str) -> str:
    """Put one create-ticket message on the queue; return its id."""
    message = {"project_id": project, "idempotency_key": key, "title": title}
    sent = boto3.client("sqs").send_message(
        QueueUrl=queue_url,
        # SQS limits the delay that a busy project causes for others.
        MessageGroupId=project,
        MessageBody=json.dumps(message),
    )
    return sent["MessageId"]


if __name__ == "__main__":
    queue_url, project, title, *rest = sys.argv[1:]
    key = rest[0] if rest else str(uuid4())
    print(key, ask_for_ticket(queue_url, project, title, key))
