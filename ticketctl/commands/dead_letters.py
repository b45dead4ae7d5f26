"""The commands for dead letters."""

from pathlib import Path
from typing import Annotated, Final

import typer

from ticketctl.cli.errors import InputError, Status
from ticketctl.commands.application import OPERATIONS, Group, app, command, stack_of
from ticketctl.commands.options import Json, Yes, completed_by
from ticketctl.dead_letters import REASONS

MAX_RATE: Final = 500
"""The maximum of messages a second; StartMessageMoveTask API."""

dead_letters = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    help="List, show, redrive, edit or delete dead letters.",
)
app.add_typer(dead_letters, name="dead-letters", rich_help_panel=OPERATIONS)

Id = Annotated[
    str, typer.Argument(metavar="ID", help="The message id, or the start of it.")
]
Ids = Annotated[
    list[str] | None,
    typer.Argument(metavar="ID", help="Message ids, or the start of each."),
]
Project = Annotated[str | None, typer.Option(help="Only those of this project.")]
Reason = Annotated[
    str | None,
    typer.Option(
        help="Only those with this ErrorType, or received-too-often.",
        autocompletion=completed_by(REASONS),
    ),
]
Save = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="First write them to a new file, as JSON lines."),
]
All = Annotated[bool, typer.Option("--all", help="All dead letters.")]


@command(dead_letters, "ticketctl dead-letters list --reason InvalidMessageError")
def list_(  # noqa: PLR0913 - one parameter for each option.
    ctx: typer.Context,
    *,
    limit: Annotated[
        int, typer.Option(min=1, help="Maximum number of dead letters.")
    ] = 100,
    project: Project = None,
    key: Annotated[
        str | None, typer.Option(help="Only those with this idempotency key.")
    ] = None,
    reason: Reason = None,
    as_json: Json = False,
) -> None:
    """List dead letters: the reason, the age, the project and the key.

    Listing hides the messages from other consumers until the command ends.
    """
    from ticketctl.dead_letters.selection import Selection
    from ticketctl.dead_letters.views import print_list

    selection = Selection(project_id=project, reason=reason, idempotency_key=key)
    print_list(stack_of(ctx), selection, limit, as_json=as_json)


@command(dead_letters, "ticketctl dead-letters show 1f6c --raw > body.json")
def show(
    ctx: typer.Context,
    message_id: Id,
    *,
    raw: Annotated[
        bool, typer.Option(help="Print only the body, byte for byte.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show one dead letter with body and attributes."""
    from ticketctl.dead_letters.views import show_dead_letter

    show_dead_letter(stack_of(ctx), message_id, raw=raw, as_json=as_json)


@command(
    dead_letters,
    "ticketctl dead-letters redrive --all --rate 50",
    "ticketctl dead-letters redrive --reason received-too-often --yes",
)
def redrive(  # noqa: PLR0913 - one parameter for each option.
    ctx: typer.Context,
    ids: Ids = None,
    *,
    everything: All = False,
    project: Project = None,
    reason: Reason = None,
    rate: Annotated[
        int | None,
        typer.Option(
            min=1, max=MAX_RATE, help="With --all: maximum messages a second."
        ),
    ] = None,
    yes: Yes = False,
) -> None:
    """Redrive dead letters to the queue; a request that has a number keeps it.

    With --all SQS moves them itself, even after this command has ended.
    Selected dead letters are sent one by one, and each is deleted after it was sent; so
    are all of them if idempotency keys expire. A dead letter that may outlive its key
    stays, and the status is 1.
    """
    from ticketctl.dead_letters.redrive import redrive_selected
    from ticketctl.dead_letters.selection import Selection

    selection = Selection(ids or (), project, reason, everything=everything).checked()
    if rate and not everything:
        raise InputError("--rate goes with --all")
    stack = stack_of(ctx)
    if not redrive_selected(stack, selection, rate, stack.retention_days, yes=yes):
        raise typer.Exit(Status.PROBLEM)


@command(
    dead_letters,
    "ticketctl dead-letters show 1f6c --raw > body.json",
    "ticketctl dead-letters edit 1f6c --body body.json",
)
def edit(
    ctx: typer.Context,
    message_id: Id,
    *,
    body: Annotated[
        typer.FileText,
        typer.Option(
            encoding="utf-8-sig", help="The new body's file; - is standard input."
        ),
    ],
    save: Save = None,
    yes: Yes = False,
) -> None:
    """Send another body in place of one dead letter, and delete the dead letter.

    The dead letter is first printed, as one line of JSON, or saved. The command asks
    for confirmation if the new body has another project or key. Nothing is sent if the
    body is invalid or its key has a number, or if the dead letter is gone.
    A dead letter whose request has a number cannot be edited: only a redrive can still
    get it announced.
    """
    from ticketctl.dead_letters.editing import edit_dead_letter

    stack = stack_of(ctx)
    edit_dead_letter(stack, message_id, body, save, stack.retention_days, yes=yes)


@command(
    dead_letters,
    "ticketctl dead-letters delete --project TEST --save dead-letters.jsonl",
)
def delete(  # noqa: PLR0913 - one parameter for each option.
    ctx: typer.Context,
    ids: Ids = None,
    *,
    everything: All = False,
    project: Project = None,
    reason: Reason = None,
    save: Save = None,
    skip_numbered: Annotated[
        bool,
        typer.Option("--skip-numbered", help="Keep those whose request has a number."),
    ] = False,
    yes: Yes = False,
) -> None:
    """Delete dead letters for ever.

    Nothing is deleted if the request of one has a number: only a redrive can still get
    it announced. With --skip-numbered these are named, and stay.
    """
    from ticketctl.dead_letters.editing import delete_selected
    from ticketctl.dead_letters.selection import Selection

    selection = Selection(ids or (), project, reason, everything=everything).checked()
    delete_selected(
        stack_of(ctx), selection, save, skip_numbered=skip_numbered, yes=yes
    )
