"""Moves all messages of a queue to another, such as one of another type.

    python move_messages.py OLD_QUEUE_URL NEW_QUEUE_URL

It needs boto3 alone; the queues can be in two Regions. No other consumer may receive
from the old queue. Attributes stay behind; to move a message twice does no harm.
"""

import re
import sys
from typing import Any

import boto3


def client_of(queue_url: str) -> Any:
    """Return the client of the Region that the URL of a queue has, if it has one."""
    region = re.match(r"https://sqs\.([\w-]+)\.", queue_url)
    return boto3.client("sqs", region_name=region and region[1])


def move(old: Any, old_url: str, new: Any, new_url: str) -> None:
    """Send each message to the new queue, in its group, then delete it."""
    fifo, moved = new_url.endswith(".fifo"), 0
    while messages := old.receive_message(
        QueueUrl=old_url, AttributeNames=["MessageGroupId"], WaitTimeSeconds=2
    ).get("Messages"):
        for message in messages:
            group = message.get("Attributes", {}).get("MessageGroupId", "moved")
            once = {"MessageDeduplicationId": message["MessageId"]} if fifo else {}
            new.send_message(
                QueueUrl=new_url,
                MessageBody=message["Body"],
                MessageGroupId=group,
                **once,
            )
            handle = message["ReceiptHandle"]
            old.delete_message(QueueUrl=old_url, ReceiptHandle=handle)
        moved += len(messages)
        print(f"moved: {moved}", flush=True)


if __name__ == "__main__":
    old_url, new_url = sys.argv[1:]
    if old_url == new_url:
        sys.exit("both are the same queue: it would never end")
    move(client_of(old_url), old_url, client_of(new_url), new_url)
