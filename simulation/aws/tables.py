"""What a DynamoDB holds: items, locks, the past, and each partition's throughput."""

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
    """Sees every change of the tables at the moment that it is decided."""

    def decided(self, writes: Mapping[Address, Item | None]) -> None:
        """See what holds from now on; None stands for a deletion."""
        ...


@dataclass
class Tables:
    """The tables, and the means to let others act in between."""

    schema: Mapping[str, Mapping[str, str]]
    """The names and types of each table's key attributes."""
    choices: Choices
    observer: Observer
    clock: Callable[[], float]
    step: Callable[[int], None]
    """Lets others act; a transaction takes so many steps one after the other."""
    learn: Callable[[Any], None]
    """Notes what a transaction saw."""
    hold: Callable[[], None] = lambda: None
    """Lets others act between a transaction's preparation and its decision."""
    partition_units: float = PARTITION_UNITS
    crowds: Mapping[str, float] = field(default_factory=dict)
    """Projects whose throughput is used up by others, and until when."""
    on_obstacle: Callable[[Address, str], None] = lambda *_: None
    """Sees for which item a transaction is cancelled, and why."""
    silence: float = 0.0
    """How often a cancellation tells only some of its reasons."""

    locked: set[Address] = field(default_factory=set)
    units_written: float = 0.0
    units_read: float = 0.0
    _items: dict[str, dict[Key, Item]] = field(default_factory=dict)
    _sorted: dict[tuple[str, str | Decimal], list[Key]] = field(default_factory=dict)
    _past: list[tuple[float, Address, Item | None]] = field(default_factory=list)
    _used: dict[Any, tuple[float, float]] = field(default_factory=dict)

    @property
    def now(self) -> float:
        """Seconds since the beginning."""
        return self.clock()

    def address(self, request: Mapping[str, Any]) -> Address:
        """Return the address of the request's item.

        Raises:
            ServiceError: It has none.
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
            ServiceError: There is no such table.
        """
        try:
            return self.schema[table]
        except KeyError:
            raise ServiceError("ResourceNotFoundException") from None

    def read(self, address: Address, ago: float = 0.0) -> Item | None:
        """Return the committed item, as it is or was so many seconds ago."""
        item = self._items.get(address.table, {}).get(address.key)
        if ago:
            for time, changed, before in reversed(self._past):
                if time <= self.now - ago:
                    break
                if changed == address:
                    item = before
        return item

    def partition(self, table: str, value: str | Decimal, ago: float) -> Sequence[Key]:
        """Return the keys of a partition's committed items in their order."""
        keys = self._sorted.get((table, value), [])
        if not ago:
            return keys
        gone = {each.key for _, each, _ in self._past if each.table == table}
        known = sorted({*keys, *(key for key in gone if key[0] == value)})
        return [key for key in known if self.read(Address(table, key), ago)]

    def items(self, table: str) -> list[Item]:
        """Return every committed item of a table."""
        return list(self._items.get(table, {}).values())

    def state(self) -> Hashable:
        """Return what stands for the tables' future, but for their throughput."""
        held = sorted(
            (name, str(key), str(item))
            for name, table in self._items.items()
            for key, item in table.items()
        )
        return tuple(held), tuple(sorted(map(str, self.locked)))

    def decide(self, writes: Mapping[Address, Item | None]) -> None:
        """Make it so, though it is yet to be written."""
        self.observer.decided(writes)

    def write(self, address: Address, item: Item | None) -> None:
        """Write or delete what is decided."""
        table = self._items.setdefault(address.table, {})
        before = table.get(address.key)
        self._past.append((self.now, address, before))
        keys = self._sorted.setdefault(address.partition, [])
        if item is None:
            if table.pop(address.key, None) is not None:
                keys.remove(address.key)
            return
        table[address.key] = item
        if before is None:
            insort(keys, address.key)

    def charge(self, address: Address, units: float) -> bool:
        """Take units of the partition's throughput; tell whether it had them."""
        if self.now < self.crowds.get(str(address.key[0]), 0.0):
            return False
        filled, since = self._used.get(address.partition, (0.0, 0.0))
        left = max(0.0, filled - (self.now - since) * self.partition_units)
        if left + units > max(self.partition_units, units):
            return False
        self._used[address.partition] = (left + units, self.now)
        self.units_written += units
        return True
