"""The choices of a history, drawn from a seed."""

import random
from collections.abc import Sequence
from typing import TypeVar

Thing = TypeVar("Thing")


class Choices:
    """Draws the choices of the services and the network from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - a history, not a secret.

    def pick(self, count: int) -> int:
        """Return one of `range(count)`."""
        # Faster than randrange(), and as fair for such small counts.
        return int(self._random.random() * count)

    def chance(self, probability: float) -> bool:
        """Return whether an event of this probability happens."""
        return self._random.random() < probability

    def duration(self, shortest: float, longest: float) -> float:
        """Return a number of seconds between the two."""
        return shortest + (longest - shortest) * self._random.random()

    def order(self, things: Sequence[Thing]) -> Sequence[Thing]:
        """Return the things in any order."""
        return self._random.sample(things, len(things))


def one_of(choices: Choices, things: Sequence[Thing]) -> Thing:
    """Return one of the things."""
    return things[choices.pick(len(things))]
