"""Redrives dead letters to the create-ticket queue."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import uuid4

from botocore.exceptions import ClientError

from ticket_numbering.contract.attributes import SENT_TIMESTAMP, is_fifo, text_attribute
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

# An emulator's error. SQS itself rejects a second task with `UnsupportedOperation`.
_UNKNOWN_OPERATION: Final = frozenset(
    {"InvalidAction", "NotImplemented", "UnknownOperation", "UnknownOperationException"}
)

_PREVIEW: Final = 100

_MARGIN: Final = timedelta(days=8)
"""Two lives of a message on the create-ticket queue: that after the redrive, and that
before SQS moved it, whose start a FIFO queue forgets."""

_MAX_ATTRIBUTES: Final = 10  # SQS quotas: attributes of a message.


def redrive_selected(
    stack: StackAccess,
    selection: Selection,
    rate: int | None,
    retention_days: int,
    *,
    yes: bool,
) -> bool:
    """Redrive the selected dead letters, after a confirmation.

    The rate is for a redrive of all, by SQS itself; a retention of 0 days means for
    ever.

    Returns:
        False if a dead letter stays, because it may outlive its key.
    """
    # SQS would lose the time of the first sending, which matters if keys expire.
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
    """Tell whether a request can reach the worker after its key expired; print it.

    A message that the worker refused has no number, so it cannot get a second number.
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

    After an interruption between the two steps the message exists twice: the worker
    replays the repeat. The first failure ends the redrive, so a FIFO group keeps its
    order.
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

    On a FIFO queue it gets a new deduplication id, so that SQS does not drop it as a
    repeat. If keys expire, it has the time of the first sending.
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
    """Let SQS redrive all dead letters; print the commands to watch and to stop it.

    The destination is always given: a dead letter of the worker has no source queue,
    and fails a task without a destination. Returns False if an emulator lacks the
    operation.
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
