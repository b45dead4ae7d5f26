"""Puts an export back, as its command asks."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ticket_numbering.contract.events import ticket_key
from ticketctl.audit.heads import KeptHead, read_heads
from ticketctl.aws.items import timestamp_now
from ticketctl.aws.rate_limiter import RateLimiter
from ticketctl.aws.stack import Stack, caller_arn
from ticketctl.aws.table_reader import TableReader
from ticketctl.cli.arguments import checked_projects
from ticketctl.cli.errors import InputError, Status
from ticketctl.cli.output import spinner
from ticketctl.files.lines import MOST_PROBLEMS
from ticketctl.ledger.chain import chain_problem
from ticketctl.ledger.findings import FindingKind
from ticketctl.ledger.item import Ticket
from ticketctl.restore.database import Database
from ticketctl.restore.deeds import Terms
from ticketctl.restore.reading import NOTHING, ExportReader, read_tables, saved_file
from ticketctl.restore.report import carry_out, look
from ticketctl.restore.restoring import Restore


@dataclass(frozen=True)
class Choices:
    """The options of a restore."""

    projects: Sequence[str] = ()
    is_part: bool = False
    heads: str | None = None
    only: str = ""
    """The option that lets it only look."""
    rate: int | None = None
    yes: bool = False


def restore_file(
    find_stack: Callable[[], Stack], file: str, choices: Choices
) -> Status:
    """Put a file back, or print the plan."""
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
            read_tables(tables, database, lambda what: show(f"reading: {what}"))
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
    """Yield how the file differs from heads that were kept outside.

    One above the file's last number, or of another project, says nothing.
    """
    for head in heads:
        project_id, number = head.project_id, head.number
        if number > database.last(project_id, is_own=True):
            continue
        own = database.slot(project_id, number).own
        before = database.slot(project_id, number - 1).own
        key = ticket_key(project_id, number)
        if own is None or own.chain != head.chain:
            yield f"{key}: the file has another hash than the head that was kept"
        elif isinstance(own, Ticket):
            fit = chain_problem(own, before.chain if before else "")
            if fit not in {None, FindingKind.RESTARTED}:
                yield f"{key}: its content does not have the hash that was kept"
