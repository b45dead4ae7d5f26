"""The promise that a bad message harms only itself, checked after each invocation."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from simulation.aws.items import Address
from simulation.aws.messages import Message
from simulation.aws.tables import KEYS
from simulation.history import actor
from simulation.monitor import Monitor, broken
from simulation.requests import RequestId


@dataclass
class Neighbours:
    """Checks the deliveries of a day on which DynamoDB and SNS work.

    Every valid message is done, whatever its neighbours in the batch are. Excepted are
    projects in which another writer delayed the invocation: contention may use up a
    block's attempts.
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
            if message.id in failed or not monitor.is_done(message.body):
                broken(f"{message.id} had to wait without contention")
            self.deliveries += 1
