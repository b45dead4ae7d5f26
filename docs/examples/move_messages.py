"""Moves all messages of a queue to another, such as one of another type.

    python move_messages.py OLD_QUEUE_URL NEW_QUEUE_URL

It needs boto3 alone. No other consumer may receive from the old queue. Attributes stay
behind; to move a message twice does no harm.
"""

import sys
from typing import Any

import boto3


def move(sqs: Any, old_url: str, new_url: str) -> None:
    """Send each message to the new queue, in its group, then delete it."""
    fifo = new_url.endswith(".fifo")
    while messages := sqs.receive_message(
        QueueUrl=old_url, AttributeNames=["MessageGroupId"], WaitTimeSeconds=2
    ).get("Messages"):
        for message in messages:
            group = message.get("Attributes", {}).get("MessageGroupId", "moved")
            once = {"MessageDeduplicationId": message["MessageId"]} if fifo else {}
            sqs.send_message(
                QueueUrl=new_url,
                MessageBody=message["Body"],
                MessageGroupId=group,
                **once,
            )
            handle = message["ReceiptHandle"]
            sqs.delete_message(QueueUrl=old_url, ReceiptHandle=handle)


if __name__ == "__main__":
    move(boto3.client("sqs"), *sys.argv[1:])
