"""The work of the restore command: reads, plans, confirms and writes an export."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ticket_numbering.contract.events import ticket_key
from ticketctl.audit.heads import KeptHead, read_heads
from ticketctl.aws.items import timestamp_now
from ticketctl.aws.retry import RateLimiter
from ticketctl.aws.stack import Stack, caller_arn, location_of
from ticketctl.aws.table_reader import TableReader
from ticketctl.cli.arguments import checked_projects
from ticketctl.cli.errors import InputError, Status
from ticketctl.cli.output import console, counted, print_note, spinner
from ticketctl.cli.prompts import confirm
from ticketctl.files.lines import MOST_PROBLEMS
from ticketctl.ledger.chain import chain_problem
from ticketctl.ledger.findings import FindingKind
from ticketctl.ledger.item import Ticket
from ticketctl.restore.comparison import marks_left
from ticketctl.restore.database import DIFFERENT, Database
from ticketctl.restore.ending import commands_for
from ticketctl.restore.outlines import Outline
from ticketctl.restore.reading import NOTHING, ExportReader, read_tables, saved_file
from ticketctl.restore.restoring import Restore
from ticketctl.restore.steps import Form, Terms


@dataclass(frozen=True)
class Choices:
    """The options of a restore."""

    projects: Sequence[str] = ()
    is_part: bool = False
    heads: str | None = None
    only: str = ""
    """The option of a restore that writes nothing."""
    rate: int | None = None
    yes: bool = False


def restore_file(
    find_stack: Callable[[], Stack], file: str, choices: Choices
) -> Status:
    """Restore a file, or print the plan."""
    projects, heads = frozenset(checked_projects(choices.projects)), choices.heads
    with Database() as database, saved_file(file) as (saved, copy):
        reader = ExportReader(database, saved, projects)
        reader.read(copy, is_part=choices.is_part)
        if not database.projects():
            raise InputError(f"{file}: has nothing to put back")
        if failing := [*failing_heads(database, read_heads(heads) if heads else ())]:
            raise InputError(f"{'; '.join(failing[:MOST_PROBLEMS])}{NOTHING}")
        stack = find_stack()
        with spinner("reading") as show:
            tables = TableReader.of(stack, limiter=RateLimiter(choices.rate))
            read_tables(tables, database, lambda count: show(f"reading: {count}"))
        caller, now = caller_arn(stack), timestamp_now()
        terms = Terms(caller, stack.retention_days, now, stack.program)
        restore = Restore(stack, database, saved, terms, is_part=choices.is_part)
        restore.plan()
        is_left = (
            look(restore, choices.only)
            if choices.only
            else carry_out(restore, yes=choices.yes)
        )
    return Status.PROBLEM if is_left else Status.OK


def failing_heads(database: Database, heads: Iterable[KeptHead]) -> Iterator[str]:
    """Yield the differences of the file from saved heads.

    A head above the file's last number, or of another project, is ignored.
    """
    for head in heads:
        project_id, number = head.project_id, head.number
        if number > database.last(project_id, is_own=True):
            continue
        own = database.slot(project_id, number).own
        before = database.slot(project_id, number - 1).own
        key = ticket_key(project_id, number)
        if own is None or own.chain != head.chain:
            yield f"{key}: the file has another hash than the saved head"
        elif isinstance(own, Ticket):
            fit = chain_problem(own, before.chain if before else "")
            if fit not in {None, FindingKind.RESTARTED}:
                yield f"{key}: its content does not have the saved hash"


def look(restore: Restore, option: str) -> bool:
    """Print the plan; return whether the tables differ from the file."""
    said, following = [*plan(restore)], [*commands(restore)]
    is_empty, is_verified = restore.is_empty, option == "--verify"
    if following or (is_verified and not is_empty):
        those = "the commands above" if is_empty else f"the same without {option}"
        following.append(f"next: {those}")
    console().print("\n".join([*said, *following]), markup=False)
    return bool(restore.refused or following)


def carry_out(restore: Restore, *, yes: bool) -> bool:
    """Print the plan, ask for confirmation, restore; return whether work is left.

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
    """Yield the lines of the plan."""
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
    """Yield the commands that a person must run after the restore."""
    database, stack = restore.database, restore.stack
    for outline in restore.outlines:
        project_id = outline.project_id
        if not restore.is_part:  # The rest of the file may have the numbers.
            yield from commands_for(stack, database, outline)
        for number in database.numbers(project_id, DIFFERENT):
            slot, step = (
                database.slot(project_id, number),
                database.plan.step(project_id, number),
            )
            stays = step.form is Form.NONE
            if stays and isinstance(slot.own, Ticket) and slot.there:
                for command in marks_left(slot.own, slot.there):
                    yield f"{stack.program} {command}"


def _shown(counts: Counter[str]) -> str:
    """Return the counts as one line."""
    shown = [f"{name} {count:,}" for name, count in sorted(counts.items()) if count]
    return ", ".join(shown) or "nothing"
