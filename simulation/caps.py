"""The cap of a request: no number is above it, and it is refused only when reached."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from simulation.aws.items import Address
from simulation.aws.messages import Message, reason_of
from simulation.aws.tables import TICKETS
from simulation.monitor import FULL, Monitor, broken
from simulation.requests import RequestId, cap_of


@dataclass
class Caps:
    """Checks every number and every refused request."""

    monitor: Monitor
    refused: dict[str, RequestId] = field(default_factory=dict)
    """The bodies that were refused, and their requests."""

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
        for request, (number, content) in monitor.numbered.items():
            if (request[0], number) in given and number > max(
                cap_of(body)
                for body, wanted in monitor.sent.items()
                if wanted == request and monitor.contents[body] == content
            ):
                broken(f"{request[0]}-{number} is above its request's cap")

    def dead_lettered(self, letter: Message) -> None:
        """See a dead letter that has just arrived: its cap has been reached."""
        request = self.monitor.sent[letter.body]
        if reason_of(letter) != FULL or request is None:
            return
        self.refused[letter.body] = request
        if self.monitor.last[request[0]] < cap_of(letter.body):
            broken(f"refused below its cap: {letter.body}")

    def finish(self) -> None:
        """Check that no refused request had a number that it accepts."""
        for body, request in self.refused.items():
            if request in self.monitor.numbered:
                number, content = self.monitor.numbered[request]
                is_own = content == self.monitor.contents[body]
                if is_own and number <= cap_of(body):
                    broken(f"refused, but has number {number}: {body}")
