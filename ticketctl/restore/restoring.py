"""Plans a restore, project by project, and carries the plan out."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ticket_numbering.contract.dynamodb_items import RESERVED
from ticketctl.aws.stack import Stack, caller_arn
from ticketctl.aws.table_reader import TableReader
from ticketctl.aws.tickets import last_number
from ticketctl.aws.worker_state import worker_state
from ticketctl.cli.errors import InputError
from ticketctl.cli.output import counted, program, remark, with_progress
from ticketctl.files.lines import Problems
from ticketctl.importing.judging import Judge, Known
from ticketctl.importing.planning import REFUSED, Judged, judge_all
from ticketctl.importing.report import counts_of, left_out
from ticketctl.importing.reserved import missing_reserved
from ticketctl.importing.tickets import RECORDED, WRITTEN, Import
from ticketctl.ledger.findings import Kind, shown_range
from ticketctl.ledger.item import Item
from ticketctl.ledger.record import KeyRecord
from ticketctl.restore.histories import problem_of
from ticketctl.restore.reading import Exported
from ticketctl.restore.records import BACK as RECORD_BACK
from ticketctl.restore.records import THERE as RECORD_THERE
from ticketctl.restore.records import RecordsBack, due_records
from ticketctl.restore.rivals import read_named
from ticketctl.restore.whole_projects import (
    BACK,
    THERE,
    PuttingBack,
    WholeProject,
    whole_project,
)


@dataclass(frozen=True)
class Plan:
    """What a restore will do."""

    stack: Stack
    exported: Exported
    """Of the projects that go back line by line."""
    whole: Sequence[WholeProject] = ()
    judged: Sequence[Judged] = ()
    reserved: Sequence[Item] = ()
    records: Sequence[KeyRecord] = ()
    """Those of lost tickets, of projects that go back line by line."""
    others: dict[str, str] = field(default_factory=dict)
    """Projects that are refused, and why."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to put back."""
        is_due = any(one.is_due for one in self.judged)
        return not (self.whole or is_due or self.reserved or self.records)

    def lines(self) -> Iterator[str]:
        """Describe the plan, a line for each project."""
        for project in self.whole:
            there = len(project.there)
            yield (
                f"{project.project_id}: the tables have nothing but {there}, so all "
                if there
                else f"{project.project_id}: the tables have nothing, so all "
            ) + f"of {counted(len(project.lines), 'item')} come back as the file has it"
            for finding in project.findings:
                yield f"it comes along: {finding}"
        yield from counts_of(self.judged, self.reserved)
        if external := sum(one.is_due and not one.goes_back for one in self.judged):
            yield f"without a hash, for nothing vouches for it: {external:,}"
        if self.records:
            yield f"records of lost tickets: {len(self.records):,}"

    def commands(self) -> Iterator[str]:
        """Say what does not come back, with the commands that set its marks again."""
        yield from left_out(self.exported.tickets, self.judged)

    def print_refused(self, file: str) -> int:
        """Print what is refused, and return the count."""
        problems = Problems(file)
        for project_id, why in self.others.items():
            remark(f"{project_id}: {why}")
        for one in sorted(self.judged, key=lambda one: one.ticket.line):
            if one.is_refused:
                problems.add(one.ticket.line, f"{one.ticket.ticket_key}: {one.result}")
        problems.end()
        left = [record for one in self.whole for record in one.left]
        for record in left:
            key, number = record.idempotency_key, record.number
            remark(f"the record of {key}: the file has no item of its number, {number}")
        return problems.number + len(self.others) + len(left)

    def check_worker(self) -> None:
        """Check that the worker is stopped, if it could give a second number.

        Raises:
            InputError: It is not.
        """
        is_open = any(one.is_due and not one.known.record for one in self.judged)
        if not (self.whole or is_open or self.records):
            return
        if obstacles := [*worker_state(self.stack).obstacles()]:
            raise InputError(
                "a ticket or a key has no record, so a repeat of its request would get "
                f"a second number: stop the worker first: {program} stop "
                f"({'; '.join(obstacles)})"
            )


def plan_restore(
    stack: Stack, reader: TableReader, exported: Exported, *, is_part: bool
) -> Plan:
    """Judge a file by the tables; one that is a part leaves no hole behind."""
    numbers = exported.items
    lasts = {one: last_number(stack, one) for one in numbers}
    named = read_named(reader, numbers, {*numbers})
    whole: list[WholeProject] = []
    others: dict[str, str] = {}
    for project_id, items in numbers.items():
        of_file = exported.records.get(project_id, {})
        recorded = named.projects[project_id]
        days = stack.retention_days
        if found := whole_project(reader, items, of_file, recorded, days):
            if is_part and (holes := _holes(found)):
                others[project_id] = holes
            else:
                whole.append(found)
        elif lasts[project_id] and (why := problem_of(reader, project_id, items)):
            others[project_id] = why
    done = {one.project_id for one in whole} | others.keys()
    rest = exported.of((exported.items.keys() | exported.records.keys()) - done)
    judge = Judge(caller_arn(stack), stack.retention_days)
    reading = judge_all(stack, judge, rest.tickets, reader.limiter)
    with with_progress(reading, "comparing", len(rest.tickets.to_import)) as judging:
        judged = [_unless_named(one, named.rivals) for one in judging]
    reserved = missing_reserved(stack, rest.tickets)
    records = [
        record for own in rest.records.values() for record in due_records(reader, own)
    ]
    return Plan(stack, rest, whole, judged, reserved, records, others)


def _holes(project: WholeProject) -> str:
    """Return why a part of a file leaves numbers open, if it does."""
    missing = [
        one for one in project.findings if one.kind in {Kind.GAP, Kind.UNFINISHED_SEED}
    ]
    if not missing:
        return ""
    shown_ones = shown_range(project.project_id, missing[0].numbers[:1] * 2)
    return (
        f"numbers from {shown_ones} on are missing here and in this part: take the "
        "whole export"
    )


def shown(counts: Counter[str]) -> str:
    """Return what is back, in a line."""
    found = [f"{name} {count:,}" for name, count in counts.items() if count]
    return ", ".join(found) or "nothing"


def _unless_named(one: Judged, rivals: dict[tuple[str, int], str]) -> Judged:
    """Refuse a line whose number the record of another key names."""
    ticket = one.ticket
    key = rivals.get((ticket.project_id, ticket.number))
    if one.is_due and key is not None:
        why = f"the record of the key {key} names this number; see: {program} audit"
        return Judged(Known(ticket), why)
    return one


@dataclass(frozen=True)
class Restore:
    """Carries a plan out."""

    stack: Stack
    plan: Plan

    def run(self, file: str) -> Counter[str]:
        """Put everything back, and return the counts; what is refused is printed."""
        plan, counts = self.plan, Counter[str]()
        caller = caller_arn(self.stack)
        try:
            for project in plan.whole:
                self._put_whole(project, caller, counts)
            if plan.judged or plan.reserved:
                judge = Judge(caller, self.stack.retention_days)
                tickets = plan.exported.tickets
                done = Import(self.stack, judge).run(
                    tickets, plan.judged, file, plan.reserved
                )
                counts["tickets"] += done[WRITTEN]
                counts["reserved numbers"] += done[RESERVED]
                counts["records alone"] += done[RECORDED]
                counts["refused"] += done[REFUSED]
            for record, result in RecordsBack(self.stack).put_all(plan.records):
                if result in {RECORD_BACK, RECORD_THERE}:
                    counts["records alone"] += result == RECORD_BACK
                else:
                    counts["refused"] += 1
                    remark(f"the record of {record.idempotency_key}: {result}")
        except BaseException:  # Ctrl-C as well.
            remark("not all is back: do not start the worker, and run it again")
            raise
        return counts

    def _put_whole(
        self, project: WholeProject, caller: str, counts: Counter[str]
    ) -> None:
        results = PuttingBack(self.stack, caller).put_all(project)
        text = f"putting {project.project_id} back"
        with with_progress(results, text, len(project.lines)) as done:
            for line, result in done:
                if result == BACK:
                    kind = (
                        "tickets" if line.item.idempotency_key else "reserved numbers"
                    )
                    counts[kind] += 1
                elif result != THERE:
                    counts["refused"] += 1
                    remark(f"{line.item.ticket_key}: {result}")
