"""The latencies of calls and transactions."""

from dataclasses import dataclass
from typing import Final

from simulation.engine.choices import Choices

STEPS_A_CALL: Final = 20
"""The items of a usual transaction."""


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
    phase: tuple[float, float] | None = None
    """The time to prepare, and to commit, all items of a transaction.

    They go side by side; without it each item takes its own time.
    """
    decision: tuple[float, float] | None = None
    """The time from the preparation of a transaction to its decision."""

    def sample(self, choices: Choices) -> float:
        """Return the time of a request one way."""
        if self.stalls and choices.chance(self.stalls):
            return choices.duration(self.longest, self.stall)
        return choices.duration(self.shortest, self.longest)

    def sample_step(self, choices: Choices, steps: int) -> float:
        """Return the time of one of a transaction's items."""
        if self.phase:
            return choices.duration(*self.phase) / steps
        if self.stalls and choices.chance(self.stalls / STEPS_A_CALL):
            return choices.duration(self.longest, self.stall)
        return choices.duration(self.shortest, self.longest) / self.steps_a_call
