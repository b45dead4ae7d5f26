"""Follows up what looked wrong in an audit's reading, and yields what is wrong."""

from collections.abc import Iterator

from ticketctl.audit.findings import Finding
from ticketctl.audit.reading import AuditReading


def confirmed(reading: AuditReading) -> Iterator[Finding]:
    """Read each suspicion again; only when both tables were read.

    Raises:
        ReadingStoppedError: Not all could be read again.
    """
    recheck = reading.recheck
    for project_id, number in reading.index.repeated():
        ticket = recheck.ticket(project_id, number)
        if ticket and ticket.idempotency_key is not None:
            reading.suspects[project_id, ticket.idempotency_key].add(number)
    for (project_id, key), numbers in reading.suspects.items():
        if finding := recheck.finding(project_id, key, numbers):
            yield finding
    # One by one, and not kept: without a table of keys they are all the tickets.
    for project_id, number in reading.index.unmet(old=False):
        ticket = recheck.ticket(project_id, number)
        unheard = ticket.idempotency_key if ticket else None
        if unheard is None or (project_id, unheard) in reading.suspects:
            continue
        if finding := recheck.finding(project_id, unheard, {number}):
            yield finding
