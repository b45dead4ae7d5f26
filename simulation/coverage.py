"""The coverage of a history: the conditions under which its promises were kept."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from simulation.aws.lambda_service import FUNCTION_TIMEOUT_SECONDS
from simulation.aws.messages import reason_of
from simulation.faults import SERVICES
from simulation.history import History
from simulation.monitor import FULL
from simulation.neighbours import Neighbours
from simulation.requests import OPTIONAL, RequestId
from simulation.scenario import Scenario

ONLY_CASE: Final = "that differ in case only"
LONG_KEY: Final = 100
FAR_APART_SECONDS: Final = 600.0

BLOCKS: Final = {
    1: "blocks committed of 1",
    5: "blocks committed of 2 to 5",
    10: "blocks committed of 6 to 10",
    49: "blocks committed of 11 to 49",
    50: "blocks committed of 50",
}
BATCHES: Final = {
    1: "batches of 1",
    10: "batches of 2 to 10",
    50: "batches of 11 to 50",
    130: "batches of 51 to 130",
    1000: "batches of 131 to 1,000",
}
LATE_COMMITS: Final = "commits after their message was visible again and redelivered"
LATE_ANNOUNCEMENTS: Final = "first announcements ten minutes or more after the commit"
SHARED_KEYS: Final = "keys numbered in several projects"
PROJECTS_BY_CASE: Final = f"projects numbered {ONLY_CASE}"
PROJECTS_LIKE_TICKETS: Final = "projects numbered that are named like a ticket"
KEYS_BY_CASE: Final = f"keys numbered in a project {ONLY_CASE}"
KEYS_BY_END: Final = "keys numbered in a project that differ at the end only"
REFUSED_CAPS: Final = "requests refused at their caps"

WITH_ATTRIBUTES: Final = "messages with attributes of their own"
SHORT_VISIBILITY: Final = "histories whose visibility timeout ends before an invocation"
WRONG_CLOCKS: Final = "histories with wrong clocks"
OUTAGE_MINUTES: Final = "minutes of outages"
FAIR_DAYS: Final = "days on which no message may wait for its neighbours"
FAIR_DELIVERIES: Final = "uncontended deliveries on such days"


def tickets_with(name: str) -> str:
    """Return the name of the row that counts tickets with an optional field."""
    return f"tickets with {name}"


def outages_of(service: str) -> str:
    """Return the name of the row that counts the outages of a service."""
    return f"outages of {service}"


ROWS: Final = (
    *BLOCKS.values(),
    *BATCHES.values(),
    LATE_COMMITS,
    LATE_ANNOUNCEMENTS,
    SHARED_KEYS,
    PROJECTS_BY_CASE,
    PROJECTS_LIKE_TICKETS,
    KEYS_BY_CASE,
    KEYS_BY_END,
    REFUSED_CAPS,
    *(tickets_with(name) for name in OPTIONAL),
    WITH_ATTRIBUTES,
    SHORT_VISIBILITY,
    WRONG_CLOCKS,
    *(outages_of(service) for service in SERVICES),
    OUTAGE_MINUTES,
    FAIR_DAYS,
    FAIR_DELIVERIES,
)


def coverage_of(
    scenario: Scenario, history: History, neighbours: Neighbours
) -> Counter[str]:
    """Count the conditions that a history met."""
    monitor = neighbours.monitor
    messages = _Messages(
        {
            message.id: monitor.sent.get(message.body)
            for message in monitor.queue.arrived
        }
    )
    for event in history.events:
        messages.see(*event)
    counts = messages.counts
    counts.update(_names(monitor.numbered))
    for _, content in monitor.numbered.values():
        ticket = json.loads(content)
        given = [name for name, default in OPTIONAL.items() if ticket[name] != default]
        counts.update(map(tickets_with, given))
    letters = monitor.dead_letters.arrived
    counts[REFUSED_CAPS] = sum(reason_of(letter) == FULL for letter in letters)
    counts[FAIR_DELIVERIES] = neighbours.deliveries
    return counts + _conditions(scenario)


def _conditions(scenario: Scenario) -> Counter[str]:
    seconds = sum(outage.end - outage.start for outage in scenario.outages)
    return Counter(
        {
            WITH_ATTRIBUTES: sum(bool(one.attributes) for one in scenario.sendings),
            SHORT_VISIBILITY: scenario.visibility_seconds < FUNCTION_TIMEOUT_SECONDS,
            WRONG_CLOCKS: scenario.clock_error > 0,
            OUTAGE_MINUTES: round(seconds / 60),
            FAIR_DAYS: scenario.is_fair,
            **Counter(outages_of(outage.service) for outage in scenario.outages),
        }
    )


@dataclass
class _Messages:
    """Follows the messages from their receipts to their commits."""

    requests: Mapping[str, RequestId | None]
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
        self.counts[_row(BATCHES, len(messages))] += 1
        for message in messages:
            if message not in self._duplicates:
                self._receipt[message] = receipt
        self._duplicates.clear()

    def _commit(
        self, time: float, actor: str, tickets: Mapping[str, RequestId]
    ) -> None:
        sizes = Counter(project for project, _ in tickets.values())
        for size in sizes.values():
            self.counts[_row(BLOCKS, size)] += 1
        self._committed |= dict.fromkeys(tickets, time)
        receipt, messages = self._batches.get(actor.rpartition("/")[0], (0, ()))
        written = {*tickets.values()}
        self.counts[LATE_COMMITS] += any(
            self._receipt.get(message, receipt) > receipt
            for message in messages
            if self.requests[message] in written
        )


def _names(numbered: Iterable[RequestId]) -> Iterator[str]:
    """Yield the row of every request that is easily mistaken for another one."""
    keys: dict[str, list[str]] = defaultdict(list)
    projects: dict[str, list[str]] = defaultdict(list)
    for project, key in numbered:
        keys[project].append(key)
        projects[key].append(project)
    yield from (SHARED_KEYS for sharing in projects.values() if len(sharing) > 1)
    yield from [PROJECTS_BY_CASE] * _similar([*keys], str.lower)
    yield from (
        PROJECTS_LIKE_TICKETS
        for project in keys
        if project.rpartition("-")[0] in keys and project[-1].isdigit()
    )
    for some in keys.values():
        yield from [KEYS_BY_CASE] * _similar(some, str.lower)
        long = [key for key in some if len(key) > LONG_KEY]
        yield from [KEYS_BY_END] * _similar(long, lambda key: key[:-1])


def _similar(names: list[str], normalize: Any) -> int:
    """Count the names that become equal to another one when normalized."""
    return len(names) - len({normalize(name) for name in names})


def _row(rows: Mapping[int, str], size: int) -> str:
    return next(row for most, row in rows.items() if size <= most)
