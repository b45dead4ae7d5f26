"""Known-bad caches of the number after the last block, and a correct one."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from simulation.aws.lambda_service import Handler
from simulation.execution_environment import ExecutionEnvironment
from ticket_numbering.ports import Block, TicketStore
from ticket_numbering.sequence_cache import SequenceCache


@dataclass(frozen=True)
class CachesWhatItTries:
    """Caches the number after a block before it knows what became of it."""

    real: TicketStore
    cache: SequenceCache
    now: Callable[[], datetime]

    def __getattr__(self, name: str) -> Any:
        """Pass on the reads."""
        return getattr(self.real, name)

    def write_block(self, block: Block) -> Any:
        """Cache, then write."""
        self.cache.committed(block.project_id, block.next_number, self.now())
        return self.real.write_block(block)


def caching_what_it_tries(environment: ExecutionEnvironment) -> Handler:
    """Build the worker with a cache of numbers that were only tried."""
    real = environment.allocator()
    store: Any = CachesWhatItTries(real.store, real.cache, environment.clock.now)
    return environment.handler(allocator=replace(real, store=store))


class OneForAll(SequenceCache):
    """Caches one number, whatever the project."""

    def next_number(self, project_id: str, now: datetime) -> int | None:
        """Return the number after our last block of any project."""
        del project_id
        return SequenceCache.next_number(self, "any", now)

    def committed(self, project_id: str, next_number: int, now: datetime) -> None:
        """Cache the number after a block of any project."""
        del project_id
        SequenceCache.committed(self, "any", next_number, now)


class NeverTooOld(SequenceCache):
    """Takes the number after its last for the next one, however long ago: correct."""

    def next_number(self, project_id: str, now: datetime) -> int | None:
        """Return the number after our last block."""
        del now
        number, _ = self.entries.get(project_id, (None, None))
        return number


def caching(kind: type[SequenceCache]) -> Callable[[ExecutionEnvironment], Handler]:
    """Build the worker with another cache."""

    def build(environment: ExecutionEnvironment) -> Handler:
        real = environment.allocator()
        cache = kind(real.cache.ttl, real.cache.entries)
        return environment.handler(allocator=replace(real, cache=cache))

    return build
