"""Reads the suspects again, after a delay, before they are reported.

The scans of the two tables are not one moment, and a scan may see the middle of a
transaction. After the delay that transaction is complete.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from itertools import islice

from tests.support.old_judge.agreement import differences, explains
from tests.support.old_judge.chain import ChainCheck, has_unknown_attributes
from tests.support.old_judge.items import KeyRecord, Ticket, key_record
from ticket_numbering.contract.dynamodb_items import ERASED_FINGERPRINT, FINGERPRINT
from ticket_numbering.contract.messages import FINGERPRINT_VERSION, RequestKey
from ticketctl.audit.reading import MAX_DOUBTS, AuditReading, check_amount
from ticketctl.aws.table_reader import SETTLING_SECONDS, Place
from ticketctl.cli.errors import NotThereError
from ticketctl.ledger.findings import Finding, Kind, Range


def recheck(reading: AuditReading) -> Iterator[Finding]:
    """Yield the findings about keys and tickets; read missing numbers again.

    First the numbers, for a ticket that shows late has a hash and a key.
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
    """Yield the findings about tickets and records that do not agree this time either.

    Besides the doubtful keys it reads the records of the tickets without one, and the
    tickets that these records name.
    """
    unmatched = [*islice(reading.numbers.unmatched(), MAX_DOUBTS + 1)]
    check_amount(len(unmatched))
    tickets = [
        (ticket, RequestKey(ticket.project_id, ticket.idempotency_key))
        for ticket in reading.reader.tickets(unmatched).values()
        if ticket.idempotency_key is not None
    ]
    records = _records(reading, reading.doubts | {key for _, key in tickets})
    places = {(found.project_id, found.number) for found in records.values() if found}
    named = reading.reader.tickets(places)
    for ticket, key in tickets:
        if key in records:
            yield from _of_ticket(ticket, records[key], named)
    for key in reading.doubts - {key for _, key in tickets}:
        if record := records.get(key):
            yield from _of_record(record, named)


def _gaps(reading: AuditReading) -> Iterator[tuple[str, Range]]:
    for project_id in reading.chains:
        for missing, kind in reading.numbers.missing(project_id):
            if kind:
                yield project_id, missing


def _suspects(reading: AuditReading) -> Iterator[tuple[str, Kind, Range]]:
    for project_id, chain in reading.chains.items():
        for kind, ends in chain.suspects():
            yield project_id, kind, ends


def _of_chains(reading: AuditReading) -> Iterator[Finding]:
    """Yield the runs of tickets that the chain does not confirm this time either.

    After a gap the chain cannot be checked; the gap is reported anyway.
    """
    for project_id, kind, (first, last) in _suspects(reading):
        check = ChainCheck()
        # A date may be wrong by that of the ticket behind it.
        ends = first, last + 1 if kind is Kind.MISDATED else last
        for ticket in reading.tickets_between(project_id, ends, check):
            check.follow(ticket)
            if kind is Kind.CHANGED and check.is_behind_gap:
                check.runs[kind].clear()
            if check.runs[kind] and (start := check.runs[kind][0][0]) <= last:
                yield Finding(kind, project_id, (start, last))
                break


def _records(
    reading: AuditReading, keys: Collection[RequestKey]
) -> dict[RequestKey, KeyRecord | None]:
    """Read the keys' records: None for a missing one, nothing for a malformed one."""
    items = dict(reading.reader.records(keys))
    found: dict[RequestKey, KeyRecord | None] = {}
    for key in keys:
        item = items.get(key)
        with suppress(NotThereError):
            found[key] = key_record(item) if item else None
    return found


def _of_ticket(
    ticket: Ticket, record: KeyRecord | None, named: Mapping[Place, Ticket]
) -> Iterator[Finding]:
    """Yield the finding about a ticket without a matching record."""
    project_id, number, key = ticket.project_id, ticket.number, ticket.idempotency_key
    if record is None:
        yield Finding(Kind.TICKET_WITHOUT_KEY, project_id, (number,), str(key))
    elif record.number == number:
        yield from _difference(ticket, record)
    else:
        other = named.get((project_id, record.number))
        if other and other.idempotency_key == key:
            numbers = min(number, record.number), max(number, record.number)
            yield Finding(Kind.DUPLICATE, project_id, numbers, str(key))
        else:
            recorded = record.number
            yield Finding(Kind.MISMATCH, project_id, (number,), str(key), recorded)


def _of_record(record: KeyRecord, named: Mapping[Place, Ticket]) -> Iterator[Finding]:
    """Yield a record without its ticket; malformed tickets are reported already."""
    project_id, key = record.project_id, record.idempotency_key
    there = named.get((project_id, record.number))
    if explains(there, record):
        return
    if there is not None and there.idempotency_key == key:
        yield from _difference(there, record)
    elif there is None or not there.is_malformed:
        is_ticket = there is not None and there.idempotency_key is not None
        kind = Kind.GIVEN_TWICE if is_ticket else Kind.KEY_WITHOUT_TICKET
        yield Finding(kind, project_id, (record.number,), key)


def _difference(ticket: Ticket, record: KeyRecord) -> Iterator[Finding]:
    """Yield the finding if a ticket differs from the record of its key.

    A fingerprint alone may agree for a release that knows more.
    """
    if not (differing := differences(ticket, record)):
        return
    known = f"{FINGERPRINT_VERSION}:", ERASED_FINGERPRINT
    is_later = not record.fields[FINGERPRINT].startswith(known)
    kind, numbers = Kind.DIFFERING, [ticket.number]
    if differing == [FINGERPRINT] and (is_later or has_unknown_attributes(ticket)):
        kind, numbers = Kind.NOT_VERIFIABLE, numbers * 2
    key, detail = record.idempotency_key, ", ".join(differing)
    yield Finding(kind, ticket.project_id, tuple(numbers), key, detail=detail)
