"""The commands that look after dead letters."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from ticketctl.cli.app import OPERATIONS, Json, app, examples, stack_of
from ticketctl.cli.errors import InputError, NotThereError, Status
from ticketctl.cli.output import console, notes, print_json
from ticketctl.dead_letters.choosing import Choice, choose, look, remark
from ticketctl.dead_letters.correcting import correct, new_text, wishes_of
from ticketctl.dead_letters.letters import Filter
from ticketctl.dead_letters.move_task import MAX_RATE, NoMoveTasksError
from ticketctl.dead_letters.numbered import refuse_numbered
from ticketctl.dead_letters.tasks import (
    delete_chosen,
    hold,
    move_tasks,
    redrive_all,
    redrive_chosen,
    replace_letter,
)
from ticketctl.dead_letters.views import print_table, print_whole, summary, whole
from ticketctl.system.stack import Stack

letters = typer.Typer(
    no_args_is_help=True, help="Look after the messages that got no number."
)
app.add_typer(letters, name="dead-letters", rich_help_panel=OPERATIONS)

_DEFAULT_LIMIT = 100

Id = Annotated[str, typer.Argument(metavar="ID", help="Its message id, or its start.")]
Ids = Annotated[
    list[str] | None,
    typer.Argument(metavar="ID", help="Message ids, or their starts."),
]
All = Annotated[bool, typer.Option("--all", help="All that can be received.")]
Project = Annotated[
    str | None, typer.Option("--project", help="Only those whose body names it.")
]
Reason = Annotated[
    str | None,
    typer.Option(
        "--reason", help="Only those with this ErrorType, or received-too-often."
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


@letters.command(
    "list",
    epilog=examples(
        "ticketctl dead-letters list",
        "ticketctl dead-letters list --reason InvalidMessageError --json",
    ),
)
def list_(
    ctx: typer.Context,
    *,
    limit: Annotated[
        int, typer.Option(min=1, help="Show so many at most.")
    ] = _DEFAULT_LIMIT,
    project: Project = None,
    reason: Reason = None,
    as_json: Json = False,
) -> None:
    """List dead letters: why they lie there, since when, and what they ask for.

    Whoever looks hides them from others, so they are made visible again at once.
    """
    stack = stack_of(ctx)
    with hold(stack) as held:
        found = look(held, Filter(project, reason), limit)
    if as_json:
        shown = [summary(each) for each in found]
        print_json({"letters": shown, "approximate_total": held.before.total})
    elif not found and not held.before.total:
        console().print("the dead-letter queue is empty")
    else:
        if found:
            print_table(console(), found)
        notes().print(remark(held, len(found)))


@letters.command(
    "show",
    epilog=examples(
        "ticketctl dead-letters show 1f6c",
        "ticketctl dead-letters show 1f6c --raw > body.json",
    ),
)
def show(
    ctx: typer.Context,
    message_id: Id,
    *,
    raw: Annotated[
        bool, typer.Option("--raw", help="Print the body alone, byte for byte.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show one dead letter as a whole."""
    stack = stack_of(ctx)
    with hold(stack) as held:
        [letter] = choose(held, _one(message_id))
    if raw:
        sys.stdout.buffer.write(letter.body.encode())
        sys.stdout.buffer.flush()
    elif as_json:
        print_json(whole(letter))
    else:
        print_whole(console(), letter)


@letters.command(
    "redrive",
    epilog=examples(
        "ticketctl dead-letters redrive --all --rate 50",
        "ticketctl dead-letters redrive --reason received-too-often --yes",
        "ticketctl dead-letters redrive 1f6c 9d02",
        "ticketctl dead-letters redrive --cancel",
    ),
)
def redrive(  # noqa: PLR0913 - each is an option of the command line.
    ctx: typer.Context,
    ids: Ids = None,
    *,
    everything: All = False,
    project: Project = None,
    reason: Reason = None,
    rate: Annotated[
        int | None,
        typer.Option(min=1, max=MAX_RATE, help="Messages a second, at most."),
    ] = None,
    yes: Yes = False,
    cancel: Annotated[
        bool, typer.Option("--cancel", help="Stop a redrive of all that goes on.")
    ] = False,
) -> None:
    """Send dead letters back to the queue; what had a number keeps it.

    All of them are moved by SQS itself, which goes on when this command is stopped.
    Chosen ones are sent and only then deleted, so that none is lost.
    """
    stack = stack_of(ctx)
    choice = Choice(ids or (), everything, Filter(project, reason))
    if cancel:
        _cancel(stack, choice)
        return
    choice.check()
    if everything and choice.filter.is_open:
        redrive_all(stack, rate, yes=yes)
    else:
        redrive_chosen(stack, choice, rate, yes=yes)


@letters.command(
    "edit",
    epilog=examples(
        "ticketctl dead-letters edit 1f6c",
        "ticketctl dead-letters edit 1f6c --file mended.json",
        "ticketctl dead-letters edit 1f6c --new-key",
    ),
)
def edit(
    ctx: typer.Context,
    message_id: Id,
    *,
    file: Annotated[
        Path | None,
        typer.Option(help="Take the new body from this file; `-`: standard input."),
    ] = None,
    new_key: Annotated[
        bool, typer.Option("--new-key", help="Put in a new idempotency key.")
    ] = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Send an unchanged body, or a taken key; edit what has a number.",
        ),
    ] = False,
) -> None:
    """Mend one dead letter: edit its body, send it, delete the letter.

    The letter is held while the editor is open, so that nobody else can send it back.
    One that has a number is refused: only a redrive can still get it announced.
    """
    stack = stack_of(ctx)
    with hold(stack) as held:
        [letter] = choose(held, _one(message_id))
        if not force:
            refuse_numbered(stack, [letter])
        with new_text(letter, file) as text:
            wishes = wishes_of(file, new_key=new_key, force=force)
            body = correct(letter, text, wishes)
            if body is not None:
                replace_letter(stack, held, letter, body)
    if body is None:
        notes().print("the body is unchanged; nothing is sent (--force sends it)")
        raise typer.Exit(Status.FOUND)


@letters.command(
    "delete",
    epilog=examples(
        "ticketctl dead-letters delete 1f6c",
        "ticketctl dead-letters delete --project TEST --save letters.jsonl",
    ),
)
def delete(  # noqa: PLR0913 - each is an option of the command line.
    ctx: typer.Context,
    ids: Ids = None,
    *,
    everything: All = False,
    project: Project = None,
    reason: Reason = None,
    save: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write them to a new file first, as JSONL."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Delete what has a number, too.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Delete dead letters for ever; nobody will number what they ask for.

    Nothing is deleted if one has a number: only a redrive can still get it announced.
    """
    stack = stack_of(ctx)
    choice = Choice(ids or (), everything, Filter(project, reason))
    choice.check()
    delete_chosen(stack, choice, save, yes=yes, force=force)


def _one(message_id: str) -> Choice:
    return Choice((message_id,), everything=False, filter=Filter())


def _cancel(stack: Stack, choice: Choice) -> None:
    if choice.ids or choice.everything or not choice.filter.is_open:
        message = "--cancel stands alone: it stops the redrive that goes on"
        raise InputError(message)
    try:
        moved = move_tasks(stack).cancel()
    except NoMoveTasksError:
        moved = None
    if moved is None:
        message = "SQS is not moving dead letters"
        raise NotThereError(message)
    console().print(f"cancelled; about {moved} dead letters had been moved")
