"""Removes what listeners left behind that could not tidy up: killed, or cut off."""

import time
from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from ticketctl.watch.temporary_names import (
    NamedSystem,
    arn_start,
    made_at,
    name_start,
)
from ticketctl.watch.temporary_queue import (
    ALIVE_SECONDS,
    ALIVE_UNTIL,
    OWNER,
    delete_queue,
    not_there,
    unsubscribe,
)


def sweep(stack: NamedSystem) -> int:
    """Remove temporary queues and subscriptions that nobody listens to any more.

    Returns:
        How many queues and subscriptions it removed.

    Raises:
        ClientError: AWS does not let us look, or remove.
    """
    queues = dict(_queues(stack))
    left = [name for name, url in queues.items() if _is_left(stack, url)]
    for name in left:
        delete_queue(stack, queues.pop(name))
    unheard = [
        subscription_arn
        for name, subscription_arn in _subscriptions(stack)
        if name in left or (name not in queues and _is_old(stack, name))
    ]
    for subscription_arn in unheard:
        unsubscribe(stack, subscription_arn)
    return len(left) + len(unheard)


def _queues(stack: NamedSystem) -> Iterator[tuple[str, str]]:
    """Yield the name and URL of each temporary queue."""
    pages = stack.client("sqs").get_paginator("list_queues")
    for page in pages.paginate(QueueNamePrefix=name_start(stack)):
        for url in page.get("QueueUrls", []):
            name = url.rpartition("/")[2]
            if made_at(stack, name) is not None:
                yield name, url


def _is_left(stack: NamedSystem, queue_url: str) -> bool:
    """Tell whether the queue is this stack's, and its listener's time has passed."""
    try:
        answer = stack.client("sqs").list_queue_tags(QueueUrl=queue_url)
    except ClientError as error:
        # Its listener, or another sweep, was faster.
        if not_there(error):
            return False
        raise
    tags = answer.get("Tags", {})
    until = tags.get(ALIVE_UNTIL, "")
    is_ours = tags.get(OWNER) == stack.name and until.isdecimal()
    return is_ours and int(until) < time.time()


def _is_old(stack: NamedSystem, queue_name: str) -> bool:
    # A queue that was made a moment ago may be missing from the list.
    made = made_at(stack, queue_name)
    return made is not None and made + ALIVE_SECONDS < time.time()


def _subscriptions(stack: NamedSystem) -> Iterator[tuple[str, str]]:
    """Yield the queue's name and the ARN of each temporary queue's subscription."""
    pages = stack.client("sns").get_paginator("list_subscriptions_by_topic")
    topic_arn, start = stack.outputs["AssignmentsTopicArn"], arn_start(stack)
    each: dict[str, Any]
    for page in pages.paginate(TopicArn=topic_arn):
        for each in page["Subscriptions"]:
            name = each["Endpoint"].removeprefix(start)
            if each["Protocol"] == "sqs" and made_at(stack, name) is not None:
                yield name, each["SubscriptionArn"]
