"""Wrong ways to remember the number after the last block, and a right one."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from simulation.aws.lambda_service import Handler
from simulation.environment import Site
from ticket_numbering.allocation import AllocationRun
from ticket_numbering.handler import build_handler
from ticket_numbering.memory import Memory, ProjectMemory
from ticket_numbering.ports import Block


class RemembersWhatItTried(AllocationRun):
    """Remembers the number after a block before it knows what became of it."""

    def _block(self, first_number: int) -> Block:
        block = super()._block(first_number)
        self.memory.committed(first_number + len(block.requests), self.limits.now())
        return block


class OneForAll(Memory):
    """Keeps one memory, whatever the project."""

    def of(self, project_id: str) -> ProjectMemory:
        """Return what is remembered of anything."""
        del project_id
        return super().of("any")


class NeverTooOld(ProjectMemory):
    """Takes the number after its last for the next one, however long ago: not wrong."""

    def next_number(self, now: datetime) -> int | None:
        """Return the number after our last."""
        del now
        return self._next_number


class LongMemory(Memory):
    """Remembers for ever."""

    def of(self, project_id: str) -> ProjectMemory:
        """Return what is remembered of a project."""
        return self.projects.setdefault(project_id, NeverTooOld())


def remembering(kind: type[Memory]) -> Callable[[Site], Handler]:
    """Build the worker with another memory."""

    def build(site: Site) -> Handler:
        real = site.allocator(site.store())
        memory = kind(real.memory.projects)
        return build_handler(site.worker(allocator=replace(real, memory=memory)))

    return build
