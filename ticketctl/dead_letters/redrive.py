"""Sends dead letters back to the create-ticket queue."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import uuid4

from botocore.exceptions import ClientError

from ticket_numbering.contract.attributes import (
    SENT_TIMESTAMP,
    is_fifo,
    text_attribute,
)
from ticketctl.aws.aws_errors import error_code
from ticketctl.aws.queues import GROUP_ID, NO_GROUP
from ticketctl.aws.stack import StackAccess
from ticketctl.cli.output import console, counted, print_note, sanitized, utc
from ticketctl.cli.pages import docs
from ticketctl.cli.prompts import confirm
from ticketctl.dead_letters.dead_letter import DeadLetter
from ticketctl.dead_letters.dead_letter_queue import delete_dead_letters
from ticketctl.dead_letters.selection import Selection, select
from ticketctl.dead_letters.views import warn_of_poison

# An emulator's answer. Not `UnsupportedOperation`: so SQS refuses a second task.
_UNKNOWN_OPERATION: Final = frozenset(
    {"InvalidAction", "NotImplemented", "UnknownOperation", "UnknownOperationException"}
)

_PREVIEW: Final = 100

_MARGIN: Final = timedelta(days=8)
"""Two lives of a message on the create-ticket queue: the one that a redrive begins, and
the one before SQS moved it, of which a FIFO queue forgets the beginning."""

_MAX_ATTRIBUTES: Final = 10  # Of a message; SQS quotas.


def redrive_selected(
    stack: StackAccess,
    selection: Selection,
    rate: int | None,
    retention_days: int,
    *,
    yes: bool,
) -> bool:
    """Send the selected dead letters back, once a person agrees.

    The rate is for all, which SQS moves itself; a retention of 0 days is for ever.

    Returns:
        False if one stays, because it may outlive its key.
    """
    # SQS would not carry the time of the first sending, which counts if keys expire.
    is_all = selection.everything and not retention_days
    selected = select(stack, selection, _PREVIEW if is_all else None)
    due = [
        dead_letter
        for dead_letter in selected
        if not outlives_its_key(dead_letter, retention_days)
    ]
    if not due:
        console().print("nothing to redrive")
        return not selected
    warn_of_poison(due, stack.program)
    chosen = "all dead letters" if is_all else counted(len(due), "dead letter")
    counts = Counter(dead_letter.reason for dead_letter in due).most_common()
    reasons = sanitized(", ".join(f"{number} {reason}" for reason, number in counts))
    confirm(f"Redrive {chosen}: {reasons}?", yes=yes)
    if is_all:
        if move_all(stack, rate):
            return True
        due = selected = select(stack, selection)
    done = resend(stack, due, retention_days)
    console().print(f"dead letters redriven: {done}")
    return len(due) == len(selected)


def outlives_its_key(dead_letter: DeadLetter, retention_days: int) -> bool:
    """Tell whether a request can come to the worker when its key is gone, and say so.

    A message that the worker refused has no number, so it can get no second one.
    """
    first = dead_letter.first_sent_at
    if not (retention_days and first) or dead_letter.error_type:
        return False
    if first + timedelta(days=retention_days) - _MARGIN > datetime.now(UTC):
        return False
    print_note(
        f"{dead_letter.message_id}: first sent {utc(first)}, and keys are kept for "
        f"{retention_days} days: it could get a second number, so it stays; see "
        f"{docs()}operations.md#dead-letters"
    )
    return True


def resend(
    stack: StackAccess, dead_letters: Sequence[DeadLetter], retention_days: int
) -> int:
    """Send the successor of each dead letter, then delete the dead letter.

    Interrupted between the two, the message is there twice: the worker answers the
    repeat with the number that it has. It stops at the first failure, so a FIFO
    group keeps its order.
    """
    sqs, url = stack.client("sqs"), stack.outputs["CreateTicketQueueUrl"]
    fifo = is_fifo(url)
    return delete_dead_letters(
        stack,
        dead_letters,
        lambda dead_letter: sqs.send_message(
            QueueUrl=url,
            **successor(dead_letter, fifo=fifo, keys_expire=bool(retention_days)),
        ),
    )


def successor(
    dead_letter: DeadLetter, *, fifo: bool, keys_expire: bool = False
) -> dict[str, Any]:
    """Return the message to send: the body and the producer's attributes.

    On a FIFO queue it has a deduplication id of its own, so that SQS does not drop it
    as a repeat. If keys expire, it carries the time of the first sending.
    """
    message: dict[str, Any] = {"MessageBody": dead_letter.body}
    attributes = {**dead_letter.own_attributes}
    first = dead_letter.first_sent_at
    if keys_expire and first and len(attributes) < _MAX_ATTRIBUTES:
        stamp = str(int(first.timestamp() * 1000))
        attributes[SENT_TIMESTAMP] = text_attribute(stamp)
    if attributes:
        message["MessageAttributes"] = attributes
    group = dead_letter.project_id or dead_letter.system.get("MessageGroupId", "")
    if GROUP_ID.fullmatch(group):
        message["MessageGroupId"] = group
    if fifo:
        message.setdefault("MessageGroupId", NO_GROUP)
        message["MessageDeduplicationId"] = str(uuid4())
    return message


def move_all(stack: StackAccess, rate: int | None) -> bool:
    """Let SQS move all dead letters back, and print how to see and to stop it.

    The destination is always named: a dead letter that the worker sent has no source
    to go back to, and fails a task without a destination. An emulator may not be able
    to: then False is returned.
    """
    source = stack.outputs["DeadLetterQueueArn"]
    limit = {} if rate is None else {"MaxNumberOfMessagesPerSecond": rate}
    try:
        task = stack.client("sqs").start_message_move_task(
            SourceArn=source,
            DestinationArn=stack.outputs["CreateTicketQueueArn"],
            **limit,
        )
    except ClientError as error:
        if error_code(error) not in _UNKNOWN_OPERATION:
            raise
        print_note("this service moves no messages itself; sending them one by one")
        return False
    console().print(
        f"SQS moves the dead letters now; `{stack.program} status` shows the rest.\n"
        f"To see the task: aws sqs list-message-move-tasks --source-arn {source}\n"
        "To stop it: aws sqs cancel-message-move-task "
        f"--task-handle {task['TaskHandle']}"
    )
    return True
