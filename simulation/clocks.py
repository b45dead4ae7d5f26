"""Clocks of execution environments: wrong, jumping, standing still."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from simulation.aws.messages import EPOCH_SECONDS
from simulation.engine.choices import Choices
from simulation.engine.scheduler import Scheduler

CHANGES: Final = 0.1
"""The share of readings at which the clock has jumped or stands still."""

STANDS_STILL: Final = 0.3


@dataclass
class Clock:
    """The time of day, wrong by up to `error` seconds."""

    scheduler: Scheduler
    choices: Choices
    error: float = 0.0
    _offset: float = 0.0
    _stopped_at: float | None = None

    def now(self) -> datetime:
        """Return the time of day."""
        if self.error and self.choices.chance(CHANGES):
            self._offset = self.choices.duration(-self.error, self.error)
            stops = self.choices.chance(STANDS_STILL)
            self._stopped_at = self.scheduler.now if stops else None
        stopped = self._stopped_at
        passed = self.scheduler.now if stopped is None else stopped
        return datetime.fromtimestamp(EPOCH_SECONDS + passed + self._offset, UTC)
