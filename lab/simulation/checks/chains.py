"""Checks of heads, chain and dates, at every attempt and at every decision.

The chain's are those of `docs/examples/verify.py`, which shares no code with the
worker: who computes wrongly on both sides proves nothing.
"""

import re
import runpy
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from greenlet import getcurrent

from simulation.aws.items import Address, Item
from simulation.aws.tables import KEYS, TICKETS
from simulation.checks.history import actor
from simulation.checks.monitor import Monitor
from simulation.checks.violations import Invariant, broken

VERIFIER: Final[Mapping[str, Any]] = runpy.run_path(
    str(Path(__file__).parents[3] / "docs" / "examples" / "verify.py")
)
CHAIN_PROBLEMS: Final = {
    "it was changed, or the chain of the ticket before it was",
    "its chain restarts after a ticket with a chain",
}
DATE_PROBLEM: Final = "dated before the ticket before it"
DATE: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
A_DAY: Final = timedelta(days=1)
"""The distance of two clocks up to which dates do not run against numbers."""

Ticket = dict[str, Any]


@dataclass
class Chains:
    """Checks that each ticket covers the head before it, and is not dated before it."""

    monitor: Monitor
    clocks_differ: timedelta
    """By that much, unless one stands still meanwhile."""
    tickets: dict[tuple[str, int], Ticket] = field(default_factory=dict)
    """Every item's attributes, by project and number."""
    shown: dict[tuple[str, str], set[int]] = field(
        default_factory=lambda: defaultdict(set)
    )
    """The numbers that queries showed as the highest, by process and project."""
    links: int = 0
    """Tickets that cover the chain of the one before."""
    segments: int = 0
    """Tickets with a chain behind one without."""
    dates_back: int = 0
    """Tickets dated before their predecessors, because clocks differ too much."""
    _asked: dict[Any, str] = field(default_factory=dict)
    """The project that each task's query is about."""

    def noted(self, what: str, detail: Any) -> None:
        """See a call of the running task, or its answer."""
        if what == "> query":
            values = detail[0]["ExpressionAttributeValues"]
            self._asked[getcurrent()] = values[":project"]["S"]
        elif what == "< query" and isinstance(detail, dict) and detail["Items"]:
            number = int(detail["Items"][0]["number"]["N"])
            self.shown[actor(), self._asked[getcurrent()]].add(number)
        elif what == "> transact_write_items" and actor().startswith("worker"):
            self._attempted(detail[0]["TransactItems"])

    def _attempted(self, actions: Any) -> None:
        """See an attempt: the number before its first one is a head, and its own."""
        if not self.monitor.has_key_records:
            return
        ticket = _plain(actions[0]["Put"]["Item"])
        project, head = ticket["project_id"], ticket["number"] - 1
        before = self.tickets.get((project, head))
        if head:
            is_shown = head in self.shown[actor(), project]
            if before is None or ("origin" in before and not is_shown):
                broken(
                    Invariant.ATTEMPT, f"{project}-{head + 1} was tried after no head"
                )
        self._check_link(ticket, before or {"number": head})

    def decided(self, writes: Mapping[Address, Item | None]) -> None:
        """See the items that hold from now on."""
        if not self.monitor.has_key_records:
            return  # An algorithm of the textbook has no chain.
        tickets, records = (
            {
                (plain["project_id"], plain["number"]): plain
                for address, item in writes.items()
                if address.table == table and item
                for plain in [_plain(item)]
            }
            for table in (TICKETS, KEYS)
        )
        for place in sorted(tickets):
            ticket, is_new = tickets[place], place not in self.tickets
            self.tickets[place] = ticket
            if is_new and "origin" not in ticket:
                self._check_new(ticket, records[place])

    def _check_new(self, ticket: Ticket, record: Ticket) -> None:
        if ticket.get("chain") != record.get("chain"):
            broken(
                Invariant.RECORD_CHAIN,
                f"{_name(ticket)} has another chain in its record",
            )
        head = ticket["number"] - 1
        before = self.tickets.get((ticket["project_id"], head), {"number": head})
        self.dates_back += self._check_link(ticket, before)
        self.links += "chain" in before
        self.segments += "chain" not in before

    def _check_link(self, ticket: Ticket, before: Ticket) -> bool:
        """Check that a ticket fits its head, by its text.

        Returns:
            Whether its date runs back, as it may if two clocks differ too much.
        """
        if "chain" not in ticket:
            broken(Invariant.CHAIN, f"{_name(ticket)} has no chain")
        date = ticket["assigned_at"]
        if not DATE.fullmatch(date):
            broken(Invariant.DATE, f"{_name(ticket)} has the date {date}")
        problems = {*VERIFIER["problems"](ticket, before)}
        if CHAIN_PROBLEMS & problems:
            broken(Invariant.CHAIN, f"the chain of {_name(ticket)} does not fit")
        if DATE_PROBLEM not in problems:
            return False
        last = datetime.fromisoformat(before["assigned_at"])
        distance = last - datetime.fromisoformat(date)
        if min(distance, self.clocks_differ) <= A_DAY:
            broken(Invariant.DATE, f"{_name(ticket)} is dated before its predecessor")
        return True

    def announced(self, event: Any) -> None:
        """See an announcement: it tells the chain of its ticket."""
        data = event["data"]
        ticket = self.tickets.get((data["project_id"], data["number"]), {})
        if self.monitor.has_key_records and data.get("chain") != ticket.get("chain"):
            broken(
                Invariant.ANNOUNCED_CHAIN, f"{event['id']} was announced with another"
            )


def _plain(item: Item) -> Ticket:
    ticket: Ticket = VERIFIER["plain"]({"M": item})
    return ticket


def _name(ticket: Ticket) -> str:
    return f"{ticket['project_id']}-{ticket['number']}"
