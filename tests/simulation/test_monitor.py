"""The monitor sees every broken promise, and a history without one passes."""

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from simulation.aws.items import Address, Item
from simulation.aws.queues import Message, Queue
from simulation.aws.topics import Topic
from simulation.engine.choices import RandomChoices
from simulation.execution_environment import (
    Algorithm,
    ExecutionEnvironment,
    as_boto3,
)
from simulation.faults import RandomFaults
from simulation.monitor import KEYS, TICKETS, Monitor, Violation
from simulation.scenario import Scenario, Sending, request
from simulation.world import World, quiet
from ticket_numbering.dynamodb_store import DynamoDBTicketStore
from ticket_numbering.errors import AnnouncementError
from ticket_numbering.handler import build_handler
from ticket_numbering.messages import TicketNumberAssigned
from ticket_numbering.ports import Announcement, Block, TimeLeft
from ticket_numbering.sns_publisher import SNSPublisher

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
        choices = RandomChoices(1)
        self.topic = Topic(choices)
        self.queue = Queue("message", choices, lambda: 0.0)
        self.dead_letters = Queue("dead", choices, lambda: 0.0)
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

    def dead_letter(self, message: Message, reason: str | None = "Error") -> None:
        """Send a dead letter as the worker does, or without a reason."""
        values = {"ErrorType": reason, "SourceMessageId": message.id}
        attributes = {name: {"StringValue": value} for name, value in values.items()}
        self.dead_letters.send(message.body, attributes if reason else {})

    def finish(self) -> None:
        """End the history."""
        self.monitor.finish({TICKETS: self.tickets})


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
        numbered.dead_letter(poison)
        numbered.queue.delete(poison.id)
        numbered.announce()
        numbered.announce()
        numbered.queue.delete("message-1")
        numbered.finish()


class TestSequence:
    """Gapless, in order, and once per idempotency key."""

    def test_gap_is_seen_when_a_number_is_skipped(self, numbered: Scene) -> None:
        numbered.send(request("P", "other"))
        with pytest.raises(Violation, match=r"\[3\] was committed after 1"):
            numbered.commit(ticket(3, "other"), record(3, "other"))

    def test_second_number_is_seen_when_a_request_gets_two(
        self, numbered: Scene
    ) -> None:
        with pytest.raises(Violation, match="has two numbers"):
            numbered.commit(ticket(2), record(2))

    def test_second_ticket_is_seen_when_a_number_is_given_twice(
        self, numbered: Scene
    ) -> None:
        numbered.send(request("P", "other"))
        with pytest.raises(Violation, match="P-1 was given twice"):
            numbered.commit(ticket(1, "other"), record(1, "other"))

    def test_deletion_is_seen_when_a_ticket_is_deleted(self, numbered: Scene) -> None:
        with pytest.raises(Violation, match="P-1 was deleted"):
            numbered.monitor.decided({Address(TICKETS, ("P", Decimal(1))): None})

    def test_unknown_request_is_seen_when_it_gets_a_number(self, scene: Scene) -> None:
        with pytest.raises(Violation, match="was never requested"):
            scene.commit(ticket(1), record(1))

    def test_other_content_is_seen_when_a_ticket_is_written(self, scene: Scene) -> None:
        scene.send()
        with pytest.raises(Violation, match="not what was asked for"):
            scene.commit(ticket(1, title="another"), record(1))

    def test_overwriting_is_seen_when_a_key_has_its_record(
        self, numbered: Scene
    ) -> None:
        with pytest.raises(Violation, match="was overwritten"):
            numbered.commit(record(1))

    @pytest.mark.parametrize("items", [[ticket(1)], [ticket(1), record(2)]])
    def test_difference_is_seen_when_ticket_and_record_do_not_match(
        self, scene: Scene, items: list[Item]
    ) -> None:
        scene.send()
        with pytest.raises(Violation, match="went apart"):
            scene.commit(*items)

    def test_missing_ticket_is_seen_when_a_decision_was_not_written(
        self, numbered: Scene
    ) -> None:
        numbered.announce()
        numbered.queue.delete("message-1")
        numbered.tickets.clear()
        with pytest.raises(Violation, match="does not hold what was decided"):
            numbered.finish()


class TestAnnouncements:
    """After the commit, true, and the same each time."""

    def test_announcement_is_seen_when_it_precedes_its_commit(
        self, scene: Scene
    ) -> None:
        scene.send()
        with pytest.raises(Violation, match="announced before it was committed"):
            scene.announce()

    @pytest.mark.parametrize("change", [{"priority": "low"}, {"title": "another"}])
    def test_untruth_is_seen_when_an_announcement_differs(
        self, numbered: Scene, change: dict[str, Any]
    ) -> None:
        with pytest.raises(Violation, match="P-1 was announced as"):
            numbered.announce(**change)

    def test_difference_is_seen_when_a_repeat_has_other_words(
        self, numbered: Scene
    ) -> None:
        numbered.announce()
        numbered.announce(display="P-01")
        numbered.queue.delete("message-1")
        with pytest.raises(Violation, match="announced in different words"):
            numbered.finish()


class TestMessages:
    """Nothing is lost, and only poison is dead-lettered."""

    def test_loss_is_seen_when_an_unannounced_message_is_deleted(
        self, numbered: Scene
    ) -> None:
        with pytest.raises(Violation, match="deleted before it was done"):
            numbered.queue.delete("message-1")

    def test_loss_is_seen_when_a_dead_letter_has_another_body(
        self, scene: Scene
    ) -> None:
        poison = scene.send("not JSON")
        scene.dead_letter(Message(poison.id, "not  JSON", 0.0))
        with pytest.raises(Violation, match="deleted before it was done"):
            scene.queue.delete(poison.id)

    def test_loss_is_seen_when_a_message_is_nowhere_at_the_end(
        self, scene: Scene
    ) -> None:
        scene.send()
        scene.queue.messages.clear()
        with pytest.raises(Violation, match="lost: "):
            scene.finish()

    def test_loss_is_seen_when_a_number_was_never_announced(
        self, numbered: Scene
    ) -> None:
        numbered.queue.messages.clear()
        with pytest.raises(Violation, match="lost: "):
            numbered.finish()

    def test_rest_is_seen_when_the_queue_is_not_empty_at_the_end(
        self, scene: Scene
    ) -> None:
        scene.send()
        with pytest.raises(Violation, match="the queue never drained"):
            scene.finish()

    def test_accusation_is_seen_when_a_valid_message_is_dead_lettered(
        self, scene: Scene
    ) -> None:
        message = scene.send()
        scene.dead_letter(message)
        scene.queue.messages.clear()
        with pytest.raises(Violation, match="dead-lettered, but valid"):
            scene.finish()

    def test_dead_letter_is_seen_when_it_has_no_reason(self, scene: Scene) -> None:
        message = scene.send()
        scene.dead_letter(message, reason=None)
        scene.queue.messages.clear()
        with pytest.raises(Violation, match="without a reason"):
            scene.finish()


class AnnouncesFirst(DynamoDBTicketStore):
    """Announces a block before it commits it."""

    publisher: SNSPublisher

    def write_block(self, block: Block) -> Any:
        self.publisher.publish(
            [
                Announcement(
                    TicketNumberAssigned.of(ticket, number, "-"), replayed=False
                )
                for number, ticket in enumerate(block.requests, block.first_number)
            ],
            lambda: 30.0,
        )
        return super().write_block(block)


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
    """Build the worker with a store that announces first."""
    store = AnnouncesFirst(as_boto3(environment.dynamodb), "tickets", "keys")
    store.publisher = environment.publisher()
    return build_handler(environment.worker(allocator=environment.allocator(store)))


def announcing_nothing(environment: ExecutionEnvironment) -> Any:
    """Build the worker with a publisher that always fails."""
    publisher = RefusesAll(as_boto3(environment.sns), "topic")
    return build_handler(environment.worker(publisher=publisher))


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
        choices = RandomChoices(1)
        day = replace(DAY, is_fair=True)
        faults = RandomFaults(choices, 0.0)
        with quiet():
            outcome = World(day, choices, faults, Algorithm("bad", build)).run()

        assert outcome.violation == violation

    def test_attempt_is_seen_when_the_settings_allow_none(self) -> None:
        world = quiet_world()
        world.scenario = replace(DAY, max_attempts=0)
        with quiet():
            outcome = world.run()

        assert outcome.violation == "worker0.1 tried 1 times in P, not 0"

    def test_write_unit_is_seen_when_no_block_accounts_for_it(self) -> None:
        world = quiet_world()
        world.tables.units_written = 1.0
        with quiet():
            outcome = world.run()

        assert outcome.violation == "5.0 units written, at most 4 due"


def quiet_world() -> World:
    """Return a day of one message, without faults."""
    choices = RandomChoices(1)
    return World(DAY, choices, RandomFaults(choices, 0.0))
