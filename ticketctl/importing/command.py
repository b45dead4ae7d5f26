"""The work of the import command: plans, confirms and writes a file of tickets."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Final

from ticket_numbering.contract.limits import Limits
from ticketctl.aws.items import timestamp_now
from ticketctl.aws.retry import RateLimiter
from ticketctl.aws.stack import Stack, StackAccess, caller_arn, limits_of, location_of
from ticketctl.aws.tickets import last_number
from ticketctl.cli.arguments import checked_project
from ticketctl.cli.errors import Status
from ticketctl.cli.output import console, counted, with_progress
from ticketctl.cli.prompts import confirm
from ticketctl.files.json_lines import open_lines
from ticketctl.files.lines import Problems
from ticketctl.importing.judging import MISSING, UNRECORDED, Judge
from ticketctl.importing.lines import (
    NOTHING,
    Defaults,
    ExternalTicket,
    by_project,
    read_tickets,
)
from ticketctl.importing.planning import PlannedTicket, judge_all
from ticketctl.importing.writing import REFUSED, WRITTEN, Import

_SMALL_STEP: Final = 100
"""The usual size of gaps in other systems, left by deleted tickets."""


@dataclass(frozen=True)
class Choices:
    """The options of an import."""

    project: str | None = None
    """The project of tickets without one."""
    dry_run: bool = False
    verify: bool = False
    rate: int | None = None
    yes: bool = False


def import_file(
    find_stack: Callable[[], Stack], program: str, file: str, choices: Choices
) -> Status:
    """Import a file; or only print the plan, or the differences from the tables."""
    if choices.project is not None:
        checked_project(choices.project)
    defaults = Defaults(timestamp_now(), choices.project, program)
    with open_lines(file, f"{program} import") as lines:
        tickets = read_tickets(lines, file, defaults)
    stack = find_stack()
    judge = Judge(caller_arn(stack), stack.retention_days, program)
    limiter = RateLimiter(choices.rate)
    reading = judge_all(stack, judge, tickets, limiter)
    with with_progress(reading, "comparing", len(tickets)) as judging:
        judged = [*judging]
    if choices.verify:
        return Status.OK if verify_all(judged) else Status.PROBLEM
    reject_beyond(limits_of(stack), judged, file)
    said = [*plan(stack, tickets), *counts_of(judged)]
    warned = [*warnings(stack, tickets)]
    refused = print_refused(judged, file)
    if not choices.dry_run:
        asked = [location_of(stack), *said, *warned, "This cannot be undone. Go on?"]
        confirm("\n".join(asked), yes=choices.yes)
        counts = Import(stack, judge, limiter=limiter).run(judged, file)
        refused += counts[REFUSED]
        said = [summary(counts, len(judged), refused)]
    console().print("\n".join([*said, *warned, *left_out(judged)]), markup=False)
    has_other = any(planned.has_other_time for planned in judged)
    return Status.PROBLEM if refused or has_other else Status.OK


def _line(planned: PlannedTicket) -> int:
    return planned.ticket.line


def reject_beyond(limits: Limits, judged: Sequence[PlannedTicket], file: str) -> None:
    """Reject a file with new tickets beyond the stack's limits.

    Raises:
        InputError: A new ticket exceeds a limit.
    """
    problems = Problems(file)
    for ticket in (planned.ticket for planned in judged if planned.is_due):
        if refusal := limits.refusal(ticket.request):
            problems.add(ticket.line, str(refusal))
    problems.end(NOTHING)


def verify_all(judged: Sequence[PlannedTicket]) -> bool:
    """Print missing and different lines; return whether there are none."""
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
        # The number may be a typo, and the sequence could not go back.
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
    """Warn that the next ticket follows the file's highest number."""
    if any(
        last_number(stack, project) <= max(lines)
        for project, lines in by_project(tickets).items()
    ):
        yield (
            "if the old system gave higher numbers, the next ticket takes one of them "
            f"unless you seed first: {stack.program} seed PROJECT --last NUMBER"
        )


def counts_of(judged: Sequence[PlannedTicket]) -> list[str]:
    """Return the counts of lines by their results, as a line for each project."""
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
    """Return the results of an import as one line."""
    there = total - counts[WRITTEN] - refused
    return (
        f"imported {counts[WRITTEN]:,}, there already {there:,}, refused {refused:,}; "
        "not announced"
    )


def print_refused(judged: Sequence[PlannedTicket], file: str) -> int:
    """Print the first refused lines, and return the count of all."""
    refused = Problems(file)
    for planned in sorted(judged, key=_line):
        if planned.is_refused:
            refused.add(
                planned.ticket.line, f"{planned.ticket.ticket_key}: {planned.result}"
            )
    refused.end()
    return refused.number


def left_out(judged: Sequence[PlannedTicket]) -> Iterator[str]:
    """Yield lines about differences that an import does not change."""
    there = [planned for planned in judged if not planned.is_refused]
    if over := sum(planned.result == UNRECORDED for planned in there):
        yield f"without a record: {counted(over, 'key')}, whose time may be over"
    if other := [planned.ticket for planned in there if planned.has_other_time]:
        yield f"assigned_at differs, and stays as it is: {_listed(other)}"


def _listed(tickets: Sequence[ExternalTicket]) -> str:
    """Return the count of tickets and the ranges of their lines."""
    lines = sorted(ticket.line for ticket in tickets)
    rows = groupby(enumerate(lines), key=lambda placed: placed[1] - placed[0])
    ends = [(row[0][1], row[-1][1]) for row in ([*placed] for _, placed in rows)]
    named = [str(first) if first == last else f"{first}-{last}" for first, last in ends]
    word = "line" if len(lines) == 1 else "lines"
    return f"{counted(len(lines), 'ticket')} ({word} {', '.join(named)})"
