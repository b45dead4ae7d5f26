"""What a history is about: who asks for what and when, and how bad the day is."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from simulation.aws.network import Latency
from simulation.aws.tables import PARTITION_UNITS
from simulation.engine.choices import Choices

POISON: Final = (
    "not JSON",
    "  \n blanks around, \u00e9\U0001f39f and a tab\t ",
    "[]",
    '{"project_id": "P0"}',
    '{"project_id": "P#0", "idempotency_key": "k", "title": "t"}',
    '{"project_id": "P0", "idempotency_key": "k", "title": "t", "number": 7}',
)
FAULT_RATES: Final = (0.0, 0.01, 0.03, 0.08, 0.15, 0.3)
LATENCIES: Final = (
    Latency(),
    Latency(0.001, 0.3),
    Latency(0.005, 0.02, stalls=0.01),
    Latency(0.0, 0.001, stalls=0.03, stall=40.0),
    # Transactions that take long: many meet in the middle of each other.
    Latency(steps_a_call=1),
    Latency(0.0, 0.05, stalls=0.005, steps_a_call=1),
)


@dataclass(frozen=True)
class Sending:
    """One message of a producer."""

    at: float
    body: str


@dataclass(frozen=True)
class Scenario:
    """Everything but chance."""

    sendings: Sequence[Sending]
    pollers: int = 2
    batch_size: int = 10
    visibility_seconds: float = 180.0
    max_receives: int = 10
    max_attempts: int = 25
    redrives: Sequence[float] = ()
    """When an operator sends the dead letters back."""
    next_version: int = 0
    """How many of the pollers run the next version of the worker."""
    partition_units: float = PARTITION_UNITS
    silence: float = 0.0
    fifo: bool = False
    latency: Latency = field(default_factory=Latency)
    fault_rate: float = 0.0


def request(project: str, key: str, title: str = "a ticket", **fields: str) -> str:
    """Return the body of a create-ticket message."""
    content = {"project_id": project, "idempotency_key": key, "title": title}
    return json.dumps(content | fields)


def random_scenario(choices: Choices) -> Scenario:
    """Draw a scenario."""
    pollers = 1 + choices.pick(5)
    latency = LATENCIES[choices.pick(len(LATENCIES))]
    return Scenario(
        sendings=[*_sendings(choices)],
        pollers=pollers,
        batch_size=(1, 2, 5, 10, 10)[choices.pick(5)],
        max_receives=(10, 10, 3)[choices.pick(3)],
        max_attempts=(25, 25, 3)[choices.pick(3)],
        redrives=(5000.0, 20_000.0)[: choices.pick(3)],
        next_version=choices.pick(pollers) if choices.chance(0.3) else 0,
        partition_units=(PARTITION_UNITS, PARTITION_UNITS, 40.0)[choices.pick(3)],
        silence=(0.0, 0.3, 1.0)[choices.pick(3)],
        latency=latency,
        fault_rate=FAULT_RATES[choices.pick(len(FAULT_RATES))],
    )


def _sendings(choices: Choices) -> Iterator[Sending]:
    projects = 1 + choices.pick(3)
    spread = (0.0, 0.1, 60.0)[choices.pick(3)]
    count = 2 + choices.pick(14)
    padding = 1 if choices.chance(0.95) else 60_000
    sent: list[str] = []
    for serial in range(count):
        body = _body(choices, sent, f"P{choices.pick(projects)}", serial, padding)
        sent.append(body)
        yield Sending(choices.duration(0.0, spread), body)


def _body(
    choices: Choices, sent: Sequence[str], project: str, serial: int, padding: int
) -> str:
    if choices.chance(0.08):
        return POISON[choices.pick(len(POISON))]
    valid = [each for each in sent if each not in POISON]
    if valid and choices.chance(0.2):
        return valid[choices.pick(len(valid))]
    if valid and choices.chance(0.05):
        earlier = json.loads(valid[choices.pick(len(valid))])
        key = earlier["idempotency_key"]
        return request(earlier["project_id"], key, f"another {serial}")
    return request(project, f"key-{serial}", description="x" * padding)
