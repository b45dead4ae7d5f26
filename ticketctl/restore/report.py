"""What a person reads of a restore: the plan, the commands that follow, the end."""

from collections import Counter
from collections.abc import Iterator

from ticketctl.aws.stack import location_of
from ticketctl.cli.output import console, counted, print_note
from ticketctl.cli.prompts import confirm
from ticketctl.ledger.item import Ticket
from ticketctl.restore.comparison import marks_left
from ticketctl.restore.database import DIFFERENT
from ticketctl.restore.deeds import Form
from ticketctl.restore.ending import commands_for
from ticketctl.restore.outlines import Outline
from ticketctl.restore.restoring import Restore


def look(restore: Restore, option: str) -> bool:
    """Print the plan; return whether the tables are not as the file.

    Args:
        restore: A restore with a plan.
        option: The one that lets it only look, for the next command.
    """
    said, following = [*plan(restore)], [*commands(restore)]
    is_empty, is_verified = restore.is_empty, option == "--verify"
    if following or (is_verified and not is_empty):
        those = "the commands above" if is_empty else f"the same without {option}"
        following.append(f"next: {those}")
    console().print("\n".join([*said, *following]), markup=False)
    return bool(restore.refused or following)


def carry_out(restore: Restore, *, yes: bool) -> bool:
    """Print the plan, ask, put back; return whether something is left to do.

    Raises:
        InputError: The worker must be stopped.
    """
    stopped, counts = restore.stopped(), Counter[str]()
    for line in plan(restore):
        print_note(line)
    if not restore.is_empty:
        confirm(f"{location_of(restore.stack)}\nGo on?", yes=yes)
        with stopped:
            counts = restore.run()
    following = [*commands(restore)]
    those = "the commands above, then " if following else ""
    said = (
        f"put back: {_shown(counts)}; refused: {restore.refused:,}; not announced; "
        f"next: {those}{restore.stack.program} audit, before the worker starts"
    )
    console().print("\n".join([*following, said]), markup=False)
    return bool(restore.refused or following)


def plan(restore: Restore) -> Iterator[str]:
    """Describe the plan."""
    for outline in restore.outlines:
        yield from _lines(restore, outline)


def _lines(restore: Restore, outline: Outline) -> Iterator[str]:
    project_id = outline.project_id
    counts = restore.database.plan.counts(project_id)
    if outline.is_whole and not outline.hole:
        items = counted(counts["items"], "item")
        but = f" but {counts['there']}" if counts["there"] else ""
        yield (
            f"{project_id}: the tables have nothing{but}, so all of {items} come "
            "back as the file has it"
        )
    else:
        yield (
            f"{project_id}: there already {counts['there']:,}, missing "
            f"{counts['missing']:,}, refused "
            f"{counts['refused'] + outline.records_left:,}"
        )
    for finding in outline.findings:
        if not outline.hole or min(finding.numbers) < outline.hole[0]:
            yield f"it comes along: {finding.line(restore.stack.program)}"
    if external := counts["external"]:
        yield f"without a hash, for nothing vouches for it: {external:,}"
    if records := counts["records"]:
        yield f"records of keys alone: {records:,}"


def commands(restore: Restore) -> Iterator[str]:
    """Yield the commands that a person runs afterwards."""
    database, stack = restore.database, restore.stack
    for outline in restore.outlines:
        project_id = outline.project_id
        if not restore.is_part:  # The rest of the file may have the numbers.
            yield from commands_for(stack, database, outline)
        for number in database.numbers(project_id, DIFFERENT):
            slot, deed = (
                database.slot(project_id, number),
                database.plan.deed(project_id, number),
            )
            stays = deed.form is Form.NONE
            if stays and isinstance(slot.own, Ticket) and slot.there:
                for command in marks_left(slot.own, slot.there):
                    yield f"{stack.program} {command}"


def _shown(counts: Counter[str]) -> str:
    """Return the counts, in a line."""
    found = [f"{name} {count:,}" for name, count in sorted(counts.items()) if count]
    return ", ".join(found) or "nothing"
