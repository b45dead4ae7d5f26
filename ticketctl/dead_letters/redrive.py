"""Sends dead letters back to the create-ticket queue."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final
from uuid import uuid4

from botocore.exceptions import ClientError

from ticket_numbering.contract.attributes import is_fifo
from ticketctl.aws.aws_errors import error_code
from ticketctl.aws.queues import GROUP_ID, NO_GROUP
from ticketctl.aws.stack import System
from ticketctl.cli.output import console, counted, program, remark, visible
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


def redrive_selected(
    stack: System, selection: Selection, rate: int | None, *, yes: bool
) -> None:
    """Send the selected dead letters back, once a person agrees."""
    is_all = selection.everything
    found = select(stack, selection, _PREVIEW if is_all else None)
    if not found:
        console().print("nothing to redrive")
        return
    warn_of_poison(found)
    chosen = "all dead letters" if is_all else counted(len(found), "dead letter")
    counts = Counter(dead_letter.reason for dead_letter in found).most_common()
    reasons = visible(", ".join(f"{number} {reason}" for reason, number in counts))
    confirm(f"Redrive {chosen}: {reasons}?", yes=yes)
    if is_all:
        if move_all(stack, rate):
            return
        found = select(stack, selection)
    console().print(f"dead letters redriven: {resend(stack, found)}")


def resend(stack: System, dead_letters: Sequence[DeadLetter]) -> int:
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
        lambda found: sqs.send_message(QueueUrl=url, **successor(found, fifo=fifo)),
    )


def successor(dead_letter: DeadLetter, *, fifo: bool) -> dict[str, Any]:
    """Return the message to send: the body and the producer's attributes.

    On a FIFO queue it has a deduplication id of its own, so that SQS does not drop it
    as a repeat.
    """
    message: dict[str, Any] = {"MessageBody": dead_letter.body}
    if attributes := dead_letter.own_attributes:
        message["MessageAttributes"] = attributes
    group = dead_letter.project_id or dead_letter.system.get("MessageGroupId", "")
    if GROUP_ID.fullmatch(group):
        message["MessageGroupId"] = group
    if fifo:
        message.setdefault("MessageGroupId", NO_GROUP)
        message["MessageDeduplicationId"] = str(uuid4())
    return message


def move_all(stack: System, rate: int | None) -> bool:
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
        remark("this service moves no messages itself; sending them one by one")
        return False
    console().print(
        f"SQS moves the dead letters now; `{program} status` shows the rest.\n"
        f"To see the task: aws sqs list-message-move-tasks --source-arn {source}\n"
        "To stop it: aws sqs cancel-message-move-task "
        f"--task-handle {task['TaskHandle']}"
    )
    return True
