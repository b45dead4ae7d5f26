"""An import from the file to the report."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from ticket_numbering.contract.limits import Limits
from ticketctl.aws.stack import System
from ticketctl.aws.tickets import last_number, ticket_from
from ticketctl.cli.errors import InputError
from ticketctl.cli.output import console, counted, remark, with_progress
from ticketctl.files.csv_columns import Columns
from ticketctl.files.request_file import Format, Problems, open_lines, shown_name
from ticketctl.importing.existing import Existing, Reserved
from ticketctl.importing.judging import UNRECORDED
from ticketctl.importing.lines import Defaults, check_lines
from ticketctl.importing.neighbours import ALREADY
from ticketctl.importing.planning import MISSING, NO_RECORD, Judged, Tickets
from ticketctl.importing.tickets import RECORDED, WRITTEN, Import
from ticketctl.sequences.seeding import Seed, Seeded

REFUSED: Final = "refused"


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


def counts_of(judged: Sequence[Judged]) -> str:
    """Count the tickets by what an import does about them, a line for each project."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for one in judged:
        result = REFUSED if one.is_refused else one.result
        counts[one.ticket.project_id][result] += 1
    return "\n".join(
        f"{project}: there already {found[ALREADY] + found[UNRECORDED]}, "
        f"missing {found[MISSING]}{_if_any('without a record', found[NO_RECORD])}, "
        f"refused {found[REFUSED]}"
        for project, found in counts.items()
    )


def summary(counts: Counter[str], total: int, refused: int) -> str:
    """Return the results of an import in a line."""
    there = total - counts[WRITTEN] - refused
    return (
        f"imported {counts[WRITTEN]}, there already {there}"
        f"{_if_any('records written', counts[RECORDED])}, refused {refused}; "
        "not announced"
    )


def _if_any(what: str, number: int) -> str:
    """Return a count that most imports do not have."""
    return f", {what} {number}" if number else ""


def print_refused(judged: Sequence[Judged], file: str) -> int:
    """Print the first lines that an import leaves out, and return their count."""
    refused = Problems(file)
    for one in sorted(judged, key=lambda one: one.ticket.line):
        if one.is_refused:
            refused.add(one.ticket.line, f"{one.ticket.ticket_key}: {one.result}")
    refused.end()
    return refused.number


def left_out(program: str, tickets: Tickets, judged: Sequence[Judged]) -> Iterator[str]:
    """Yield lines about what an import leaves out: numbers, texts, marks.

    `program` is the call of `ticketctl`, with the options before a command.
    """
    if tickets.reserved:
        skipped = counted(len(tickets.reserved), "reserved number")
        yield f"skipped: {skipped}, which count as used"
    by_line = sorted(judged, key=lambda one: one.ticket.line)
    there = [one for one in by_line if not one.is_refused]
    if erased := sum(one.ticket.is_erased and not one.goes_back for one in there):
        yield f"without text: {counted(erased, 'erased ticket')}; the keys are known"
    if over := sum(one.result == UNRECORDED for one in there):
        yield f"without a record: {counted(over, 'key')}, whose time is over"
    marks = [mark for one in there for mark in one.marks]
    if marks:
        yield f"not imported: {counted(len(marks), 'mark')}; to set them again:"
        yield from (f"{program} {mark}" for mark in marks)


def verify_all(judged: Sequence[Judged]) -> bool:
    """Print the tickets that are missing or different; return whether none is."""
    wrong = [one for one in judged if one.is_due or one.is_refused or one.marks]
    for one in sorted(wrong, key=lambda one: one.ticket.line):
        line = f"line {one.ticket.line}: {one.ticket.ticket_key}"
        is_there = not (one.is_due or one.is_refused)
        problem = "a mark is missing" if is_there else one.result
        console().print(f"{line}: {problem}")
    console().print(counts_of(judged))
    return not wrong


def import_all(
    target: Import, tickets: Tickets, judged: Sequence[Judged], file: str
) -> Counter[str]:
    """Seed the projects, write the tickets that are due, and return the results.

    One is `WRITTEN`, `RECORDED`, `ALREADY`, or `REFUSED`, and then printed.
    """
    counts: Counter[str] = Counter()
    refused = Problems(file)
    due = [one for one in judged if one.is_due]
    highest = tickets.highest_numbers()
    ends = {(one.project_id, highest[one.project_id]) for one in tickets.reserved}
    for one in judged:
        project = one.ticket.project_id
        if not one.is_refused:
            ends |= {(project, highest[project])}
        if one.unfinished:
            ends |= {(project, one.unfinished)}
    try:
        for project, end in sorted(ends):
            seeded = seed_for_import(target, project, end)
            for given in seeded.given_within if seeded else ():
                remark(f"{project}-{given} was given by workers meanwhile")
        # The highest first: the end of a seed guards the numbers below it.
        lines = sorted((one.known for one in due), key=lambda one: -one.ticket.number)
        written = target.write_all(lines)
        with with_progress(written, "importing", len(due)) as results:
            for ticket, result in results:
                is_refused = result not in {WRITTEN, RECORDED, ALREADY}
                counts[REFUSED if is_refused else result] += 1
                if is_refused:
                    refused.add(ticket.line, f"{ticket.ticket_key}: {result}")
    except BaseException:  # Ctrl-C as well.
        remark("not all is imported; run it again, and it goes on")
        raise
    refused.end()
    return counts


def seed_for_import(target: Import, project: str, number: int) -> Seeded | None:
    """Seed up to the file's highest number, or finish the seed that it lies in."""
    stack, caller = target.stack, target.judge.caller
    above = ticket_from(stack, project, number)
    if above and not above.explains_a_gap:
        return None
    last = above.number if above else number
    return Seed(stack, project, last, caller, "import", target.retry).apply()
