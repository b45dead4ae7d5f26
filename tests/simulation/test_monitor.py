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
from simulation.known_bad.algorithms import KNOWN_BAD
from simulation.producers import Sending, request
from simulation.refusals import Refusals
from simulation.scenario import Scenario
from simulation.violations import Check, Violation
from simulation.world import World
from tests.simulation.test_seeding import OPERATORS
from tests.support.builders import announcement
from tests.support.seeded_monitor import SeededMonitor
from ticket_numbering.adapters.dynamodb_store import DynamoDBTicketStore
from ticket_numbering.adapters.sns_publisher import SNSPublisher
from ticket_numbering.allocation.block import Block
from ticket_numbering.allocation.store import TimeLeft
from ticket_numbering.contract.errors import AnnouncementError
from ticketctl.sequences.seeding import Seeded

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
        self.monitor = SeededMonitor(self.topic, self.queue, self.dead_letters)
        self.refusals = Refusals(self.monitor)
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

    def refuse(self, error_type: str) -> None:
        """Announce that the last message is refused."""
        message = self.queue.arrived[-1]
        data = {"message_id": message.id, "error_type": error_type, "field": "body"}
        self.refusals.announced({"id": "refused", "data": data})

    def refused_before(self) -> None:
        """Let the usual request have been refused, before it got its number."""
        request = self.monitor.sent[self.queue.arrived[0].body]
        assert request
        self.refusals.at_caps.append(request)

    def end_refusals(self) -> None:
        """End the history of the refusals."""
        self.refusals.finish()

    def reserve(self, number: int) -> None:
        """Reserve a number, as a seed does."""
        marks = {"status": {"S": "reserved"}, "origin": {"S": "elsewhere"}}
        self.commit({**ticket(number), **marks})

    def import_(self, number: int) -> None:
        """Import a ticket."""
        self.commit({**ticket(number, "imported"), "origin": {"S": "elsewhere"}})

    def seeded(self, last: int, *given: int) -> None:
        """End a seed that reports these numbers."""
        self.monitor.done(
            Seeded("P", last, last + 1, was_already=False, given_within=given)
        )

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
        self.monitor.finish({TICKETS: self.tickets, KEYS: []})

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
COMMIT = call("commit", ticket(1), record(1))
DEAD_LETTER, LOSE, FINISH = call("dead_letter"), call("lose"), call("finish")
POISON, OTHER = call("send", "not JSON"), call("send", request("P", "other"))


NUMBERED: list[tuple[Check, list[Step]]] = [
    (Check.ORDER, [OTHER, call("commit", ticket(3, "other"), record(3, "other"))]),
    (Check.SECOND_NUMBER, [call("commit", ticket(2), record(2))]),
    (
        Check.GIVEN_TWICE,
        [OTHER, call("commit", ticket(1, "other"), record(1, "other"))],
    ),
    (Check.DELETED, [call("delete_ticket")]),
    (Check.RECORD_OVERWRITTEN, [call("commit", record(1))]),
    (Check.TABLES_AT_END, [ANNOUNCE, DELETE, call("lose_ticket"), FINISH]),
    (Check.ANNOUNCED_CONTENT, [call("announce", priority="low")]),
    (Check.ANNOUNCED_CONTENT, [call("announce", title="another")]),
    (
        Check.REPEAT_CONTENT,
        [ANNOUNCE, call("announce", display="P-01"), DELETE, FINISH],
    ),
    (Check.DELETED_EARLY, [DELETE]),
    (Check.LOST, [LOSE, FINISH]),
    (Check.REFUSAL_REASON, [call("refuse", "InvalidMessageError")]),
    (Check.REFUSAL_REASON, [call("refuse", "IdempotencyMismatchError")]),
    (Check.REFUSED_AND_NUMBERED, [call("refused_before"), call("end_refusals")]),
]
"""What is broken by these steps, after the usual request got number 1."""

FRESH: list[tuple[Check, list[Step]]] = [
    (Check.UNREQUESTED, [call("commit", ticket(1), record(1))]),
    (Check.CONTENT, [SEND, call("commit", ticket(1, title="another"), record(1))]),
    (Check.TABLES_APART, [SEND, call("commit", ticket(1))]),
    (Check.TABLES_APART, [SEND, call("commit", ticket(1), record(2))]),
    (Check.ANNOUNCED_EARLY, [SEND, ANNOUNCE]),
    (Check.DELETED_EARLY, [POISON, call("dead_letter", body="not  JSON"), DELETE]),
    (Check.LOST, [SEND, LOSE, FINISH]),
    (Check.QUEUE_AT_END, [SEND, FINISH]),
    (Check.VALID_DEAD_LETTER, [SEND, DEAD_LETTER, LOSE, FINISH]),
    (
        Check.DEAD_LETTER_WITHOUT_REASON,
        [SEND, call("dead_letter", reason=None), LOSE, FINISH],
    ),
    (Check.REFUSAL_REASON, [POISON, call("refuse", "SequenceFullError")]),
    (Check.SEED_REPORT, [call("reserve", 5), call("seeded", 5, 3)]),
    (
        Check.SEED_REPORT,
        [SEND, call("reserve", 5), COMMIT, call("reserve", 2), call("seeded", 5)],
    ),
    (Check.SEED_LEFT_OPEN, [call("reserve", 5), call("seeded", 5)]),
    (Check.RESERVED_TWICE, [call("reserve", 5), call("reserve", 5)]),
    (Check.TICKET_OVERWRITTEN, [SEND, COMMIT, call("reserve", 1)]),
    (
        Check.BELOW_SEED,
        [SEND, call("reserve", 5), call("commit", ticket(2), record(2))],
    ),
    (Check.IMPORT_IN_OPEN_GAP, [call("reserve", 5), call("import_", 2)]),
    (Check.IMPORT_BEYOND_SEED, [call("import_", 2)]),
    (Check.TABLES_AT_END, [call("reserve", 1), call("lose_ticket"), FINISH]),
]
"""What is broken by these steps, from the start."""


class TestBrokenPromises:
    """The monitor sees each of them, at once or at the end of the history."""

    @pytest.mark.parametrize(("check", "steps"), NUMBERED)
    def test_violation_is_seen_when_a_request_had_its_number(
        self, numbered: Scene, check: Check, steps: Sequence[Step]
    ) -> None:
        with pytest.raises(Violation) as caught:
            numbered.play(steps)

        assert caught.value.check is check

    @pytest.mark.parametrize(("check", "steps"), FRESH)
    def test_violation_is_seen_when_nothing_happened_before(
        self, scene: Scene, check: Check, steps: Sequence[Step]
    ) -> None:
        with pytest.raises(Violation) as caught:
            scene.play(steps)

        assert caught.value.check is check


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


def raising(_: ExecutionEnvironment) -> Any:
    """Build a handler that raises an exception."""

    def handle(*_: Any) -> None:
        raise ValueError("a bug")

    return handle


WORLDS = [
    (announcing_first, Check.ANNOUNCED_EARLY),
    (announcing_nothing, Check.WAITED_FOR_NEIGHBOUR),
    (raising, Check.HANDLER_RAISED),
]


class TestWorld:
    """The monitor sees what workers announce and return."""

    @pytest.mark.parametrize(("build", "check"), WORLDS)
    def test_broken_promise_is_seen_when_nothing_else_goes_wrong(
        self, build: Any, check: Check
    ) -> None:
        day = replace(DAY, is_fair=True)
        outcome = World(day, Choices(1), Algorithm("bad", build)).run()

        assert outcome.violation
        assert outcome.violation.check is check

    def test_attempt_is_seen_when_the_settings_allow_none(self) -> None:
        world = World(DAY, Choices(1))
        world.scenario = replace(DAY, max_attempts=0)
        outcome = world.run()

        assert str(outcome.violation) == "worker0.1 tried 1 times in P, not 0"

    def test_write_unit_is_seen_when_no_block_accounts_for_it(self) -> None:
        world = World(DAY, Choices(1))
        world.services.tables.units_written = 1.0
        outcome = world.run()

        assert outcome.violation
        assert outcome.violation.check is Check.WRITE_UNITS


def test_each_check_is_seen_to_fail() -> None:
    """By a known-bad algorithm, a known-bad operator, or a test above."""
    seen = {check for _, check in (*OPERATORS, *WORLDS)} | {Check.WRITE_UNITS}
    seen |= {check for check, _ in (*NUMBERED, *FRESH)}

    assert seen | {one.breaks for one in KNOWN_BAD} == {*Check}
