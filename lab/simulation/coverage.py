"""The coverage of a history: the conditions under which its promises were kept."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Final

from simulation.aws.faults import SERVICES
from simulation.aws.lambda_service import FUNCTION_TIMEOUT_SECONDS
from simulation.aws.messages import reason_of
from simulation.checks import Neighbours
from simulation.history import History
from simulation.monitor import FULL
from simulation.requests import OPTIONAL, RequestId
from simulation.scenario import Scenario
from ticket_numbering.allocation.sequence_cache import TTL

BLOCK_SIZES: Final = (1, 5, 10, 49, 50)
BATCH_SIZES: Final = (1, 10, 50, 130, 1000)
LONG_KEY: Final = 100
FAR_APART_SECONDS: Final = 600.0

LATE_COMMITS: Final = "commits after their message was visible again and redelivered"
LATE_ANNOUNCEMENTS: Final = "first announcements ten minutes or more after the commit"
PROJECTS_LIKE_TICKETS: Final = "projects numbered that are named like a ticket"
SHORT_VISIBILITY: Final = "histories whose visibility timeout ends before an invocation"
OTHER_TTLS: Final = "histories with another TTL of the sequence cache"
FAIR_DAYS: Final = "days on which no message may wait for its neighbours"
FAIR_FIFO_DAYS: Final = "such days on FIFO queues"
FAIR_REFUSALS: Final = "requests refused at their caps on such days"
ENDLESS_OUTAGES: Final = "outages that nobody ends"

CONDITIONS: Final[Mapping[str, float]] = {
    "blocks committed of up to 1": 1,
    "blocks committed of up to 5": 3,
    "blocks committed of up to 10": 20,
    "blocks committed of up to 49": 20,
    "blocks committed of up to 50": 20,
    "batches of up to 1": 1,
    "batches of up to 10": 1,
    "batches of up to 50": 10,
    "batches of up to 130": 10,
    "batches of up to 1000": 60,
    LATE_COMMITS: 400,
    LATE_ANNOUNCEMENTS: 50,
    "keys numbered in several projects": 10,
    "projects numbered that differ in case only": 10,
    PROJECTS_LIKE_TICKETS: 30,
    "keys numbered that differ in case only": 10,
    "keys numbered that differ at the end only": 2,
    "requests refused at their caps": 2,
    **{f"tickets with {name}": 2 for name in OPTIONAL},
    "messages with attributes of their own": 1,
    SHORT_VISIBILITY: 5,
    OTHER_TTLS: 4,
    "histories with wrong clocks": 3,
    **{f"outages of {service}": 40 for service in SERVICES},
    "minutes of outages": 1,
    ENDLESS_OUTAGES: 120,
    FAIR_DAYS: 20,
    FAIR_FIFO_DAYS: 80,
    FAIR_REFUSALS: 20,
    "uncontended deliveries on such days": 1,
}
"""What makes numbering hard, and in how many histories it is met at least once."""


def coverage_of(
    scenario: Scenario, history: History, neighbours: Neighbours
) -> Counter[str]:
    """Count the conditions that a history met."""
    monitor = neighbours.monitor
    messages = _Messages(
        {
            message.id: request.id
            for message in monitor.queue.arrived
            if (request := monitor.sent.get(message.body))
        }
    )
    for event in history.events:
        messages.see(*event)
    counts = messages.counts + _names(monitor.numbered) + _conditions(scenario)
    for _, content in monitor.numbered.values():
        ticket = json.loads(content)
        for name, default in OPTIONAL.items():
            counts[f"tickets with {name}"] += ticket[name] != default
    letters = monitor.dead_letters.arrived
    refused = sum(reason_of(letter) == FULL for letter in letters)
    counts["requests refused at their caps"] = refused
    counts[FAIR_REFUSALS] = refused * scenario.is_fair
    counts["uncontended deliveries on such days"] = neighbours.deliveries
    return counts


def _conditions(scenario: Scenario) -> Counter[str]:
    lengths = [outage.end - outage.start for outage in scenario.outages]
    minutes = sum(length / 60 for length in lengths if length < inf)
    return Counter(
        {
            "messages with attributes of their own": sum(
                bool(sending.attributes) for sending in scenario.sendings
            ),
            SHORT_VISIBILITY: scenario.visibility_seconds < FUNCTION_TIMEOUT_SECONDS,
            OTHER_TTLS: scenario.cache_ttl != TTL,
            "histories with wrong clocks": scenario.clock_error > 0,
            "minutes of outages": round(minutes),
            ENDLESS_OUTAGES: lengths.count(inf),
            FAIR_DAYS: scenario.is_fair,
            FAIR_FIFO_DAYS: scenario.is_fair and scenario.fifo,
            **Counter(f"outages of {outage.service}" for outage in scenario.outages),
        }
    )


@dataclass
class _Messages:
    """Follows the messages from their receipts to their commits."""

    requests: Mapping[str, RequestId]
    counts: Counter[str] = field(default_factory=Counter)
    _invocations: Counter[str] = field(default_factory=Counter)
    _batches: dict[str, tuple[int, list[str]]] = field(default_factory=dict)
    """The receipt and the messages of each invocation."""
    _receipt: dict[str, int] = field(default_factory=dict)
    """The last receipt of each visible message."""
    _duplicates: set[str] = field(default_factory=set)
    _committed: dict[str, float] = field(default_factory=dict)

    def see(self, time: float, actor: str, what: str, detail: Any) -> None:
        """Count an event."""
        match what:
            case "delivers twice":
                self._duplicates.add(detail)
            case "receives":
                self._receive(actor, [message for message, _ in detail])
            case "commits":
                self._commit(time, actor, detail)
            case "announces" if detail in self._committed:
                waited = time - self._committed.pop(detail)
                self.counts[LATE_ANNOUNCEMENTS] += waited >= FAR_APART_SECONDS

    def _receive(self, poller: str, messages: list[str]) -> None:
        self._invocations[poller] += 1
        invocation = f"{poller}.{self._invocations[poller]}"
        receipt = len(self._batches)
        self._batches[invocation] = receipt, messages
        self.counts[_row("batches", BATCH_SIZES, len(messages))] += 1
        for message in messages:
            if message not in self._duplicates:
                self._receipt[message] = receipt
        self._duplicates.clear()

    def _commit(
        self, time: float, actor: str, tickets: Mapping[str, RequestId]
    ) -> None:
        sizes = Counter(project for project, _ in tickets.values())
        for size in sizes.values():
            self.counts[_row("blocks committed", BLOCK_SIZES, size)] += 1
        self._committed |= dict.fromkeys(tickets, time)
        receipt, messages = self._batches.get(actor.rpartition("/")[0], (0, ()))
        written = {*tickets.values()}
        self.counts[LATE_COMMITS] += any(
            self._receipt.get(message, receipt) > receipt
            for message in messages
            if self.requests.get(message) in written
        )


def _names(numbered: Iterable[RequestId]) -> Counter[str]:
    """Count the requests that are easily mistaken for another one."""
    keys: dict[str, list[str]] = defaultdict(list)
    projects: dict[str, list[str]] = defaultdict(list)
    for project, key in numbered:
        keys[project].append(key)
        projects[key].append(project)
    counts = Counter(
        {
            "keys numbered in several projects": sum(
                len(sharing) > 1 for sharing in projects.values()
            ),
            "projects numbered that differ in case only": _similar(keys, str.lower),
            PROJECTS_LIKE_TICKETS: sum(
                project.rpartition("-")[0] in keys and project[-1].isdigit()
                for project in keys
            ),
        }
    )
    for some in keys.values():
        counts["keys numbered that differ in case only"] += _similar(some, str.lower)
        long = [key for key in some if len(key) > LONG_KEY]
        counts["keys numbered that differ at the end only"] += _similar(
            long, lambda key: key[:-1]
        )
    return counts


def _similar(names: Collection[str], normalize: Callable[[str], str]) -> int:
    """Count the names that become equal to another one when normalized."""
    return len(names) - len({normalize(name) for name in names})


def _row(name: str, sizes: Sequence[int], size: int) -> str:
    most = next(most for most in sizes if size <= most)
    return f"{name} of up to {most}"
