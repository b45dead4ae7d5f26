"""Prints tickets for people; escape sequences in them have no effect."""

from collections.abc import Iterable, Iterator, Mapping
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
)
from ticketctl.aws.items import json_values
from ticketctl.cli.output import (
    console,
    is_narrow,
    print_row_narrow,
    print_table_whole,
    printable,
    sanitized,
)
from ticketctl.ledger.item import Item

# The order in which fields are printed; others stand between these and the last.
_FIRST: Final = ("project_id", NUMBER, "title", STATUS, "priority", ASSIGNED_AT)
_LAST: Final = ("attributes", "description")
_EVIDENCE: Final = {CHAIN, COMMITMENT, SALT}
_WIDTH: Final = 16


def ticket_json(ticket: Item) -> dict[str, Any]:
    """Return a ticket for scripts."""
    return {"ticket_key": ticket.ticket_key} | json_values(ticket.fields)


def print_fields(title: str, fields: Mapping[str, Any], *, evidence: bool) -> None:
    """Print every field on a line of its own, known ones first.

    Those that only prove something are left out without `evidence`.
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
    """Print tickets as a table, a row each; on a narrow terminal two lines each."""
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
    """Yield a value as lines that keep their spaces: a description may hold code."""
    match value:
        case list():
            text = "\n".join(map(str, value))
        case Mapping():
            text = "\n".join(f"{name}: {content}" for name, content in value.items())
        case _:
            text = str(value)
    for line in text.expandtabs(4).splitlines() or [""]:
        yield printable(line)
