"""The commands that show, list and find tickets."""

from typing import Annotated

import typer

from ticketctl.cli.errors import NotThereError
from ticketctl.cli.output import print_json, print_json_line, print_note, program
from ticketctl.commands.application import TICKETS, command, stack_of
from ticketctl.commands.options import Json, JsonLines, Project, TicketKey
from ticketctl.ledger import HIGHEST

Evidence = Annotated[bool, typer.Option(help="Show the hashes and the salt, too.")]


@command(TICKETS, "ticketctl show PROJ-42", "ticketctl show PROJ-42 --json | jq .title")
def show(
    ctx: typer.Context,
    ticket_key: TicketKey,
    *,
    evidence: Evidence = False,
    as_json: Json = False,
) -> None:
    """Show one ticket whole, with its description.

    With --json its hashes and its salt are there, too: docs/evidence.md.
    Ends with status 1 if there is no such ticket.
    """
    from ticketctl.aws.tickets import parse_ticket_key
    from ticketctl.show.lookup import find_ticket
    from ticketctl.show.report import print_fields, ticket_json

    place = parse_ticket_key(ticket_key)
    ticket = find_ticket(stack_of(ctx), *place)
    if as_json:
        print_json(ticket_json(ticket))
    else:
        print_fields(ticket.ticket_key, ticket.fields, evidence=evidence)


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
        typer.Option(min=1, max=HIGHEST, help="Only those with lower numbers."),
    ] = None,
    as_json: JsonLines = False,
) -> None:
    """List a project's latest tickets, newest first.

    With --json each is whole.
    Ends with status 1 if there are none.
    """
    from ticketctl.cli.arguments import checked_project
    from ticketctl.show.lookup import latest_tickets
    from ticketctl.show.report import print_tickets, ticket_json

    checked_project(project)
    tickets = latest_tickets(stack_of(ctx), project, limit, before)
    if not tickets:
        below = f" below {before}" if before else ""
        raise NotThereError(f"{project} has no tickets{below}")
    shown = tickets[:limit]
    if as_json:
        for ticket in shown:
            print_json_line(ticket_json(ticket))
    else:
        print_tickets(shown)
    if len(tickets) > limit:
        more = f"list {project} --limit {limit} --before {shown[-1].number}"
        print_note(f"there are more: {program} {more}")


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
    """Find the ticket that a request got, by its idempotency key.

    With --json the hashes and the salt are there, too: docs/evidence.md.
    Ends with status 1 if the request has no number.
    """
    from ticketctl.aws.items import json_values
    from ticketctl.cli.arguments import request_key
    from ticketctl.show.lookup import find_request
    from ticketctl.show.report import print_fields, ticket_json

    key = request_key(project, idempotency_key)
    record, ticket = find_request(stack_of(ctx), key)
    if as_json:
        print_json(
            {"record": json_values(record.fields), "ticket": ticket_json(ticket)}
        )
    else:
        print_fields(ticket.ticket_key, ticket.fields, evidence=evidence)
        print_fields("record of the key", record.fields, evidence=evidence)
