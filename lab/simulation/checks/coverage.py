"""The coverage of a history: the conditions under which its promises were kept."""

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import timedelta
from math import inf
from typing import Final, NamedTuple

from simulation.aws.faults import SERVICES, Fault
from simulation.aws.lambda_service import FUNCTION_TIMEOUT_SECONDS
from simulation.aws.tables import EXCEEDED, WITHHELD
from simulation.checks.chains import A_DAY
from simulation.checks.deliveries import Deliveries
from simulation.checks.history import History
from simulation.checks.monitor import FOREIGN, FULL
from simulation.checks.promises import Neighbours
from simulation.scenarios.requests import OPTIONAL, RequestId
from simulation.scenarios.scenario import Scenario
from ticket_numbering.allocation.sequence_cache import TTL

LONG_KEY: Final = 100
SOME: Final = 10

BLOCKS: Final = {5: 6, 10: 70, 49: 150, 50: 300}
BATCHES: Final = {10: 4, 50: 45, 130: 80, 1000: 300}
"""The sizes up to which blocks and batches are distinguished, and their intervals."""

REFUSALS: Final = {
    "TransactionConflict": 15,
    "ConditionalCheckFailed": 4,
    "ThrottlingError": 50,
    "TransactionInProgressException": 1200,
    "ValidationException": 50,
    "ValidationError": 50,
}
EFFECTS: Final = {WITHHELD: 15, EXCEEDED: 120}
PARTS: Final = {
    "publish_batch": ("Failed", 12),
    "send_message_batch": ("Failed", 40),
    "batch_get_item": ("UnprocessedKeys", 22),
}
"""The intervals of refused transactions, of effects on the answers, and of answers that
name parts that were not done."""


class Condition(NamedTuple):
    """A condition that makes numbering hard."""

    name: str
    interval: float
    """At least one in this number of histories meets it."""
    is_met: bool
    """Whether the history met it."""


Rows = Iterator[tuple[str, float, object]]
"""Names, intervals and whether the history met them."""


def conditions_of(
    scenario: Scenario,
    history: History,
    neighbours: Neighbours,
    injected: Mapping[Fault, int],
    effects: Mapping[str, int],
) -> Iterator[Condition]:
    """Tell which conditions a history met."""
    monitor = neighbours.monitor
    rows = [
        *_of_deliveries(Deliveries.of(history, monitor)),
        *_of_names(monitor.numbered),
        *_of_fields(monitor.numbered.values()),
        *_of_releases(history),
        *_of_scenario(scenario),
        *_of_faults(injected),
        *_of_outages(scenario),
        *_of_answers(effects, history),
        *_of_fair_days(scenario, neighbours),
    ]
    return (Condition(name, interval, bool(is_met)) for name, interval, is_met in rows)


def _of_deliveries(seen: Deliveries) -> Rows:
    yield "ten messages numbered", 18, sum(seen.blocks) >= SOME
    yield from _sizes("blocks committed", BLOCKS, seen.blocks)
    yield from _sizes("batches", BATCHES, seen.batches)
    late = "commits after their message was visible again and redelivered"
    yield late, 600, seen.late_commits
    late = "first announcements ten minutes or more after the commit"
    yield late, 120, seen.late_announcements


def _sizes(name: str, intervals: Mapping[int, float], sizes: Sequence[int]) -> Rows:
    above = 1
    for most, interval in intervals.items():
        yield (
            f"{name} of up to {most}, but more than {above}",
            interval,
            any(above < size <= most for size in sizes),
        )
        above = most


def _of_names(numbered: Iterable[RequestId]) -> Rows:
    """Tell whether requests are easily mistaken for another one."""
    keys: dict[str, list[str]] = defaultdict(list)
    projects: dict[str, list[str]] = defaultdict(list)
    for project, key in numbered:
        keys[project].append(key)
        projects[key].append(project)
    is_shared = any(len(sharing) > 1 for sharing in projects.values())
    yield "keys numbered in several projects", 15, is_shared
    is_similar = _has_similar(keys, str.lower)
    yield "projects numbered that differ in case only", 10, is_similar
    is_like_a_ticket = any(
        project.rpartition("-")[0] in keys and project[-1].isdigit() for project in keys
    )
    yield "projects numbered that are named like a ticket", 32, is_like_a_ticket
    is_similar = any(_has_similar(some, str.lower) for some in keys.values())
    yield "keys numbered that differ in case only", 15, is_similar
    long = [[key for key in some if len(key) > LONG_KEY] for some in keys.values()]
    is_similar = any(_has_similar(some, lambda key: key[:-1]) for some in long)
    yield "keys numbered that differ at the end only", 8, is_similar


def _has_similar(names: Collection[str], normalize: Callable[[str], str]) -> bool:
    """Tell whether two names become equal when normalized."""
    return len({normalize(name) for name in names}) < len(names)


def _of_fields(numbered: Iterable[tuple[int, str]]) -> Rows:
    tickets = [json.loads(content) for _, content in numbered]
    is_given = any(
        all(ticket[name] != default for name, default in OPTIONAL.items())
        for ticket in tickets
    )
    yield "tickets with every optional field", 40, is_given


def _of_releases(history: History) -> Rows:
    has_foreign = {
        FOREIGN in write["Put"]["Item"]
        for _, _, what, detail in history.events
        if what == "> transact_write_items"
        for write in detail[0]["TransactItems"]
        if "Put" in write  # An operator checks items, too.
    }
    yield "blocks of workers of two releases", 20, len(has_foreign) > 1


def _of_scenario(scenario: Scenario) -> Rows:
    is_own = any(sending.attributes for sending in scenario.sendings)
    yield "messages with attributes of their own", 10, is_own
    is_short = scenario.visibility_seconds < FUNCTION_TIMEOUT_SECONDS
    yield "a visibility timeout that ends before an invocation", 6, is_short
    yield "another TTL of the sequence cache", 4, scenario.cache_ttl != TTL
    usual = Scenario([])
    for name in (field.name for field in fields(Scenario)):
        is_drawn = getattr(scenario, name) != getattr(usual, name)
        yield f"another {name} than a scenario's default", 600, is_drawn
    distance = timedelta(seconds=2 * scenario.clock_error)
    far = A_DAY / 2 < distance <= A_DAY
    yield "clocks that differ by up to a day", 18, far
    yield "clocks that differ by more", 14, distance > A_DAY


def _of_faults(injected: Mapping[Fault, int]) -> Rows:
    for fault in Fault:
        interval = 12 if fault.value.odds else 600
        yield f"a fault: {fault.value.text}", interval, injected[fault]
    yield "ten faults", 7, sum(injected.values()) >= SOME


def _of_outages(scenario: Scenario) -> Rows:
    services = {outage.service for outage in scenario.outages}
    for service in SERVICES:
        yield f"an outage of {service}", 40, service in services
    is_endless = any(outage.end == inf for outage in scenario.outages)
    yield "an outage without an end", 180, is_endless


def _of_answers(effects: Mapping[str, int], history: History) -> Rows:
    """Tell the effects on the answers; a fault that is drawn may have none."""
    refusals = history.refusals()
    for code, interval in REFUSALS.items():
        yield f"transactions refused: {code}", interval, refusals[code]
    for name, interval in EFFECTS.items():
        yield name, interval, effects[name]
    for call, (member, interval) in PARTS.items():
        is_found = any(
            what == f"< {call}" and isinstance(answer, dict) and answer[member]
            for _, _, what, answer in history.events
        )
        yield f"answers of {call} with {member}", interval, is_found


def _of_fair_days(scenario: Scenario, neighbours: Neighbours) -> Rows:
    refusals = neighbours.monitor.refusals.values()
    is_refused = any(FULL in reasons for reasons in refusals)
    is_fair = scenario.is_fair
    yield "requests refused at their caps", 6, is_refused
    yield "days on which no message may wait for its neighbours", 20, is_fair
    yield "such days on FIFO queues", 34, is_fair and scenario.fifo
    yield "requests refused at their caps on such days", 42, is_refused and is_fair
    yield (
        "messages held back behind one that DynamoDB rejected",
        200,
        neighbours.held_back,
    )
    yield "such days with ten uncontended deliveries", 22, neighbours.deliveries >= SOME
