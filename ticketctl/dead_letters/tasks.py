"""What can be done with dead letters: send them back, mend one, delete them."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import islice
from pathlib import Path

from ticketctl.cli.errors import CloudError, NotThereError
from ticketctl.cli.output import console, notes
from ticketctl.cli.prompts import confirm
from ticketctl.dead_letters.choosing import Choice, choose, remark
from ticketctl.dead_letters.copies import save
from ticketctl.dead_letters.hold import Hold
from ticketctl.dead_letters.holding import holding
from ticketctl.dead_letters.letters import Filter, Letter
from ticketctl.dead_letters.move_task import MoveTasks, NoMoveTasksError
from ticketctl.dead_letters.numbered import refuse_numbered
from ticketctl.dead_letters.redriving import Redrive, Redriven
from ticketctl.dead_letters.reports import (
    follow,
    name_failures,
    progress_bar,
    reasons,
    report,
    told_when_interrupted,
    warn_of_poison,
)
from ticketctl.dead_letters.views import print_table
from ticketctl.system.stack import System

_PREVIEW = 100
_SHOWN_BEFORE_DELETION = 20
_EVERYTHING = Choice((), everything=True, filter=Filter())


def hold(stack: System) -> AbstractContextManager[Hold]:
    """Hold letters of the stack's dead-letter queue, for a `with` statement."""
    return holding(stack.client("sqs"), stack.outputs["DeadLetterQueueUrl"])


def redrive_all(stack: System, rate: int | None, *, yes: bool) -> None:
    """Let SQS move all letters back; do it for a service that cannot.

    Raises:
        CloudError: Not all were moved.
    """
    with hold(stack) as held:
        first = list(islice(held.receive(), _PREVIEW))
    if not first:
        console().print(f"nothing to send back: {remark(held, 0)}")
        return
    warn_of_poison(first)
    about = max(held.before.total, len(first))
    confirm(f"Send about {about} dead letters back: {reasons(first)}?", yes=yes)
    tasks = move_tasks(stack)
    try:
        after = tasks.start(rate)
    except NoMoveTasksError:
        notes().print("this service moves no messages itself; sending them one by one")
        _redrive(stack, _EVERYTHING, rate)
        return
    moved = follow(tasks, after)
    console().print(f"dead letters moved back: about {moved}")


def redrive_chosen(
    stack: System, choice: Choice, rate: int | None, *, yes: bool
) -> None:
    """Send the chosen letters back, one by one.

    Raises:
        CloudError: Not all were sent back, or not all of these were deleted.
    """

    def agree(letters: Sequence[Letter]) -> None:
        warn_of_poison(letters)
        question = f"Send {len(letters)} dead letters back: {reasons(letters)}?"
        confirm(question, yes=yes)

    _redrive(stack, choice, rate, agree)


def replace_letter(stack: System, held: Hold, letter: Letter, body: str) -> None:
    """Send another body in place of a letter, and delete the letter.

    Raises:
        NotThereError: Somebody else took the letter meanwhile; nothing is sent.
        CloudError: The new body was not sent, or the letter not deleted.
    """
    if not held.regains(letter):
        message = (
            f"somebody else took or deleted {letter.message_id} meanwhile; "
            "nothing is sent, for it may have been settled"
        )
        raise NotThereError(message)
    redrive = Redrive(stack.client("sqs"), stack.outputs["CreateTicketQueueUrl"], held)
    report(redrive.run([replace(letter, body=body)], lambda _: None))


def delete_chosen(
    stack: System,
    choice: Choice,
    copy_to: Path | None,
    *,
    yes: bool,
    force: bool = False,
) -> None:
    """Delete the chosen letters, after a copy was written where one is wanted.

    Raises:
        InputError: Some have a number, and nobody insists; nothing is deleted.
        CloudError: Some are still there.
    """
    with hold(stack) as held:
        letters = choose(held, choice)
        if not letters:
            console().print(f"nothing to delete: {remark(held, 0)}")
            return
        if not force:
            refuse_numbered(stack, letters)
        if not yes:
            print_table(notes(), letters[:_SHOWN_BEFORE_DELETION])
        kept = f"a copy goes to {copy_to}" if copy_to else "--save FILE keeps a copy"
        confirm(f"Delete {len(letters)} dead letters for ever ({kept})?", yes=yes)
        if copy_to:
            save(letters, copy_to)
        failed = held.delete(letters)
    console().print(f"dead letters deleted: {len(letters) - len(failed)}")
    if failed:
        name_failures(failed)
        message = f"{len(failed)} dead letters could not be deleted and are still there"
        raise CloudError(message)


def move_tasks(stack: System) -> MoveTasks:
    """Return the move tasks from the dead-letter queue to the create-ticket queue."""
    outputs = stack.outputs
    arns = outputs["DeadLetterQueueArn"], outputs["CreateTicketQueueArn"]
    return MoveTasks(stack.client("sqs"), *arns)


def _redrive(
    stack: System,
    choice: Choice,
    rate: int | None,
    agree: Callable[[Sequence[Letter]], None] = lambda _: None,
) -> None:
    with hold(stack) as held:
        letters = choose(held, choice)
        if not letters:
            console().print(f"nothing to send back: {remark(held, 0)}")
            return
        agree(letters)
        queue_url = stack.outputs["CreateTicketQueueUrl"]
        redrive = Redrive(stack.client("sqs"), queue_url, held, rate)
        done = Redriven()
        with told_when_interrupted(done), progress_bar(len(letters)) as advance:
            redrive.run(letters, advance, done)
    report(done)
