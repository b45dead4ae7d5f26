"""Draws a conflict and a collision for `docs/proof.md`.

They are those of a history of the simulation: two workers, three messages.
"""

from collections.abc import Iterator
from itertools import count
from typing import Any, Final

from simulation.aws.errors import ServiceError
from simulation.aws.latency import Latency
from simulation.checks.history import History
from simulation.engine.choices import Choices
from simulation.scenarios.producers import Sending, request
from simulation.scenarios.scenario import Scenario
from simulation.world.world import World

# Slow transactions, so that they meet.
SCENARIO: Final = Scenario(
    [Sending(0.0, request("PROJ", key)) for key in "abc"],
    batch_size=1,
    latency=Latency(0.004, 0.02, steps_a_call=2),
)
HEAD: Final = (
    *("```mermaid", "sequenceDiagram", "participant worker0", "participant worker1"),
    *(f"participant N{number} as PROJ-{number}" for number in (1, 2, 3)),
)


def diagram() -> str:
    """Return a sequence diagram in Markdown."""
    return "\n".join([*HEAD, *_steps(_history()), "```"])


def _history() -> History:
    """Return the first history with one conflict and one collision."""
    for seed in count(1):
        history = World(SCENARIO, Choices(seed)).run().history
        refusals = history.refusals()
        if refusals["TransactionConflict"] == refusals["ConditionalCheckFailed"] == 1:
            break
    return history


def _steps(history: History) -> Iterator[str]:
    """Yield the steps of a history that the diagram shows."""
    numbers: dict[str, int] = {}
    for time, actor, call, detail in history.events:
        worker, at = actor.partition(".")[0], f"{1000 * time:.0f} ms"
        if call == "< query":
            last = detail["Items"][0]["number"]["N"] if detail["Items"] else "none yet"
            yield f"Note over {worker}: {at}, reads the last: {last}"
        elif call == "> transact_write_items":
            item = detail[0]["TransactItems"][0]["Put"]["Item"]
            number = numbers[worker] = int(item["number"]["N"])
            yield f"{worker}->>N{number}: {at}, writes PROJ-{number}"
        elif call == "commits":
            yield f"Note over N{numbers[worker]}: {at}, is {worker}'s"
        elif call == "< transact_write_items":
            number = numbers[worker]
            yield f"N{number}-->>{worker}: {at}, {_outcome(detail, number)}"


def _outcome(detail: Any, number: int) -> str:
    if not isinstance(detail, ServiceError):
        return f"has PROJ-{number}"
    is_conflict = "TransactionConflict" in str(detail.members["CancellationReasons"])
    return "conflict: it is held" if is_conflict else "collision: it is taken"
