"""Many workers on one project, and a store that conflicts, forgets and stalls."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.builders import create_tickets, plenty
from tests.support.fakes import BlockAnswer, FakeTicketStore
from ticket_numbering.allocation import Allocation, Allocator
from ticket_numbering.errors import StoreUnavailableError
from ticket_numbering.messages import Assignment, CreateTicket
from ticket_numbering.ports import Block, Cancelled, Reason, Slot
from ticket_numbering.sequence_cache import MAX_PROJECTS, SequenceCache

WORKERS = 6


class UnreliableStore(FakeTicketStore):
    """Atomic, as DynamoDB is, but not always there, and never only ours."""

    def __init__(self, seed: int) -> None:
        """Take the seed of what goes wrong."""
        super().__init__()
        self.strangers = 0
        self._random = random.Random(seed)  # noqa: S311 - a test that can be repeated.
        self._lock = threading.Lock()

    def last_number(self, project_id: str) -> int:
        """Read as one worker at a time."""
        with self._lock:
            return super().last_number(project_id)

    def write_block(self, block: Block) -> BlockAnswer:
        """Write, unless there is a conflict, a lost request, or somebody before us."""
        with self._lock:
            fate = self._random.random()
            if fate < 0.1:
                return Cancelled([Slot(Reason.CONFLICT)] * len(block.requests))
            if fate < 0.2:
                raise StoreUnavailableError
            if fate < 0.4:
                self._overtake(block.project_id, self._random.randint(1, 8))
            answer = super().write_block(block)
            if fate > 0.9:
                raise StoreUnavailableError
        return answer

    def _overtake(self, project_id: str, count: int) -> None:
        first = max(self.tickets[project_id], default=0) + 1
        self.put(Block(project_id, first, "then", create_tickets(count)))
        self.strangers += count


LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


def work(store: UnreliableStore, requests: list[CreateTicket]) -> Allocation:
    """Allocate as one worker does."""
    allocator = Allocator(store, max_attempts=10_000, deadline_reserve=0)
    return finish(allocator, "PROJ", requests)


def finish(
    allocator: Allocator, project_id: str, requests: list[CreateTicket]
) -> Allocation:
    """Allocate without ever waiting."""
    allocation = allocator.start(project_id, requests)
    while allocator.advance(allocation, plenty) is not None:
        pass
    return allocation


@dataclass
class Environment:
    """Works on the projects of a batch side by side, and remembers them."""

    allocator: Allocator

    def work(self, batch: dict[str, list[CreateTicket]]) -> list[Allocation]:
        """Allocate as a worker does for a batch."""
        with ThreadPoolExecutor(len(batch)) as threads:
            return list(threads.map(self._allocate, batch.items()))

    def _allocate(self, share: tuple[str, list[CreateTicket]]) -> Allocation:
        return finish(self.allocator, *share)


class TestGaplessAndOncePerKey:
    """Whatever the interleaving, the numbers are 1..n and each key has one."""

    @settings(max_examples=40)
    @given(
        seed=st.integers(min_value=0, max_value=2**32),
        sizes=st.lists(
            st.integers(min_value=1, max_value=12), min_size=WORKERS, max_size=WORKERS
        ),
        shared=st.integers(min_value=0, max_value=5),
    )
    def test_workers_leave_no_gap_and_share_no_number(
        self, seed: int, sizes: list[int], shared: int
    ) -> None:
        """Some requests are delivered to every worker at once."""
        store = UnreliableStore(seed)
        everybodys = create_tickets(shared)
        shares = [[*create_tickets(size), *everybodys] for size in sizes]

        with ThreadPoolExecutor(WORKERS) as workers:
            allocations = list(workers.map(lambda share: work(store, share), shares))

        total = sum(sizes) + shared + store.strangers
        assert store.numbers() == list(range(1, total + 1))
        assert len(set(store.keys_in_order())) == total
        answers = chain.from_iterable(each.answers().items() for each in allocations)
        for key, answer in answers:
            assert isinstance(answer, Assignment)
            assert store.tickets["PROJ"][answer.number].key == key

    @settings(max_examples=20)
    @given(seed=st.integers(min_value=0, max_value=2**32))
    def test_environments_leave_no_gap_when_their_projects_share_a_cache(
        self, seed: int
    ) -> None:
        """Two environments, batch after batch; their cache is cleared meanwhile."""
        store = UnreliableStore(seed)
        others = {f"OLD-{number}": (1, LONG_AGO) for number in range(MAX_PROJECTS - 2)}
        environments = [
            Environment(
                Allocator(
                    store,
                    max_attempts=10_000,
                    deadline_reserve=0,
                    cache=SequenceCache(entries=dict(others)),
                )
            )
            for _ in range(2)
        ]

        def run(environment: Environment) -> None:
            for _ in range(5):
                environment.work({name: create_tickets(3, name) for name in "ABC"})

        with ThreadPoolExecutor(2) as lambdas:
            list(lambdas.map(run, environments))

        found = {name: store.numbers(name) for name in "ABC"}
        assert all(each == list(range(1, len(each) + 1)) for each in found.values())
        assert sum(map(len, found.values())) == 2 * 5 * 3 * 3 + store.strangers
