"""The commands that show, list and find tickets."""

from typing import Annotated

import typer

from ticketctl.commands.application import TICKETS, command, finder
from ticketctl.commands.options import Json, JsonLines, Project, TicketKey
from ticketctl.ledger import HIGHEST

Evidence = Annotated[bool, typer.Option(help="Also show the hashes and the salt.")]


@command(TICKETS, "ticketctl show PROJ-42", "ticketctl show PROJ-42 --json | jq .title")
def show(
    ctx: typer.Context,
    ticket_key: TicketKey,
    *,
    evidence: Evidence = False,
    as_json: Json = False,
) -> None:
    """Show one ticket with all its fields.

    With --json they include its hashes and its salt: docs/evidence.md.
    Ends with status 1 if the ticket does not exist.
    """
    from ticketctl.show import command as work

    work.show(finder(ctx), ticket_key, evidence=evidence, as_json=as_json)


@command(
    TICKETS,
    "ticketctl list PROJ",
    "ticketctl list PROJ --limit 100 --before 4200",
    "ticketctl list PROJ --json | jq -r .title",
)
def list_(
    ctx: typer.Context,
    project: Project,
    *,
    limit: Annotated[
        int, typer.Option(min=1, max=10_000, help="Maximum number of tickets.")
    ] = 20,
    before: Annotated[
        int | None,
        typer.Option(min=1, max=HIGHEST, help="Only tickets with lower numbers."),
    ] = None,
    as_json: JsonLines = False,
) -> None:
    """List a project's latest tickets, newest first.

    With --json each has all its fields.
    Ends with status 1 if the project has no tickets.
    """
    from ticketctl.show import command as work

    work.list_latest(finder(ctx), project, limit, before, as_json=as_json)


@command(
    TICKETS, "ticketctl find PROJ form-7f3a", "ticketctl find PROJ form-7f3a --json"
)
def find(
    ctx: typer.Context,
    project: Project,
    idempotency_key: Annotated[
        str, typer.Argument(metavar="KEY", help="The request's idempotency key.")
    ],
    *,
    evidence: Evidence = False,
    as_json: Json = False,
) -> None:
    """Find the ticket of a request, by its idempotency key.

    With --json its fields include its hashes and its salt: docs/evidence.md.
    Ends with status 1 if the request has no number.
    """
    from ticketctl.show import command as work

    work.find(finder(ctx), project, idempotency_key, evidence=evidence, as_json=as_json)
