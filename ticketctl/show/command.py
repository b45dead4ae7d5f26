"""The work of the commands that show, list and find tickets.

Every read is consistent, so it shows each announced ticket.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from shlex import quote
from typing import Any, Final

from rich.table import Table
from rich.text import Text

from ticket_numbering.contract.dynamodb_items import (
    ASSIGNED_AT,
    CHAIN,
    COMMITMENT,
    NUMBER,
    SALT,
    STATUS,
    record_id,
)
from ticket_numbering.contract.messages import RequestKey
from ticketctl.aws.items import json_values, key_record
from ticketctl.aws.stack import Stack, StackAccess
from ticketctl.aws.tickets import (
    find_ticket,
    get_ticket,
    parse_ticket_key,
    tickets_below,
)
from ticketctl.cli.arguments import checked_project, request_key
from ticketctl.cli.errors import NotThereError
from ticketctl.cli.output import (
    console,
    is_narrow,
    print_json,
    print_json_line,
    print_note,
    print_row_narrow,
    print_table_whole,
    printable,
    sanitized,
)
from ticketctl.ledger import HIGHEST
from ticketctl.ledger.item import Item
from ticketctl.ledger.record import KeyRecord, MalformedRecord

# The order of printed fields; other fields are between the first and the last ones.
_FIRST: Final = ("project_id", NUMBER, "title", STATUS, "priority", ASSIGNED_AT)
_LAST: Final = ("attributes", "description")
_EVIDENCE: Final = {CHAIN, COMMITMENT, SALT}
_WIDTH: Final = 16


def show(
    find_stack: Callable[[], Stack], ticket_key: str, *, evidence: bool, as_json: bool
) -> None:
    """Print a ticket with all its fields."""
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
    """Print a project's latest tickets, and the command for earlier ones.

    Raises:
        NotThereError: The project has none.
    """
    checked_project(project)
    stack = find_stack()
    below = tickets_below(stack, project, before or HIGHEST + 1, page=limit + 1)
    tickets = [*islice(below, limit + 1)]
    if not tickets:
        of_these = f" below {before}" if before else ""
        raise NotThereError(f"{project} has no tickets{of_these}")
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


def find_request(stack: StackAccess, key: RequestKey) -> tuple[KeyRecord, Item]:
    """Return the record of a request, and its ticket.

    Raises:
        NotThereError: The key has no valid record, or the ticket is gone or has another
            key.
    """
    answer = stack.client("dynamodb").get_item(
        TableName=stack.outputs["IdempotencyKeysTableName"],
        Key=record_id(key),
        ConsistentRead=True,
    )
    if "Item" not in answer:
        raise NotThereError(
            f"{key.project_id} has no ticket of the key {key.idempotency_key}: it may "
            "still be on the queue, or be a dead letter; see: "
            f"{stack.program} dead-letters list --project {key.project_id} "
            f"--key {quote(key.idempotency_key)}"
        )
    record = key_record(answer["Item"])
    if isinstance(record, MalformedRecord):
        raise NotThereError(f"{record}; see: {stack.program} audit")
    ticket = get_ticket(stack, record.project_id, record.number)
    if ticket and ticket.idempotency_key == record.idempotency_key:
        return record, ticket
    why = "which has another key" if ticket else "but there is no such ticket"
    raise NotThereError(
        f"the key is recorded for {record.project_id}-{record.number}, {why}; "
        f"see: {stack.program} audit"
    )


def ticket_json(ticket: Item) -> dict[str, Any]:
    """Return a ticket as JSON values."""
    return {"ticket_key": ticket.ticket_key} | json_values(ticket.fields)


def print_fields(title: str, fields: Mapping[str, Any], *, evidence: bool) -> None:
    """Print each field on its own line, known ones first.

    Without `evidence`, hashes and salt are left out.
    """
    out = console()
    out.print(Text(sanitized(title), style="bold"))
    shown = json_values(fields)
    if not evidence:
        shown = {name: shown[name] for name in shown if name not in _EVIDENCE}
    others = sorted(shown.keys() - {*_FIRST, *_LAST})
    for name in (*_FIRST, *others, *_LAST):
        if name in shown:
            label = sanitized(name)
            for line in _lines(shown[name]):
                out.print(Text(f"{label:<{_WIDTH}} {line}".rstrip()))
                label = ""


def print_tickets(tickets: Iterable[Item]) -> None:
    """Print tickets as a table; on a narrow terminal as two lines each."""
    names, table = (NUMBER, ASSIGNED_AT, "priority", "title", STATUS), Table()
    for name in names:
        label = name.replace("_", " ")
        table.add_column(label, no_wrap=name != "title", overflow="fold")
    for ticket in tickets:
        texts = {name: sanitized(str(ticket.fields.get(name, ""))) for name in names}
        if is_narrow(console()):
            title = texts.pop("title")
            print_row_narrow(console(), texts.values(), title)
        else:
            table.add_row(*map(Text, texts.values()))
    if table.rows:
        print_table_whole(table)


def _lines(value: Any) -> Iterator[str]:
    """Yield the lines of a value with their spaces: a description may have code."""
    match value:
        case list():
            text = "\n".join(map(str, value))
        case Mapping():
            text = "\n".join(f"{name}: {content}" for name, content in value.items())
        case _:
            text = str(value)
    for line in text.expandtabs(4).splitlines() or [""]:
        yield printable(line)
