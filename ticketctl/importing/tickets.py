"""Writes tickets that have their numbers already, each with its key's record."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Final

from botocore.exceptions import ClientError

from ticket_numbering.contract.dynamodb_items import (
    ASSIGNED_AT,
    CHAIN,
    FINGERPRINT,
    NUMBER,
    RECORD_ID,
    RESERVED,
    STATUS,
    record_id,
    ticket_id,
)
from ticketctl.aws.aws_errors import error_code
from ticketctl.aws.conditions import put_or_check
from ticketctl.aws.items import plain
from ticketctl.aws.retry import RetryPolicy
from ticketctl.aws.stack import System
from ticketctl.aws.tickets import around_each, records_of, ticket_from, tickets_above
from ticketctl.cli.errors import BusyError, InputError
from ticketctl.cli.output import remark, with_progress
from ticketctl.files.lines import Problems
from ticketctl.importing.existing import Existing, Tickets
from ticketctl.importing.judging import ALREADY, Judge, Known
from ticketctl.importing.planning import REFUSED, Judged
from ticketctl.importing.reserved import PuttingBack
from ticketctl.ledger.item import Item
from ticketctl.ledger.sequence import explains_below, guards_a_seed
from ticketctl.sequences.seeding import Seed, Seeded

_IN_FLIGHT: Final = 8
_AT_A_TIME: Final = 64
"""Tickets after which Ctrl-C takes effect, at the latest."""

WRITTEN: Final = "written"
RECORDED: Final = "recorded"
"""The ticket was there, and its key had no record."""
_DONE: Final = {WRITTEN, RECORDED, ALREADY}

_OF_TICKET: Final = ("project_id", "idempotency_key", STATUS, ASSIGNED_AT, CHAIN)
_OF_RECORD: Final = (RECORD_ID, NUMBER, FINGERPRINT, ASSIGNED_AT, CHAIN)
"""The attributes that must be as they were found."""


@dataclass(frozen=True)
class Import:
    """Writes tickets below the last numbers of their projects."""

    stack: System
    judge: Judge
    retry: RetryPolicy = field(default_factory=RetryPolicy)

    def run(
        self,
        tickets: Tickets,
        judged: Sequence[Judged],
        file: str,
        reserved: Sequence[Item] = (),
    ) -> Counter[str]:
        """Seed the projects, write what is due, and return the results.

        A line is `WRITTEN`, `RECORDED`, `ALREADY`, or `REFUSED`, and then printed; a
        reserved number that is put back is `RESERVED`.
        """
        counts: Counter[str] = Counter()
        refused = Problems(file)
        try:
            busy = self._seed_all(tickets, judged)
            due = [one for one in judged if one.is_due]
            results = self._write_due(due, reserved, busy, counts)
            with with_progress(results, "importing", len(due)) as written:
                for ticket, result in written:
                    is_refused = result not in _DONE
                    counts[REFUSED if is_refused else result] += 1
                    if is_refused:
                        refused.add(ticket.line, f"{ticket.ticket_key}: {result}")
        except BaseException:  # Ctrl-C as well.
            remark("not all is imported; run it again, and it goes on")
            raise
        refused.end()
        return counts

    def _seed_all(
        self, tickets: Tickets, judged: Sequence[Judged]
    ) -> Mapping[str, str]:
        """Seed the projects; return why some are left out."""
        busy: dict[str, str] = {}
        lines = tickets.by_project()
        for project, end in sorted(_ends(tickets, judged)):
            try:
                seeded = self.seed(project, end)
            except BusyError as error:
                busy[project] = str(error)
                continue
            for given in seeded.given_within if seeded else ():
                # An import that is repeated finds what it put back itself.
                if given not in lines[project]:
                    remark(f"{project}-{given} was given by workers meanwhile")
        return busy

    def _write_due(
        self,
        due: Sequence[Judged],
        reserved: Sequence[Item],
        busy: Mapping[str, str],
        counts: Counter[str],
    ) -> Iterator[tuple[Existing, str]]:
        """Write lines so that none takes away the ground of another's verdict.

        Behind a ticket that goes back, and behind the end of a seed, nothing else is
        external. So external lines are first, and tickets that go back are last.
        """
        free: list[Judged] = []
        # The highest first: the end of a seed guards the numbers below it.
        for one in sorted(due, key=lambda one: one.ticket.number, reverse=True):
            if why := busy.get(one.ticket.project_id):
                yield one.ticket, why
            else:
                free.append(one)
        refused: list[Known] = []
        for is_last in (False, True):
            if is_last:
                back = PuttingBack(self.stack, self.retry)
                own = [one for one in reserved if one.project_id not in busy]
                counts[RESERVED] += sum(1 for _ in back.put_all(own))
            lines = [one.known for one in free if one.goes_back is is_last]
            for known, result in self.write_all(lines):
                if result in _DONE:
                    yield known.ticket, result
                else:
                    refused.append(known)
        # Others may have been in the way, and are there now.
        again = records_of(self.stack, [known.ticket.request.key for known in refused])
        for known in refused:
            record = again.get(known.ticket.request.key)
            yield known.ticket, self.write(replace(known, record=record))

    def seed(self, project: str, number: int) -> Seeded | None:
        """Seed up to a number, or finish the seed that it lies in.

        Nothing is to be done if the sequence is past it: no worker takes it any more.
        """
        above = ticket_from(self.stack, project, number)
        if above and not explains_below(above.kind):
            return None
        try:
            return self._seed_up_to(project, above.number if above else number).apply()
        except InputError:
            return None

    def _seed_up_to(self, project: str, last: int) -> Seed:
        caller = self.judge.caller
        return Seed(self.stack, project, last, caller, "import", self.retry)

    def write_all(self, lines: Sequence[Known]) -> Iterator[tuple[Known, str]]:
        """Write tickets, several at a time; yield each result.

        Their projects must be seeded at least up to them.
        """
        with ThreadPoolExecutor(_IN_FLIGHT) as pool:
            for start in range(0, len(lines), _AT_A_TIME):
                some = lines[start : start + _AT_A_TIME]
                yield from pool.map(lambda one: (one, self.write(one)), some)

    def write(self, known: Known) -> str:
        """Write a ticket; return `WRITTEN`, `RECORDED`, `ALREADY`, or why not."""
        ticket, known = known.ticket, replace(known, is_seeded=True)

        def attempt() -> str | None:
            nonlocal known
            if result := self._attempt(known):
                return result
            key = ticket.request.key
            known = replace(known, record=records_of(self.stack, [key]).get(key))
            return None

        busy = f"{ticket.ticket_key}: others kept writing it"
        return self.retry.until(attempt, busy)

    def _attempt(self, known: Known) -> str | None:
        project_id, number = known.ticket.project_id, known.ticket.number
        [(_, around)] = around_each(self.stack, project_id, [number], page=2)
        verdict = self.judge.verdict(known, around)
        if isinstance(verdict, str):
            return verdict
        if around.there and verdict.ticket and not verdict.is_external:
            self._block_next(around.there)
        outputs, request = self.stack.outputs, known.ticket.request
        place = around.there.fields if around.there else {}
        recorded = plain(known.record or {})
        tickets, keys = outputs["TicketsTableName"], outputs["IdempotencyKeysTableName"]
        key, record = ticket_id(project_id, number), record_id(request.key)
        actions = [
            put_or_check(tickets, key, verdict.ticket, place, _OF_TICKET),
            put_or_check(keys, record, verdict.record, recorded, _OF_RECORD),
        ]
        try:
            self.stack.client("dynamodb").transact_write_items(TransactItems=actions)
        except ClientError as error:
            if error_code(error) != "TransactionCanceledException":
                raise
            return None
        return WRITTEN if verdict.ticket else RECORDED

    def _block_next(self, place: Item) -> None:
        """Reserve the next free number of a seed before one of its guards goes.

        A worker with an old read increments past a ticket, and not past a seed.
        """
        if not guards_a_seed(place.kind):
            return
        seed = self._seed_up_to(place.project_id, place.seed_end)
        free = place.number + 1
        for item in tickets_above(self.stack, place.project_id, place.number):
            if item.number > free:
                break
            free = item.number + 1
        if free < place.seed_end and not seed.reserve(free):
            self._block_next(place)


def _ends(tickets: Tickets, judged: Sequence[Judged]) -> set[tuple[str, int]]:
    """Return the numbers up to which projects are to be seeded."""
    highest = tickets.highest_numbers()
    projects = {one.project_id for one in tickets.reserved}
    projects |= {one.ticket.project_id for one in judged if not one.is_refused}
    unfinished = {(one.ticket.project_id, one.unfinished) for one in judged}
    ends = {(project, highest[project]) for project in projects}
    return ends | {(project, end) for project, end in unfinished if end}
