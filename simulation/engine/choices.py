"""Where a history's chance comes from: a seed, or every possibility in turn."""

import random
from collections.abc import Sequence
from typing import Protocol, TypeVar

Thing = TypeVar("Thing")


class Choices(Protocol):
    """Decides whatever the real world leaves open."""

    are_exhaustive: bool
    """Whether every possibility is tried in turn, without chance and without delays."""

    def pick(self, count: int) -> int:
        """Return one of `range(count)`."""
        ...

    def chance(self, probability: float) -> bool:
        """Tell whether something happens."""
        ...

    def duration(self, shortest: float, longest: float) -> float:
        """Return how many seconds something takes."""
        ...

    def order(self, things: Sequence[Thing]) -> Sequence[Thing]:
        """Return the things in some order."""
        ...


class RandomChoices:
    """One seed, one history."""

    are_exhaustive = False

    def __init__(self, seed: int) -> None:
        """Take the seed."""
        # Not for secrets, but to come out the same every time.
        self._random = random.Random(seed)  # noqa: S311

    def pick(self, count: int) -> int:
        """Return one of `range(count)`."""
        # Quicker than randrange(), and just as fair for such counts.
        return int(self._random.random() * count)

    def chance(self, probability: float) -> bool:
        """Tell whether something happens."""
        return self._random.random() < probability

    def duration(self, shortest: float, longest: float) -> float:
        """Return how many seconds something takes."""
        return shortest + (longest - shortest) * self._random.random()

    def order(self, things: Sequence[Thing]) -> Sequence[Thing]:
        """Return the things in some order."""
        return self._random.sample(things, len(things))
