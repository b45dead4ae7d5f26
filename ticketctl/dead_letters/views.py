"""How letters look: as a table, as a whole, as JSON."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ticketctl.cli.output import visible
from ticketctl.dead_letters.copies import copy
from ticketctl.dead_letters.editing import pretty
from ticketctl.dead_letters.letters import Letter

_NAME_WIDTH = 16
_SHORT_ID = 8
_ENDLESS = 10_000


def print_table(console: Console, letters: Sequence[Letter]) -> None:
    """Print a line for each letter."""
    table = Table("message id", "age", "project", "key", "bytes", "reason", box=None)
    for column in table.columns:
        column.overflow = "fold"
    # A person needs only the start of an id.
    shown = _SHORT_ID if console.is_terminal else None
    for each in letters:
        row = (
            each.message_id[:shown],
            age(each),
            each.project_id or "-",
            each.idempotency_key or "-",
            str(each.size),
            each.explanation,
        )
        table.add_row(*(Text(visible(cell)) for cell in row))
    if not console.is_terminal:
        # In a pipe there is no edge to break lines at: `grep` wants them whole.
        room = console.options.update(width=_ENDLESS)
        console.width = console.measure(table, options=room).maximum
    console.print(table, soft_wrap=False)


def print_whole(console: Console, letter: Letter) -> None:
    """Print everything about a letter."""
    sent = letter.sent_at
    lines = {
        "message id": letter.message_id,
        "reason": letter.explanation,
        "project": letter.project_id or "-",
        "key": letter.idempotency_key or "-",
        "sent": f"{sent:%Y-%m-%d %H:%M:%S} UTC, {age(letter)} ago" if sent else "-",
        "received": f"{letter.system.get('ApproximateReceiveCount', '?')} times",
        "source": letter.system.get("DeadLetterQueueSourceArn")
        or f"the worker, of message {letter.text('SourceMessageId') or '?'}",
        "bytes": str(letter.size),
    }
    for name, value in lines.items():
        console.print(Text(f"{name:<{_NAME_WIDTH}}{visible(value)}"))
    for title, attributes in (
        ("attributes", _texts(letter)),
        ("system", letter.system),
    ):
        console.print(Text(f"\n{title}", style="bold"))
        for name, value in sorted(attributes.items()):
            console.print(Text(f"  {visible(name)} = {visible(value)}"))
    console.print(Text("\nbody", style="bold"))
    console.print(Text(unmasked(pretty(letter.body))))


def summary(letter: Letter) -> dict[str, Any]:
    """Return what the list shows of a letter, for scripts."""
    sent = letter.sent_at
    return {
        "message_id": letter.message_id,
        "reason": letter.reason,
        "error_message": letter.text("ErrorMessage"),
        "source_message_id": letter.text("SourceMessageId"),
        "project_id": letter.project_id,
        "idempotency_key": letter.idempotency_key,
        "sent_at": sent and sent.isoformat(timespec="milliseconds"),
        "bytes": letter.size,
    }


def whole(letter: Letter) -> dict[str, Any]:
    """Return everything of a letter, for scripts."""
    return {**summary(letter), **copy(letter)}


def age(letter: Letter) -> str:
    """Return how long ago the letter was sent, roughly."""
    if letter.sent_at is None:
        return "-"
    past = max(datetime.now(UTC) - letter.sent_at, timedelta())
    hours, seconds = divmod(int(past.total_seconds()), 3600)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    minutes, seconds = divmod(seconds, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


def unmasked(text: str) -> str:
    """Return a text with its lines as they are and its control characters spelled."""
    return "".join(
        each
        if each.isprintable() or each in "\n\t"
        else each.encode("unicode_escape", "surrogatepass").decode()
        for each in text
    )


def _texts(letter: Letter) -> Mapping[str, str]:
    return {
        name: f"{value.get('StringValue', value.get('BinaryValue'))} "
        f"({value.get('DataType')})"
        for name, value in letter.attributes.items()
    }
