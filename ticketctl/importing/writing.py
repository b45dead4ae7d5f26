"""Writes tickets of another system, each with the record of its key."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from ticket_numbering.contract import aws_codes
from ticket_numbering.contract.dynamodb_items import (
    CHAIN,
    FINGERPRINT,
    RECORD_ID,
    STATUS,
    record_id,
    ticket_id,
)
from ticketctl.aws.aws_errors import Suppressed
from ticketctl.aws.items import put_or_check
from ticketctl.aws.retry import RateLimiter, RetryPolicy
from ticketctl.aws.stack import StackAccess
from ticketctl.aws.tickets import get_ticket
from ticketctl.cli.errors import BusyError, InputError
from ticketctl.cli.output import note_if_interrupted, print_note, with_progress
from ticketctl.files.lines import Problems
from ticketctl.importing.judging import ALREADY, UNRECORDED, Judge
from ticketctl.importing.lines import ExternalTicket
from ticketctl.importing.planning import PlannedTicket, judge_all
from ticketctl.ledger.sequence import explains_below
from ticketctl.sequences.seeding import Seed, Seeded

_IN_FLIGHT: Final = 8
_AT_A_TIME: Final = 64
"""The most tickets that are written between Ctrl-C and the end."""

_UNFINISHED: Final = "not all is imported; run it again, and it goes on"

WRITTEN: Final = "written"
REFUSED: Final = "refused"

_OF_ITEM: Final = ("project_id", STATUS, CHAIN)
_OF_RECORD: Final = (RECORD_ID, FINGERPRINT)
"""The attributes of a record that must be unchanged since its read."""


@dataclass(frozen=True)
class Import:
    """Writes tickets below the last numbers of their projects."""

    stack: StackAccess
    judge: Judge
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    limiter: RateLimiter | None = None

    def run(self, judged: Sequence[PlannedTicket], file: str) -> Counter[str]:
        """Seed the projects, write missing tickets, and return the counts of results.

        A missing line becomes `WRITTEN`, exists by now, or is `REFUSED` and printed.
        """
        counts: Counter[str] = Counter()
        refused = Problems(file)
        due = [planned for planned in judged if planned.is_due]
        with note_if_interrupted(_UNFINISHED):
            results = self._write_due(due, self._seed_all(judged))
            with with_progress(results, "importing", len(due)) as written:
                for planned, result in written:
                    is_refused = result not in {WRITTEN, ALREADY, UNRECORDED}
                    counts[REFUSED if is_refused else result] += 1
                    if is_refused:
                        ticket = planned.ticket
                        refused.add(ticket.line, f"{ticket.ticket_key}: {result}")
        refused.end()
        return counts

    def _seed_all(self, judged: Sequence[PlannedTicket]) -> Mapping[str, str]:
        """Seed the projects; return the reasons of those left out."""
        busy: dict[str, str] = {}
        for project, end in sorted(ends(judged)):
            try:
                seeded = self.seed(project, end)
            except BusyError as error:
                busy[project] = str(error)
                continue
            for given in seeded.given_within if seeded else ():
                print_note(f"{project}-{given} was given by workers meanwhile")
        return busy

    def _write_due(
        self, due: Sequence[PlannedTicket], busy: Mapping[str, str]
    ) -> Iterator[tuple[PlannedTicket, str]]:
        """Write lines, several at a time; yield each with its result."""
        free = []
        for planned in due:
            if why := busy.get(planned.ticket.project_id):
                yield planned, why
            else:
                free.append(planned)
        tickets = [planned.ticket for planned in free]
        with ThreadPoolExecutor(_IN_FLIGHT) as pool:
            for start in range(0, len(tickets), _AT_A_TIME):
                some = [*self.judged(tickets[start : start + _AT_A_TIME])]
                yield from zip(some, pool.map(self.write, some), strict=True)

    def judged(self, tickets: Iterable[ExternalTicket]) -> Iterator[PlannedTicket]:
        """Judge tickets whose projects are seeded."""
        return judge_all(self.stack, self.judge, tickets, self.limiter, is_seeded=True)

    def seed(self, project: str, number: int) -> Seeded | None:
        """Seed up to a number, or finish the seed that ends with it.

        Nothing is done if the sequence is past the number, for no worker can take it.
        """
        there = get_ticket(self.stack, project, number)
        if there and not explains_below(there.kind):
            return None
        caller, retry = self.judge.caller, self.retry
        try:
            return Seed(self.stack, project, number, caller, "import", retry).apply()
        except InputError:
            return None

    def write(self, judged: PlannedTicket) -> str:
        """Write a planned ticket; return `WRITTEN`, or its state.

        If its items have changed since the plan, it is judged again.

        Raises:
            BusyError: Others kept writing it.
        """
        ticket = judged.ticket

        def attempt() -> str | None:
            nonlocal judged
            if not judged.is_due:
                return judged.result
            if self._put(judged):
                return WRITTEN
            [judged] = self.judged([ticket])
            return None

        return self.retry.until(attempt, f"{ticket.ticket_key}: others kept writing it")

    def _put(self, judged: PlannedTicket) -> bool:
        """Put a ticket and the record of its key, if both are unchanged."""
        outputs, ticket = self.stack.outputs, judged.ticket
        place, recorded = judged.place, judged.record
        item, record = self.judge.items(ticket, place, recorded)
        actions = [
            put_or_check(
                outputs["TicketsTableName"],
                ticket_id(ticket.project_id, ticket.number),
                item,
                place.fields if place else {},
                _OF_ITEM,
            ),
            put_or_check(
                outputs["IdempotencyKeysTableName"],
                record_id(ticket.request.key),
                None if recorded else record,
                recorded.fields if recorded else {},
                _OF_RECORD,
            ),
        ]
        with Suppressed({aws_codes.CANCELLED}):
            self.stack.client("dynamodb").transact_write_items(TransactItems=actions)
            return True
        return False


def ends(judged: Sequence[PlannedTicket]) -> set[tuple[str, int]]:
    """Return the numbers up to which projects must be seeded."""
    highest: dict[str, int] = {}
    for planned in judged:
        project, number = planned.ticket.project_id, planned.ticket.number
        highest[project] = max(number, highest.get(project, 0))
    projects = {
        planned.ticket.project_id for planned in judged if not planned.is_refused
    }
    unfinished = {(planned.ticket.project_id, planned.unfinished) for planned in judged}
    tops = {(project, highest[project]) for project in projects}
    return tops | {(project, end) for project, end in unfinished if end}
