"""Checks of the chain and the dates, by the words of docs/evidence.md alone.

It shares no code with the worker: who computes wrongly on both sides proves nothing.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from simulation.aws.items import Address, Item, plain
from simulation.aws.tables import KEYS, TICKETS
from simulation.monitor import Monitor, broken

CHAIN: Final = re.compile(r"v[0-9]+:[A-Za-z0-9_-]{1,86}")
DATE: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
A_DAY: Final = timedelta(days=1)
"""The distance of two clocks up to which dates do not run against numbers."""


@dataclass
class Chains:
    """Checks that each ticket covers the one before it and is not dated before it."""

    monitor: Monitor
    clocks_differ: timedelta
    """By that much, at most."""
    tickets: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    """Every ticket's attributes, by project and number."""
    links: int = 0
    """Tickets that cover the chain of the one before."""
    segments: int = 0
    """Tickets with a chain behind one without."""
    dates_back: int = 0
    """Tickets dated before their predecessors, because clocks differ too much."""

    def decided(self, writes: Mapping[Address, Item | None]) -> None:
        """See the items that hold from now on."""
        if not self.monitor.has_key_records:
            return  # An algorithm of the textbook has no chain.
        records = {
            (str(plain(item["project_id"])), int(plain(item["number"]))): item
            for address, item in writes.items()
            if address.table == KEYS and item
        }
        for (project, number), item in sorted(_tickets(writes.items())):
            is_new = (project, number) not in self.tickets
            ticket = {name: plain(value) for name, value in item.items()}
            self.tickets[project, number] = ticket
            if is_new and "origin" not in ticket:
                record = records[project, number]
                self._check_new(f"{project}-{number}", ticket, record)

    def _check_new(self, name: str, ticket: dict[str, Any], record: Item) -> None:
        if ("chain" in ticket) != ("chain" in record):
            broken(f"{name} and its key's record differ in their chains")
        if "chain" not in ticket:
            broken(f"{name} has no chain")
        if ticket["chain"] != plain(record["chain"]):
            broken(f"{name} and its key's record have different chains")
        before = self.tickets.get((ticket["project_id"], int(ticket["number"]) - 1), {})
        found = before.get("chain", "")
        previous = found if CHAIN.fullmatch(found) else ""
        if ticket["chain"] != _chain(previous, ticket, plain(record["fingerprint"])):
            broken(f"the chain of {name} does not fit")
        self.links += bool(previous)
        self.segments += not previous
        self._check_date(name, ticket, before)

    def _check_date(
        self, name: str, ticket: dict[str, Any], before: dict[str, Any]
    ) -> None:
        date = ticket["assigned_at"]
        if not DATE.fullmatch(date):
            broken(f"{name} has the date {date}")
        last = before.get("assigned_at", "")
        if "origin" in before or date >= last:
            return
        distance = datetime.fromisoformat(last) - datetime.fromisoformat(date)
        if min(distance, self.clocks_differ) <= A_DAY:
            broken(f"{name} is dated before its predecessor")
        self.dates_back += 1

    def announced(self, event: Any) -> None:
        """See an announcement: it tells the chain of its ticket."""
        data = event["data"]
        ticket = self.tickets.get((data["project_id"], data["number"]), {})
        if self.monitor.has_key_records and data.get("chain") != ticket.get("chain"):
            broken(f"{event['id']} was announced with another chain")


def _tickets(
    writes: Iterable[tuple[Address, Item | None]],
) -> Iterable[tuple[tuple[str, int], Item]]:
    for address, item in writes:
        if address.table == TICKETS and item:
            yield (str(address.key[0]), int(address.key[1])), item


def _chain(previous: str, ticket: Mapping[str, Any], fingerprint: str) -> str:
    """Return the chain that a ticket must have."""
    covered = [
        previous,
        ticket["project_id"],
        int(ticket["number"]),
        ticket["idempotency_key"],
        _digest([ticket.get("salt"), fingerprint]).hex(),
        ticket["assigned_at"],
    ]
    return "v1:" + base64.urlsafe_b64encode(_digest(covered)).decode().rstrip("=")


def _digest(covered: list[Any]) -> bytes:
    return hashlib.sha256(json.dumps(covered, separators=(",", ":")).encode()).digest()
