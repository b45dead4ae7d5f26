"""A queue for one listener: made, kept alive and removed with its subscription.

The listener says how long it is alive in a tag of the queue, and says so anew while it
polls. A queue whose time has passed belongs to nobody: `leftovers.py` removes it.
"""

import json
import time
from dataclasses import dataclass, field
from typing import Any, Final

from botocore.exceptions import ClientError

from ticketctl.cli.errors import CloudError
from ticketctl.system.aws_errors import error_code
from ticketctl.system.queues import FIFO_SUFFIX, topic_may_send
from ticketctl.system.stack import System
from ticketctl.watch.heard import Filter
from ticketctl.watch.temporary_names import NamedSystem, arn_start, new_name

ALIVE_UNTIL: Final = "alive-until"
"""The tag that says, in seconds since 1970, until when a listener is sure to listen."""

OWNER: Final = "ticketctl:stack"
"""The tag that names the stack; the queue's name may have only a part of it."""

# Much longer than clocks of two computers differ: AWS refuses those that are wrong by
# more than about a quarter of an hour.
ALIVE_SECONDS: Final = 20 * 60
_RENEW_SECONDS: Final = 5 * 60

_RETENTION_SECONDS: Final = 60 * 60

# CreateQueue: a queue can be used a second after it was made.
_USABLE_AFTER_SECONDS: Final = 1.0
_PATIENCE_SECONDS: Final = 30.0


@dataclass
class TemporaryQueue:
    """A queue that hears the topic for a while."""

    stack: NamedSystem
    name: str
    url: str
    subscription_arn: str | None = None
    _made: float = field(default_factory=time.monotonic)
    # By the clock on the wall: the other one may stand still while a computer sleeps.
    _renewed: float = field(default_factory=time.time)

    def subscribe(self, wanted: Filter) -> None:
        """Let the topic send what is wanted, and wait until SNS knows of it.

        Raises:
            CloudError: SNS does not confirm it.
        """
        time.sleep(max(0.0, self._made + _USABLE_AFTER_SECONDS - time.monotonic()))
        self.subscription_arn = self._subscribe(wanted.policy)
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not self._is_confirmed():
            if time.monotonic() > deadline:
                message = "SNS does not confirm the subscription; try again"
                raise CloudError(message)
            time.sleep(0.5)

    def keep_alive(self) -> None:
        """Say that somebody still listens, if that was long ago."""
        if time.time() < self._renewed + _RENEW_SECONDS:
            return
        sqs = self.stack.client("sqs")
        sqs.tag_queue(QueueUrl=self.url, Tags={ALIVE_UNTIL: _alive_until()})
        self._renewed = time.time()

    def remove(self) -> None:
        """Remove the subscription, and the queue."""
        try:
            if self.subscription_arn:
                unsubscribe(self.stack, self.subscription_arn)
        finally:
            delete_queue(self.stack, self.url)

    def _subscribe(self, policy: dict[str, list[str]]) -> str:
        attributes = {"RawMessageDelivery": "true"}
        if policy:
            attributes["FilterPolicy"] = json.dumps(policy)
        try:
            return str(
                self.stack.client("sns").subscribe(
                    TopicArn=self.stack.outputs["AssignmentsTopicArn"],
                    Protocol="sqs",
                    Endpoint=arn_start(self.stack) + self.name,
                    Attributes=attributes,
                    ReturnSubscriptionArn=True,
                )["SubscriptionArn"]
            )
        except ClientError as error:
            # A topic has room for 200 policies; without one the listener alone filters.
            if not policy or "FilterPolicyLimitExceeded" not in error_code(error):
                raise
            return self._subscribe({})

    def _is_confirmed(self) -> bool:
        try:
            attributes = self.stack.client("sns").get_subscription_attributes(
                SubscriptionArn=self.subscription_arn
            )["Attributes"]
        except ClientError as error:
            if not_there(error):
                return False
            raise
        return bool(attributes.get("PendingConfirmation", "false") == "false")


def make_queue(stack: NamedSystem) -> TemporaryQueue:
    """Make a queue that the topic may send to, with everything in the one request.

    What is changed later, SQS takes up to a minute to heed.
    """
    topic_arn = stack.outputs["AssignmentsTopicArn"]
    fifo = topic_arn.endswith(FIFO_SUFFIX)
    name = new_name(stack) + (FIFO_SUFFIX if fifo else "")
    attributes = {
        "Policy": topic_may_send(arn_start(stack) + name, topic_arn),
        "MessageRetentionPeriod": str(_RETENTION_SECONDS),
    }
    answer: dict[str, Any] = stack.client("sqs").create_queue(
        QueueName=name,
        Attributes=attributes | ({"FifoQueue": "true"} if fifo else {}),
        tags={
            OWNER: stack.name,
            "ticketctl:purpose": "one ticketctl listens; it removes this when it ends",
            ALIVE_UNTIL: _alive_until(),
        },
    )
    return TemporaryQueue(stack, name, answer["QueueUrl"])


def delete_queue(stack: System, queue_url: str) -> None:
    """Delete a queue, if it is there."""
    try:
        stack.client("sqs").delete_queue(QueueUrl=queue_url)
    except ClientError as error:
        if not not_there(error):
            raise


def unsubscribe(stack: System, subscription_arn: str) -> None:
    """Remove a subscription, if it is there."""
    try:
        stack.client("sns").unsubscribe(SubscriptionArn=subscription_arn)
    except ClientError as error:
        if not not_there(error):
            raise


def not_there(error: ClientError) -> bool:
    """Tell whether AWS refuses because there is no such queue or subscription."""
    return error_code(error) in {
        "NonExistentQueue",
        "QueueDoesNotExist",
        "NotFound",
        "NotFoundException",
    }


def _alive_until() -> str:
    return str(int(time.time()) + ALIVE_SECONDS)
