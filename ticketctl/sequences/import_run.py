"""An import from the file to the report, as its command shows it."""

from collections import Counter
from collections.abc import Sequence

import typer
from rich.progress import Progress

from ticketctl.cli.errors import InputError, Status
from ticketctl.cli.output import console, notes, visible
from ticketctl.send.request_file import read_lines, shown_name
from ticketctl.sequences.import_lines import Existing, Reading
from ticketctl.sequences.importing import Import, Report
from ticketctl.sequences.seeding import Seed, Seeded
from ticketctl.sequences.sequences import item_from, last_number
from ticketctl.sequences.timestamps import timestamp
from ticketctl.sequences.transactions import Pace
from ticketctl.system.stack import System


def read_tickets(file: str, project: str | None) -> list[Existing]:
    """Return what the file holds.

    Raises:
        InputError: A line is wrong, or there is none.
    """
    name = shown_name(file)
    reading = Reading(timestamp(), project)
    reading.read(read_lines(file, "jsonl"))
    for line, why in reading.wrong:
        notes().print(f"{name}:{line}: {visible(why)}", markup=False)
    if reading.wrong:
        bad = len({line for line, _ in reading.wrong})
        message = f"{name}: {bad} bad lines; nothing was imported"
        raise InputError(message)
    if not reading.tickets:
        message = f"{name}: holds no ticket"
        raise InputError(message)
    return reading.tickets


def highest_numbers(tickets: Sequence[Existing]) -> dict[str, int]:
    """Return the highest number of each project."""
    highest: dict[str, int] = {}
    for each in tickets:
        highest[each.project_id] = max(each.number, highest.get(each.project_id, 0))
    return highest


def plant_for_import(
    stack: System, project: str, number: int, pace: Pace
) -> Seeded | None:
    """Seed up to the file's highest number, or finish the seed that it lies in."""
    above = item_from(stack, project, number)
    if above and not above.ends_a_seed:
        return None
    last = above.number if above else number
    return Seed(stack, project, last, "import", pace).plant()


def import_all(target: Import, tickets: Sequence[Existing]) -> Report:
    """Write the tickets; show how far it is where somebody sees it."""
    screen = notes()
    try:
        for project, number in highest_numbers(tickets).items():
            seeded = plant_for_import(target.stack, project, number, target.pace)
            for given in seeded.given_within if seeded else ():
                screen.print(f"{project}-{given} was given by workers meanwhile")
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
