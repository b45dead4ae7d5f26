"""Plans a restore, and carries the plan out, project by project."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from ticket_numbering.contract.events import ticket_key
from ticketctl.aws.stack import Stack
from ticketctl.aws.worker_state import restoring, worker_state
from ticketctl.cli.errors import InputError
from ticketctl.cli.output import counted, print_note, program, with_progress
from ticketctl.files.lines import Problems
from ticketctl.ledger.item import Ticket
from ticketctl.restore.comparison import marks_left
from ticketctl.restore.database import WAITS, Database
from ticketctl.restore.deeds import Deed, Form, Terms
from ticketctl.restore.ending import End, commands_for
from ticketctl.restore.outlines import close, outline_of, waiting
from ticketctl.restore.planning import OTHER, Outline, Planner
from ticketctl.restore.reading import Saved
from ticketctl.restore.verdicts import Verdicts, is_over
from ticketctl.restore.writing import BACK, Writer


@dataclass
class Restore:
    """A restore of a file that was read, as were the tables."""

    stack: Stack
    database: Database
    file: Saved
    terms: Terms
    is_part: bool = False
    outlines: Sequence[Outline] = ()
    refused: int = 0
    """The count of what does not come back."""
    planner: Planner = field(init=False)

    def __post_init__(self) -> None:
        """Begin without a plan."""
        self.planner = Planner(self.database, Verdicts(self.terms))

    def plan(self) -> None:
        """Decide about every line, and print what is refused."""
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
        problems.end()
        self.refused += problems.number

    def _name(self, outline: Outline, problems: Problems) -> None:
        """Name what is refused; what waits, and another history, once."""
        if why := self._refusal(outline):
            print_note(f"{outline.project_id}: {why}")
            self.refused += 1
        for line, ticket, why in self.database.refusals(outline.project_id):
            if why not in {WAITS, OTHER}:
                problems.add(line, f"{ticket}: {why}")
        for why in self._records_left(outline.project_id):
            print_note(why)
            self.refused += 1

    def _records_left(self, project_id: str) -> Iterator[str]:
        """Describe the file's records that go back with no item."""
        for record in self.database.homeless(project_id):
            key, number = record.idempotency_key, record.number
            yield f"the record of {key}: the file has no item of its number, {number}"
        for record in self.database.misplaced(project_id):
            if not is_over(record):
                ticket = ticket_key(project_id, record.number)
                yield (
                    f"the record of {record.idempotency_key}: {ticket}, its number, is "
                    "the ticket of another key"
                )

    def _refusal(self, outline: Outline) -> str:
        if outline.refusal:
            return f"{outline.refusal}: nothing goes back"
        if outline.other:
            key = f"{outline.project_id}-{outline.other}"
            return f"from {key} on it is another history: nothing goes back from there"
        return waiting(outline) if outline.hole else ""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to put back."""
        return not any(
            self.database.counts(outline.project_id)["due"] for outline in self.outlines
        )

    def lines(self) -> Iterator[str]:
        """Describe the plan."""
        for outline in self.outlines:
            yield from self._lines(outline)

    def _lines(self, outline: Outline) -> Iterator[str]:
        counts, project_id = (
            self.database.counts(outline.project_id),
            outline.project_id,
        )
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
                f"{counts['missing']:,}, refused {counts['refused']:,}"
            )
        for finding in outline.findings:
            if not outline.hole or min(finding.numbers) < outline.hole[0]:
                yield f"it comes along: {finding}"
        if external := counts["external"]:
            yield f"without a hash, for nothing vouches for it: {external:,}"
        if records := counts["records"]:
            yield f"records of keys alone: {records:,}"

    def commands(self) -> Iterator[str]:
        """Yield the commands that a person runs afterwards."""
        table = self.stack.outputs["TicketsTableName"]
        for outline in self.outlines:
            if not self.is_part:  # The rest of the file may have the numbers.
                region = self.stack.region
                yield from commands_for(self.database, outline, table, region)
            for number in self.database.differing(outline.project_id):
                slot = self.database.slot(outline.project_id, number)
                if isinstance(slot.own, Ticket) and slot.there:
                    for command in marks_left(slot.own, slot.there):
                        yield f"{program} {command}"

    def stopped(self) -> AbstractContextManager[None]:
        """Return what keeps the worker stopped, if it could give a second number.

        Raises:
            InputError: It is not stopped.
        """
        if not any(
            self.database.is_open(outline.project_id) for outline in self.outlines
        ):
            return nullcontext()
        state = worker_state(self.stack)
        if obstacles := [*state.obstacles()]:
            raise InputError(
                "a ticket or a key has no record, so a repeat of its request would get "
                f"a second number: stop the worker first: {program} stop "
                f"({'; '.join(obstacles)})"
            )
        return restoring(self.stack, state.sources)

    def run(self) -> Counter[str]:
        """Put everything back, and return the counts; what is refused is printed."""
        counts, problems = Counter[str](), Problems(self.file.name)
        end = End(self.stack, self.database, self.terms)
        writer = Writer(self.stack, self.database, self.planner, self.file, self.terms)
        try:
            for outline in self.outlines:
                due = self.database.counts(outline.project_id)["due"]
                if not due:
                    continue
                if why := end.reserve(outline):
                    print_note(f"{outline.project_id}: {why}")
                    self.refused += due
                    continue
                text = f"putting {outline.project_id} back"
                with with_progress(writer.write(outline), text, due) as written:
                    for number, deed, result in written:
                        self._count(outline, number, deed, result, counts, problems)
        except BaseException:  # Ctrl-C as well.
            print_note("not all is back: do not start the worker, and run it again")
            raise
        problems.end()
        self.refused += problems.number
        return counts

    def _count(  # noqa: PLR0913, PLR0917 - What was done, and where it is counted.
        self,
        outline: Outline,
        number: int,
        deed: Deed,
        result: str,
        counts: Counter[str],
        problems: Problems,
    ) -> None:
        if result == BACK:
            slot = self.database.slot(outline.project_id, number)
            kind = "tickets" if isinstance(slot.own, Ticket) else "reserved numbers"
            counts["records alone" if deed.form is Form.NONE else kind] += 1
        elif deed.why or result == "DynamoDB refuses it as invalid":
            line = self.database.line(outline.project_id, number)
            problems.add(line, f"{outline.project_id}-{number}: {result}")


def shown(counts: Counter[str]) -> str:
    """Return what is back, in a line."""
    found = [f"{name} {count:,}" for name, count in sorted(counts.items()) if count]
    return ", ".join(found) or "nothing"
