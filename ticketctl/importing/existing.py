"""The lines of a file: tickets that have their numbers already."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ticket_numbering.contract.messages import Assignment, CreateTicket
from ticketctl.ledger.item import Item, Ticket


@dataclass(frozen=True)
class Existing(Ticket):
    """A ticket of another system, as an item with what its line says.

    Numbers are those of JSON; the texts are in the request, but for an exported item.
    """

    line: int
    request: CreateTicket
    """The equal create-ticket message."""
    assigned_at: str
    """When it got its number, by its line, or else now."""
    is_exported: bool = False
    """Whether it is the whole item of a table, for it has a hash or an origin."""

    @property
    def has_own_key(self) -> bool:
        """Whether its idempotency key is not the one that an import makes."""
        return self.idempotency_key != f"import:{self.ticket_key}"

    @property
    def assignment(self) -> Assignment:
        """The number that its key keeps; it has no chain, for nobody chained it."""
        return Assignment(self.number, self.request.fingerprint, self.assigned_at)


@dataclass(frozen=True)
class Tickets:
    """The lines of a file."""

    to_import: Sequence[Existing]
    reserved: Sequence[Item] = ()
    """Exported items that are no tickets; their numbers were used all the same."""

    @property
    def are_exported(self) -> bool:
        """Whether a table had them, and not another system."""
        return bool(self.reserved) or any(one.is_exported for one in self.to_import)

    def by_project(self) -> dict[str, dict[int, Item]]:
        """Return the lines by project and number."""
        found: dict[str, dict[int, Item]] = defaultdict(dict)
        for line in (*self.to_import, *self.reserved):
            found[line.project_id][line.number] = line
        return found

    def highest_numbers(self) -> dict[str, int]:
        """Return each project's highest number, be it only reserved."""
        return {project: max(lines) for project, lines in self.by_project().items()}
