"""What an import tells a person: the plan, the counts, what it leaves out."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import Final

from ticket_numbering.contract.dynamodb_items import ASSIGNED_AT, RESERVED
from ticket_numbering.contract.limits import Limits
from ticketctl.aws.stack import System
from ticketctl.aws.tickets import last_number
from ticketctl.cli.output import console, counted, program
from ticketctl.files.lines import Problems
from ticketctl.importing.existing import Existing, Tickets
from ticketctl.importing.judging import ALREADY, UNRECORDED
from ticketctl.importing.lines import NOTHING
from ticketctl.importing.planning import MISSING, NO_RECORD, REFUSED, Judged
from ticketctl.importing.tickets import RECORDED, WRITTEN
from ticketctl.ledger.item import Item, Malformed

_SMALL_STEP: Final = 100
"""Other systems skip numbers, too: of deleted tickets."""


def refuse_beyond(limits: Limits, judged: Sequence[Judged], file: str) -> None:
    """Refuse a file with new tickets whose requests the stack does not allow.

    Raises:
        InputError: There is one.
    """
    problems = Problems(file)
    new = [one.ticket for one in judged if one.is_due and not one.goes_back]
    for ticket in new:
        if refusal := limits.refusal(ticket.request):
            problems.add(ticket.line, str(refusal))
    problems.end(NOTHING)


def verify_all(judged: Sequence[Judged], reserved: Sequence[Item]) -> bool:
    """Print the lines that are missing or different; return whether none is."""
    is_right = not reserved
    for one in sorted(judged, key=lambda one: one.ticket.line):
        problem = one.result if one.is_due or one.is_refused else ""
        if not problem and one.has_other_time:
            problem = "assigned_at differs"
        elif not problem and one.marks:
            problem = "a mark is missing"
        if problem:
            is_right = False
            console().print(
                f"line {one.ticket.line}: {one.ticket.ticket_key}: {problem}"
            )
    for line in reserved:
        console().print(f"{line.ticket_key}: a reserved number, missing")
    console().print("\n".join(counts_of(judged, reserved)))
    return is_right


def plan(stack: System, tickets: Tickets) -> Iterator[str]:
    """Describe the effect of an import: each project's numbers, and the dates."""
    counts = Counter(ticket.project_id for ticket in tickets.to_import)
    for project, number in tickets.highest_numbers().items():
        last = last_number(stack, project)
        then = f"will be {number + 1}" if last < number else f"stays {last + 1}"
        yield (
            f"{project}: {counted(counts[project], 'ticket')} up to {number}; "
            f"the last number is {last or 'none yet'}, the next {then}"
        )
    yield from _jumps(tickets)
    dated = [one for one in tickets.to_import if ASSIGNED_AT in one.fields]
    if days := sorted(one.assigned_at[:10] for one in dated):
        yield f"dates: {days[0]} to {days[-1]}"
    if undated := len(tickets.to_import) - len(days):
        yield (
            f"without a date: {counted(undated, 'ticket')}; assigned_at is the time "
            "of the import"
        )


def _jumps(tickets: Tickets) -> Iterator[str]:
    """Name a number that a slip may have made, for the sequence stays there."""
    for project, lines in tickets.by_project().items():
        steps = ((after - before, after) for before, after in pairwise(sorted(lines)))
        step, number = max(steps, default=(0, 0))
        line = lines.get(number)
        if step > max(len(lines), _SMALL_STEP) and isinstance(line, Existing):
            where = f"{project}-{number} (line {line.line})"
            yield f"{where} is {step:,} above the one before"


def warnings(stack: System, tickets: Tickets) -> Iterator[str]:
    """Warn of a next ticket behind the file's highest."""
    highest = tickets.highest_numbers().items()
    is_other = not tickets.are_exported
    if is_other and any(
        last_number(stack, project) <= number for project, number in highest
    ):
        yield (
            "if the old system gave higher numbers, the next ticket takes one of them "
            f"unless you seed first: {program} seed PROJECT --last NUMBER"
        )


def _listed(tickets: Sequence[Existing]) -> str:
    """Count tickets, and name their lines, those in a row by their ends."""
    lines = sorted(ticket.line for ticket in tickets)
    rows = groupby(enumerate(lines), key=lambda placed: placed[1] - placed[0])
    ends = [(row[0][1], row[-1][1]) for row in ([*placed] for _, placed in rows)]
    named = [str(one) if one == last else f"{one}-{last}" for one, last in ends]
    word = "line" if len(lines) == 1 else "lines"
    return f"{counted(len(lines), 'ticket')} ({word} {', '.join(named)})"


def counts_of(judged: Sequence[Judged], reserved: Sequence[Item]) -> list[str]:
    """Count the lines by what an import does about them, a line for each project."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for line in reserved:
        counts[line.project_id][RESERVED] += 1
    for one in judged:
        result = REFUSED if one.is_refused else one.result
        counts[one.ticket.project_id][result] += 1
    return [
        f"{project}: there already {found[ALREADY] + found[UNRECORDED]}, "
        f"missing {found[MISSING]}{_if_any('without a record', found[NO_RECORD])}, "
        f"refused {found[REFUSED]}"
        f"{_if_any('reserved numbers missing', found[RESERVED])}"
        for project, found in counts.items()
    ]


def summary(counts: Counter[str], total: int, refused: int) -> str:
    """Return the results of an import in a line."""
    there = total - counts[WRITTEN] - refused
    return (
        f"imported {counts[WRITTEN]}, there already {there}"
        f"{_if_any('records written', counts[RECORDED])}, refused {refused}"
        f"{_if_any('reserved numbers put back', counts[RESERVED])}; "
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


def left_out(tickets: Tickets, judged: Sequence[Judged]) -> Iterator[str]:
    """Yield lines about what an import leaves out: numbers, texts, marks."""
    if malformed := sum(isinstance(line, Malformed) for line in tickets.reserved):
        skipped = counted(malformed, "malformed reserved number")
        yield f"skipped: {skipped}, which count as used"
    by_line = sorted(judged, key=lambda one: one.ticket.line)
    there = [one for one in by_line if not one.is_refused]
    texts = [one.ticket for one in there if not one.goes_back]
    if erased := sum(ticket.is_erased for ticket in texts):
        yield f"without text: {counted(erased, 'erased ticket')}; the keys are known"
    if over := sum(one.result == UNRECORDED for one in there):
        yield f"without a record: {counted(over, 'key')}, whose time is over"
    if other := [one.ticket for one in there if one.has_other_time]:
        yield f"assigned_at differs, and stays as it is: {_listed(other)}"
    marks = [mark for one in there for mark in one.marks]
    if marks:
        yield f"not imported: {counted(len(marks), 'mark')}; to set them again:"
        yield from (f"{program} {mark}" for mark in marks)
