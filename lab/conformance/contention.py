"""Workers that contend for a project, a reader, and AWS's answers to them.

The shipped allocator numbers the same project in several workers at once, as in as many
execution environments; a reader queries it meanwhile.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Any, Final

from botocore.exceptions import ClientError

from conformance.backends import Backend
from conformance.case import CONFLICT, FAILED
from simulation.aws.clients import AlteredClient
from simulation.aws.items import Item
from ticket_numbering.adapters.dynamodb_store import DynamoDBTicketStore
from ticket_numbering.allocation.allocation import Allocator
from ticket_numbering.contract.dynamodb_items import ticket_id
from ticket_numbering.contract.messages import Assignment, CreateTicket, RequestKey
from ticket_numbering.function.settings import Settings

PROJECT: Final = "PROJ"
BATCH: Final = 10
INVOCATION_SECONDS: Final = 30
"""The function's timeout in the template."""
PAUSE_SECONDS: Final = 0.002
"""Between two looks of the reader."""
ARRIVAL_SECONDS: Final = 0.01
"""Between two blocks that were sent, so that the earlier one arrived first."""
SEEN_NUMBERS: Final = 50
"""The items of a query: several blocks."""
_LIMITS: Final = (
    Settings.model_fields["max_attempts"].default,
    Settings.model_fields["deadline_reserve_seconds"].default,
)


@dataclass(frozen=True)
class Write:
    """A block: when it was sent and answered, its tickets, and the outcome."""

    sent_at: float
    answered_at: float
    numbers: AbstractSet[str]
    is_committed: bool = False
    is_conflict: bool = False
    """Whether another transaction was in its way."""

    def meets(self, other: "Write") -> bool:
        """Tell whether both were on their way at once, for one of their numbers."""
        is_later = other.sent_at >= self.answered_at
        is_earlier = other.answered_at <= self.sent_at
        return not (is_later or is_earlier or self.numbers.isdisjoint(other.numbers))


def overtaken(writes: Sequence[Write]) -> int:
    """Count blocks that came first and were cancelled for one that was sent later.

    If AWS does this, a block that waits for its turn is not safe from those behind it.
    """
    return sum(
        any(other.is_committed for other in others)
        and all(other.sent_at > write.sent_at + ARRIVAL_SECONDS for other in others)
        for write in writes
        if write.is_conflict
        for others in [[it for it in writes if it is not write and it.meets(write)]]
    )


@dataclass
class Contention:
    """The answers to the workers and the reader of a run."""

    backend: Backend
    answers: dict[RequestKey, set[int]] = field(
        default_factory=lambda: defaultdict(set)
    )
    """The numbers that each request got; one is right."""
    keys: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The idempotency keys with which the reader saw each number."""
    shown: list[tuple[Item, Any]] = field(default_factory=list)
    """Items whose put failed on its condition, and the item that was shown instead."""
    went_back: list[str] = field(default_factory=list)
    """Consistent queries that lacked a number seen before."""
    counts: Counter[str] = field(default_factory=Counter)
    """The counts of events; none of them contradicts the proof."""
    writes: list[Write] = field(default_factory=list)
    highest: int = 0
    is_over: bool = False
    _working: set[int] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)

    def run(self, workers: int, batches: int) -> None:
        """Let workers number batches; each second worker repeats some of another's."""
        self._working = {*range(workers)}
        parts = [partial(self._work, worker, batches) for worker in range(workers)]
        try:
            self.backend.together(self.backend, [*parts, self._read])
        finally:
            self.is_over = True  # Of Ctrl-C, too.
        self._count("blocks cancelled for a later one", overtaken(self.writes))

    def _work(self, worker: int, batches: int, backend: Backend) -> None:
        write = partial(self._write, backend)
        client: Any = AlteredClient(backend.dynamodb, transact_write_items=write)
        store = DynamoDBTicketStore(client, backend.tickets, backend.keys)
        allocator = Allocator(store, *_LIMITS)
        try:
            for batch in range(batches):
                if self.is_over:
                    return
                owner = worker - (batch % 2 and worker % 2)
                self._number(allocator, _requests(owner, batch), backend)
        finally:
            self._working.discard(worker)

    def _number(
        self, allocator: Allocator, requests: list[CreateTicket], backend: Backend
    ) -> None:
        """Number a batch, as an invocation does."""
        deadline = backend.now() + INVOCATION_SECONDS
        allocation = allocator.start(PROJECT, requests)
        while True:
            delay = allocator.advance(allocation, lambda: deadline - backend.now())
            if delay is None or self.is_over:
                break
            backend.wait(delay)
        for request in requests:
            match allocation.answer_to(request):
                case Assignment(number=number):
                    self.answers[request.key].add(number)
                case error:
                    self._count(f"back to the queue: {type(error).__name__}")

    def _count(self, what: str, times: int = 1) -> None:
        with self._lock:
            self.counts[what] += times

    def _write(self, backend: Backend, **request: Any) -> Any:
        """Write a block, and note why it is cancelled."""
        self._count("blocks")
        sent_at = backend.now()
        puts = [action["Put"] for action in request["TransactItems"]]
        of_tickets = [put for put in puts if put["TableName"] == backend.tickets]
        numbers = {put["Item"]["number"]["N"] for put in of_tickets}
        is_committed = is_conflict = False
        try:
            answer = backend.dynamodb.transact_write_items(**request)
            is_committed = True
        except ClientError as error:
            refusal: Any = error.response
            reasons = refusal.get("CancellationReasons", ())
            self._count("blocks cancelled", bool(reasons))
            is_conflict = any(reason["Code"] == CONFLICT for reason in reasons)
            for action, reason in zip(request["TransactItems"], reasons, strict=False):
                self._count(f"reason: {reason['Code']}")
                if reason["Code"] == FAILED:
                    self.shown.append((action["Put"]["Item"], reason.get("Item")))
            raise
        finally:
            times = sent_at, backend.now()
            self.writes.append(Write(*times, numbers, is_committed, is_conflict))
        return answer

    def _read(self, backend: Backend) -> None:
        while True:
            self.look(backend)
            if self.is_over or not self._working:
                return
            backend.wait(PAUSE_SECONDS)

    def look(self, backend: Backend) -> None:
        """Query consistently, then not; then read the next number in a transaction."""
        numbers = self._query(backend, is_consistent=True)
        stale = self._query(backend, is_consistent=False)
        highest = max(numbers, default=0)
        is_half = highest - min(numbers, default=1) + 1 != len(numbers)
        self._count("queries")
        self._count("queries of half a block", is_half)
        self._count("stale queries", max(stale, default=0) < highest)
        if highest < self.highest:
            line = f"a query went back from {self.highest} to {highest}"
            self.went_back.append(line)
        self.highest = max(highest, self.highest)
        self._count(f"next number in a transaction: {self._next(backend)}")

    def _query(self, backend: Backend, *, is_consistent: bool) -> set[int]:
        """Return the newest numbers."""
        answer = backend.dynamodb.query(
            **of_project(backend),
            ScanIndexForward=False,
            Limit=SEEN_NUMBERS,
            ConsistentRead=is_consistent,
        )
        for item in answer["Items"]:
            self.keys[int(item["number"]["N"])].add(item["idempotency_key"]["S"])
        return {int(item["number"]["N"]) for item in answer["Items"]}

    def _next(self, backend: Backend) -> str:
        """Return the outcome of a transactional read of the number after the highest.

        AWS documents a conflict for an item that a pending transaction updates, and not
        for one that it is about to create.
        """
        key = ticket_id(PROJECT, self.highest + 1)
        get = {"TableName": backend.tickets, "Key": key}
        try:
            answer = backend.dynamodb.transact_get_items(TransactItems=[{"Get": get}])
        except ClientError as error:
            response: Any = error.response
            reasons = response.get("CancellationReasons", [response["Error"]])
            return str(reasons[0]["Code"])
        return "present" if answer["Responses"][0].get("Item") else "absent"


def of_project(backend: Backend) -> dict[str, Any]:
    """Return the request of a query for the project's tickets."""
    return {
        "TableName": backend.tickets,
        "KeyConditionExpression": "project_id = :project",
        "ExpressionAttributeValues": {":project": {"S": PROJECT}},
    }


def _requests(worker: int, batch: int) -> list[CreateTicket]:
    keys = [f"worker-{worker}-batch-{batch}-{place}" for place in range(BATCH)]
    return [
        CreateTicket(project_id=PROJECT, idempotency_key=key, title=key) for key in keys
    ]
