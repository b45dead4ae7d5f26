"""Reads what looked wrong once more, after a pause, before anybody hears of it.

The scans of the two tables are not one moment, and a scan may see the middle of a
transaction. After the pause that transaction is whole, whoever writes meanwhile.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Final

from ticket_numbering.dynamodb_items import key_id
from ticket_numbering.messages import RequestKey
from ticketctl.audit.findings import Finding, Kind
from ticketctl.audit.numbers import Range
from ticketctl.audit.reading import MAX_DOUBTS, AuditReading, Key, Place
from ticketctl.cli.errors import NotThereError
from ticketctl.system.items import TICKET_ATTRIBUTES, KeyRecord, Ticket, key_record

PAUSE_SECONDS: Final = 2.0

_AT_ONCE: Final = 1000  # Keys whose records and tickets are in memory together.


def recheck(reading: AuditReading) -> tuple[list[Finding], bool]:
    """Return what is wrong with keys and tickets, and whether all was looked at."""
    gaps = [*islice(_gaps(reading), MAX_DOUBTS + 1)]
    if gaps or reading.doubts or any(_unmatched(reading)):
        reading.reader.sleep(PAUSE_SECONDS)
    _fill(reading, gaps[:MAX_DOUBTS])
    unmatched = [*islice(_unmatched(reading), MAX_DOUBTS + 1)]
    suspects: dict[Key, set[int]] = {key: set() for key in reading.doubts}
    for ticket in reading.tickets(unmatched[:MAX_DOUBTS]):
        if ticket.idempotency_key is not None:
            key = ticket.project_id, ticket.idempotency_key
            suspects.setdefault(key, set()).add(ticket.number)
    counts = len(gaps), len(unmatched), len(reading.doubts), len(reading.malformed)
    found = [*islice(_findings(reading, suspects), MAX_DOUBTS)]
    return found, max(counts) <= MAX_DOUBTS


def _gaps(reading: AuditReading) -> Iterator[tuple[str, Range]]:
    for project_id, numbers in reading.projects.items():
        for missing, kind in numbers.missing():
            if kind:
                yield project_id, missing


def _unmatched(reading: AuditReading) -> Iterator[Place]:
    for project_id, numbers in reading.projects.items():
        for number in numbers.unmatched():
            yield project_id, number


def _fill(reading: AuditReading, gaps: Collection[tuple[str, Range]]) -> None:
    """Look again for missing numbers."""
    table = reading.plan.tickets_table
    for project_id, missing in gaps:
        for page in reading.reader.project(
            table, project_id, TICKET_ATTRIBUTES, missing
        ):
            reading.add(page)
    reading.sort()


def _findings(
    reading: AuditReading, suspects: Mapping[Key, Collection[int]]
) -> Iterator[Finding]:
    rest = iter(suspects)
    while keys := [*islice(rest, _AT_ONCE)]:
        records = _records(reading, keys)
        numbers = {
            key: {*suspects[key]} | ({record.number} if record else set())
            for key, record in records.items()
        }
        places = {(key[0], number) for key in numbers for number in numbers[key]}
        tickets = {
            (ticket.project_id, ticket.number): ticket
            for ticket in reading.tickets(places)
        }
        for key, record in records.items():
            there = [
                tickets[key[0], number]
                for number in sorted(numbers[key])
                if (key[0], number) in tickets
            ]
            if finding := _finding(key, record, there):
                yield finding


def _records(
    reading: AuditReading, keys: Collection[Key]
) -> dict[Key, KeyRecord | None]:
    """Read the keys' records, None if there is none; malformed ones are left out."""
    items = {item["id"]["S"]: item for item in reading.records(keys)}
    found: dict[Key, KeyRecord | None] = {}
    for key in keys:
        item = items.get(key_id(RequestKey(*key)))
        with suppress(NotThereError):
            found[key] = key_record(item) if item else None
    return found


def _finding(
    key: Key,
    record: KeyRecord | None,
    tickets: Sequence[Ticket],
) -> Finding | None:
    """Say what is wrong with a key and its tickets, if anything is.

    Args:
        key: The key.
        record: Its record, if there is one.
        tickets: Those that may have the key, ascending.
    """
    project_id, idempotency_key = key
    holders = [
        ticket for ticket in tickets if ticket.idempotency_key == idempotency_key
    ]
    kind = _kind(record, holders)
    is_malformed = any(ticket.is_malformed for ticket in tickets)
    if kind is None or (kind is Kind.KEY_WITHOUT_TICKET and is_malformed):
        return None  # In order, or found already as what it is.
    named = (record.number,) if record else ()
    numbers = tuple(ticket.number for ticket in holders) or named
    other = next((number for number in named if number not in numbers), None)
    return Finding(kind, project_id, numbers, idempotency_key, other)


def _kind(record: KeyRecord | None, holders: Sequence[Ticket]) -> Kind | None:
    if len(holders) > 1:
        return Kind.DUPLICATE
    if record is None:
        return Kind.TICKET_WITHOUT_KEY if holders else None
    if not holders:
        return Kind.KEY_WITHOUT_TICKET
    return None if record.number == holders[0].number else Kind.MISMATCH
