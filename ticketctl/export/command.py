"""Exports tickets, as its command asks."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Final

from ticket_numbering.contract.dynamodb_items import NUMBER, RECORD_ID
from ticketctl.aws.rate_limiter import RateLimiter
from ticketctl.aws.stack import StackAccess
from ticketctl.aws.table_reader import TableReader
from ticketctl.cli.arguments import checked_projects
from ticketctl.cli.errors import NotThereError, Status
from ticketctl.cli.output import (
    console,
    counted,
    note_if_interrupted,
    print_note,
    spinner,
)
from ticketctl.export.export import Export
from ticketctl.files.whole_file import so_far, writing
from ticketctl.ledger.database import AuditDatabase

STEP: Final = 100
"""Items between two updates of the progress."""


def export(
    find_stack: Callable[[], StackAccess],
    names: Sequence[str],
    tables: tuple[str | None, str | None],
    save: Path | None,
    rate: int | None,
) -> Status:
    """Export these projects, or all.

    Raises:
        NotThereError: A named project has no tickets.
    """
    projects = checked_projects(names)
    stack = find_stack()
    reader = TableReader.of(stack, *tables, limiter=RateLimiter(rate))
    has_keys = tables[0] is None or tables[1] is not None
    about = reader.check_key(reader.tickets_table, "project_id", NUMBER)
    if has_keys:
        reader.check_key(reader.keys_table, RECORD_ID)
    with AuditDatabase({}) as numbers:
        tickets = Export(reader, numbers, projects)
        of_about = "" if projects else f" of about {about:,}"
        _write(tickets, save, of_about, has_keys=has_keys)
    counts = counted(tickets.items, "item"), counted(len(tickets.present), "project")
    print_note(f"exported {' of '.join(counts)}{f' to {save}' if save else ''}")
    if absent := {*projects} - tickets.present.keys():
        raise NotThereError(f"no tickets: {', '.join(sorted(absent))}")
    if tickets.missing:
        missing = counted(tickets.missing, "number")
        print_note(f"missing: {missing}; see: {stack.program} audit")
    return Status.PROBLEM if tickets.missing else Status.OK


def _write(
    tickets: Export, save: Path | None, of_about: str, *, has_keys: bool
) -> None:
    """Write all lines, and show the progress where they are not on the screen."""
    is_on_screen = console().is_terminal and not save  # The lines themselves show it.
    with (
        writing(save) as write,
        note_if_interrupted(lambda: so_far(save, counted(tickets.items, "item"))),
        nullcontext() if is_on_screen else spinner("exporting") as show,
    ):
        for line in tickets.lines(has_keys=has_keys):
            write(line)
            if show and tickets.items % STEP == 0:
                show(f"exporting: {tickets.items:,}{of_about}")
