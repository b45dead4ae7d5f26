"""The latencies of calls and transactions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from simulation.engine.choices import Choices

STEPS_A_CALL: Final = 20
"""The items of a usual transaction."""


@dataclass(frozen=True, slots=True)
class Steps:
    """The times of a transaction, in seconds."""

    item: Callable[[], float]
    """To prepare an item, to commit it or to release it."""
    decision: float = 0.0
    """From the preparation of all items to the decision.

    A cancellation is answered as late, with the items released before.
    """


@dataclass(frozen=True, slots=True)
class Latency:
    """The latencies of calls and transactions, in seconds."""

    shortest: float = 0.002
    longest: float = 0.02
    stalls: float = 0.0
    """The share of calls that take up to `stall` seconds instead."""
    stall: float = 8.0
    steps_a_call: int = STEPS_A_CALL
    """With 1, each item of a transaction takes as long as a call."""

    def way(self, choices: Choices, operation: str, *, is_answer: bool) -> float:
        """Return the time of a request, or of its answer."""
        del operation, is_answer
        return self.sample(choices)

    def sample(self, choices: Choices) -> float:
        """Return the time of a request one way."""
        if self.stalls and choices.chance(self.stalls):
            return choices.duration(self.longest, self.stall)
        return choices.duration(self.shortest, self.longest)

    def steps(self, choices: Choices, items: int) -> Steps:
        """Return the times of a transaction; here each item takes its own."""
        del items
        return Steps(lambda: self._sample_step(choices))

    def _sample_step(self, choices: Choices) -> float:
        if self.stalls and choices.chance(self.stalls / STEPS_A_CALL):
            return choices.duration(self.longest, self.stall)
        return choices.duration(self.shortest, self.longest) / self.steps_a_call
