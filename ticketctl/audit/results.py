"""What an audit comes to, project by project."""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from ticketctl.audit.findings import Finding, Kind
from ticketctl.audit.plan import AuditPlan

Range = tuple[int, int]
"""The first and the last number."""


@dataclass(frozen=True)
class ProjectAudit:
    """What a project's tickets and keys say."""

    project_id: str
    present: "array[int]" = field(default_factory=lambda: array("Q"))
    """The numbers, ascending."""
    findings: tuple[Finding, ...] = ()
    elsewhere: tuple[Range, ...] = ()
    """Missing numbers that another system gave."""
    from_elsewhere: int = 0
    """Tickets whose numbers another system gave."""
    reserved: int = 0
    voided: int = 0
    expired: int = 0
    """Tickets whose keys are no longer recorded, as they need not be."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers, ascending."""
        return tuple(self.present)

    @property
    def first(self) -> int:
        """The lowest number; 0 if there is no ticket."""
        return self.present[0] if self.present else 0

    @property
    def last(self) -> int:
        """The highest number; 0 if there is no ticket."""
        return self.present[-1] if self.present else 0

    @property
    def gaps(self) -> tuple[Range, ...]:
        """Missing numbers that nothing explains."""
        gaps = (each for each in self.findings if each.kind is Kind.GAP)
        return tuple((each.numbers[0], each.numbers[1]) for each in gaps)

    @property
    def is_clean(self) -> bool:
        """Whether the promise holds for this project."""
        return not self.findings


@dataclass(frozen=True)
class Coverage:
    """How much of what was to be read was read."""

    tickets: bool
    """All tickets, and each gap a second time."""
    keys: bool
    """All keys, or those that the tickets of single projects name."""
    suspicions: bool
    """Everything that looked wrong was read a second time."""
    single_projects: bool
    budget_spent: bool

    @property
    def is_complete(self) -> bool:
        """Whether nothing was left out."""
        return self.tickets and self.keys and self.suspicions

    @property
    def looked_for(self) -> list[Kind]:
        """What is not there if it was not found."""
        kinds: list[Kind] = []
        if self.tickets:
            kinds += [Kind.GAP, Kind.UNFINISHED_SEED]
        if self.is_complete:
            kinds += [Kind.DUPLICATE, Kind.TICKET_WITHOUT_KEY, Kind.MISMATCH]
            kinds += [Kind.MALFORMED]
        if self.is_complete and not self.single_projects:
            kinds += [Kind.KEY_WITHOUT_TICKET]
        return kinds


@dataclass(frozen=True)
class AuditReport:
    """What an audit came to."""

    plan: AuditPlan
    coverage: Coverage
    projects: tuple[ProjectAudit, ...]
    """By id."""
    started: datetime
    ended: datetime
    tickets_read: int
    keys_read: int
    read_units: float

    @property
    def findings(self) -> Iterator[Finding]:
        """All that was found, by project."""
        for project in self.projects:
            yield from project.findings

    @property
    def is_clean(self) -> bool:
        """Whether all was read and nothing is wrong."""
        whole = all(each.is_clean for each in self.projects)
        return whole and self.coverage.is_complete
