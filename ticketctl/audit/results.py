"""What an audit comes to, project by project."""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from ticketctl.audit.findings import Finding, Kind
from ticketctl.audit.numbers import Range
from ticketctl.audit.reading import AuditPlan


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
    """Tickets whose keys need not be recorded any more."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers, ascending."""
        return tuple(self.present)

    @property
    def tickets(self) -> int:
        """How many tickets there are: a reserved number is none."""
        return len(self.present) - self.reserved

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
        gaps = (finding for finding in self.findings if finding.kind is Kind.GAP)
        return tuple((gap.numbers[0], gap.numbers[1]) for gap in gaps)

    @property
    def is_clean(self) -> bool:
        """Whether the promise holds for this project."""
        return not self.findings


@dataclass(frozen=True)
class AuditReport:
    """What an audit came to."""

    plan: AuditPlan
    projects: tuple[ProjectAudit, ...]
    """By id."""
    is_complete: bool
    """Whether all that looked wrong was read a second time."""
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
        """Whether nothing is wrong, and nothing was left out."""
        return self.is_complete and all(project.is_clean for project in self.projects)
