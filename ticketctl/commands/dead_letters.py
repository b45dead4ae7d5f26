"""The commands that look after dead letters."""

from pathlib import Path
from typing import Annotated, Final

import typer

from ticketctl.cli.errors import InputError, Status
from ticketctl.commands.application import OPERATIONS, Group, app, command, stack_of
from ticketctl.commands.options import Json, Yes, completed_by
from ticketctl.dead_letters import REASONS

MAX_RATE: Final = 500
"""Messages a second; StartMessageMoveTask API."""

dead_letters = typer.Typer(
    cls=Group, no_args_is_help=True, help="Look after the messages that got no number."
)
app.add_typer(dead_letters, name="dead-letters", rich_help_panel=OPERATIONS)

Id = Annotated[str, typer.Argument(metavar="ID", help="Its message id, or its start.")]
Ids = Annotated[
    list[str] | None, typer.Argument(metavar="ID", help="Message ids, or their starts.")
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
    typer.Option(
        metavar="FILE", help="Write the deleted ones to a new file first, as JSONL."
    ),
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

    Listing hides messages from others for a moment; they are visible again at its end.
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
        bool, typer.Option(help="Print the body alone, byte for byte.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show all of one dead letter."""
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
            min=1, max=MAX_RATE, help="With --all: messages a second, at most."
        ),
    ] = None,
    yes: Yes = False,
) -> None:
    """Send dead letters back to the queue; a request that has a number keeps it.

    With --all SQS moves them itself, also after this command has ended.
    Chosen ones are sent one by one, and each is deleted after it was sent; so are all
    of them if idempotency keys expire. One that may outlive its key stays: status 1.
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
            encoding="utf-8-sig", help="Read the new body from this file; - is stdin."
        ),
    ],
    save: Save = None,
    yes: Yes = False,
) -> None:
    """Send another body in place of one dead letter, and delete the dead letter.

    The dead letter is printed first, as one line of JSON, or saved. You are asked first
    if the new body has another project or key. Nothing is sent if the body is invalid
    or its key has a number, or if the dead letter is gone.
    One that has a number is refused: only a redrive can still get it announced.
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
        typer.Option("--skip-numbered", help="Leave those that have a number alone."),
    ] = False,
    yes: Yes = False,
) -> None:
    """Delete dead letters for ever.

    Nothing is deleted if one has a number: only a redrive can still get it announced.
    With --skip-numbered such ones are named, and stay.
    """
    from ticketctl.dead_letters.editing import delete_selected
    from ticketctl.dead_letters.selection import Selection

    selection = Selection(ids or (), project, reason, everything=everything).checked()
    delete_selected(
        stack_of(ctx), selection, save, skip_numbered=skip_numbered, yes=yes
    )
