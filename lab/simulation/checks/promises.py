"""Checks of single promises: caps, costs, and that a bad message harms only itself."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Final

from simulation.aws.items import Address
from simulation.aws.messages import Message
from simulation.aws.tables import KEYS, TICKETS, UNINDEXABLE
from simulation.checks.history import History, actor
from simulation.checks.monitor import Monitor
from simulation.checks.violations import Invariant, broken
from simulation.scenarios.requests import RequestId
from ticket_numbering.contract.dynamodb_items import key_of_id

PUBLISH: Final = "publish_batch"


@dataclass
class Caps:
    """Checks that no number is above its cap."""

    monitor: Monitor

    def decided(self, addresses: Iterable[Address]) -> None:
        """See the tickets that hold from now on: some message accepts each number."""
        if not self.monitor.has_key_records:
            return  # An algorithm of the textbook knows no caps.
        given = {
            (str(address.key[0]), int(address.key[1]))
            for address in addresses
            if address.table == TICKETS
        }
        monitor = self.monitor
        for (project, key), (number, content) in monitor.numbered.items():
            if (project, number) in given and number > max(
                request.cap
                for request in monitor.sent.values()
                if request
                and request.id == (project, key)
                and request.content == content
            ):
                broken(Invariant.CAP, f"{project}-{number} is above its request's cap")


@dataclass
class Neighbours:
    """Checks the deliveries of a day on which DynamoDB and SNS work.

    Every valid message is answered, with any neighbours in its batch. Excepted are
    projects in which another writer delayed the invocation: contention may use up a
    block's attempts. A request that DynamoDB rejects waits, and those behind it if the
    order counts.
    """

    monitor: Monitor
    refusals_fail: bool = False
    """Whether SNS takes no refusal; then those at a cap stay without an answer."""
    in_order: bool = False
    """Whether the queue is FIFO."""
    unindexable: set[tuple[str, RequestId]] = field(default_factory=set)
    """Invocations, and requests that DynamoDB rejected in them."""
    held_back: int = 0
    """Messages that waited behind such a request."""
    contended: set[tuple[str, str]] = field(default_factory=set)
    """Invocations, and projects in which another writer delayed them."""
    deliveries: int = 0
    """Uncontended deliveries whose message had to be done."""

    def cancelled(self, address: Address, code: str) -> None:
        """See an item for which an invocation's transaction is cancelled."""
        if address.table == KEYS and code == "ConditionalCheckFailed":
            return  # A replay.
        invocation = actor().rpartition("/")[0]
        if code == UNINDEXABLE:
            self.unindexable.add((invocation, key_of_id(str(address.key[0]))))
            return
        project = key_of_id(str(address.key[0])).project_id
        self.contended.add((invocation, project))

    def delivered(
        self, invocation: str, batch: Sequence[Message], failed: set[str]
    ) -> None:
        """See the end of an invocation."""
        monitor = self.monitor
        held = set[str]()
        for message in batch:
            request = monitor.sent[message.body]
            if request is None:
                continue
            if (invocation, request.id) in self.unindexable:
                held |= {request.id[0]} if self.in_order else set()
                continue
            if request.id[0] in held:
                self.held_back += message.id in failed
                continue
            if (invocation, request.id[0]) in self.contended:
                continue
            if not monitor.is_valid(message.body):
                continue  # Poison: the key belongs to another ticket.
            number, _ = monitor.numbered.get(request.id, (inf, ""))
            is_full = monitor.last[request.id[0]] >= request.cap < number
            if is_full and self.refusals_fail:
                continue
            if message.id in failed or not monitor.is_answered(message):
                broken(
                    Invariant.WAITED_FOR_NEIGHBOUR,
                    f"{message.id} had to wait without contention",
                )
            self.deliveries += 1


@dataclass
class _Invocation:
    """The calls of an invocation, and its numbers on their way to SNS."""

    in_flight: int = 0
    last_answer: float = inf
    unsent: set[str] = field(default_factory=set)
    """Numbers committed here that no call to SNS has named."""
    has_failed: bool = False
    """Whether SNS has rejected an event; then the rest may wait for the end."""

    def calls(self, time: float, operation: str, request: Any) -> None:
        """See a call: if it ends a wait of the whole batch, no number is unsent."""
        waited = not self.in_flight and time > self.last_answer
        if waited and self.unsent and not self.has_failed:
            broken(
                Invariant.WAITED_FOR_BACKOFF,
                f"{min(self.unsent)} waited for another project's backoff",
            )
        self.in_flight += 1
        if operation == PUBLISH:
            entries = request["PublishBatchRequestEntries"]
            self.unsent -= {json.loads(entry["Message"])["id"] for entry in entries}

    def is_answered(self, time: float, operation: str, answer: Any) -> None:
        """See an answer."""
        self.in_flight -= 1
        self.last_answer = time
        if operation == PUBLISH:
            is_taken = isinstance(answer, dict) and not answer["Failed"]
            self.has_failed |= not is_taken


def check_waits(history: History) -> None:
    """Check that no number waits for the backoff of another project.

    Where a batch has no call in flight for a while, its projects only wait: before one
    of them is tried again, the numbers so far are sent to SNS.
    """
    invocations: dict[str, _Invocation] = defaultdict(_Invocation)
    for time, name, what, detail in history.events:
        match what.split():
            case [">", operation]:
                invocations[name].calls(time, operation, detail[0])
            case ["<", operation]:
                invocations[name].is_answered(time, operation, detail)
            case ["commits"]:
                invocations[name.rpartition("/")[0]].unsent |= detail.keys()


def check_costs(history: History, bound: int, units: float) -> None:
    """Check that a history keeps to its attempts and write units."""
    for (process, project), attempts in history.most_attempts().items():
        if attempts > bound:
            broken(
                Invariant.ATTEMPTS,
                f"{process} tried {attempts} times in {project}, not {bound}",
            )
    due = history.units_due()
    if units > due:
        broken(Invariant.WRITE_UNITS, f"{units} units written, at most {due} due")
