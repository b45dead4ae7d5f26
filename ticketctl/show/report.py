"""Prints tickets for people; what others wrote is shown, never obeyed."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from rich.table import Table
from rich.text import Text

from ticketctl.cli.output import console, visible
from ticketctl.system.items import Ticket, as_json

_FIRST: Final = (
    "project_id",
    "number",
    "title",
    "status",
    "priority",
    "assigned_at",
    "idempotency_key",
    "reporter",
    "labels",
    "attributes",
)
_LAST: Final = "description"
_WIDTH: Final = 16


def ticket_json(ticket: Ticket) -> dict[str, Any]:
    """Return a ticket for scripts."""
    return {"ticket_key": ticket.ticket_key} | as_json(ticket.fields)


def print_fields(title: str, fields: Mapping[str, Any]) -> None:
    """Print every field on a line of its own, known ones first."""
    out = console()
    out.print(Text(visible(title), style="bold"))
    shown = as_json(fields)
    others = sorted(shown.keys() - {*_FIRST, _LAST})
    for name in (*_FIRST, *others, _LAST):
        if name in shown:
            for label, line in _lines(name, shown[name]):
                out.print(Text(f"{label:<{_WIDTH}} {line}".rstrip()))


def print_tickets(tickets: Iterable[Ticket]) -> None:
    """Print tickets as a table, a row each."""
    table = Table()
    table.add_column("number", justify="right", no_wrap=True)
    table.add_column("assigned at", no_wrap=True)
    table.add_column("priority", no_wrap=True)
    table.add_column("title", overflow="fold")
    table.add_column("status", no_wrap=True)
    for ticket in tickets:
        names = ("assigned_at", "priority", "title", "status")
        texts = [visible(str(ticket.fields.get(name, ""))) for name in names]
        table.add_row(*map(Text, [str(ticket.number), *texts]))
    console().print(table, soft_wrap=False)


def _lines(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Give a value as lines, of which only the first has a label."""
    match value:
        case list():
            lines = [visible(str(part)) for part in value]
        case Mapping():
            lines = [visible(f"{key}: {text}") for key, text in value.items()]
        case _:
            lines = [_visible_line(each) for each in str(value).split("\n")]
    label = visible(name)
    for line in lines:
        yield label, line
        label = ""


def _visible_line(line: str) -> str:
    """Show a line with its spaces: a description may hold code."""
    shown = line.rstrip("\r").replace("\t", "    ")
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in shown)
