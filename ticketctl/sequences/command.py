"""The work of the commands that seed, void, erase and announce."""

from collections.abc import Callable

from ticketctl.aws.aws_errors import AWS_ERRORS
from ticketctl.aws.retry import RateLimiter
from ticketctl.aws.stack import Stack, caller_arn, location_of
from ticketctl.aws.tickets import find_ticket, last_number, parse_ticket_key
from ticketctl.cli.arguments import checked_project
from ticketctl.cli.errors import InputError, Status
from ticketctl.cli.output import console, note_if_interrupted, print_note, sanitized
from ticketctl.cli.prompts import confirm
from ticketctl.ledger.item import MARKS
from ticketctl.sequences.announcing import Announcer
from ticketctl.sequences.marking import Marking, checked_reason
from ticketctl.sequences.reannouncing import Reannouncement
from ticketctl.sequences.seeding import Seed


def seed(
    find_stack: Callable[[], Stack], project: str, last: int, reason: str, *, yes: bool
) -> Status:
    """Seed a project up to its last external number."""
    checked_project(project)
    if reason:
        checked_reason(reason)
    stack = find_stack()
    before = last_number(stack, project)
    question = (
        f"{location_of(stack)}\n{project}: the last number is {before or 'none yet'}; "
        f"the next will be {last + 1}, and none between will ever be given. Go on?"
    )
    if before < last:
        confirm(question, yes=yes)
    target = Seed(stack, project, last, caller_arn(stack), reason)
    in_part = f"{project} may be seeded in part: run it again"
    with note_if_interrupted(in_part, by=(*AWS_ERRORS, KeyboardInterrupt)):
        seeded = target.apply()
    done = "was seeded already" if seeded.was_already else "is seeded"
    console().print(f"{project} {done} up to {last}, and goes on with {seeded.next}")
    if seeded.given_within:
        keys = ", ".join(f"{project}-{number}" for number in seeded.given_within)
        print_note(f"given by workers while it was being seeded: {keys}")
    return Status.PROBLEM if seeded.given_within else Status.OK


def mark(
    find_stack: Callable[[], Stack],
    ticket_key: str,
    status: str,
    reason: str,
    *,
    yes: bool,
) -> None:
    """Void or erase a ticket, and announce it."""
    project_id, number = parse_ticket_key(ticket_key)
    ticket_key = f"{project_id}-{number}"  # Without leading zeros.
    checked_reason(reason)
    stack = find_stack()
    ticket = find_ticket(stack, project_id, number)
    marking = Marking(stack, status, reason, caller_arn(stack))
    marking.check(ticket)
    title = sanitized(str(ticket.fields.get("title", "")))
    confirm(
        f"{location_of(stack)}\n{ticket_key}: {title}\n"
        f"{MARKS[status].capitalize()} it for ever?",
        yes=yes,
    )
    unknown = f"{ticket_key} may be {status}, and not announced; run it again"
    with note_if_interrupted(unknown, by=(*AWS_ERRORS, KeyboardInterrupt)):
        marked = marking.apply(ticket)
    for problem in marked.notes:
        print_note(problem)
    unannounced = f"{ticket_key} is {status}, perhaps not announced; run it again"
    with note_if_interrupted(unannounced):
        marking.announce(marked, Announcer(stack))
    was = f"was {status} already; announced again"
    console().print(f"{ticket_key} {was if marked.was_already else f'is {status}'}")


def announce(  # noqa: PLR0913 - one parameter for each option.
    find_stack: Callable[[], Stack],
    project: str,
    first: int,
    last: int | None,
    rate: int,
    *,
    imported: bool,
    dry_run: bool,
    yes: bool,
) -> Status:
    """Announce a range of numbers, by default up to the project's last."""
    checked_project(project)
    stack = find_stack()
    highest = last_number(stack, project)
    last = highest if last is None else last
    if not first <= last <= highest:
        numbers = f"the numbers up to {highest}" if highest else "no numbers"
        raise InputError(f"no such range: {project} has {numbers}")
    repeat = Reannouncement(stack, project, first, last, stack.number_padding, imported)
    if not dry_run:
        confirm(
            f"{location_of(stack)}\nEvery subscriber of the topic will get the events "
            f"of {project}-{first} to {project}-{last} again. Go on?",
            yes=yes,
        )
    repeat.publish(None if dry_run else Announcer(stack, RateLimiter(rate)))
    return Status.PROBLEM if repeat.problems else Status.OK
