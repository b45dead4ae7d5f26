"""An import from the file to the report."""

from collections import Counter
from collections.abc import Iterable, Sequence

from ticket_numbering.contract.limits import Limits
from ticketctl.aws.tickets import ticket_from
from ticketctl.cli.errors import InputError
from ticketctl.cli.output import console, remark, with_progress
from ticketctl.files.lines import Line, Problems, shown_name
from ticketctl.importing.existing import Existing, Reserved
from ticketctl.importing.lines import Defaults, check_lines
from ticketctl.importing.neighbours import ALREADY
from ticketctl.importing.planning import Judged, Tickets
from ticketctl.importing.report import REFUSED, counts_of
from ticketctl.importing.tickets import RECORDED, WRITTEN, Import
from ticketctl.sequences.seeding import Seed, Seeded


def read_tickets(lines: Iterable[Line], file: str, defaults: Defaults) -> Tickets:
    """Return the tickets of a file.

    Raises:
        InputError: A line is wrong, or there is none.
    """
    problems = Problems(file)
    found = [*check_lines(lines, defaults, problems)]
    _end(problems, file)
    if not found:
        raise InputError(f"{shown_name(file)}: holds no ticket")
    tickets = [one for one in found if isinstance(one, Existing)]
    return Tickets(tickets, [one for one in found if isinstance(one, Reserved)])


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


def verify_all(judged: Sequence[Judged]) -> bool:
    """Print the tickets that are missing or different; return whether none is."""
    wrong = [
        one
        for one in judged
        if one.is_due or one.is_refused or one.has_other_time or one.marks
    ]
    for one in sorted(wrong, key=lambda one: one.ticket.line):
        line = f"line {one.ticket.line}: {one.ticket.ticket_key}"
        problem = one.result
        if not (one.is_due or one.is_refused):
            is_other = one.has_other_time
            problem = "assigned_at differs" if is_other else "a mark is missing"
        console().print(f"{line}: {problem}")
    console().print("\n".join(counts_of(judged)))
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
