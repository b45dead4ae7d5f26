"""The coverage of a history: the conditions under which its promises were kept."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from math import inf
from typing import Final, NamedTuple

from simulation.aws.faults import SERVICES
from simulation.aws.lambda_service import FUNCTION_TIMEOUT_SECONDS
from simulation.aws.tables import EXCEEDED, PAST, WITHHELD
from simulation.chains import A_DAY
from simulation.checks import Neighbours
from simulation.deliveries import Deliveries
from simulation.history import History
from simulation.monitor import FULL
from simulation.requests import OPTIONAL, RequestId
from simulation.scenario import Scenario
from ticket_numbering.allocation.sequence_cache import TTL

LONG_KEY: Final = 100

BLOCKS: Final = {1: 1, 5: 3, 10: 50, 49: 20, 50: 20}
BATCHES: Final = {1: 1, 10: 1, 50: 10, 130: 30, 1000: 60}
"""The sizes up to which blocks and batches are counted, and the intervals of each."""

# The worker reads the present: a past value is for others to meet.
EFFECTS: Final = {WITHHELD: 4, EXCEEDED: 3, PAST: inf}
PARTS: Final = {
    "publish_batch": ("Failed", 2),
    "send_message_batch": ("Failed", 15),
    "batch_get_item": ("UnprocessedKeys", 8),
}
"""The intervals of the effects, and of answers that name parts that were not done."""


class Condition(NamedTuple):
    """A condition that makes numbering hard."""

    name: str
    interval: float
    """It is met at least once in this number of histories."""
    times: int
    """The number of times that a history met it."""


Rows = Iterator[tuple[str, float, int]]
"""Names, intervals and counts."""


def conditions_of(
    scenario: Scenario,
    history: History,
    neighbours: Neighbours,
    effects: Mapping[str, int],
) -> Iterator[Condition]:
    """Count the conditions that a history met."""
    monitor = neighbours.monitor
    rows = [
        *_of_deliveries(Deliveries.of(history, monitor)),
        *_of_names(monitor.numbered),
        *_of_fields(monitor.numbered.values()),
        *_of_scenario(scenario),
        *_of_outages(scenario),
        *_of_effects(effects, history),
        *_of_fair_days(scenario, neighbours),
    ]
    return (Condition(name, interval, int(count)) for name, interval, count in rows)


def _of_deliveries(seen: Deliveries) -> Rows:
    yield from _sizes("blocks committed", BLOCKS, seen.blocks)
    yield from _sizes("batches", BATCHES, seen.batches)
    late = "commits after their message was visible again and redelivered"
    yield late, 400, seen.late_commits
    late = "first announcements ten minutes or more after the commit"
    yield late, 50, seen.late_announcements


def _sizes(name: str, intervals: Mapping[int, float], sizes: Sequence[int]) -> Rows:
    below = 0
    for most, interval in intervals.items():
        count = sum(below < size <= most for size in sizes)
        yield f"{name} of up to {most}", interval, count
        below = most


def _of_names(numbered: Iterable[RequestId]) -> Rows:
    """Count the requests that are easily mistaken for another one."""
    keys: dict[str, list[str]] = defaultdict(list)
    projects: dict[str, list[str]] = defaultdict(list)
    for project, key in numbered:
        keys[project].append(key)
        projects[key].append(project)
    shared = sum(len(sharing) > 1 for sharing in projects.values())
    yield "keys numbered in several projects", 10, shared
    similar = _similar(keys, str.lower)
    yield "projects numbered that differ in case only", 10, similar
    like_tickets = sum(
        project.rpartition("-")[0] in keys and project[-1].isdigit() for project in keys
    )
    yield "projects numbered that are named like a ticket", 30, like_tickets
    similar = sum(_similar(some, str.lower) for some in keys.values())
    yield "keys numbered that differ in case only", 10, similar
    long = [[key for key in some if len(key) > LONG_KEY] for some in keys.values()]
    similar = sum(_similar(some, lambda key: key[:-1]) for some in long)
    yield "keys numbered that differ at the end only", 2, similar


def _similar(names: Collection[str], normalize: Callable[[str], str]) -> int:
    """Count the names that become equal to another one when normalized."""
    return len(names) - len({normalize(name) for name in names})


def _of_fields(numbered: Iterable[tuple[int, str]]) -> Rows:
    tickets = [json.loads(content) for _, content in numbered]
    for name, default in OPTIONAL.items():
        given = sum(ticket[name] != default for ticket in tickets)
        yield f"tickets with {name}", 2, given


def _of_scenario(scenario: Scenario) -> Rows:
    own = sum(bool(sending.attributes) for sending in scenario.sendings)
    yield "messages with attributes of their own", 1, own
    is_short = scenario.visibility_seconds < FUNCTION_TIMEOUT_SECONDS
    yield "histories whose visibility timeout ends before an invocation", 5, is_short
    is_other = scenario.cache_ttl != TTL
    yield "histories with another TTL of the sequence cache", 4, is_other
    distance = timedelta(seconds=2 * scenario.clock_error)
    far = A_DAY / 2 < distance <= A_DAY
    yield "histories with clocks that differ by up to a day", 12, far
    yield "histories with clocks that differ by more", 12, distance > A_DAY


def _of_outages(scenario: Scenario) -> Rows:
    services = Counter(outage.service for outage in scenario.outages)
    for service in SERVICES:
        yield f"outages of {service}", 40, services[service]
    lengths = [outage.end - outage.start for outage in scenario.outages]
    minutes = sum(length / 60 for length in lengths if length < inf)
    yield "minutes of outages", 1, round(minutes)
    yield "outages without an end", 120, lengths.count(inf)


def _of_effects(effects: Mapping[str, int], history: History) -> Rows:
    """Count the effects on the answers; a fault that is drawn may have none."""
    for name, interval in EFFECTS.items():
        yield name, interval, effects[name]
    for call, (member, interval) in PARTS.items():
        found = sum(
            what == f"< {call}" and isinstance(answer, dict) and bool(answer[member])
            for _, _, what, answer in history.events
        )
        yield f"answers of {call} with {member}", interval, found


def _of_fair_days(scenario: Scenario, neighbours: Neighbours) -> Rows:
    refusals = neighbours.monitor.refusals.values()
    refused = sum(FULL in reasons for reasons in refusals)
    is_fair = scenario.is_fair
    yield "requests refused at their caps", 2, refused
    yield "days on which no message may wait for its neighbours", 20, is_fair
    yield "such days on FIFO queues", 80, is_fair and scenario.fifo
    yield "requests refused at their caps on such days", 20, refused * is_fair
    yield "uncontended deliveries on such days", 1, neighbours.deliveries
