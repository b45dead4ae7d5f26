"""Reads the suspects again, after a delay, before they are reported.

The scans of the two tables are not simultaneous, and a scan may see half of a
transaction. After the delay that transaction is complete.
"""

from collections.abc import Collection, Iterator
from itertools import islice

from ticket_numbering.contract.messages import RequestKey
from ticketctl.audit.reading import MAX_DOUBTS, AuditReading, check_amount
from ticketctl.aws.items import key_record
from ticketctl.aws.table_reader import SETTLING_SECONDS
from ticketctl.ledger.agreement import record_problems, ticket_problems
from ticketctl.ledger.findings import Finding, FindingKind, Range, TicketProblem
from ticketctl.ledger.item import Ticket
from ticketctl.ledger.record import KeyRecord
from ticketctl.ledger.sequence import SequenceCheck


def recheck(reading: AuditReading) -> Iterator[Finding]:
    """Yield the findings about keys and tickets; read missing numbers again.

    The numbers come first, because a late ticket has a hash and a key, too.
    """
    gaps = [*islice(_gaps(reading), MAX_DOUBTS + 1)]
    check_amount(len(gaps))
    suspects = any(_suspects(reading)) or any(reading.numbers.unmatched())
    if gaps or reading.doubts or suspects:
        reading.reader.sleep(SETTLING_SECONDS)
    reading.read_again(gaps)
    yield from _of_chains(reading)
    yield from _of_keys(reading)


def _of_keys(reading: AuditReading) -> Iterator[Finding]:
    """Yield the findings about tickets and records that differ even in a second read.

    It reads the doubtful keys, the records of unmatched tickets, and the tickets that
    these records name.
    """
    unmatched = [*islice(reading.numbers.unmatched(), MAX_DOUBTS + 1)]
    check_amount(len(unmatched))
    tickets = [
        ticket
        for ticket in reading.reader.tickets(unmatched).values()
        if isinstance(ticket, Ticket)
    ]
    own = {ticket.key for ticket in tickets}
    records = _records(reading, reading.doubts | own)
    known = [record for record in records.values() if record]
    named = {record.key: item for record, item in reading.reader.named(known)}
    for ticket in tickets:
        if ticket.key in records:
            record, item = records[ticket.key], named.get(ticket.key)
            yield from ticket_problems(ticket, record, item)
    for key in reading.doubts - own:
        if record := records.get(key):
            yield from record_problems(record, named.get(key))


def _gaps(reading: AuditReading) -> Iterator[tuple[str, Range]]:
    for project_id in reading.chains:
        for missing, kind in reading.numbers.missing(project_id):
            if kind:
                yield project_id, missing


def _suspects(reading: AuditReading) -> Iterator[tuple[str, TicketProblem, Range]]:
    for project_id, chain in reading.chains.items():
        for kind, ends in chain.suspects():
            yield project_id, kind, ends
        for ends in chain.unlinked:  # A missing number may have come.
            yield project_id, FindingKind.CHANGED, ends


def _of_chains(reading: AuditReading) -> Iterator[Finding]:
    """Yield the runs of tickets that the chain does not confirm in a second read.

    After a gap the chain cannot be checked; the gap is reported anyway.
    """
    for project_id, kind, (first, last) in _suspects(reading):
        check = SequenceCheck()
        # The next ticket's date may show that a date is wrong.
        ends = first, last + 1 if kind is FindingKind.MISDATED else last
        for item in reading.items_between(project_id, ends, check):
            check.follow(item)
            if check.runs[kind] and (start := check.runs[kind][0][0]) <= last:
                yield Finding(kind, project_id, (start, last))
                break


def _records(
    reading: AuditReading, keys: Collection[RequestKey]
) -> dict[RequestKey, KeyRecord | None]:
    """Return the keys' records: None for a missing one, nothing for a malformed one."""
    read = {key: key_record(item) for key, item in reading.reader.records(keys)}
    records = {key: read.get(key) for key in keys}
    return {
        key: record
        for key, record in records.items()
        if record is None or isinstance(record, KeyRecord)
    }
