"""Checks each write to a ticket or a record beside a restore."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from operators.mark_monitor import ERASED, KEPT, NO_FINGERPRINT, RESERVED
from operators.stack import PROJECT
from simulation.aws.items import Address, Item
from simulation.aws.items import plain as plain_value
from simulation.aws.tables import KEYS, TICKETS, Tables
from simulation.checks.violations import Invariant, broken
from ticket_numbering.contract.dynamodb_items import SEED_ATTRIBUTES
from ticketctl.aws.items import plain
from ticketctl.ledger.item import parse
from ticketctl.ledger.standing import covers
from ticketctl.restore.steps import MARK

Fields = Mapping[str, Any]

MARKED: Final = ("status", "title", "salt", "commitment", "voided", "erased")
"""The prefixes of the attributes that a void or an erasure changes."""


@dataclass
class RestoreMonitor:
    """Sees every write, and knows whether it is a restore's."""

    tables: Tables
    is_restoring: bool = False
    """Whether the write at hand is a restore's."""
    is_whole: bool = False
    """Whether the tables had nothing of the project, so the file vouches for itself."""
    is_losing: bool = False
    """Whether the tables lose items meanwhile, as no promise allows."""
    met: Counter[str] = field(default_factory=Counter)

    def decided(self, writes: Mapping[Address, Item | None]) -> None:
        """See writes before they are there.

        Raises:
            Violation: One of them is not allowed.
        """
        for address, item in writes.items():
            stored = self.tables.read(address)
            before = plain(stored) if stored else {}
            if item and address.table == TICKETS:
                self._see_item(writes, before, plain(item))
            elif item and before and self.is_restoring:
                _see_record(before, plain(item))
            elif not item and before:
                broken(Invariant.TICKET_OVERWRITTEN, f"{before} was deleted")
        if self.is_restoring:
            for address in writes:
                self._see_erasure(writes, address)

    def _see_item(
        self, writes: Mapping[Address, Item | None], before: Fields, item: Fields
    ) -> None:
        number = int(item["number"])
        if "idempotency_key" in before:
            self._see_ticket(number, before, item)
        elif before:
            self._see_reserved(number, before, item)
        above = self._then(writes, TICKETS, number + 1)
        loses_origin = "origin" in before and "origin" not in item
        if self.is_restoring and loses_origin and not self.is_losing:
            keys = self.tables.partition(TICKETS, item["project_id"], 0.0)
            if not above and keys[-1] > (item["project_id"], number):
                broken(
                    Invariant.RESTORE_NOT_BLOCKED,
                    f"{number} lost its origin, and {number + 1} is free",
                )
            self.met["origins lost"] += 1
        if self.is_restoring:
            self._see_hash(number, before, item, above)

    def _see_ticket(self, number: int, before: Fields, item: Fields) -> None:
        """Check the change of a ticket: it is marked, or gets its hash again."""
        is_healed = "origin" in before and "chain" in item and "origin" not in item
        self.met["hashes given again"] += is_healed
        kept = ("idempotency_key",) if is_healed else KEPT
        texts = {n: v for n, v in before.items() if not n.startswith(MARKED)}
        changed = [name for name in kept if before.get(name) != item.get(name)]
        is_erased = item.get("status") == ERASED
        if changed or not (is_erased or is_healed or texts.items() <= item.items()):
            broken(Invariant.TICKET_OVERWRITTEN, f"{number} was {before}, is {item}")
        if before.get("status") == ERASED and not is_erased:
            broken(Invariant.ERASED_TEXT, f"{number} was erased, and is {item}")

    def _see_reserved(self, number: int, before: Fields, item: Fields) -> None:
        """Check the replacement of a reserved number, except of a restore's mark."""
        if before.get("reserved_reason") == MARK or item.get("status") == RESERVED:
            return
        self.met["reserved numbers given way"] += 1
        if "chain" in before and before["chain"] != item.get("chain"):
            broken(
                Invariant.TICKET_OVERWRITTEN,
                f"{number} was lost, another ticket is there",
            )
        seed = {name: before[name] for name in SEED_ATTRIBUTES & before.keys()}
        if "origin" in item and seed != {name: item.get(name) for name in seed}:
            broken(Invariant.MARK_CHANGED, f"{number} was of a seed, and is {item}")

    def _see_hash(
        self, number: int, before: Fields, item: Fields, above: Fields
    ) -> None:
        """See that the hash of a ticket comes back if something vouches for it."""
        if "idempotency_key" not in item:
            return
        record = self._there(KEYS, f"{item['project_id']}#{item['idempotency_key']}")
        kept = record.get("chain") if record.get("number") == number else None
        follows = parse(above) if above else None
        if "origin" in item:
            if kept and "chain" not in before and not covers(follows, ""):
                broken(Invariant.RESTORE_UNVOUCHED, f"{number} lost its hash, {kept}")
            return
        chain = item.get("chain", "")
        if not (
            self.is_whole
            or chain in {kept, before.get("chain")}
            or covers(follows, chain)
        ):
            broken(Invariant.RESTORE_UNVOUCHED, f"nothing vouches for {number}: {item}")

    def _see_erasure(
        self, writes: Mapping[Address, Item | None], address: Address
    ) -> None:
        """See that a ticket and the record of its key are erased, or none of them."""
        item = plain(writes[address] or {})
        project, key = item["project_id"], item.get("idempotency_key")
        record = self._then(writes, KEYS, f"{project}#{key}")
        number = item["number"]
        ticket = self._then(writes, TICKETS, number)
        if record.get("number") != number or ticket.get("idempotency_key") != key:
            return
        is_erased = record["fingerprint"] == plain_value(NO_FINGERPRINT)
        if is_erased and ticket.get("status") != ERASED:
            broken(Invariant.ERASED_TEXT, f"{number} was erased, and is {ticket}")
        if ticket.get("status") == ERASED and not is_erased:
            broken(
                Invariant.ERASED_RECORD, f"{number} is erased, its record is {record}"
            )

    def _then(
        self, writes: Mapping[Address, Item | None], table: str, place: Any
    ) -> Fields:
        """Return the item at an address after the writes; {} if there is none."""
        address = _address(table, place)
        return plain(writes.get(address) or self.tables.read(address) or {})

    def _there(self, table: str, place: Any) -> Fields:
        return self._then({}, table, place)


def _address(table: str, place: Any) -> Address:
    return Address(table, (PROJECT, place) if table == TICKETS else (place,))


def _see_record(before: Fields, record: Fields) -> None:
    """See that the record of a key names its number for as long as before."""
    kept = ("number", "assigned_at", "expires_at")
    texts = {before["fingerprint"], plain_value(NO_FINGERPRINT)}
    is_kept = all(before.get(name) == record.get(name) for name in kept)
    if not is_kept or record["fingerprint"] not in texts:
        broken(Invariant.RECORD_OVERWRITTEN, f"it was {before}, is {record}")
