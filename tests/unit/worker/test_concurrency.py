"""Many workers on one project, and a store that conflicts, forgets and stalls."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.builders import create_tickets, plenty
from tests.support.fakes import BlockAnswer, FakeTicketStore, held, unanswered
from ticket_numbering.allocation.allocation import Allocator
from ticket_numbering.allocation.block import Block
from ticket_numbering.allocation.head import Head
from ticket_numbering.allocation.progress import Allocation
from ticket_numbering.allocation.sequence_cache import MAX_PROJECTS, SequenceCache
from ticket_numbering.contract.messages import Assignment, CreateTicket

WORKERS = 6
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


class UnreliableStore(FakeTicketStore):
    """Atomic, as DynamoDB is, but not always there, and never only ours."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.others = 0
        """Tickets that no worker of the test wrote."""
        self._random = random.Random(seed)  # noqa: S311 - a test that can be repeated.
        self._lock = threading.Lock()

    def head(self, project_id: str) -> Head:
        with self._lock:
            return super().head(project_id)

    def write_block(self, block: Block) -> BlockAnswer:
        with self._lock:
            fate = self._random.random()
            if fate < 0.1:
                return held(block)
            if fate < 0.2:
                unanswered(block)
            if fate < 0.4:
                count = self._random.randint(1, 8)
                self.fill(count, block.project_id)
                self.others += count
            answer = super().write_block(block)
            if fate > 0.9:
                unanswered(block)
        return answer


def allocator(store: UnreliableStore, cache: SequenceCache | None = None) -> Allocator:
    """Return the allocator of one execution environment."""
    return Allocator(store, 10_000, 0, cache=cache or SequenceCache())


def finish(allocator: Allocator, requests: list[CreateTicket]) -> Allocation:
    """Allocate without ever waiting."""
    allocation = allocator.start(requests[0].project_id, requests)
    while allocator.advance(allocation, plenty) is not None:
        pass
    return allocation


@settings(max_examples=40)
@given(
    seed=st.integers(min_value=0, max_value=2**32),
    sizes=st.lists(st.integers(1, 12), min_size=WORKERS, max_size=WORKERS),
    shared=st.integers(min_value=0, max_value=5),
)
def test_workers_leave_no_gap_and_share_no_number(
    seed: int, sizes: list[int], shared: int
) -> None:
    """Some requests are delivered to every worker at once."""
    store, common = UnreliableStore(seed), create_tickets(shared)
    shares = [[*create_tickets(size), *common] for size in sizes]

    with ThreadPoolExecutor(WORKERS) as workers:
        allocations = list(
            workers.map(lambda share: finish(allocator(store), share), shares)
        )

    total = sum(sizes) + shared + store.others
    assert store.numbers() == list(range(1, total + 1))
    assert len(set(store.keys_in_order())) == total
    for allocation, share in zip(allocations, shares, strict=True):
        for request in share:
            answer = allocation.answer_to(request)
            assert isinstance(answer, Assignment)
            assert store.tickets["PROJ"][answer.number].key == request.key


@settings(max_examples=20)
@given(seed=st.integers(min_value=0, max_value=2**32))
def test_environments_leave_no_gap_when_their_projects_share_a_cache(seed: int) -> None:
    """Two environments, batch after batch; their caches are cleared meanwhile."""
    store = UnreliableStore(seed)
    old = {f"OLD-{number}": (Head(1), LONG_AGO) for number in range(MAX_PROJECTS - 2)}

    def run(environment: Allocator) -> None:
        for _ in range(5):
            with ThreadPoolExecutor(3) as threads:
                shares = [create_tickets(3, name) for name in "ABC"]
                list(threads.map(lambda share: finish(environment, share), shares))

    environments = [allocator(store, SequenceCache(entries=dict(old))) for _ in "12"]
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(run, environments))

    found = [store.numbers(name) for name in "ABC"]
    assert all(numbers == list(range(1, len(numbers) + 1)) for numbers in found)
    assert sum(map(len, found)) == 2 * 5 * 3 * 3 + store.others
