"""The tables of DynamoDB: items, locks, past values, and partition throughput."""

from bisect import insort
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, Protocol

from simulation.aws.items import Address, Item, Key, KeyMismatchError, key_of
from simulation.aws.service import ServiceError
from simulation.engine.choices import Choices

PARTITION_UNITS: Final = 1000.0
"""Write units a second of one partition; DynamoDB guide, "Partitions"."""


class Observer(Protocol):
    """Sees every change of the tables at the moment of its decision."""

    def decided(self, writes: Mapping[Address, Item | None]) -> None:
        """See the items that hold from now on; None stands for a deletion."""
        ...


@dataclass
class Tables:
    """The tables, and the hooks that let other tasks run in between."""

    schema: Mapping[str, Mapping[str, str]]
    """The names and types of each table's key attributes."""
    choices: Choices
    observer: Observer
    clock: Callable[[], float]
    step: Callable[[int], None]
    """Lets other tasks run; gets the number of steps of the transaction's phase."""
    observe: Callable[[Any], None]
    """Adds what a transaction saw to the state of its task."""
    hold: Callable[[], None] = lambda: None
    """Lets other tasks run between a transaction's preparation and its decision."""
    partition_units: float = PARTITION_UNITS
    throttled: Mapping[str, float] = field(default_factory=dict)
    """Projects whose partition is throttled, and until when."""
    on_failed_action: Callable[[Address, str], None] = lambda *_: None
    """Called with the item for which a transaction is cancelled, and the code."""
    partial_reasons: float = 0.0
    """The share of cancellations that report only some of their reasons."""

    locked: set[Address] = field(default_factory=set)
    units_written: float = 0.0
    units_read: float = 0.0
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

    def schema_of(self, table: str) -> Mapping[str, str]:
        """Return the names and types of a table's key attributes.

        Raises:
            ServiceError: The table does not exist.
        """
        try:
            return self.schema[table]
        except KeyError:
            raise ServiceError("ResourceNotFoundException") from None

    def read(self, address: Address, ago: float = 0.0) -> Item | None:
        """Return the committed item as it was this many seconds ago."""
        item = self._items.get(address.table, {}).get(address.key)
        if ago:
            then = self.clock() - ago
            for time, changed, before in reversed(self._past):
                if time <= then:
                    break
                if changed == address:
                    item = before
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

    def state(self) -> Hashable:
        """Return what stands for the tables' state, but for their throughput."""
        held = sorted(
            (name, str(key), str(item))
            for name, table in self._items.items()
            for key, item in table.items()
        )
        return tuple(held), tuple(sorted(map(str, self.locked)))

    def write(self, address: Address, item: Item | None) -> None:
        """Write or delete an item that was decided on."""
        table = self._items.setdefault(address.table, {})
        before = table.get(address.key)
        self._past.append((self.clock(), address, before))
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
        if self.clock() < self.throttled.get(str(address.key[0]), 0.0):
            return False
        filled, since = self._used.get(address.partition, (0.0, 0.0))
        left = max(0.0, filled - (self.clock() - since) * self.partition_units)
        if left + units > max(self.partition_units, units):
            return False
        self._used[address.partition] = (left + units, self.clock())
        self.units_written += units
        return True
