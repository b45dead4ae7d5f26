"""Reads the records of all keys, before anything goes back.

Only they tell that a number was given to another key: no index has them by number.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from ticketctl.aws.items import key_record
from ticketctl.aws.table_reader import TableReader
from ticketctl.ledger.item import Item, Place, Ticket
from ticketctl.ledger.record import KeyRecord


@dataclass(frozen=True)
class Named:
    """What the records say about the projects of a file."""

    rivals: dict[Place, str] = field(default_factory=dict)
    """Numbers that a record gives to another key than the file's ticket has."""
    projects: dict[str, list[KeyRecord]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """The records of each project that is asked for."""


def read_named(
    reader: TableReader, items: Mapping[str, Mapping[int, Item]], empty: set[str]
) -> Named:
    """Read the whole table of keys.

    Args:
        reader: The reader of the tables.
        items: The file's items.
        empty: Projects whose records are kept: as many as a file's lines at most.
    """
    found = Named()
    for page in reader.scan(reader.keys_table):
        for record in map(key_record, page):
            if isinstance(record, KeyRecord) and record.project_id in items:
                own = items[record.project_id].get(record.number)
                key = record.idempotency_key
                if isinstance(own, Ticket) and own.idempotency_key != key:
                    found.rivals[record.project_id, record.number] = key
                if record.project_id in empty:
                    found.projects[record.project_id].append(record)
    return found
