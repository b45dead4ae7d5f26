"""The monitor sees every broken promise, and a history without one passes."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from operator import methodcaller as call
from typing import Any

import pytest

from simulation.aws.items import Address, Item
from simulation.aws.messages import Message
from simulation.aws.queues import Queue
from simulation.aws.tables import KEYS, TICKETS
from simulation.aws.topics import Topic
from simulation.engine.choices import Choices
from simulation.engine.scheduler import Scheduler
from simulation.execution_environment import Algorithm, ExecutionEnvironment
from simulation.monitor import Monitor, Violation
from simulation.producers import Sending, request
from simulation.scenario import Scenario
from simulation.world import World
from tests.support.builders import announcement
from ticket_numbering.adapters.dynamodb_store import DynamoDBTicketStore
from ticket_numbering.adapters.sns_publisher import SNSPublisher
from ticket_numbering.allocation.block import Block
from ticket_numbering.allocation.store import TimeLeft
from ticket_numbering.contract.errors import AnnouncementError

DAY = Scenario([Sending(0.0, request("P", "key"))], pollers=1)


def ticket(number: int, key: str = "key", title: str = "a ticket") -> Item:
    """Return a ticket's item."""
    texts = {"project_id": "P", "idempotency_key": key, "title": title}
    return {name: {"S": text} for name, text in texts.items()} | {
        "number": {"N": str(number)}
    }


def record(number: int, key: str = "key") -> Item:
    """Return a key's record."""
    return {"id": {"S": f"P#{key}"}, **ticket(number, key)}


class Scene:
    """A monitor, what it looks at, and the actions of a history."""

    def __init__(self) -> None:
        choices = Choices(1)
        self.topic = Topic(choices)
        self.queue = Queue("message", choices, Scheduler(choices))
        self.dead_letters = Queue("dead", choices, Scheduler(choices))
        self.monitor = Monitor(self.topic, self.queue, self.dead_letters)
        self.topic.on_publish = self.monitor.announced
        self.queue.on_delete = self.monitor.deleted
        self.tickets: list[Item] = []

    def send(self, body: str | None = None) -> Message:
        """Send a message to the queue."""
        body = body or request("P", "key")
        self.monitor.requested(body)
        return self.queue.send(body)

    def commit(self, *items: Item) -> None:
        """Commit items in one transaction."""
        writes: dict[Address, Item | None] = {}
        for item in items:
            if "id" in item:
                writes[Address(KEYS, (item["id"]["S"],))] = item
            else:
                self.tickets.append(item)
                number = Decimal(item["number"]["N"])
                writes[Address(TICKETS, ("P", number))] = item
        self.monitor.decided(writes)

    def announce(self, number: int = 1, **changes: Any) -> None:
        """Publish the number of the usual request."""
        data = {
            "project_id": "P",
            "idempotency_key": "key",
            "title": "a ticket",
            "priority": "medium",
            "number": number,
        }
        event = {"id": f"P-{number}", "data": data | changes}
        entry = {"Id": "0", "Message": json.dumps(event)}
        batch = {"PublishBatchRequestEntries": [entry]}
        self.topic.serve("publish_batch", batch, partly=False)

    def dead_letter(self, body: str = "", reason: str | None = "Error") -> None:
        """Send the last message to the dead-letter queue, as the worker does."""
        message = self.queue.arrived[-1]
        values = {"ErrorType": reason, "SourceMessageId": message.id}
        attributes = {name: {"StringValue": value} for name, value in values.items()}
        self.dead_letters.send(body or message.body, attributes if reason else {})

    def delete(self) -> None:
        """Delete the first message."""
        self.queue.delete("message-1")

    def lose(self) -> None:
        """Lose every message."""
        self.queue.messages.clear()

    def delete_ticket(self) -> None:
        """Delete ticket 1."""
        self.monitor.decided({Address(TICKETS, ("P", Decimal(1))): None})

    def lose_ticket(self) -> None:
        """Lose every ticket that was decided."""
        self.tickets.clear()

    def finish(self) -> None:
        """End the history."""
        self.monitor.finish({TICKETS: self.tickets})

    def play(self, steps: "Sequence[Step]") -> None:
        """Take the steps."""
        for step in steps:
            step(self)


Step = Callable[[Scene], Any]


@pytest.fixture
def scene() -> Scene:
    return Scene()


@pytest.fixture
def numbered() -> Scene:
    """Return a history in which the usual request has number 1."""
    scene = Scene()
    scene.send()
    scene.commit(ticket(1), record(1))
    return scene


class TestKeptPromises:
    """The monitor accuses no correct history."""

    def test_history_passes_when_every_message_is_done(self, numbered: Scene) -> None:
        poison = numbered.send("not JSON")
        numbered.dead_letter()
        numbered.queue.delete(poison.id)
        numbered.announce()
        numbered.announce()
        numbered.delete()
        numbered.finish()


SEND, ANNOUNCE, DELETE = call("send"), call("announce"), call("delete")
DEAD_LETTER, LOSE, FINISH = call("dead_letter"), call("lose"), call("finish")
POISON, OTHER = call("send", "not JSON"), call("send", request("P", "other"))


class TestBrokenPromises:
    """The monitor sees each of them, at once or at the end of the history."""

    @pytest.mark.parametrize(
        ("violation", "steps"),
        [
            (
                r"\[3\] was committed after 1",
                [OTHER, call("commit", ticket(3, "other"), record(3, "other"))],
            ),
            ("has two numbers", [call("commit", ticket(2), record(2))]),
            (
                "P-1 was given twice",
                [OTHER, call("commit", ticket(1, "other"), record(1, "other"))],
            ),
            ("P-1 was deleted", [call("delete_ticket")]),
            ("the record of .* was overwritten", [call("commit", record(1))]),
            (
                "differs from the decisions",
                [ANNOUNCE, DELETE, call("lose_ticket"), FINISH],
            ),
            ("P-1 was announced as", [call("announce", priority="low")]),
            ("P-1 was announced as", [call("announce", title="another")]),
            (
                "P-1 was announced in different words",
                [ANNOUNCE, call("announce", display="P-01"), DELETE, FINISH],
            ),
            ("message-1 was deleted before it was done", [DELETE]),
            ("lost: ", [LOSE, FINISH]),
        ],
    )
    def test_violation_is_seen_when_a_request_had_its_number(
        self, numbered: Scene, violation: str, steps: Sequence[Step]
    ) -> None:
        with pytest.raises(Violation, match=violation):
            numbered.play(steps)

    @pytest.mark.parametrize(
        ("violation", "steps"),
        [
            ("was never requested", [call("commit", ticket(1), record(1))]),
            (
                "differs from its request",
                [SEND, call("commit", ticket(1, title="another"), record(1))],
            ),
            ("went apart", [SEND, call("commit", ticket(1))]),
            ("went apart", [SEND, call("commit", ticket(1), record(2))]),
            ("was announced before it was committed", [SEND, ANNOUNCE]),
            (
                "message-1 was deleted before it was done",
                [POISON, call("dead_letter", body="not  JSON"), DELETE],
            ),
            ("lost: ", [SEND, LOSE, FINISH]),
            ("the queue never drained", [SEND, FINISH]),
            ("dead-lettered, but valid", [SEND, DEAD_LETTER, LOSE, FINISH]),
            (
                "in the dead-letter queue without a reason",
                [SEND, call("dead_letter", reason=None), LOSE, FINISH],
            ),
        ],
    )
    def test_violation_is_seen_when_nothing_happened_before(
        self, scene: Scene, violation: str, steps: Sequence[Step]
    ) -> None:
        with pytest.raises(Violation, match=violation):
            scene.play(steps)


class RefusesAll(SNSPublisher):
    """Fails every announcement."""

    def publish(
        self, announcements: Any, time_left: TimeLeft
    ) -> dict[str, AnnouncementError]:
        del time_left
        return {
            announcement.event.id: AnnouncementError("no")
            for announcement in announcements
        }


def announcing_first(environment: ExecutionEnvironment) -> Any:
    """Build the worker with a store that announces a block before it commits it."""

    class Store(DynamoDBTicketStore):
        def write_block(self, block: Block) -> Any:
            announcements = [
                announcement(ticket, number)
                for number, ticket in enumerate(block.requests, block.first_number)
            ]
            environment.publisher().publish(announcements, lambda: 30.0)
            return super().write_block(block)

    return environment.handler(store=Store)


def announcing_nothing(environment: ExecutionEnvironment) -> Any:
    """Build the worker with a publisher that always fails."""
    return environment.handler(publisher=RefusesAll)


class TestWorld:
    """The monitor sees what workers announce and return."""

    @pytest.mark.parametrize(
        ("build", "violation"),
        [
            (announcing_first, "P-1 was announced before it was committed"),
            (announcing_nothing, "message-1 had to wait without contention"),
        ],
    )
    def test_broken_promise_is_seen_when_nothing_else_goes_wrong(
        self, build: Any, violation: str
    ) -> None:
        day = replace(DAY, is_fair=True)
        outcome = World(day, Choices(1), Algorithm("bad", build)).run()

        assert outcome.violation == violation

    def test_attempt_is_seen_when_the_settings_allow_none(self) -> None:
        world = World(DAY, Choices(1))
        world.scenario = replace(DAY, max_attempts=0)
        outcome = world.run()

        assert outcome.violation == "worker0.1 tried 1 times in P, not 0"

    def test_write_unit_is_seen_when_no_block_accounts_for_it(self) -> None:
        world = World(DAY, Choices(1))
        world.services.tables.units_written = 1.0
        outcome = world.run()

        assert outcome.violation == "5.0 units written, at most 4 due"
