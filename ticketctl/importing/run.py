"""An import from the file to the report."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import typer

from ticket_numbering.contract.limits import Limits
from ticketctl.aws.stack import System
from ticketctl.aws.tickets import last_number, ticket_from
from ticketctl.cli.errors import InputError, Status
from ticketctl.cli.output import console, counted, remark, with_progress
from ticketctl.importing.lines import Defaults, Existing, Reserved, check_lines
from ticketctl.importing.tickets import (
    ALREADY,
    MISSING,
    WRITTEN,
    Import,
    results_there,
)
from ticketctl.send.csv_columns import Columns
from ticketctl.send.request_file import Format, Problems, open_lines, shown_name
from ticketctl.sequences.seeding import Seed, Seeded


@dataclass(frozen=True)
class Tickets:
    """The lines of a file."""

    to_import: Sequence[Existing]
    reserved: Sequence[Reserved] = ()

    def highest_numbers(self) -> dict[str, int]:
        """Return each project's highest number, be it only reserved."""
        highest: dict[str, int] = {}
        lines: list[Existing | Reserved] = [*self.to_import, *self.reserved]
        for line in lines:
            project = line.project_id
            highest[project] = max(line.number, highest.get(project, 0))
        return highest

    def left_out(self) -> Iterator[str]:
        """Yield lines about what an import leaves out: numbers, texts, marks."""
        if self.reserved:
            skipped = counted(len(self.reserved), "reserved number")
            yield f"skipped: {skipped}, which count as used"
        if erased := sum(ticket.is_erased for ticket in self.to_import):
            without = counted(erased, "erased ticket")
            yield f"without text: {without}; the keys are known"
        marks = [ticket.mark for ticket in self.to_import if ticket.mark]
        if marks:
            yield f"not imported: {counted(len(marks), 'mark')}; to set them again:"
            yield from marks


def read_tickets(
    file: str, file_format: Format | None, columns: Columns, defaults: Defaults
) -> Tickets:
    """Return the tickets of a file.

    Raises:
        InputError: A line is wrong, or there is none.
    """
    tickets: list[Existing] = []
    reserved: list[Reserved] = []
    problems = Problems(file)
    with open_lines(file, file_format, columns) as lines:
        for found in check_lines(lines, defaults):
            if isinstance(found, Existing):
                tickets.append(found)
            elif isinstance(found, Reserved):
                reserved.append(found)
            else:
                problems.add(*found)
    _end(problems, file)
    if not (tickets or reserved):
        raise InputError(f"{shown_name(file)}: holds no ticket")
    return Tickets(tickets, reserved)


def refuse_beyond(limits: Limits, tickets: Sequence[Existing], file: str) -> None:
    """Refuse a file with tickets whose requests the stack does not allow.

    Raises:
        InputError: There is one.
    """
    problems = Problems(file)
    for ticket in tickets:
        if refusal := limits.refusal(ticket.request):
            problems.add(ticket.line, str(refusal))
    _end(problems, file)


def _end(problems: Problems, file: str) -> None:
    problems.end()
    if problems.number:
        raise InputError(
            f"{shown_name(file)}: bad lines: {problems.number}; nothing was imported"
        )


def plan(stack: System, tickets: Tickets) -> str:
    """Describe the effect of an import, a line for each project."""
    counts = Counter(ticket.project_id for ticket in tickets.to_import)
    lines: list[str] = []
    for project, number in tickets.highest_numbers().items():
        last = last_number(stack, project)
        then = f"will be {number + 1}" if last < number else f"stays {last + 1}"
        lines.append(
            f"{project}: {counted(counts[project], 'ticket')} up to {number}; "
            f"the last number is {last or 'none yet'}, the next {then}"
        )
    return "\n".join(lines)


def counts_there(tickets: Sequence[Existing], there: Mapping[str, str]) -> str:
    """Count the tickets that exist already, a line for each project."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for ticket in tickets:
        counts[ticket.project_id][there.get(ticket.ticket_key, MISSING)] += 1
    return "\n".join(
        f"{project}: there already {found[ALREADY]}, missing {found[MISSING]}, "
        f"different {found.total() - found[ALREADY] - found[MISSING]}"
        for project, found in counts.items()
    )


def verify_all(stack: System, tickets: Sequence[Existing]) -> bool:
    """Print the tickets that are missing or different; return whether none is."""
    there = results_there(stack, tickets)
    wrong = [one for one in tickets if there.get(one.ticket_key) != ALREADY]
    for ticket in wrong:
        result = there.get(ticket.ticket_key, MISSING)
        console().print(f"line {ticket.line}: {ticket.ticket_key}: {result}")
    console().print(counts_there(tickets, there))
    return not wrong


def import_all(target: Import, tickets: Tickets, file: str) -> None:
    """Seed the projects, write the tickets, and print the counts.

    Raises:
        Exit: Not all could be imported.
    """
    counts: Counter[str] = Counter()
    refused = Problems(file)
    try:
        for project, number in tickets.highest_numbers().items():
            seeded = seed_for_import(target, project, number)
            for given in seeded.given_within if seeded else ():
                remark(f"{project}-{given} was given by workers meanwhile")
        for ticket, result in _results(target, tickets.to_import):
            counts[result] += 1
            if result not in {WRITTEN, ALREADY}:
                refused.add(ticket.line, f"{ticket.ticket_key}: {result}")
    except BaseException:  # Ctrl-C as well.
        remark("not all is imported; run it again, and it goes on")
        raise
    refused.end()
    console().print(
        f"imported {counts[WRITTEN]}, there already {counts[ALREADY]}, "
        f"refused {refused.number}; not announced"
    )
    for line in tickets.left_out():
        console().print(line, markup=False)
    if refused.number:
        raise typer.Exit(Status.FOUND)


def _results(
    target: Import, tickets: Sequence[Existing]
) -> Iterator[tuple[Existing, str]]:
    """Yield the results of tickets that are there, and write the others."""
    there = results_there(target.stack, tickets)
    rest: list[Existing] = []
    for ticket in tickets:
        if result := there.get(ticket.ticket_key):
            yield ticket, result
        else:
            rest.append(ticket)
    written = target.write_all(rest)
    yield from with_progress(written, "importing", len(tickets), done=len(there))


def seed_for_import(target: Import, project: str, number: int) -> Seeded | None:
    """Seed up to the file's highest number, or finish the seed that it lies in."""
    stack, caller = target.stack, target.caller
    above = ticket_from(stack, project, number)
    if above and not above.ends_a_seed:
        return None
    last = above.number if above else number
    return Seed(stack, project, last, caller, "import", target.retry).apply()
