"""The way of a history's messages from their receipts to their announcements."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from simulation.checks.history import History
from simulation.checks.monitor import Monitor
from simulation.scenarios.requests import RequestId

FAR_APART_SECONDS: Final = 600.0


@dataclass
class Deliveries:
    """Follows messages from their receipts to their commits and announcements."""

    requests: Mapping[str, RequestId]
    batches: list[int] = field(default_factory=list)
    """The sizes of batches."""
    blocks: list[int] = field(default_factory=list)
    """The sizes of committed blocks."""
    late_commits: int = 0
    """Commits of a message that was visible again and redelivered before."""
    late_announcements: int = 0
    _invocations: Counter[str] = field(default_factory=Counter)
    _received: dict[str, tuple[int, list[str]]] = field(default_factory=dict)
    """The receipt and the messages of each invocation."""
    _receipt: dict[str, int] = field(default_factory=dict)
    """The last receipt of each visible message."""
    _duplicates: set[str] = field(default_factory=set)
    _committed: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, history: History, monitor: Monitor) -> Self:
        """Follow the messages of a history."""
        deliveries = cls(
            {
                message.id: request.id
                for message in monitor.queue.arrived
                if (request := monitor.sent.get(message.body))
            }
        )
        for event in history.events:
            deliveries.see(*event)
        return deliveries

    def see(self, time: float, actor: str, what: str, detail: Any) -> None:
        """Count an event."""
        match what:
            case "delivers twice":
                self._duplicates.add(detail)
            case "receives":
                self._receive(actor, [message for message, _ in detail])
            case "commits":
                self._commit(time, actor, detail)
            case "announces" if detail in self._committed:
                waited = time - self._committed.pop(detail)
                self.late_announcements += waited >= FAR_APART_SECONDS

    def _receive(self, poller: str, messages: list[str]) -> None:
        self._invocations[poller] += 1
        invocation = f"{poller}.{self._invocations[poller]}"
        receipt = len(self._received)
        self._received[invocation] = receipt, messages
        self.batches.append(len(messages))
        for message in messages:
            if message not in self._duplicates:
                self._receipt[message] = receipt
        self._duplicates.clear()

    def _commit(
        self, time: float, actor: str, tickets: Mapping[str, RequestId]
    ) -> None:
        sizes = Counter(project for project, _ in tickets.values())
        self.blocks += sizes.values()
        self._committed |= dict.fromkeys(tickets, time)
        receipt, messages = self._received.get(actor.rpartition("/")[0], (0, ()))
        written = {*tickets.values()}
        self.late_commits += any(
            self._receipt.get(message, receipt) > receipt
            for message in messages
            if self.requests.get(message) in written
        )
