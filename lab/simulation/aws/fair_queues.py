"""SQS standard queues of messages with groups: quiet groups come first.

SQS developer guide, "How Amazon SQS fair queues work". The guide does not say which
processing time is recent; here it is that of the whole run.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from simulation.aws.messages import Message
from simulation.aws.queues import Queue

NOISY_SHARE: Final = 0.1
"""A group is noisy with more of the messages in flight, or of the processing time."""

NOISY_IN_FLIGHT: Final = 30
"""The fewest messages in flight of a group that is noisy by their share."""


@dataclass
class FairQueue(Queue):
    """A standard queue with another order."""

    seconds: defaultdict[str | None, float] = field(
        default_factory=lambda: defaultdict(float)
    )
    """The processing time of each group."""

    def delete(self, message_id: str) -> None:
        """Delete a message, and count its time in flight."""
        if message := self.messages.get(message_id):
            received_at = message.visible_at - self.visibility_seconds
            self.seconds[message.group] += self.scheduler.now - received_at
        super().delete(message_id)

    def _available(self) -> list[Message]:
        now, messages = self.scheduler.now, self.messages.values()
        in_flight = Counter(
            message.group for message in messages if message.visible_at > now
        )
        many = {group for group, held in in_flight.items() if held >= NOISY_IN_FLIGHT}
        noisy = _above_share(self.seconds) | (_above_share(in_flight) & many)

        def rank(message: Message) -> int:
            group = message.group
            return in_flight[group] + 1 if group in noisy else 0

        return sorted(super()._available(), key=rank)


def _above_share(groups: Mapping[str | None, float]) -> set[str | None]:
    most = NOISY_SHARE * sum(groups.values())
    return {group for group, amount in groups.items() if amount > most}
