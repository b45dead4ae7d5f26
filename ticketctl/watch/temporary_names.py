"""The names of temporary queues, by which a stack knows its own again."""

import re
import time
from secrets import token_hex
from typing import Final, Protocol

from ticketctl.system.stack import System

_MAX_NAME: Final = 80  # CreateQueue: QueueName.
_LONGEST_END: Final = len("-watch-1234567890-12345678.fifo")


class NamedSystem(System, Protocol):
    """A deployed system that has a name."""

    @property
    def name(self) -> str:
        """The stack's name."""
        ...


def name_start(stack: NamedSystem) -> str:
    """Return what the names of all temporary queues of the stack start with."""
    return f"{stack.name[: _MAX_NAME - _LONGEST_END]}-watch-"


def new_name(stack: NamedSystem) -> str:
    """Return a name that no other queue has, without the suffix of FIFO queues."""
    return f"{name_start(stack)}{int(time.time())}-{token_hex(4)}"


def made_at(stack: NamedSystem, queue_name: str) -> int | None:
    """Return when a temporary queue was made, nothing if the name is not of one."""
    name = re.escape(name_start(stack)) + r"(\d{10})-[0-9a-f]{8}(\.fifo)?"
    found = re.fullmatch(name, queue_name)
    return int(found[1]) if found else None


def arn_start(stack: System) -> str:
    """Return what the ARNs of the queues beside the topic start with."""
    _, partition, _, region, account, _ = stack.outputs["AssignmentsTopicArn"].split(
        ":", 5
    )
    return f"arn:{partition}:sqs:{region}:{account}:"
