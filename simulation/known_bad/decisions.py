"""Known-bad decisions after a cancelled block."""

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any

from simulation.aws.lambda_service import Handler
from simulation.execution_environment import ExecutionEnvironment
from ticket_numbering.allocation import Allocation, Allocator
from ticket_numbering.cancellation import NextStep, next_step
from ticket_numbering.errors import AnnouncementError
from ticket_numbering.messages import (
    Assignment,
    CreateTicket,
    RequestKey,
    ticket_key,
)
from ticket_numbering.ports import Announcement, Block, Reason, Slot, TimeLeft
from ticket_numbering.sns_publisher import SNSPublisher

Decision = Callable[[Block, Sequence[Slot]], NextStep]


def increment_on_any_cancellation(block: Block, slots: Sequence[Slot]) -> NextStep:
    """Take another worker's attempt for a number that is taken."""
    return replace(next_step(block, slots), number=block.first_number + 1)


def conflict_is_taken(block: Block, slots: Sequence[Slot]) -> NextStep:
    """Take a number that another worker attempts for one that is taken."""
    taken = [
        replace(slot, ticket=Reason.CONDITION_FAILED)
        if slot.ticket is Reason.CONFLICT
        else slot
        for slot in slots
    ]
    return next_step(block, taken)


def increment_by_block_length(block: Block, slots: Sequence[Slot]) -> NextStep:
    """Take the whole block for taken when its first number is."""
    step = next_step(block, slots)
    if step.collided and not step.obstacle:
        return replace(step, number=block.next_number)
    return step


def deciding(decide: Decision) -> Callable[[ExecutionEnvironment], Handler]:
    """Build the worker with another decision after a cancelled block."""

    def build(environment: ExecutionEnvironment) -> Handler:
        allocator = replace(environment.allocator(), decide=decide)
        return environment.handler(allocator=allocator)

    return build


def refusing_by_place(environment: ExecutionEnvironment) -> Handler:
    """Refuse a capped request by the number that it would get in its block."""

    class ByPlace(Allocation):
        def full(self, next_number: int) -> list[CreateTicket]:
            numbered = enumerate(self.pending, next_number)
            return [
                request for number, request in numbered if not request.accepts(number)
            ]

    class Refusing(Allocator):
        def start(
            self, project_id: str, requests: Sequence[CreateTicket]
        ) -> Allocation:
            return ByPlace(project_id, list(requests))

    real = environment.allocator()
    allocator = Refusing(
        **{part.name: getattr(real, part.name) for part in fields(real)}
    )
    return environment.handler(allocator=allocator)


def leaving_replays_to_the_holder(environment: ExecutionEnvironment) -> Handler:
    """Build the worker so that it leaves a replay unannounced if there is a conflict.

    It relies on the holder of the ticket's number to announce it.
    """
    left: set[str] = set()
    attempted: set[RequestKey] = set()

    def decide(block: Block, slots: Sequence[Slot]) -> NextStep:
        keys = {request.key for request in block.requests}
        if not keys & attempted:
            left.update(
                ticket_key(block.project_id, slot.recorded.number)
                for slot in slots
                if isinstance(slot.recorded, Assignment)
                and slot.ticket is Reason.CONFLICT
            )
        attempted.update(keys)
        return next_step(block, slots)

    class LeavingPublisher(SNSPublisher):
        def publish(
            self, announcements: Sequence[Announcement], time_left: TimeLeft
        ) -> dict[str, AnnouncementError]:
            own = [
                announcement
                for announcement in announcements
                if announcement.event.id not in left
            ]
            left.clear()
            return super().publish(own, time_left)

    real = environment.handler(
        allocator=replace(environment.allocator(), decide=decide),
        publisher=environment.publisher(LeavingPublisher),
    )

    def handle(event: dict[str, Any], context: Any) -> Any:
        attempted.clear()
        return real(event, context)

    return handle
