"""What the monitor must see: it is told a story in which a promise is broken."""

from dataclasses import replace
from typing import Any

import pytest

from simulation.engine.choices import RandomChoices
from simulation.environment import Site, Way, as_boto3
from simulation.faults import RandomFaults
from simulation.scenario import Scenario, Sending, request
from simulation.world import World, quiet
from ticket_numbering.dynamodb_store import DynamoDBTicketStore
from ticket_numbering.errors import AnnouncementError
from ticket_numbering.handler import build_handler
from ticket_numbering.messages import TicketNumberAssigned
from ticket_numbering.ports import Announcement, Block, TimeLeft
from ticket_numbering.sns_publisher import SNSPublisher

DAY = Scenario([Sending(0.0, request("P", "key"))], pollers=1)


class AnnouncesFirst(DynamoDBTicketStore):
    """Tells the world of a block, and then commits it."""

    publisher: SNSPublisher

    def write_block(self, block: Block) -> Any:
        """Announce, and write."""
        self.publisher.publish(
            [
                Announcement(TicketNumberAssigned.of(asked, at, "-"), replayed=False)
                for at, asked in enumerate(block.requests, block.first_number)
            ],
            lambda: 30.0,
        )
        return super().write_block(block)


class RefusesAll(SNSPublisher):
    """Announces nothing, and says so."""

    def announce(
        self, announcements: Any, time_left: TimeLeft
    ) -> dict[str, AnnouncementError]:
        """Fail."""
        del time_left
        return {each.event.id: AnnouncementError("no") for each in announcements}


def announcing_first(site: Site) -> Any:
    """Build the worker with a store that is hasty."""
    store = AnnouncesFirst(as_boto3(site.dynamodb), "tickets", "keys")
    store.publisher = site.publisher()
    return build_handler(site.worker(allocator=site.allocator(store)))


def announcing_nothing(site: Site) -> Any:
    """Build the worker with an publisher that has no success."""
    publisher = RefusesAll(as_boto3(site.sns), "topic")
    return build_handler(site.worker(publisher=publisher))


@pytest.mark.parametrize(
    ("build", "violation"),
    [
        (announcing_first, "P-1 was announced before it was committed"),
        (announcing_nothing, "message-1 had to wait, though nobody was in its way"),
    ],
)
def test_monitor_sees_a_broken_promise_when_nothing_else_goes_wrong(
    build: Any, violation: str
) -> None:
    """An announcement comes too early, or a message waits for no reason."""
    choices = RandomChoices(1)
    day = replace(DAY, is_fair=True)
    with quiet():
        world = World(day, choices, RandomFaults(choices, 0.0), Way("wrong", build))
        assert world.run().violation == violation
