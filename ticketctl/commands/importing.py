"""The command that imports tickets with their numbers."""

from typing import Annotated

import typer

from ticketctl.commands.application import SEQUENCES, command, finder, program_of
from ticketctl.commands.options import File, Rate, Yes


@command(
    SEQUENCES,
    "ticketctl import tickets.jsonl --dry-run",
    "jq -c '.issues[]' export.json | ticketctl import - --project PROJ --yes",
    "ticketctl import tickets.jsonl --verify",
)
def import_(  # noqa: PLR0913 - one parameter for each option.
    ctx: typer.Context,
    file: File,
    *,
    project: Annotated[
        str | None, typer.Option(help="The project of tickets without a project.")
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            help="Check the file, and print the plan, the counts of existing tickets, "
            "and the tickets that would be refused."
        ),
    ] = False,
    verify: Annotated[
        bool,
        typer.Option(
            help="Print the tickets that are missing, different, of another time or "
            "without a record of their key; write nothing; status 1 if there are "
            "any."
        ),
    ] = False,
    rate: Rate = None,
    yes: Yes = False,
) -> None:
    """Import tickets of another system with their existing numbers.

    A line has the fields of a create-ticket message and `number`; or `key`, such as
    PROJ-42, in place of project and number. `assigned_at` is the time of its number,
    by default now. Without an `idempotency_key` it gets `import:PROJ-42`.
    `ticketctl convert` makes such lines from the exports of other systems; for the
    lines of `ticketctl export` use `ticketctl restore`.

    A project whose last number is lower is seeded up to the highest number of the file;
    the worker continues after it. That cannot be undone, so the command asks for
    confirmation. Nothing is written if a line is invalid or beyond a limit of the
    stack. Run an interrupted import again to continue it. Imported tickets are not
    announced. Ends with status 1 if a ticket is refused, or exists with another
    `assigned_at`.
    """
    from ticketctl.importing import command as work

    choices = work.Choices(project, dry_run, verify, rate, yes)
    raise typer.Exit(work.import_file(finder(ctx), program_of(ctx), file, choices))
