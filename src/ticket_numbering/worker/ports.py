"""The ports of the publisher and the dead-letter queue."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from ticket_numbering.contract.envelope import Envelope
from ticket_numbering.contract.errors import AnnouncementError, DeadLetterError
from ticket_numbering.contract.time_left import TimeLeft
from ticket_numbering.worker.results import Poison, caught

Item = TypeVar("Item")


class Publisher(Protocol):
    """Announces numbers and refusals."""

    def publish(
        self, envelopes: Sequence[Envelope], time_left: TimeLeft
    ) -> Mapping[str, AnnouncementError]:
        """Publish the events; return the errors of the unpublished, by event id."""
        ...


class DeadLetterQueue(Protocol):
    """Takes poison messages."""

    def send(
        self, dead_letters: Sequence[Poison], time_left: TimeLeft
    ) -> Mapping[str, DeadLetterError]:
        """Send the messages; return the errors of the unsent, by message id."""
        ...


def failures_of(
    send: Callable[[list[Item]], Mapping[str, Exception]], items: Mapping[str, Item]
) -> Mapping[str, Exception]:
    """Send the items, if there are any; return the errors of the unsent."""
    if not items:
        return {}
    failures = caught(lambda: send([*items.values()]))
    return (
        dict.fromkeys(items, failures) if isinstance(failures, Exception) else failures
    )
