"""The tables of DynamoDB: items, locks, past values, and partition throughput."""

from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from simulation.aws.errors import ServiceError, validation
from simulation.aws.items import Address, Item, Key, KeyMismatchError, key_of
from simulation.aws.latency import Latency
from simulation.engine.choices import Choices
from simulation.engine.scheduler import Scheduler

TICKETS: Final = "tickets"
KEYS: Final = "keys"
LINES: Final = "lines"
SCHEMA: Final[Mapping[str, Mapping[str, str]]] = {
    TICKETS: {"project_id": "S", "number": "N"},
    KEYS: {"id": "S"},
    LINES: {"project_id": "S"},
}
"""The names and types of each table's key attributes."""

PAST: Final = "reads of an item's past value"
WITHHELD: Final = "cancellations that withhold reasons"
EXCEEDED: Final = "writes beyond a partition's throughput"
"""The effects that a history counts."""

UNINDEXABLE: Final = "ValidationError"

PARTITION_UNITS: Final = 1000.0
"""Write units a second of one partition; DynamoDB guide, "Partitions"."""


@dataclass
class Tables:
    """The tables of the stack."""

    scheduler: Scheduler
    choices: Choices
    latency: Latency
    partition_units: float = PARTITION_UNITS
    throttled: Mapping[str, float] = field(default_factory=dict)
    """Projects whose partition is throttled, and until when."""
    unindexable: Mapping[str, float] = field(default_factory=dict)
    """Ids of records that an index of the keys' table rejects, and until when."""
    partial_reasons: float = 0.0
    """The share of cancellations that report only some of their reasons."""

    on_decision: Callable[[Mapping[Address, Item | None]], None] = lambda _: None
    """Called with the items that hold from now on; None stands for a deletion."""
    on_failed_action: Callable[[Address, str], None] = lambda *_: None
    """Called with the item for which a transaction is cancelled, and the code."""

    locked: set[Address] = field(default_factory=set)
    units_written: float = 0.0
    units_read: float = 0.0
    effects: Counter[str] = field(default_factory=Counter)
    """The number of times that each of the effects above was seen."""
    _items: dict[str, dict[Key, Item]] = field(default_factory=dict)
    _sorted: dict[tuple[str, str | Decimal], list[Key]] = field(default_factory=dict)
    _past: list[tuple[float, Address, Item | None]] = field(default_factory=list)
    _used: dict[Any, tuple[float, float]] = field(default_factory=dict)

    def address(self, request: Mapping[str, Any]) -> Address:
        """Return the address of the request's item.

        Raises:
            ServiceError: The key does not match the schema.
        """
        table = request["TableName"]
        schema = self.schema_of(table)
        if "Item" in request:
            return Address(table, key_of(request["Item"], schema))
        if request["Key"].keys() != schema.keys():
            raise KeyMismatchError("the key does not match the schema")
        return Address(table, key_of(request["Key"], schema))

    def check_index(self, address: Address) -> None:
        """Reject an item in a transaction if it cannot be in an index of its table.

        The form of the error is left open: with a reason for each item, or without.

        Raises:
            KeyMismatchError: It is rejected, with reasons.
            ServiceError: The whole transaction is rejected.
        """
        if self.scheduler.now >= self.unindexable.get(str(address.key[0]), 0.0):
            return
        self.on_failed_action(address, UNINDEXABLE)
        text = "a value cannot be in a secondary index"
        raise validation(text) if self.choices.chance(0.5) else KeyMismatchError(text)

    def schema_of(self, table: str) -> Mapping[str, str]:
        """Return the names and types of a table's key attributes.

        Raises:
            ServiceError: The table does not exist.
        """
        try:
            return SCHEMA[table]
        except KeyError:
            raise ServiceError("ResourceNotFoundException") from None

    def read(self, address: Address, ago: float = 0.0) -> Item | None:
        """Return the committed item as it was this many seconds ago."""
        item = current = self._items.get(address.table, {}).get(address.key)
        if ago:
            then = self.scheduler.now - ago
            for time, changed, before in reversed(self._past):
                if time <= then:
                    break
                if changed == address:
                    item = before
        self.effects[PAST] += item is not current
        return item

    def partition(self, table: str, value: str | Decimal, ago: float) -> Sequence[Key]:
        """Return the sorted keys of a partition's committed items."""
        keys = self._sorted.get((table, value), [])
        if not ago:
            return keys
        changed = {
            address.key for _, address, _ in self._past if address.table == table
        }
        known = sorted({*keys, *(key for key in changed if key[0] == value)})
        return [key for key in known if self.read(Address(table, key), ago)]

    def items(self, table: str) -> list[Item]:
        """Return every committed item of a table."""
        return list(self._items.get(table, {}).values())

    def write(self, address: Address, item: Item | None) -> None:
        """Write or delete an item that was decided on."""
        table = self._items.setdefault(address.table, {})
        before = table.get(address.key)
        self._past.append((self.scheduler.now, address, before))
        keys = self._sorted.setdefault(address.partition, [])
        if item is None:
            if table.pop(address.key, None) is not None:
                keys.remove(address.key)
            return
        table[address.key] = item
        if before is None:
            insort(keys, address.key)

    def charge(self, address: Address, units: float) -> bool:
        """Take units of the partition's throughput; return whether it had them."""
        if self.scheduler.now < self.throttled.get(str(address.key[0]), 0.0):
            return False
        filled, since = self._used.get(address.partition, (0.0, 0.0))
        left = max(0.0, filled - (self.scheduler.now - since) * self.partition_units)
        if left + units > max(self.partition_units, units):
            self.effects[EXCEEDED] += 1
            return False
        self._used[address.partition] = (left + units, self.scheduler.now)
        self.units_written += units
        return True


def address_of(item: Item) -> Address:
    """Return where an item of the stack's tables, or its key, belongs."""
    table = KEYS if "id" in item else TICKETS
    return Address(table, key_of(item, SCHEMA[table]))


def by_address(items: Iterable[Item]) -> dict[Address, Item]:
    """Return items by where they belong."""
    return {address_of(item): item for item in items}
