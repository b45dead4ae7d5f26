"""Checks of single promises: caps, costs, and that a bad message harms only itself."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import inf

from simulation.aws.items import Address
from simulation.aws.messages import Message, reason_of
from simulation.aws.tables import KEYS, TICKETS
from simulation.history import History, actor
from simulation.monitor import FULL, Monitor, broken
from simulation.requests import Request, RequestId


@dataclass
class Caps:
    """Checks that no number is above its cap, and that a refused cap was reached."""

    monitor: Monitor
    refused: list[Request] = field(default_factory=list)

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
                broken(f"{project}-{number} is above its request's cap")

    def dead_lettered(self, letter: Message) -> None:
        """See a dead letter that has just arrived: its cap has been reached."""
        request = self.monitor.sent[letter.body]
        if reason_of(letter) != FULL or request is None:
            return
        self.refused.append(request)
        if self.monitor.last[request.id[0]] < request.cap:
            broken(f"refused below its cap: {letter.body}")

    def finish(self) -> None:
        """Check that no refused request had a number that it accepts."""
        for request in self.refused:
            number, content = self.monitor.numbered.get(request.id, (0, ""))
            if content == request.content and number <= request.cap:
                broken(f"refused, but has number {number}: {request.id}")


@dataclass
class Neighbours:
    """Checks the deliveries of a day on which DynamoDB and SNS work.

    Every valid message is done, with any neighbours in its batch. Excepted are
    requests whose caps have been reached, and projects in which another writer delayed
    the invocation: contention may use up a block's attempts.
    """

    monitor: Monitor
    contended: set[tuple[str, str]] = field(default_factory=set)
    """Invocations, and projects in which another writer delayed them."""
    damaged: set[RequestId] = field(default_factory=set)
    """Requests that get no number, because their keys' records are damaged."""
    deliveries: int = 0
    """Uncontended deliveries whose message had to be done."""

    def cancelled(self, address: Address, code: str) -> None:
        """See an item for which an invocation's transaction is cancelled."""
        if address.table == KEYS and code == "ConditionalCheckFailed":
            return  # A replay.
        project = str(address.key[0]).partition("#")[0]
        invocation = actor().rpartition("/")[0]
        self.contended.add((invocation, project))

    def delivered(
        self, invocation: str, batch: Sequence[Message], failed: set[str]
    ) -> None:
        """See the end of an invocation."""
        monitor = self.monitor
        for message in batch:
            request = monitor.sent[message.body]
            if request is None or request.id in self.damaged:
                continue
            if (invocation, request.id[0]) in self.contended:
                continue
            if not monitor.is_valid(message.body):
                continue  # Poison: the key belongs to another ticket.
            number, _ = monitor.numbered.get(request.id, (inf, ""))
            if monitor.last[request.id[0]] >= request.cap < number:
                continue  # Refused; an equal request can have got a higher number.
            if message.id in failed or not monitor.is_done(message.body):
                broken(f"{message.id} had to wait without contention")
            self.deliveries += 1


def check_costs(history: History, bound: int, units: float) -> None:
    """Check that a history keeps to its attempts and write units."""
    for (process, project), attempts in history.most_attempts().items():
        if attempts > bound:
            broken(f"{process} tried {attempts} times in {project}, not {bound}")
    due = history.units_due()
    if units > due:
        broken(f"{units} units written, at most {due} due")
