"""The drawing of random scenarios: usual days, and fair ones with a single trouble."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from math import inf
from typing import Any, Final

from simulation.aws.fault_plans import Outage
from simulation.aws.faults import FAULTS_OF_AN_OUTAGE, Fault
from simulation.aws.latency import Latency
from simulation.aws.tables import PARTITION_UNITS
from simulation.engine.choices import Choices, one_of
from simulation.scenarios.producers import (
    KEYS,
    MOST_PADDING,
    PROJECTS,
    Producers,
    Sending,
    request,
)
from simulation.scenarios.scenario import SHIPPED_ATTEMPTS, Scenario
from ticket_numbering.allocation.sequence_cache import TTL
from ticket_numbering.contract.dynamodb_items import key_id
from ticket_numbering.contract.messages import RequestKey

FAIR_DAYS: Final = 0.1
FAIR_FIFO_DAYS: Final = 0.3
FAILING_REFUSALS: Final = 0.3
HOT_PROJECTS: Final = 0.03
NEXT_VERSIONS: Final = 0.3
OUTAGES: Final = 0.15
INDEXES: Final = 0.1
LARGE_TICKETS: Final = 0.05
"""The shares of days with such a thing; below, each value is as likely as another."""

BATCH_SIZES: Final = (1, 2, 5, 10, 10)
HOT_BATCH_SIZES: Final = (50, 100, 130)
VISIBILITY_SECONDS: Final = (180.0, 180.0, 60.0, 20.0, 4.0)
MAX_RECEIVES: Final = (10, 10, 3)
MAX_ATTEMPTS: Final = (SHIPPED_ATTEMPTS, SHIPPED_ATTEMPTS, 3)
REDRIVES: Final = ((), (5000.0,), (5000.0, 20_000.0))
THROUGHPUTS: Final = (PARTITION_UNITS, PARTITION_UNITS, 40.0)
PARTIAL_REASONS: Final = (0.0, 0.3, 1.0)
FAULT_RATES: Final = (0.0, 0.01, 0.03, 0.08, 0.15, 0.3)
CAPS: Final = ((), (1, 2, 3), (None, 1, 2, 3, 5, 8), (2, 4), (None, None, 20))
CLOCK_ERRORS: Final = (0.0, 0.0, 1.0, 100.0, 43_200.0, 200_000.0)
"""Two clocks differ by twice as much: by a day, and by more."""
CACHE_TTLS: Final = (TTL, TTL, timedelta(0), timedelta(seconds=1), timedelta(days=1))
SPREADS: Final = (0.0, 0.1, 60.0)
LATENCIES: Final = (
    Latency(),
    Latency(0.001, 0.3),
    Latency(0.005, 0.02, stalls=0.01),
    Latency(0.0, 0.001, stalls=0.03, stall=40.0),
    # Slow transactions: many conflict.
    Latency(steps_a_call=1),
    Latency(0.0, 0.05, stalls=0.005, steps_a_call=1),
)
QUICK: Final = LATENCIES[:2]
"""Latencies below every timeout."""

LARGE_BATCH: Final = 60
FIFO_BATCH: Final = 10
"""Lambda takes no more of a FIFO queue; developer guide, "Batching behavior"."""
THROTTLED_SECONDS: Final = 300.0
INDEX_SECONDS: Final = 300.0


def random_scenario(choices: Choices) -> Scenario:
    """Draw a scenario."""
    if choices.chance(FAIR_DAYS):
        return one_of(choices, FAIR_KINDS_OF_DAY)(choices)
    pollers = 1 + choices.pick(5)
    latency = one_of(choices, LATENCIES)
    is_hot = choices.chance(HOT_PROJECTS)
    producers = _producers(choices, is_hot=is_hot)
    return Scenario(
        sendings=[*producers.sendings()],
        pollers=pollers,
        batch_size=one_of(choices, HOT_BATCH_SIZES if is_hot else BATCH_SIZES),
        visibility_seconds=one_of(choices, VISIBILITY_SECONDS),
        max_receives=one_of(choices, MAX_RECEIVES),
        max_attempts=one_of(choices, MAX_ATTEMPTS),
        redrives=one_of(choices, REDRIVES),
        next_version=choices.pick(pollers) if choices.chance(NEXT_VERSIONS) else 0,
        partition_units=one_of(choices, THROUGHPUTS),
        partial_reasons=one_of(choices, PARTIAL_REASONS),
        latency=latency,
        fault_rate=one_of(choices, FAULT_RATES),
        outages=_outages(choices),
        clock_error=one_of(choices, CLOCK_ERRORS),
        cache_ttl=one_of(choices, CACHE_TTLS),
        unindexable=_unindexable(producers) if choices.chance(INDEXES) else {},
    )


def _producers(choices: Choices, *, is_hot: bool) -> Producers:
    """Draw the producers: a few messages, or a flood for one or two projects."""
    projects = one_of(choices, PROJECTS)
    return Producers(
        choices,
        count=60 + choices.pick(140) if is_hot else 2 + choices.pick(14),
        projects=projects[: 1 + choices.pick(2 if is_hot else len(projects))],
        spread=one_of(choices, SPREADS),
        key=one_of(choices, KEYS),
        has_every_field=choices.chance(0.5),
        caps=one_of(choices, CAPS),
        padding=1 if is_hot or choices.chance(1 - LARGE_TICKETS) else MOST_PADDING,
    )


def _outages(choices: Choices) -> Sequence[Outage]:
    if not choices.chance(OUTAGES):
        return ()
    return [Outage.random(choices) for _ in range(1 + choices.pick(2))]


def _day_of_poison(choices: Choices) -> Scenario:
    """Draw a day with much poison, on which the dead-letter queue fails."""
    producers = Producers(
        choices,
        count=40 + choices.pick(LARGE_BATCH),
        projects=one_of(choices, PROJECTS),
        spread=0.0,
        poison=0.7,
        caps=one_of(choices, CAPS),
    )
    hangs = choices.chance(0.5)
    fault = Fault.HUNG if hangs else one_of(choices, FAULTS_OF_AN_OUTAGE)
    end = choices.duration(60.0, THROTTLED_SECONDS)
    return _fair(choices, producers, outages=[Outage("SQS", 0.0, end, fault)])


def _day_of_throttling(choices: Choices) -> Scenario:
    """Draw a day on which one project is throttled, or as many as there are threads."""
    projects = [f"P{number}" for number in range(11 + choices.pick(4))]
    caps = one_of(choices, CAPS)
    most = 10 + choices.pick(len(projects) - 10)
    throttled = choices.order(projects)[: one_of(choices, (1, most))]
    producers = Producers(
        choices, count=3 * len(projects), projects=projects, spread=0.0, caps=caps
    )
    return _fair(
        choices, producers, throttled=dict.fromkeys(throttled, THROTTLED_SECONDS)
    )


def _day_of_an_index(choices: Choices) -> Scenario:
    """Draw a day on which an operator's index rejects some requests for a while."""
    producers = Producers(
        choices,
        count=10 + choices.pick(LARGE_BATCH),
        projects=one_of(choices, PROJECTS)[: 1 + choices.pick(2)],
        spread=0.0,
        caps=one_of(choices, CAPS),
    )
    day = _fair(choices, producers)
    if choices.chance(0.5):
        day = replace(day, fifo=True, batch_size=FIFO_BATCH)
    return replace(day, unindexable=_unindexable(producers))


def _unindexable(producers: Producers) -> Mapping[str, float]:
    """Draw the records that an index rejects, from the sent requests."""
    choices, sent = producers.choices, producers.sent
    some = [one_of(choices, sent) for _ in range(1 + choices.pick(3))] if sent else []
    return {
        key_id(RequestKey(body["project_id"], body["idempotency_key"])): INDEX_SECONDS
        for body in some
    }


def _day_of_repeats(choices: Choices) -> Scenario:
    """Draw a day on which hundreds of repeats are looked up slowly."""
    producers = Producers(
        choices, count=960, projects=PROJECTS[0], spread=0.0, poison=0.0, repeats=0.0
    )
    day = _fair(
        choices,
        producers,
        # Lambda cannot delete the messages, so all of them are redelivered.
        outages=[Outage("SQS", 0.0, 60.0, Fault.REFUSED)],
        slow_calls={"batch_get_item": 2.5},
    )
    # The first one keeps the worker busy until the others and the repeats arrive.
    times = (day.visibility_seconds - 0.002, *[day.visibility_seconds] * 20)
    bodies = [request("P0", f"fresh-{number}") for number in range(len(times))]
    fresh = list(map(Sending, times, bodies))
    return replace(
        day,
        sendings=[*day.sendings, *fresh],
        batch_size=1000,
        fifo=False,
        pollers=1,
        latency=Latency(),  # A thousand announcements must fit into an invocation.
    )


def _day_of_rivals(choices: Choices) -> Scenario:
    """Draw a day on which different requests of one key reach their caps in order."""
    producers = Producers(
        choices,
        count=10 + choices.pick(20),
        projects=PROJECTS[0][:1],
        spread=0.0,
        repeats=0.6,
        caps=(None, 1, 2, 3, 5, 8),
    )
    day = _fair(choices, producers)
    # The first of a key is refused, its rival is not, and another one is behind them.
    bodies = [
        body
        for serial in range(3)
        for body in (
            request("P0", f"rival-{serial}", max_number=1),
            request("P0", f"rival-{serial}", "a rival"),
            request("P0", f"behind-{serial}"),
        )
    ]
    sendings = [*day.sendings, *(Sending(0.0, body) for body in bodies)]
    return replace(day, sendings=sendings, fifo=True, batch_size=FIFO_BATCH)


def _fair(choices: Choices, producers: Producers, **troubles: Any) -> Scenario:
    fifo = choices.chance(FAIR_FIFO_DAYS)
    return Scenario(
        sendings=[*producers.sendings()],
        pollers=1 + choices.pick(3),
        batch_size=FIFO_BATCH if fifo else LARGE_BATCH,
        fifo=fifo,
        refusals_fail=choices.chance(FAILING_REFUSALS),
        partition_units=inf,
        latency=one_of(choices, QUICK),
        is_fair=True,
        **troubles,
    )


FAIR_KINDS_OF_DAY: Final = (
    *[_day_of_poison] * 4,
    *[_day_of_throttling] * 4,
    *[_day_of_rivals] * 8,
    *[_day_of_an_index] * 8,
    _day_of_repeats,  # Takes ten times as long to play as the others.
)
