"""How dead letters are shown: in a table, in full, as JSON."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ticketctl.cli.output import notes, visible
from ticketctl.dead_letters.backup import as_json
from ticketctl.dead_letters.dead_letter import STAYS_POISON, DeadLetter
from ticketctl.dead_letters.edit import laid_out

_SHORT_ID = 8
_ENDLESS = 10_000


def print_table(console: Console, letters: Sequence[DeadLetter]) -> None:
    """Print a line for each dead letter."""
    table = Table("message id", "age", "project", "key", "bytes", "reason", box=None)
    for column in table.columns:
        column.overflow = "fold"
    # A person needs only the start of an id.
    shown = _SHORT_ID if console.is_terminal else None
    for letter in letters:
        cells = (
            letter.message_id[:shown],
            age(letter),
            letter.project_id or "-",
            letter.idempotency_key or "-",
            str(len(letter.body.encode())),
            letter.explanation,
        )
        table.add_row(*(Text(visible(cell)) for cell in cells))
    if not console.is_terminal:
        # In a pipe there is no edge to break lines at: `grep` wants them whole.
        room = console.options.update(width=_ENDLESS)
        console.width = console.measure(table, options=room).maximum
    console.print(table, soft_wrap=False)


def print_whole(console: Console, letter: DeadLetter) -> None:
    """Print all of a dead letter."""
    lines = {
        "message id": letter.message_id,
        "reason": letter.explanation,
        "project": letter.project_id or "-",
        "key": letter.idempotency_key or "-",
        "age": age(letter),
        "bytes": str(len(letter.body.encode())),
    }
    lines |= {
        f"attribute {name}": str(value.get("StringValue", value.get("BinaryValue")))
        for name, value in letter.attributes.items()
    }
    lines |= letter.system
    width = max(map(len, lines)) + 2
    for name, value in lines.items():
        console.print(Text(f"{visible(name):<{width}}{visible(value)}"))
    console.print(Text("\nbody", style="bold"))
    console.print(Text(escaped(laid_out(letter.body))))


def summary(letter: DeadLetter) -> dict[str, Any]:
    """Return what the list shows of a dead letter, for scripts."""
    sent = letter.sent_at
    return {
        "message_id": letter.message_id,
        "reason": letter.reason,
        "error_message": letter.text("ErrorMessage"),
        "source_message_id": letter.text("SourceMessageId"),
        "project_id": letter.project_id,
        "idempotency_key": letter.idempotency_key,
        "sent_at": sent and sent.isoformat(timespec="milliseconds"),
        "bytes": len(letter.body.encode()),
    }


def whole(letter: DeadLetter) -> dict[str, Any]:
    """Return all of a dead letter, for scripts."""
    return {**summary(letter), **as_json(letter)}


def reasons(letters: Sequence[DeadLetter]) -> str:
    """Return how many dead letters there are of each reason."""
    counts = Counter(letter.reason for letter in letters)
    return visible(", ".join(f"{n} {reason}" for reason, n in counts.most_common()))


def warn_of_poison(letters: Sequence[DeadLetter]) -> None:
    """Say how many of the dead letters a redrive cannot help."""
    if poison := sum(letter.reason in STAYS_POISON for letter in letters):
        notes().print(
            f"{poison} will come back unless the worker has changed: their bodies are "
            "wrong; correct them with `ticketctl dead-letters edit`"
        )


def age(letter: DeadLetter) -> str:
    """Return how long ago the message was sent: `2 days, 3:04:05`."""
    if letter.sent_at is None:
        return "-"
    past = max(datetime.now(UTC) - letter.sent_at, timedelta())
    return str(timedelta(seconds=int(past.total_seconds())))


def escaped(text: str) -> str:
    """Return a text with its lines as they are and its control characters spelled."""
    return "".join(
        character
        if character.isprintable() or character in "\n\t"
        else character.encode("unicode_escape", "surrogatepass").decode()
        for character in text
    )
