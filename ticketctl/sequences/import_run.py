"""An import from the file to the report, as its command shows it."""

from collections import Counter
from collections.abc import Sequence

import typer
from rich.progress import Progress

from ticketctl.cli.errors import MessageFileError, Status
from ticketctl.cli.output import console, notes, visible
from ticketctl.send.request_file import RequestFile
from ticketctl.sequences.import_lines import Existing, Reading
from ticketctl.sequences.importing import Import, Report
from ticketctl.sequences.seeding import Seed
from ticketctl.sequences.sequences import last_number
from ticketctl.sequences.timestamps import timestamp
from ticketctl.system.stack import System


def read_tickets(file: RequestFile, project: str | None) -> list[Existing]:
    """Return what the file holds.

    Raises:
        MessageFileError: A line is wrong, or there is none.
    """
    reading = Reading(timestamp(), project)
    with file.lines() as lines:
        reading.read(lines)
    for line, why in reading.wrong:
        notes().print(f"{file.name}:{line}: {visible(why)}", markup=False)
    if reading.wrong:
        bad = len({line for line, _ in reading.wrong})
        message = f"{file.name}: {bad} bad lines; nothing was imported"
        raise MessageFileError(message)
    if not reading.tickets:
        message = f"{file.name}: holds no ticket"
        raise MessageFileError(message)
    return reading.tickets


def highest_numbers(tickets: Sequence[Existing]) -> dict[str, int]:
    """Return the highest number of each project."""
    highest: dict[str, int] = {}
    for each in tickets:
        highest[each.project_id] = max(each.number, highest.get(each.project_id, 0))
    return highest


def plant_for_import(stack: System, project: str, number: int) -> None:
    """Reserve the numbers up to the file's highest, unless the project is past it."""
    if last_number(stack, project) >= number:
        return
    seeded = Seed(stack, project, number, "import").plant()
    for given in seeded.given_within:
        notes().print(f"{project}-{given} was given by workers meanwhile")


def import_all(target: Import, tickets: Sequence[Existing]) -> Report:
    """Write the tickets; show how far it is where somebody sees it."""
    screen = notes()
    try:
        for project, number in highest_numbers(tickets).items():
            plant_for_import(target.stack, project, number)
        with Progress(console=screen, disable=not screen.is_terminal) as progress:
            task = progress.add_task("importing", total=len(tickets))
            return target.write_all(tickets, lambda: progress.advance(task))
    except BaseException:  # Ctrl-C as well.
        screen.print("not all is imported; run it again, and it goes on")
        raise


def plan(stack: System, tickets: Sequence[Existing]) -> str:
    """Tell what an import would do, a line for each project."""
    counts = Counter(each.project_id for each in tickets)
    lines: list[str] = []
    for project, number in highest_numbers(tickets).items():
        last = last_number(stack, project)
        then = f"will be {number + 1}" if last < number else f"stays {last + 1}"
        lines.append(
            f"{project}: {counts[project]} tickets up to {number}; "
            f"the last number is {last or 'none yet'}, the next {then}"
        )
    return "\n".join(lines)


def print_report(report: Report) -> None:
    """Say what the import came to.

    Raises:
        Exit: Not all could be imported.
    """
    for ticket, why in report.refused:
        notes().print(f"line {ticket.line}: {ticket.ticket_key}: {why}", markup=False)
    console().print(
        f"imported {report.written}, there already {report.already}, "
        f"refused {len(report.refused)}; not announced"
    )
    if report.refused:
        raise typer.Exit(Status.FOUND)
