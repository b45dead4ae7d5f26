"""The findings of an audit, each with its remedy in one line."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

MANUAL: Final = "docs/operations.md"


class Kind(StrEnum):
    """Kinds of findings, as JSON names them."""

    GAP = "gap"
    UNFINISHED_SEED = "unfinished-seed"
    DUPLICATE = "two-tickets-of-one-key"
    KEY_WITHOUT_TICKET = "key-without-ticket"
    TICKET_WITHOUT_KEY = "ticket-without-key"
    MISMATCH = "key-names-another-ticket"
    MALFORMED = "malformed-item"
    NO_TICKETS = "project-without-tickets"


_LINES: Final[Mapping[Kind, str]] = {
    Kind.GAP: (
        "{numbers}: missing; no ticket is ever deleted by the system, so look for "
        "them in a backup of the tickets' table"
    ),
    Kind.UNFINISHED_SEED: (
        "{numbers}: missing before a number from elsewhere, and open to workers: a "
        "seed or an import was interrupted, so run it again: ticketctl seed {seed}; "
        "if none was, look for them in a backup first"
    ),
    Kind.DUPLICATE: (
        "{numbers}: tickets of one key, {key}; one request got several numbers: "
        "find out who else writes to the tables, and void all but the ticket in use"
    ),
    Kind.KEY_WITHOUT_TICKET: (
        "{numbers}: named by the key {key}, but there is no such ticket; look for it "
        "in a backup: a repeat of the request is announced with this number"
    ),
    Kind.TICKET_WITHOUT_KEY: (
        "{numbers}: the ticket's key {key} is not recorded; a repeat of the request "
        "would get a second number, so restore the record (or were keys once kept "
        "for a shorter time?)"
    ),
    Kind.MISMATCH: (
        "{numbers}: the ticket's key {key} is recorded for {recorded}; a repeat of the "
        "request is announced with that number: fix the record"
    ),
    Kind.MALFORMED: (
        "{key}: the item is not as the system writes it; find out who else writes to "
        "the tables"
    ),
    Kind.NO_TICKETS: "there is no ticket of this project; is its name right?",
}


@dataclass(frozen=True)
class Finding:
    """A deviation from the promise."""

    kind: Kind
    project_id: str
    numbers: tuple[int, ...] = ()
    """The tickets' numbers; the first and the last of a missing range."""
    idempotency_key: str = ""
    recorded: int | None = None
    """The other number that the key's record has, if it has one."""
    item: str = ""
    """The name of a malformed item."""

    def __str__(self) -> str:
        """Return the finding and its remedy."""
        said = _LINES[self.kind].format(
            numbers=self._numbers(),
            key=self.idempotency_key or self.item,
            recorded=f"{self.project_id}-{self.recorded}",
            seed=f"{self.project_id} --last {max(self.numbers, default=0) + 1}",
        )
        return f"{self.project_id}: {self.kind}: {said}; see {MANUAL}"

    def as_json(self) -> dict[str, Any]:
        """Return the finding for scripts."""
        return asdict(self) | {"message": str(self)}

    def _numbers(self) -> str:
        if self.kind not in {Kind.GAP, Kind.UNFINISHED_SEED}:
            return ", ".join(f"{self.project_id}-{number}" for number in self.numbers)
        first, last = self.numbers
        key = f"{self.project_id}-{first}"
        return key if first == last else f"{key} to {self.project_id}-{last}"
