"""An import from the file to the report."""

from collections import Counter, defaultdict
from collections.abc import Sequence

import typer

from ticket_numbering.contract.dynamodb_items import RESERVED
from ticketctl.aws.items import timestamp
from ticketctl.aws.stack import System
from ticketctl.aws.tickets import last_number, ticket_from, tickets_of
from ticketctl.cli.errors import InputError, Status
from ticketctl.cli.output import console, remark, visible, with_progress
from ticketctl.send.request_file import read_lines, shown_name
from ticketctl.sequences.import_lines import Existing, check_lines
from ticketctl.sequences.importing import ALREADY, WRITTEN, Import, comparison
from ticketctl.sequences.seeding import Seed, Seeded


def read_tickets(file: str, project: str | None) -> list[Existing]:
    """Return the tickets of a file.

    Raises:
        InputError: A line is wrong, or there is none.
    """
    name = shown_name(file)
    tickets, wrong = check_lines(read_lines(file, "jsonl"), timestamp(), project)
    for line, why in wrong:
        remark(f"{name}:{line}: {visible(why)}")
    if wrong:
        raise InputError(f"{name}: {len(wrong)} bad lines; nothing was imported")
    if not tickets:
        raise InputError(f"{name}: holds no ticket")
    return tickets


def plan(stack: System, tickets: Sequence[Existing]) -> str:
    """Describe the effect of an import, a line for each project."""
    counts = Counter(ticket.project_id for ticket in tickets)
    lines: list[str] = []
    for project, number in _highest_numbers(tickets).items():
        last = last_number(stack, project)
        then = f"will be {number + 1}" if last < number else f"stays {last + 1}"
        lines.append(
            f"{project}: {counts[project]} tickets up to {number}; "
            f"the last number is {last or 'none yet'}, the next {then}"
        )
    return "\n".join(lines)


def counts_there(stack: System, tickets: Sequence[Existing]) -> str:
    """Count the tickets that exist already, a line for each project."""
    wanted: dict[str, dict[int, Existing]] = defaultdict(dict)
    for ticket in tickets:
        wanted[ticket.project_id][ticket.number] = ticket
    lines: list[str] = []
    for project, by_number in wanted.items():
        counts = Counter(
            comparison(by_number[there.number], there)
            for there in tickets_of(stack, project, by_number)
            if there.status != RESERVED
        )
        already, taken = counts[ALREADY], counts.total()
        lines.append(
            f"{project}: there already {already}, missing {len(by_number) - taken}, "
            f"different {taken - already}"
        )
    return "\n".join(lines)


def import_all(target: Import, tickets: Sequence[Existing]) -> None:
    """Seed the projects, write the tickets, and print the counts.

    Raises:
        Exit: Not all could be imported.
    """
    counts: Counter[str] = Counter()
    try:
        for project, number in _highest_numbers(tickets).items():
            seeded = seed_for_import(target, project, number)
            for given in seeded.given_within if seeded else ():
                remark(f"{project}-{given} was given by workers meanwhile")
        results = target.write_all(tickets)
        for ticket, result in with_progress(results, "importing", len(tickets)):
            counts[result] += 1
            if result not in {WRITTEN, ALREADY}:
                remark(f"line {ticket.line}: {ticket.ticket_key}: {result}")
    except BaseException:  # Ctrl-C as well.
        remark("not all is imported; run it again, and it goes on")
        raise
    refused = counts.total() - counts[WRITTEN] - counts[ALREADY]
    console().print(
        f"imported {counts[WRITTEN]}, there already {counts[ALREADY]}, "
        f"refused {refused}; not announced"
    )
    if refused:
        raise typer.Exit(Status.FOUND)


def seed_for_import(target: Import, project: str, number: int) -> Seeded | None:
    """Seed up to the file's highest number, or finish the seed that it lies in."""
    stack, caller = target.stack, target.caller
    above = ticket_from(stack, project, number)
    if above and not above.ends_a_seed:
        return None
    last = above.number if above else number
    return Seed(stack, project, last, caller, "import", target.retry).apply()


def _highest_numbers(tickets: Sequence[Existing]) -> dict[str, int]:
    highest: dict[str, int] = {}
    for ticket in tickets:
        project = ticket.project_id
        highest[project] = max(ticket.number, highest.get(project, 0))
    return highest
