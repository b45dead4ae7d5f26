"""The cap of a request: no number is above it, and it is refused only when reached."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from simulation.aws.items import Address
from simulation.aws.messages import Message, reason_of
from simulation.aws.tables import TICKETS
from simulation.monitor import FULL, Monitor, broken
from simulation.requests import Request


@dataclass
class Caps:
    """Checks every number and every refused request."""

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
