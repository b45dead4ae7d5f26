"""The lines of a file: tickets that have their numbers already."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ticket_numbering.contract.events import ticket_key
from ticket_numbering.contract.messages import Assignment, CreateTicket
from ticketctl.aws.items import Ticket


@dataclass(frozen=True)
class Existing:
    """A ticket of another system."""

    line: int
    number: int
    request: CreateTicket
    """The equal create-ticket message."""
    assigned_at: str
    is_erased: bool = False
    """Whether its text is lost, and its number and key alone count."""
    marks: tuple[tuple[str, str], ...] = ()
    """Each mark that it has, in the order of setting, and its command's arguments."""
    exported: Ticket | None = None
    """The whole item of an export, if it has a hash or an origin."""
    is_dated: bool = False
    """Whether the line tells `assigned_at`."""
    is_changed: bool = False
    """Whether its texts were made to fit."""

    @property
    def has_own_key(self) -> bool:
        """Whether its idempotency key is not the one that an import makes."""
        return self.idempotency_key != f"import:{self.ticket_key}"

    @property
    def chain(self) -> str:
        """Its hash; "" if the line has none."""
        return self.exported.chain if self.exported else ""

    @property
    def project_id(self) -> str:
        """The project's id."""
        return self.request.project_id

    @property
    def assignment(self) -> Assignment:
        """The number that its key keeps; it has no chain, for nobody chained it."""
        return Assignment(self.number, self.request.fingerprint, self.assigned_at)

    @property
    def idempotency_key(self) -> str:
        """The key under which a create-ticket message is a replay."""
        return self.request.idempotency_key

    @property
    def ticket_key(self) -> str:
        """The number's display form, such as `PROJ-42`."""
        return ticket_key(self.project_id, self.number)


@dataclass(frozen=True)
class Reserved:
    """An exported item that is no ticket; its number was used all the same."""

    line: int
    project_id: str
    number: int
    chain: str = ""
    """The hash of a lost ticket."""


@dataclass(frozen=True)
class Tickets:
    """The lines of a file."""

    to_import: Sequence[Existing]
    reserved: Sequence[Reserved] = ()

    def by_project(self) -> dict[str, dict[int, Existing | Reserved]]:
        """Return the lines by project and number."""
        found: dict[str, dict[int, Existing | Reserved]] = defaultdict(dict)
        lines: list[Existing | Reserved] = [*self.to_import, *self.reserved]
        for line in lines:
            found[line.project_id][line.number] = line
        return found

    def highest_numbers(self) -> dict[str, int]:
        """Return each project's highest number, be it only reserved."""
        return {project: max(lines) for project, lines in self.by_project().items()}
