"""What an import tells a person: the plan, the counts, what it leaves out."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Final

from ticket_numbering.contract.limits import Limits
from ticketctl.aws.stack import StackAccess
from ticketctl.aws.tickets import last_number
from ticketctl.cli.output import console, counted
from ticketctl.files.lines import Problems
from ticketctl.importing.judging import MISSING, UNRECORDED
from ticketctl.importing.lines import NOTHING, ExternalTicket, by_project
from ticketctl.importing.planning import PlannedTicket
from ticketctl.importing.writing import REFUSED, WRITTEN

_SMALL_STEP: Final = 100
"""Other systems skip numbers, too: of deleted tickets."""


def _line(planned: PlannedTicket) -> int:
    return planned.ticket.line


def reject_beyond(limits: Limits, judged: Sequence[PlannedTicket], file: str) -> None:
    """Refuse a file with new tickets whose requests the stack does not allow.

    Raises:
        InputError: There is one.
    """
    problems = Problems(file)
    for ticket in (planned.ticket for planned in judged if planned.is_due):
        if refusal := limits.refusal(ticket.request):
            problems.add(ticket.line, str(refusal))
    problems.end(NOTHING)


def verify_all(judged: Sequence[PlannedTicket]) -> bool:
    """Print the lines that are missing or different; return whether none is."""
    is_right = True
    for planned in sorted(judged, key=_line):
        problem = planned.result if planned.is_due or planned.is_refused else ""
        if not problem and planned.has_other_time:
            problem = "assigned_at differs"
        if problem:
            is_right = False
            console().print(
                f"line {planned.ticket.line}: {planned.ticket.ticket_key}: {problem}"
            )
    console().print("\n".join(counts_of(judged)))
    return is_right


def plan(stack: StackAccess, tickets: Sequence[ExternalTicket]) -> Iterator[str]:
    """Describe the effect of an import: each project's numbers, and the dates."""
    projects = by_project(tickets)
    for project, lines in projects.items():
        number, last = max(lines), last_number(stack, project)
        then = f"will be {number + 1}" if last < number else f"stays {last + 1}"
        yield (
            f"{project}: {counted(len(lines), 'ticket')} up to {number}; "
            f"the last number is {last or 'none yet'}, the next {then}"
        )
    for project, lines in projects.items():
        # A slip may have made a number, and the sequence stays there.
        steps = ((after - before, after) for before, after in pairwise(sorted(lines)))
        step, number = max(steps, default=(0, 0))
        if step > max(len(lines), _SMALL_STEP):
            where = f"{project}-{number} (line {lines[number].line})"
            yield f"{where} is {step:,} above the one before"
    if days := sorted(ticket.assigned_at[:10] for ticket in tickets if ticket.is_dated):
        yield f"dates: {days[0]} to {days[-1]}"
    if undated := len(tickets) - len(days):
        yield (
            f"without a date: {counted(undated, 'ticket')}; assigned_at is the time "
            "of the import"
        )


def warnings(stack: StackAccess, tickets: Sequence[ExternalTicket]) -> Iterator[str]:
    """Warn of a next ticket behind the file's highest."""
    if any(
        last_number(stack, project) <= max(lines)
        for project, lines in by_project(tickets).items()
    ):
        yield (
            "if the old system gave higher numbers, the next ticket takes one of them "
            f"unless you seed first: {stack.program} seed PROJECT --last NUMBER"
        )


def counts_of(judged: Sequence[PlannedTicket]) -> list[str]:
    """Count the lines by what an import does about them, a line for each project."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for planned in judged:
        result = REFUSED if planned.is_refused else planned.result
        counts[planned.ticket.project_id][result] += 1
    return [
        f"{project}: there already "
        f"{results.total() - results[MISSING] - results[REFUSED]:,}, "
        f"missing {results[MISSING]:,}, refused {results[REFUSED]:,}"
        for project, results in counts.items()
    ]


def summary(counts: Counter[str], total: int, refused: int) -> str:
    """Return the results of an import in a line."""
    there = total - counts[WRITTEN] - refused
    return (
        f"imported {counts[WRITTEN]:,}, there already {there:,}, refused {refused:,}; "
        "not announced"
    )


def print_refused(judged: Sequence[PlannedTicket], file: str) -> int:
    """Print the first lines that an import leaves out, and return their count."""
    refused = Problems(file)
    for planned in sorted(judged, key=_line):
        if planned.is_refused:
            refused.add(
                planned.ticket.line, f"{planned.ticket.ticket_key}: {planned.result}"
            )
    refused.end()
    return refused.number


def left_out(judged: Sequence[PlannedTicket]) -> Iterator[str]:
    """Yield lines about what stays as it is, although the file may say otherwise."""
    there = [planned for planned in judged if not planned.is_refused]
    if over := sum(planned.result == UNRECORDED for planned in there):
        yield f"without a record: {counted(over, 'key')}, whose time may be over"
    if other := [planned.ticket for planned in there if planned.has_other_time]:
        yield f"assigned_at differs, and stays as it is: {_listed(other)}"


def _listed(tickets: Sequence[ExternalTicket]) -> str:
    """Count tickets, and name their lines, those in a row by their ends."""
    lines = sorted(ticket.line for ticket in tickets)
    rows = groupby(enumerate(lines), key=lambda placed: placed[1] - placed[0])
    ends = [(row[0][1], row[-1][1]) for row in ([*placed] for _, placed in rows)]
    named = [str(first) if first == last else f"{first}-{last}" for first, last in ends]
    word = "line" if len(lines) == 1 else "lines"
    return f"{counted(len(lines), 'ticket')} ({word} {', '.join(named)})"
