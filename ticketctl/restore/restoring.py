"""Plans a restore, and executes the plan, project by project."""

from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Final

from ticket_numbering.contract.events import ticket_key
from ticketctl.aws.stack import Stack
from ticketctl.aws.worker_state import restoring, worker_state
from ticketctl.cli.errors import InputError
from ticketctl.cli.output import note_if_interrupted, print_note, with_progress
from ticketctl.files.lines import Problems
from ticketctl.ledger.item import Item, Ticket
from ticketctl.ledger.record import KeyRecord
from ticketctl.restore.database import Database
from ticketctl.restore.deciding import Decider, is_over
from ticketctl.restore.ending import End
from ticketctl.restore.outlines import Outline, close, outline_of, waiting
from ticketctl.restore.plan import OPEN, OTHER, WAITS
from ticketctl.restore.planning import Planner
from ticketctl.restore.reading import Saved
from ticketctl.restore.steps import Form, Terms
from ticketctl.restore.writing import BACK, THERE, Writer, Written

_UNFINISHED: Final = "not all is back: do not start the worker, and run it again"


@dataclass
class Restore:
    """A restore; file and tables are in its database."""

    stack: Stack
    database: Database
    file: Saved
    terms: Terms
    is_part: bool = False
    outlines: Sequence[Outline] = ()
    refused: int = 0
    """The count of the file's refused lines."""
    planner: Planner = field(init=False)

    def __post_init__(self) -> None:
        """Start without a plan."""
        self.planner = Planner(self.database, Decider(self.terms))

    def plan(self) -> None:
        """Plan every line, and print the refusals."""
        self.outlines = [
            outline_of(self.database, project_id)
            for project_id in self.database.projects()
        ]
        with with_progress(self.outlines, "comparing", len(self.outlines)) as planned:
            for outline in planned:
                self.planner.plan(outline)
                close(self.database, outline, is_part=self.is_part)
        problems = Problems(self.file.name)
        for outline in self.outlines:
            self._name(outline, problems)
            self.refused += self.database.plan.counts(outline.project_id)["refused"]
            self.refused += outline.records_left
        problems.end()

    def _name(self, outline: Outline, problems: Problems) -> None:
        """Print the refusals; waiting lines and another history only once."""
        project_id = outline.project_id
        if why := _refusal(outline):
            print_note(f"{project_id}: {why}")
        for line, number, why in self.database.plan.refusals(project_id):
            if why not in {WAITS, OTHER}:
                problems.add(line, f"{ticket_key(project_id, number)}: {why}")
        for line, record in self.database.records.left(project_id):
            if not is_over(record):
                own = self.database.slot(project_id, record.number).own
                why = _homeless(record, own)
                problems.add(line, f"the record of {record.idempotency_key}: {why}")
                outline.records_left += 1

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to restore."""
        return not any(
            self.database.plan.counts(outline.project_id)["due"]
            for outline in self.outlines
        )

    @property
    def hazard(self) -> str:
        """The reason why a running worker could assign a wrong number; "" if none."""
        projects = [outline.project_id for outline in self.outlines]
        if any(self.database.has(project_id, OPEN) for project_id in projects):
            return (
                "a ticket or a key has no record, so a repeat of its request would get "
                "a second number"
            )
        if any(outline.end for outline in self.outlines):
            return "a new request would get one of a project's last numbers"
        return ""

    def stopped(self) -> AbstractContextManager[None]:
        """Return a context that keeps the worker stopped, if it is a hazard.

        Raises:
            InputError: The worker is not stopped.
        """
        if not (hazard := self.hazard):
            return nullcontext()
        state = worker_state(self.stack)
        if obstacles := "; ".join(state.obstacles()):
            stop = f"stop the worker first: {self.stack.program} stop"
            raise InputError(f"{hazard}: {stop} ({obstacles})")
        return restoring(self.stack, state.sources)

    def run(self) -> Counter[str]:
        """Restore all projects, print the refusals, and return the counts."""
        counts, problems = Counter[str](), Problems(self.file.name)
        end = End(self.stack, self.database, self.terms)
        writer = Writer(self.stack, self.database, self.planner, self.file, self.terms)
        with note_if_interrupted(_UNFINISHED):
            for outline in self.outlines:
                project_id = outline.project_id
                if not (due := self.database.plan.counts(project_id)["due"]):
                    continue
                if why := end.reserve(outline):
                    print_note(f"{project_id}: {why}")
                    self.refused += due
                    continue
                text = f"putting {project_id} back"
                with with_progress(writer.write(outline), text, due) as written:
                    for planned in written:
                        self._count(project_id, planned, counts, problems)
        problems.end()
        self.refused += problems.number
        return counts

    def _count(
        self,
        project_id: str,
        written: Written,
        counts: Counter[str],
        problems: Problems,
    ) -> None:
        """Count the restored lines; print the others."""
        number, step, result = written
        if result == BACK:
            own = self.database.slot(project_id, number).own
            kind = "tickets" if isinstance(own, Ticket) else "reserved numbers"
            counts["records alone" if step.form is Form.NONE else kind] += 1
        elif result != THERE:
            line = self.database.slot(project_id, number).line
            problems.add(line, f"{ticket_key(project_id, number)}: {result}")


def _homeless(record: KeyRecord, own: Item | None) -> str:
    """Return the reason why a record of the file is restored without an item."""
    match own:
        case Ticket():
            return f"{own.ticket_key}, its number, is the ticket of another key"
        case None:
            return f"the file has no item of its number, {record.number}"
        case _:
            return f"{own.ticket_key}, its number, has not its hash"


def _refusal(outline: Outline) -> str:
    """Return the common reason of a project's refused lines."""
    if outline.refusal:
        return f"{outline.refusal}: nothing goes back"
    if outline.other:
        key = ticket_key(outline.project_id, outline.other)
        return f"from {key} on it is another history: nothing goes back from there"
    return waiting(outline) if outline.hole else ""
