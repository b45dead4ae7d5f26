"""Shows, lists and finds tickets, as the commands ask."""

from collections.abc import Callable

from ticketctl.aws.items import json_values
from ticketctl.aws.stack import Stack
from ticketctl.aws.tickets import find_ticket, parse_ticket_key
from ticketctl.cli.arguments import checked_project, request_key
from ticketctl.cli.errors import NotThereError
from ticketctl.cli.output import print_json, print_json_line, print_note
from ticketctl.show.lookup import find_request, latest_tickets
from ticketctl.show.report import print_fields, print_tickets, ticket_json


def show(
    find_stack: Callable[[], Stack], ticket_key: str, *, evidence: bool, as_json: bool
) -> None:
    """Print a ticket whole."""
    place = parse_ticket_key(ticket_key)
    ticket = find_ticket(find_stack(), *place)
    if as_json:
        print_json(ticket_json(ticket))
    else:
        print_fields(ticket.ticket_key, ticket.fields, evidence=evidence)


def list_latest(
    find_stack: Callable[[], Stack],
    project: str,
    limit: int,
    before: int | None,
    *,
    as_json: bool,
) -> None:
    """Print a project's latest tickets, and how to see those before them.

    Raises:
        NotThereError: There are none.
    """
    checked_project(project)
    stack = find_stack()
    tickets = latest_tickets(stack, project, limit, before)
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
        print_note(f"there are more: {stack.program} {more}")


def find(
    find_stack: Callable[[], Stack],
    project: str,
    idempotency_key: str,
    *,
    evidence: bool,
    as_json: bool,
) -> None:
    """Print the ticket of a request, and the record of its key."""
    key = request_key(project, idempotency_key)
    record, ticket = find_request(find_stack(), key)
    if as_json:
        print_json(
            {"record": json_values(record.fields), "ticket": ticket_json(ticket)}
        )
    else:
        print_fields(ticket.ticket_key, ticket.fields, evidence=evidence)
        print_fields("record of the key", record.fields, evidence=evidence)
