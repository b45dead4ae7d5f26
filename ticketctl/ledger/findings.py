"""The findings of an audit, each with its remedy in one line."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final, Literal, get_args

from ticketctl.cli.pages import docs

Range = tuple[int, int]
"""The first and the last number."""


class FindingKind(StrEnum):
    """The kinds of findings; their values are the words in JSON."""

    GAP = "gap"
    UNFINISHED_SEED = "unfinished-seed"
    DUPLICATE = "two-tickets-of-one-key"
    KEY_WITHOUT_TICKET = "key-without-ticket"
    GIVEN_TWICE = "number-given-twice"
    TICKET_WITHOUT_KEY = "ticket-without-key"
    MISMATCH = "key-names-another-ticket"
    CHANGED = "changed-ticket"
    RESTARTED = "restarted-chain"
    MISDATED = "misdated-ticket"
    DIFFERING = "key-differs-from-ticket"
    CHAINED_EXTERNAL = "chain-on-external-ticket"
    ERASED_WITH_TEXT = "erased-with-text"
    NOT_VERIFIABLE = "not-verifiable"
    HEAD = "head-does-not-hold"
    MALFORMED = "malformed-item"
    NO_TICKETS = "project-without-tickets"


Unfit = Literal[FindingKind.CHANGED, FindingKind.RESTARTED, FindingKind.NOT_VERIFIABLE]
"""The problems of a ticket's hash."""

TicketProblem = Literal[
    Unfit,
    FindingKind.MISDATED,
    FindingKind.CHAINED_EXTERNAL,
    FindingKind.ERASED_WITH_TEXT,
]
"""The problems of a ticket behind the item before it."""

_LINES: Final[Mapping[FindingKind, str]] = {
    FindingKind.GAP: (
        "{numbers}: missing; no ticket is ever deleted by the system, so look for "
        "them in a backup of the tickets' table"
    ),
    FindingKind.UNFINISHED_SEED: (
        "{numbers}: missing before an external number, and open to workers: a "
        "seed or an import was interrupted, so run it again: {program} seed {seed}; "
        "if none was, look for them in a backup first"
    ),
    FindingKind.DUPLICATE: (
        "{numbers}: tickets of one key, {key}; one request got several numbers: "
        "find out who else writes to the tables, and void all but the ticket in use"
    ),
    FindingKind.KEY_WITHOUT_TICKET: (
        "{numbers}: named by the key {key}, but there is no such ticket; a repeat of "
        "the request is announced with this number, so keep the key, and put the "
        "ticket back from an export or a backup, or reserve its number"
    ),
    FindingKind.GIVEN_TWICE: (
        "{numbers}: named by the key {key}, but the ticket has another key: this one's "
        "was deleted, and its number given again; stop the worker, and decide which of "
        "the two requests keeps it"
    ),
    FindingKind.TICKET_WITHOUT_KEY: (
        "{numbers}: the ticket's key {key} is not recorded; a repeat of the request "
        "would get a second number, so export and restore the project, which writes "
        "the record (or were keys once kept for a shorter time?)"
    ),
    FindingKind.MISMATCH: (
        "{numbers}: the ticket's key {key} is recorded for {recorded}; a repeat of the "
        "request is announced with that number: fix the record"
    ),
    FindingKind.CHANGED: (
        "{numbers}: not as the chain says, from the first of them on: the ticket, or "
        "the hash of the one before it, was changed after it was numbered; compare "
        "it with a backup and with its announcement"
    ),
    FindingKind.RESTARTED: (
        "{numbers}: the chain starts again, although the ticket before has a hash: "
        "that one was put in or put back later, or all from here on was written again"
    ),
    FindingKind.MISDATED: (
        "{numbers}: dated before the ticket before it, or over a day after the ticket "
        "behind it, or in a form that no worker writes; the worker does not do that "
        "while no two clocks differ by more than a day"
    ),
    FindingKind.DIFFERING: (
        "{numbers}: the ticket and the record of its key {key} differ in {detail}; "
        "compare both with a backup and with the announcement"
    ),
    FindingKind.CHAINED_EXTERNAL: (
        "{numbers}: an external ticket has a hash, which only the worker writes: "
        "a person set `origin`, or copied an item"
    ),
    FindingKind.ERASED_WITH_TEXT: (
        "{numbers}: erased, but there is text or salt: erase the ticket again, and "
        "find out who wrote it"
    ),
    FindingKind.NOT_VERIFIABLE: (
        "{numbers}: this ticketctl cannot verify it: a later release, or another "
        "program, wrote something that it does not know; use the newest ticketctl"
    ),
    FindingKind.HEAD: (
        "{numbers}: {detail}, contrary to the saved head: the tickets that it covers "
        "were rewritten, changed or cut off"
    ),
    FindingKind.MALFORMED: (
        "{key}: the item is not as the system writes it; find out who else writes to "
        "the tables"
    ),
    FindingKind.NO_TICKETS: "there is no ticket of this project; is its name right?",
}

_GUARD: Final = (
    "{numbers}: reserved for a seed up to {recorded}, which is missing, so workers can "
    "take the numbers before it; run the seed again before they do: {program} seed "
    "{seed}"
)
"""The line of an unfinished seed that has a guard and no end."""

RANGES: Final = {FindingKind.GAP, FindingKind.UNFINISHED_SEED, *get_args(TicketProblem)}
"""The kinds whose numbers are the ends of a range."""


@dataclass(frozen=True)
class Finding:
    """A deviation from the promise."""

    kind: FindingKind
    project_id: str
    numbers: tuple[int, ...] = ()
    """The numbers of the tickets, or the first and the last of a range."""
    idempotency_key: str = ""
    recorded: int | None = None
    """The other number in the key's record, or the end of a guard's seed."""
    item: str = ""
    """The name of a malformed item."""
    detail: str = ""
    """The differing fields."""

    def line(self, program: str) -> str:
        """Return the finding and its remedy in one line."""
        is_guard = (
            self.kind is FindingKind.UNFINISHED_SEED and self.recorded is not None
        )
        end = self.recorded if is_guard else max(self.numbers, default=0) + 1
        said = (_GUARD if is_guard else _LINES[self.kind]).format(
            numbers=self._numbers(),
            key=self.idempotency_key or self.item,
            recorded=f"{self.project_id}-{self.recorded}",
            detail=self.detail,
            program=program,
            seed=f"{self.project_id} --last {end}",
        )
        return f"{self.project_id}: {self.kind}: {said}; see {docs()}recovery.md"

    def as_json(self, program: str) -> dict[str, Any]:
        """Return the finding for scripts."""
        return asdict(self) | {"message": self.line(program)}

    def _numbers(self) -> str:
        if self.kind in RANGES:
            return shown_range(self.project_id, self.numbers)
        return ", ".join(f"{self.project_id}-{number}" for number in self.numbers)


def shown_range(project_id: str, ends: Iterable[int]) -> str:
    """Return a range as text: `PROJ-3 to PROJ-5`, or a single key."""
    first, last = (f"{project_id}-{number}" for number in ends)
    return first if first == last else f"{first} to {last}"
