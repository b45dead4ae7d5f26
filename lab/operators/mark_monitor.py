"""The monitor of marked tickets: text, salt and fingerprint are erased at once."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from simulation.aws.items import Address, Item, plain
from simulation.aws.tables import KEYS, TICKETS
from simulation.checks.chains import VERIFIER
from simulation.checks.monitor import COPIED_FIELDS, Monitor
from simulation.checks.violations import Invariant, broken
from simulation.scenarios.requests import IDENTITY, RequestId

VOIDED: Final = "voided"
ERASED: Final = "erased"
RESERVED: Final = "reserved"
MARKED: Final = {
    "status",
    *("voided_at", "voided_reason", "voided_by"),
    *("erased_at", "erased_reason", "erased_by"),
}
"""The attributes that `void` and `erase` set."""
KEPT: Final = (
    *("project_id", "number", "idempotency_key", "assigned_at", "priority"),
    *("origin", "imported_by", "reserved_up_to", "reserved_after", "chain"),
)
"""The attributes that neither `void` nor `erase` may add, change or remove."""
NO_TITLE: Final = {"S": "erased"}
NO_FINGERPRINT: Final = {"S": "erased:"}
TEXTS: Final = tuple(name for name in COPIED_FIELDS if name not in IDENTITY)
"""The fields of an announcement that repeat the request, and not its key."""

Texts = tuple[str, ...]


@dataclass
class MarkMonitor(Monitor):
    """Accepts marks of tickets, and replays of other requests under erased keys."""

    items: dict[Address, Item] = field(default_factory=dict)
    """Every item as it was last decided."""
    commitments: dict[Address, str] = field(default_factory=dict)
    """The commitment that each ticket's chain covers."""
    erased: set[RequestId] = field(default_factory=set)
    published: set[tuple[RequestId, Texts]] = field(default_factory=set)
    """The texts of each request's announcements."""
    batch: Callable[[], Iterable[str]] | None = None
    """Returns the bodies of the announcing invocation's batch; None: of all."""
    marked: Counter[str] = field(default_factory=Counter)
    """Marks by status and origin, and their consequences."""

    def decided(self, writes: Mapping[Address, Item | None]) -> None:
        """Check a mark, or a write of numbers."""
        tickets = {
            address: item
            for address, item in writes.items()
            if address.table == TICKETS and item
        }
        marks = {a: i for a, i in tickets.items() if status(i) in {VOIDED, ERASED}}
        for address, item in marks.items():
            self._see_mark(address, item, writes)
        if not marks:
            self._see_numbers(writes)
            for address, item in tickets.items():
                if "chain" in item:
                    record = writes[_address_of_record(item)]
                    self.commitments[address] = _commitment(item, record or {})
        self.items |= {address: item for address, item in writes.items() if item}

    def _see_numbers(self, writes: Mapping[Address, Item | None]) -> None:
        super().decided(writes)

    def _see_mark(
        self, address: Address, item: Item, writes: Mapping[Address, Item | None]
    ) -> None:
        before = self.items.get(address)
        if before is None or status(before) == RESERVED:
            broken(
                Invariant.MARKED_WITHOUT_TICKET,
                f"{address.key} is {status(item)}, and was no ticket",
            )
        lost = [name for name in KEPT if before.get(name) != item.get(name)]
        if lost:
            broken(
                Invariant.MARK_CHANGED,
                f"{address.key} is {status(item)}, and its {lost} changed",
            )
        if status(item) == ERASED:
            self._see_erasure(address, item, writes)
        elif _unmarked(before) != _unmarked(item):
            broken(
                Invariant.MARK_CHANGED,
                f"{address.key} is voided, and more than that changed",
            )
        origin = "external" if "origin" in item else "assigned"
        self.marked[f"{status(item)} {origin}"] += 1

    def _see_erasure(
        self, address: Address, item: Item, writes: Mapping[Address, Item | None]
    ) -> None:
        left = {n: value for n, value in _unmarked(item).items() if n not in KEPT}
        due = {"title": NO_TITLE}
        if address in self.commitments:
            due["commitment"] = {"S": self.commitments[address]}
        if left != due:
            broken(
                Invariant.ERASED_TEXT,
                f"{address.key} is erased, and has {left}, not {due}",
            )
        of_record = _address_of_record(item)
        record = {**self.items[of_record], "fingerprint": NO_FINGERPRINT}
        if writes.get(of_record) != record:
            broken(
                Invariant.ERASED_RECORD,
                f"{address.key} is erased, and the record of its key is not",
            )
        request = str(address.key[0]), plain(item["idempotency_key"])
        if request in self.numbered:  # Imported requests are not.
            self.erased.add(request)

    def is_done(self, body: str) -> bool:
        """Return whether it is answered; an erased key answers every request."""
        request = self.sent[body]
        if request is None or request.id not in self.erased:
            return super().is_done(body)
        # Of different requests in one batch, one event has the number of all.
        return any(known == request.id for known, _ in self.published)

    def announced(self, event: Any) -> None:
        """See an announcement; under an erased key it repeats a message's texts."""
        data = event["data"]
        request = data["project_id"], data["idempotency_key"]
        asked = {
            _texts(json.loads(sent.content))
            for body in (self.batch() if self.batch else self.sent)
            if (sent := self.sent[body]) and sent.id == request
        }
        if request not in self.erased:
            super().announced(event)
        elif event["id"] != self._event_id(request) or _texts(data) not in asked:
            broken(
                Invariant.ANNOUNCED_CONTENT, f"{event['id']} was announced as {data}"
            )
        else:
            _, numbered = self.numbered[request]
            is_rival = _texts(data) != _texts(json.loads(numbered))
            self.marked["rivals announced under erased keys"] += is_rival
        self.published.add((request, _texts(data)))

    def words(self, message: str) -> str:
        """Return the part of an event that all with its id share."""
        event = json.loads(message)
        data = event["data"]
        if (data["project_id"], data["idempotency_key"]) not in self.erased:
            return message
        shared = {n: v for n, v in data.items() if n not in TEXTS}
        return json.dumps(event | {"data": shared})

    def _event_id(self, request: RequestId) -> str:
        return f"{request[0]}-{self.numbered[request][0]}"


def status(item: Item) -> str:
    """Return the item's status; "" if it has none."""
    return str(plain(item["status"])) if "status" in item else ""


def _address_of_record(ticket: Item) -> Address:
    project, key = plain(ticket["project_id"]), plain(ticket["idempotency_key"])
    return Address(KEYS, (f"{project}#{key}",))


def _commitment(ticket: Item, record: Item) -> str:
    """Compute it with the verifier, which shares no code with the worker."""
    covered = [plain(ticket["salt"]), plain(record["fingerprint"])]
    commitment: str = VERIFIER["sha256"](covered).hexdigest()
    return commitment


def _unmarked(item: Item) -> Item:
    return {name: value for name, value in item.items() if name not in MARKED}


def _texts(fields: Mapping[str, Any]) -> Texts:
    return tuple(str(fields.get(name)) for name in TEXTS)
