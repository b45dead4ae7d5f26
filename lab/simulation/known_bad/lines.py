"""Lines that lie, and a worker that takes its place in line for a number."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from simulation.aws.errors import ServiceError
from simulation.engine.choices import Choices, one_of
from simulation.world.execution_environment import ExecutionEnvironment
from ticket_numbering.allocation.line import Line
from ticket_numbering.allocation.progress import Progress
from ticket_numbering.allocation.store import TicketStore

FAR: Final = 100_000
HANG_SECONDS: Final = 1.0
"""The line's client waits a third of it."""

ODD: Final[Mapping[str, Any]] = {"upto": {"S": "many"}}
ERRORS: Final = (
    *("ThrottlingException", "InternalServerError", "SomethingNewException"),
    *("AccessDeniedException", "ResourceNotFoundException"),
)


@dataclass(frozen=True)
class Adversary:
    """A table of lines that lies in every way, hangs, fails and rejects calls."""

    choices: Choices
    sleep: Callable[[float], None]

    def serve(
        self, operation: str, request: Mapping[str, Any], *, partly: bool
    ) -> dict[str, Any]:
        """Answer an update with any item.

        Raises:
            ServiceError: The adversary rejects it, or reports a failed condition.
        """
        del operation, partly
        if self.choices.chance(0.1):
            self.sleep(HANG_SECONDS)
        if self.choices.chance(0.1):
            raise ServiceError(one_of(self.choices, ERRORS))
        seen = int(request["ExpressionAttributeValues"][":seen"]["N"])
        upto = one_of(
            self.choices,
            (0, seen, seen + self.choices.pick(200) - 100, seen + 10, seen + FAR),
        )
        numbers = {"upto": upto, "given_up": one_of(self.choices, (0, seen, upto))}
        item = {name: {"N": str(number)} for name, number in numbers.items()}
        if self.choices.chance(0.02):
            item |= ODD
        if self.choices.chance(0.3):
            raise ServiceError("ConditionalCheckFailedException", Item=item)
        return {"Attributes": item}


def lying(environment: ExecutionEnvironment) -> Line:
    """Return a line over an adversary in place of its table."""
    adversary = Adversary(environment.choices, environment.scheduler.sleep)
    return environment.line(environment.line_store(adversary))


@dataclass(slots=True)
class PlaceForHead(Line):
    """Writes at its place, where the others in front should have come to."""

    def wait(
        self, allocation: Progress, tickets: TicketStore, spare: float
    ) -> float | None:
        """Return the seconds to wait; with none, the place is taken for the head."""
        delay = Line.wait(self, allocation, tickets, spare)
        if delay is None and allocation.head and (place := allocation.wait.place):
            turn = max(place.turn, allocation.head.number)
            allocation.head = replace(allocation.head, number=turn)
        return delay


def numbering(environment: ExecutionEnvironment) -> Line:
    """Return a line that decides numbers."""
    return environment.line(environment.line_store(), PlaceForHead)
