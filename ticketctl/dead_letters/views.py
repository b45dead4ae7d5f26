"""Prints dead letters: in a table, or in full."""

import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ticketctl.aws.request_fields import exact_fields
from ticketctl.aws.stack import StackAccess
from ticketctl.cli.output import (
    console,
    counted,
    is_narrow,
    print_json,
    print_note,
    print_row_narrow,
    print_table_whole,
    printable,
    sanitized,
)
from ticketctl.dead_letters.dead_letter import DeadLetter
from ticketctl.dead_letters.dead_letter_queue import dead_letter_queue
from ticketctl.dead_letters.selection import Selection, select

_SHORT_ID: Final = 8


def print_list(
    stack: StackAccess, selection: Selection, limit: int, *, as_json: bool
) -> None:
    """Print the first dead letters of a selection."""
    with dead_letter_queue(stack) as queue:
        dead_letters = list(islice(filter(selection.passes, queue.receive()), limit))
    total = queue.visible + queue.hidden
    if as_json:
        shown = [dead_letter.as_json() for dead_letter in dead_letters]
        print_json({"dead_letters": shown, "approximate_total": total})
    elif dead_letters or total:
        print_table(console(), dead_letters)
        print_note(queue.seen_of(len(dead_letters)))
    else:
        console().print("the dead-letter queue is empty")


def show_dead_letter(
    stack: StackAccess, message_id: str, *, raw: bool, as_json: bool
) -> None:
    """Print one dead letter in full, or its body byte for byte."""
    [dead_letter] = select(stack, Selection([message_id]))
    if raw:
        sys.stdout.buffer.write(dead_letter.body.encode())
        sys.stdout.buffer.flush()
    elif as_json:
        print_json(dead_letter.as_json())
    else:
        print_whole(console(), dead_letter)


def print_table(console: Console, dead_letters: Sequence[DeadLetter]) -> None:
    """Print a line for each dead letter; two lines on a narrow terminal."""
    table = Table("message id", "age", "project", "key", "bytes", "reason", box=None)
    for column in table.columns:
        column.overflow = "fold"
    # The start of an id is enough for a person.
    shown = _SHORT_ID if console.is_terminal else None
    for dead_letter in dead_letters:
        cells = (
            dead_letter.message_id[:shown],
            age(dead_letter),
            dead_letter.project_id or "-",
            dead_letter.idempotency_key or "-",
            str(len(dead_letter.body.encode())),
            dead_letter.explanation,
        )
        *short, size, reason = map(sanitized, cells)
        if is_narrow(console):
            print_row_narrow(console, [*short, f"{size} bytes"], reason)
        else:
            table.add_row(*map(Text, (*short, size, reason)))
    if table.rows:
        print_table_whole(table, console)


def print_whole(console: Console, dead_letter: DeadLetter) -> None:
    """Print a dead letter in full."""
    lines = {
        "message id": dead_letter.message_id,
        "reason": dead_letter.explanation,
        "project": dead_letter.project_id or "-",
        "key": dead_letter.idempotency_key or "-",
        "age": age(dead_letter),
        "bytes": str(len(dead_letter.body.encode())),
    }
    lines |= {
        f"attribute {name}": str(value.get("StringValue", value.get("BinaryValue")))
        for name, value in dead_letter.attributes.items()
    }
    lines |= dead_letter.system
    width = max(map(len, lines)) + 2
    for name, value in lines.items():
        console.print(Text(f"{sanitized(name):<{width}}{sanitized(value)}"))
    console.print(Text(f"\nbody\n{printable(laid_out(dead_letter.body))}"))


def warn_of_poison(dead_letters: Sequence[DeadLetter], program: str) -> None:
    """Warn of dead letters with a wrong body, which a redrive cannot help."""
    if poison := sum(
        dead_letter.error_type is not None for dead_letter in dead_letters
    ):
        print_note(
            f"{counted(poison, 'dead letter')} will come back unless the worker has "
            f"changed; for a corrected body: {program} dead-letters edit"
        )


def age(dead_letter: DeadLetter) -> str:
    """Return the age of the message: `2 days, 3:04:05`."""
    if dead_letter.sent_at is None:
        return "-"
    past = max(datetime.now(UTC) - dead_letter.sent_at, timedelta())
    return str(timedelta(seconds=int(past.total_seconds())))


def laid_out(body: str) -> str:
    """Indent a JSON object; return any other body unchanged."""
    if (fields := exact_fields(body)) is None:
        return body
    text = json.dumps(fields, ensure_ascii=False, indent=2)
    # No encoding has a lone surrogate, so it is escaped again.
    return text.encode(errors="backslashreplace").decode()
