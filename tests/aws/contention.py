"""The shipped allocator on threads, as in execution environments, and a reader."""

import secrets
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event
from typing import Any, Final

from botocore.config import Config

from conformance.backends import Backend
from tests.aws.meter import Meter
from tests.support.builders import create_tickets
from ticket_numbering.adapters.dynamodb_store import DynamoDBTicketStore
from ticket_numbering.allocation.allocation import Allocator
from ticket_numbering.contract.messages import Assignment, CreateTicket, RequestKey
from ticket_numbering.function.bootstrap import CLIENT_CONFIG
from ticket_numbering.function.settings import Settings

BATCH: Final = 10
REPEATED: Final = 10
"""One batch in this number is sent again."""
INVOCATION_SECONDS: Final = 30
"""The function's timeout in the template."""
SEEN_NUMBERS: Final = 50
"""Of a query: several blocks."""
_LIMITS: Final = (
    Settings.model_fields["max_attempts"].default,
    Settings.model_fields["deadline_reserve_seconds"].default,
)


@dataclass
class Reader:
    """Queries a project again and again while others write."""

    client: Any
    table: str
    project_id: str
    keys: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The idempotency keys that each number was seen with."""
    queries: int = 0
    half_seen: int = 0
    """Queries that saw a number and not one before it."""
    longest_half_seen: float = 0.0
    """Seconds until the numbers were whole again."""
    went_back: list[str] = field(default_factory=list)
    """Consistent queries that lacked a number seen before."""
    stale: int = 0
    """Queries that are not consistent and lacked a number seen before."""
    _half_since: float | None = None
    _highest: int = 0

    def look(self) -> None:
        """Query consistently, then not."""
        numbers, highest = self._query(is_consistent=True)
        _, later = self._query(is_consistent=False)
        self.queries += 1
        self.stale += later < highest
        if highest < self._highest:
            self.went_back.append(f"a query went back to {self.project_id}-{highest}")
        self._highest = max(highest, self._highest)
        is_half = bool(numbers) and highest - min(numbers) + 1 != len(numbers)
        self.half_seen += is_half
        now = time.monotonic()
        if is_half:
            self._half_since = self._half_since or now
        elif self._half_since:
            seconds = now - self._half_since
            self.longest_half_seen = max(seconds, self.longest_half_seen)
            self._half_since = None

    def _query(self, *, is_consistent: bool) -> tuple[set[int], int]:
        """Return the newest numbers, and the highest of them."""
        answer = self.client.query(
            TableName=self.table,
            KeyConditionExpression="project_id = :project",
            ExpressionAttributeValues={":project": {"S": self.project_id}},
            ScanIndexForward=False,
            Limit=SEEN_NUMBERS,
            ConsistentRead=is_consistent,
        )
        for item in answer["Items"]:
            self.keys[int(item["number"]["N"])].add(item["idempotency_key"]["S"])
        numbers = {int(item["number"]["N"]) for item in answer["Items"]}
        return numbers, max(numbers, default=0)


@dataclass
class Contention:
    """Workers that number tickets of some projects."""

    backend: Backend
    projects: Sequence[str]
    workers: int
    meter: Meter = field(default_factory=Meter)
    answers: dict[RequestKey, set[int]] = field(
        default_factory=lambda: defaultdict(set)
    )
    """The numbers that each request got; one is right."""
    failures: Counter[str] = field(default_factory=Counter)
    """The errors of requests that would go back to the queue."""
    seconds: float = 0.0

    def __post_init__(self) -> None:
        """Build the clients, as the function does."""
        connections = {"max_pool_connections": self.workers + 1}
        config = Config(**{**CLIENT_CONFIG, **connections})
        tables = self.backend.tickets, self.backend.keys
        self._store = DynamoDBTicketStore(self.meter.client(config), *tables)
        self.reading = Meter()
        self.reader = Reader(
            self.reading.client(), self.backend.tickets, self.projects[0]
        )
        self._stop = Event()
        self._sent: dict[str, list[list[CreateTicket]]] = defaultdict(list)

    @property
    def meters(self) -> Sequence[Meter]:
        """The calls of the workers, and those of the reader."""
        return self.meter, self.reading

    def run(self, seconds: float, look: Callable[[], None]) -> None:
        """Work and look for a time, or until Ctrl-C."""
        start = time.monotonic()
        with ThreadPoolExecutor(self.workers + 1) as pool:
            try:
                parts = [pool.submit(self._work) for _ in range(self.workers)]
                parts.append(pool.submit(self._repeat, look))
                self._stop.wait(seconds)
            finally:
                self._stop.set()
            for part in parts:
                part.result()
        self.seconds = time.monotonic() - start

    def _repeat(self, look: Callable[[], None]) -> None:
        while not self._stop.is_set():
            look()

    def _work(self) -> None:
        allocator = Allocator(self._store, *_LIMITS)
        while not self._stop.is_set():
            self._number(allocator, self._batch(secrets.choice(self.projects)))

    def _number(self, allocator: Allocator, requests: list[CreateTicket]) -> None:
        """Number a batch, as an invocation does."""
        deadline = time.monotonic() + INVOCATION_SECONDS
        allocation = allocator.start(requests[0].project_id, requests)

        def time_left() -> float:
            return deadline - time.monotonic()

        while (delay := allocator.advance(allocation, time_left)) is not None:
            time.sleep(delay)
        for request in requests:
            match allocation.answer_to(request):
                case Assignment(number=number):
                    self.answers[request.key].add(number)
                case error:
                    self.failures[type(error).__name__] += 1

    def _batch(self, project_id: str) -> list[CreateTicket]:
        """Return new requests, or those of another worker again."""
        sent = self._sent[project_id]
        if sent and self.workers > 1 and secrets.randbelow(REPEATED) == 0:
            return secrets.choice(sent[-self.workers :])
        sent.append(create_tickets(BATCH, project_id))
        return sent[-1]
