"""Writes tickets that have their numbers already, each with its key's record."""

from collections import Counter
from collections.abc import Iterator, Sequence
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
    STATUS,
    record_id,
    ticket_id,
)
from ticketctl.aws.aws_errors import error_code
from ticketctl.aws.conditions import put_or_check
from ticketctl.aws.items import Ticket, plain
from ticketctl.aws.retry import RetryPolicy
from ticketctl.aws.stack import System
from ticketctl.aws.tickets import around_each, records_of, ticket_from, tickets_above
from ticketctl.cli.output import remark, with_progress
from ticketctl.files.lines import Problems
from ticketctl.importing.existing import Existing, Tickets
from ticketctl.importing.judging import Judge, Known
from ticketctl.importing.neighbours import ALREADY
from ticketctl.importing.planning import REFUSED, Judged
from ticketctl.sequences.seeding import Seed, Seeded

_IN_FLIGHT: Final = 8
_AT_A_TIME: Final = 64
"""Tickets after which Ctrl-C takes effect, at the latest."""

WRITTEN: Final = "written"
RECORDED: Final = "recorded"
"""The ticket was there, and its key had no record."""

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
        self, tickets: Tickets, judged: Sequence[Judged], file: str
    ) -> Counter[str]:
        """Seed the projects, write the tickets that are due, and return the results.

        One is `WRITTEN`, `RECORDED`, `ALREADY`, or `REFUSED`, and then printed.
        """
        counts: Counter[str] = Counter()
        refused = Problems(file)
        # The highest first: the end of a seed guards the numbers below it.
        due = [one.known for one in judged if one.is_due]
        due.sort(key=lambda one: one.ticket.number, reverse=True)
        try:
            for project, end in sorted(_ends(tickets, judged)):
                seeded = self.seed(project, end)
                for given in seeded.given_within if seeded else ():
                    remark(f"{project}-{given} was given by workers meanwhile")
            written = self.write_all(due)
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

    def seed(self, project: str, number: int) -> Seeded | None:
        """Seed up to a number, or finish the seed that it lies in."""
        above = ticket_from(self.stack, project, number)
        if above and not above.explains_a_gap:
            return None
        return self._seed_up_to(project, above.number if above else number).apply()

    def _seed_up_to(self, project: str, last: int) -> Seed:
        caller = self.judge.caller
        return Seed(self.stack, project, last, caller, "import", self.retry)

    def write_all(self, lines: Sequence[Known]) -> Iterator[tuple[Existing, str]]:
        """Write tickets, several at a time; yield each result.

        Their projects must be seeded at least up to them.
        """
        with ThreadPoolExecutor(_IN_FLIGHT) as pool:
            for start in range(0, len(lines), _AT_A_TIME):
                some = lines[start : start + _AT_A_TIME]
                yield from pool.map(lambda one: (one.ticket, self.write(one)), some)

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

    def _block_next(self, place: Ticket) -> None:
        """Reserve the next free number of a seed before one of its guards goes.

        A worker with an old read increments past a ticket, and not past a seed.
        """
        if not place.follows_a_sequence:
            return
        seed = self._seed_up_to(place.project_id, place.reserved_up_to)
        free = place.number + 1
        for item in tickets_above(self.stack, place.project_id, place.number):
            if item.number > free:
                break
            free = item.number + 1
        if free < place.reserved_up_to and not seed.reserve(free):
            self._block_next(place)


def _ends(tickets: Tickets, judged: Sequence[Judged]) -> set[tuple[str, int]]:
    """Return the numbers up to which projects are to be seeded."""
    highest = tickets.highest_numbers()
    projects = {one.project_id for one in tickets.reserved}
    projects |= {one.ticket.project_id for one in judged if not one.is_refused}
    unfinished = {(one.ticket.project_id, one.unfinished) for one in judged}
    ends = {(project, highest[project]) for project in projects}
    return ends | {(project, end) for project, end in unfinished if end}
