"""The monitor sees every broken promise, and a history without one passes."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from operator import methodcaller as call
from typing import Any

import pytest
from greenlet import getcurrent

from operators.known_bad_restores import KNOWN_BAD as RESTORES
from operators.seeded_monitor import SeededMonitor
from simulation.aws.items import Address, Item
from simulation.aws.messages import Message
from simulation.aws.queues import Queue
from simulation.aws.tables import KEYS, TICKETS, by_address
from simulation.aws.topics import Topic
from simulation.checks.chains import Chains
from simulation.checks.fates import Fates
from simulation.checks.refusals import Refusals, check_order
from simulation.checks.violations import Invariant, Violation
from simulation.engine.choices import Choices
from simulation.engine.scheduler import Scheduler
from simulation.engine.tasks import Process, Task
from simulation.known_bad.adapters import Announcing
from simulation.known_bad.algorithms import KNOWN_BAD
from simulation.scenarios.producers import Sending, request
from simulation.scenarios.scenario import Scenario
from simulation.world.execution_environment import Algorithm, ExecutionEnvironment
from simulation.world.world import World
from tests.simulation.test_seeding import OPERATORS
from tests.support.builders import ASSIGNED_AT, announcement, block_of, create_ticket
from tests.support.fakes import FakePublisher
from tests.support.seed_items import block_items, key_item, ticket_item
from ticket_numbering.contract.field_types import timestamp
from ticketctl.sequences.seeding import Seeded

DAY = Scenario([Sending(0.0, request("P", "key"))], pollers=1)
USUAL = create_ticket("P", "key", title="a ticket")


def ticket(number: int, key: str = "key", title: str = "a ticket") -> Item:
    """Return a ticket's item."""
    return ticket_item("P", number, key, title=title)


def record(number: int, key: str = "key") -> Item:
    """Return a key's record."""
    return key_item("P", number, key)


class Harness:
    """A monitor, its tables and queues, and the actions of a history."""

    def __init__(self) -> None:
        choices = Choices(1)
        self.topic = Topic(choices)
        self.queue = Queue("message", choices, Scheduler(choices))
        self.dead_letters = Queue("dead", choices, Scheduler(choices))
        self.monitor = SeededMonitor(self.topic, self.queue, self.dead_letters)
        self.fates = Fates(self.monitor)
        self.refusals = Refusals(self.monitor)
        self.topic.on_publish = self.monitor.announced
        self.queue.on_delete = self.fates.deleted
        self.tickets: list[Item] = []

    def send(self, body: str | None = None) -> Message:
        """Send a message to the queue."""
        body = body or request("P", "key")
        self.monitor.requested(body)
        return self.queue.send(body)

    def commit(self, *items: Item) -> None:
        """Commit items in one transaction."""
        self.tickets += [item for item in items if "id" not in item]
        self.monitor.decided(by_address(items))

    def number(self, number: int, key: str = "key") -> None:
        """Give a request a number, as the worker does."""
        self.commit(ticket(number, key), record(number, key))

    def announce(self, number: int = 1, **changes: Any) -> None:
        """Publish the number of the usual request."""
        event = json.loads(announcement(USUAL, number).message)
        event["data"] |= changes
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

    def refuse(
        self, error_type: str, field: str = "max_number", reason: str = "cap_reached"
    ) -> None:
        """Announce that the last message is refused."""
        message = self.queue.arrived[-1]
        data = {"message_id": message.id, "error_type": error_type}
        data |= {"field": field, "reason": reason}
        self.refusals.announced({"id": "refused", "data": data})

    def refused_before(self) -> None:
        """Let the usual request have been refused, before it got its number."""
        request = self.monitor.sent[self.queue.arrived[0].body]
        assert request
        self.refusals.at_caps.append((request, frozenset()))

    def look_up(self) -> None:
        """Read the usual request's key, before it is refused."""
        action = {"Get": {"Key": {"id": {"S": "P#key"}}}}
        request = {"TransactItems": [action]}
        self.refusals.noted("> transact_get_items", (request, None))

    def receive(self, *bodies: str) -> None:
        """Let the next announcement come from a batch of these."""
        self.monitor.batch = lambda: bodies

    def erase(self) -> None:
        """Erase ticket 1, and the fingerprint of its key's record."""
        erased = {"status": {"S": "erased"}, "title": {"S": "erased"}}
        fingerprint = {"fingerprint": {"S": "erased:"}}
        self.commit({**ticket(1), **erased}, {**record(1), **fingerprint})

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
        self.fates.finish()
        self.monitor.finish({TICKETS: self.tickets, KEYS: []})
        self.refusals.finish()

    def play(self, steps: "Sequence[Step]") -> None:
        """Take the steps."""
        for step in steps:
            step(self)


Step = Callable[[Harness], Any]


@pytest.fixture
def harness() -> Harness:
    return Harness()


@pytest.fixture
def numbered() -> Harness:
    """Return a history in which the usual request has number 1."""
    harness = Harness()
    harness.play([SEND, COMMIT])
    return harness


class TestKeptPromises:
    """The monitor accuses no correct history."""

    def test_history_passes_when_every_message_is_done(self, numbered: Harness) -> None:
        poison = numbered.send("not JSON")
        numbered.dead_letter()
        numbered.queue.delete(poison.id)
        numbered.announce()
        numbered.announce()
        numbered.delete()
        numbered.finish()

    def test_history_passes_when_a_number_follows_a_refusal_beside_a_seed(
        self, harness: Harness
    ) -> None:
        harness.play([CAPPED, call("reserve", 60), LOOK_UP, COMMIT, REFUSE])
        harness.refusals.finish()

        assert harness.refusals.contradicted == {"P-1"}

    @pytest.mark.parametrize(
        ("given", "closed", "last"), [(2, 3, 1), (1, 6, 60)], ids=["above", "below"]
    )
    def test_seed_need_not_report_a_number_when_another_one_does(
        self, harness: Harness, given: int, closed: int, last: int
    ) -> None:
        first = min(last, 5)
        harness.play([SEND, call("reserve", first), call("reserve", 60)])
        harness.play([call("number", given), call("reserve", closed)])
        harness.seeded(last)

    def test_history_passes_when_another_request_comes_under_an_erased_key(
        self, numbered: Harness
    ) -> None:
        numbered.announce()
        numbered.play([RIVAL, ERASE, ANNOUNCE_RIVAL])
        numbered.announce()

        assert numbered.monitor.marked["rivals announced under erased keys"] == 1


SEND, ANNOUNCE, DELETE = call("send"), call("announce"), call("delete")
COMMIT = call("number", 1)
DEAD_LETTER, LOSE, FINISH = call("dead_letter"), call("lose"), call("finish")
CAPPED = call("send", request("P", "key", max_number=50))
LOOK_UP, REFUSE = call("look_up"), call("refuse", "SequenceFullError")
RIVAL, ERASE = call("send", request("P", "key", "another")), call("erase")
ANNOUNCE_RIVAL = call("announce", title="another")
INVALID = "InvalidMessageError"
POISON, OTHER = call("send", "not JSON"), call("send", request("P", "other"))
RESERVE, SEEDED = call("reserve", 5), call("seeded", 5)


NUMBERED: list[tuple[Invariant, list[Step]]] = [
    (Invariant.ORDER, [OTHER, call("number", 3, "other")]),
    (Invariant.SECOND_NUMBER, [call("number", 2)]),
    (Invariant.GIVEN_TWICE, [OTHER, call("number", 1, "other")]),
    (Invariant.DELETED, [call("delete_ticket")]),
    (Invariant.RECORD_OVERWRITTEN, [call("commit", record(1))]),
    (Invariant.TABLES_AT_END, [ANNOUNCE, DELETE, call("lose_ticket"), FINISH]),
    (Invariant.ANNOUNCED_CONTENT, [call("announce", priority="low")]),
    (Invariant.ANNOUNCED_CONTENT, [call("announce", title="another")]),
    (
        Invariant.REPEAT_CONTENT,
        [ANNOUNCE, call("announce", display="P-01"), DELETE, FINISH],
    ),
    (Invariant.DELETED_EARLY, [DELETE]),
    (Invariant.DELETED_EARLY, [ERASE, DELETE]),
    (Invariant.LOST, [LOSE, FINISH]),
    (Invariant.LOST, [ANNOUNCE, RIVAL, LOSE, FINISH]),
    (Invariant.REFUSAL_REASON, [call("refuse", "InvalidMessageError")]),
    (Invariant.REFUSAL_REASON, [call("refuse", "IdempotencyMismatchError")]),
    (
        Invariant.REFUSED_AND_NUMBERED,
        [call("refused_before"), ANNOUNCE, DELETE, FINISH],
    ),
    (Invariant.ANNOUNCED_CONTENT, [RIVAL, ANNOUNCE_RIVAL]),
    (Invariant.ANNOUNCED_CONTENT, [ERASE, ANNOUNCE_RIVAL]),
    (Invariant.ANNOUNCED_CONTENT, [RIVAL, ERASE, call("announce", 2, title="another")]),
    (
        Invariant.ANNOUNCED_CONTENT,
        [RIVAL, ERASE, call("receive", request("P", "key")), ANNOUNCE_RIVAL],
    ),
]
"""The invariant that these steps break, after the usual request got number 1."""

FRESH: list[tuple[Invariant, list[Step]]] = [
    (Invariant.UNREQUESTED, [COMMIT]),
    (Invariant.CONTENT, [SEND, call("commit", ticket(1, title="another"), record(1))]),
    (Invariant.TABLES_APART, [SEND, call("commit", ticket(1))]),
    (Invariant.TABLES_APART, [SEND, call("commit", ticket(1), record(2))]),
    (Invariant.ANNOUNCED_EARLY, [SEND, ANNOUNCE]),
    (Invariant.DELETED_EARLY, [POISON, call("dead_letter", body="not  JSON"), DELETE]),
    (Invariant.LOST, [SEND, LOSE, FINISH]),
    (Invariant.QUEUE_AT_END, [SEND, FINISH]),
    (Invariant.VALID_DEAD_LETTER, [SEND, DEAD_LETTER, LOSE, FINISH]),
    (
        Invariant.DEAD_LETTER_WITHOUT_REASON,
        [SEND, call("dead_letter", reason=None), LOSE, FINISH],
    ),
    (Invariant.REFUSAL_REASON, [POISON, call("refuse", "SequenceFullError")]),
    (Invariant.REFUSAL_CODE, [POISON, call("refuse", INVALID, "body", "missing")]),
    (Invariant.REFUSAL_CODE, [POISON, call("refuse", INVALID, "title", "not_json")]),
    (
        Invariant.REFUSED_AND_NUMBERED,
        [CAPPED, call("reserve", 60), COMMIT, LOOK_UP, REFUSE],
    ),
    (Invariant.SEED_REPORT, [RESERVE, call("seeded", 5, 3)]),
    (Invariant.SEED_REPORT, [SEND, RESERVE, COMMIT, call("reserve", 2), SEEDED]),
    (Invariant.SEED_LEFT_OPEN, [RESERVE, SEEDED]),
    (Invariant.SEED_LEFT_OPEN, [RESERVE, FINISH]),
    (Invariant.RESERVED_TWICE, [RESERVE, RESERVE]),
    (Invariant.TICKET_OVERWRITTEN, [SEND, COMMIT, call("reserve", 1)]),
    (Invariant.BELOW_SEED, [SEND, RESERVE, call("number", 2)]),
    (Invariant.IMPORT_IN_OPEN_GAP, [RESERVE, call("import_", 2)]),
    (Invariant.IMPORT_BEYOND_SEED, [call("import_", 2)]),
    (Invariant.TABLES_AT_END, [call("reserve", 1), call("lose_ticket"), FINISH]),
]
"""The invariant that these steps break, from the start."""


@contextmanager
def breaking(check: Invariant) -> Iterator[None]:
    """Expect a violation in the block."""
    with pytest.raises(Violation) as caught:
        yield
    assert caught.value.check is check


class TestBrokenPromises:
    """The monitor sees each of them, at once or at the end of the history."""

    @pytest.mark.parametrize(
        ("check", "steps"),
        [*FRESH, *((check, [SEND, COMMIT, *steps]) for check, steps in NUMBERED)],
    )
    def test_violation_is_seen_when_a_promise_is_broken(
        self, harness: Harness, check: Invariant, steps: Sequence[Step]
    ) -> None:
        with breaking(check):
            harness.play(steps)


def test_violation_is_seen_when_a_dead_letter_has_another_code() -> None:
    """Also if its refusal, which is announced, has the right one."""
    harness = Harness()
    harness.play([POISON, call("refuse", INVALID, "body", "not_json")])
    values = {"ErrorType": INVALID, "SourceMessageId": "message-1"}
    for code in ("not_json", "missing"):
        texts = values | {"ErrorReason": code}
        attributes = {name: {"StringValue": texts[name]} for name in texts}
        letter = Message("dead-1", "not JSON", 0.0, attributes)
        with breaking(Invariant.REFUSAL_CODE) if code == "missing" else nullcontext():
            harness.refusals.dead_lettered(letter)


HEAD = block_of([create_ticket()])


def following(hours_back: int = 0, chain: str = HEAD.last.chain) -> Sequence[Item]:
    """Return the items of the next ticket, dated before the head's."""
    date = datetime.fromisoformat(ASSIGNED_AT) - timedelta(hours=hours_back)
    return block_items(block_of([create_ticket()], 2, timestamp(date), chain))


def chains(hours_apart: int = 0) -> Chains:
    """Return the checks after the head was decided, by clocks that differ."""
    checks = Chains(Harness().monitor, timedelta(hours=hours_apart))
    checks.decided(by_address(block_items(HEAD)))
    return checks


class TestChains:
    """A ticket covers the one before it, and has a date of the documented form."""

    def test_date_may_run_back_when_clocks_differ_by_more_than_a_day(self) -> None:
        checks = chains(hours_apart=26)

        checks.decided(by_address(following(hours_back=25)))

        assert checks.dates_back == 1

    @pytest.mark.parametrize(
        ("hours_back", "hours_apart"), [(23, 26), (25, 0), (25, 24), (23, 0)]
    )
    def test_violation_is_seen_when_a_date_runs_back_and_need_not(
        self, hours_back: int, hours_apart: int
    ) -> None:
        with breaking(Invariant.DATE):
            chains(hours_apart).decided(by_address(following(hours_back)))

    def test_violation_is_seen_when_a_ticket_lacks_its_chain(self) -> None:
        items = [dict(item) for item in following()]
        for item in items:
            del item["chain"]

        with breaking(Invariant.CHAIN):
            chains().decided(by_address(items))

    def test_violation_is_seen_when_a_date_has_another_form(self) -> None:
        late = block_of([create_ticket()], 2, "2027-11-21T06:00:00Z", HEAD.last.chain)

        with breaking(Invariant.DATE):
            chains().decided(by_address(block_items(late)))

    @pytest.mark.parametrize(
        ("tried", "check"),
        [
            (following(chain="another"), Invariant.CHAIN),
            (following(hours_back=1), Invariant.DATE),
        ],
    )
    def test_violation_is_seen_when_a_ticket_is_tried_and_not_decided(
        self, tried: Sequence[Item], check: Invariant
    ) -> None:
        request = {"TransactItems": [{"Put": {"Item": item}} for item in tried]}
        attempt = partial(chains().noted, "> transact_write_items", (request, None))

        with breaking(check):
            Task(getcurrent(), Process("worker"), "worker", attempt).switch()


@pytest.mark.parametrize(("cap", "is_overtaken"), [(2, False), (3, True)])
def test_order_counts_a_request_if_it_accepts_the_number_of_its_key(
    cap: int, *, is_overtaken: bool
) -> None:
    """Its repeat with a higher cap may take the number, before it is refused."""
    harness = Harness()
    for body in (
        request("P", "key", max_number=cap),
        request("P", "other"),
        request("P", "key", max_number=8),
    ):
        harness.send(body)
    harness.monitor.numbered = {("P", "other"): (2, ""), ("P", "key"): (3, "")}

    with pytest.raises(Violation) if is_overtaken else nullcontext():
        check_order(harness.monitor, [])


@pytest.mark.parametrize(("receives", "is_overtaken"), [(1, True), (2, False)])
def test_order_lets_a_refused_request_that_came_back_give_its_place_to_an_equal_one(
    receives: int, *, is_overtaken: bool
) -> None:
    """Its deletion failed; equal requests of a batch have the highest of their caps."""
    harness = Harness()
    bodies = [request("P", "key", max_number=cap) for cap in (1, 8)]
    refused, _, _ = map(harness.send, (bodies[0], request("P", "other"), bodies[1]))
    harness.refused_before()
    refused.receives = receives
    harness.monitor.numbered = {("P", "key"): (2, ""), ("P", "other"): (3, "")}

    with pytest.raises(Violation) if is_overtaken else nullcontext():
        at_caps = [request for request, _ in harness.refusals.at_caps]
        check_order(harness.monitor, at_caps)


def raising(*_: Any) -> None:
    """Handle no event."""
    raise ValueError("a bug")


def announcing(publisher: Callable[..., Any]) -> Algorithm:
    """Return the shipped algorithm with another publisher."""
    return Algorithm("bad", partial(ExecutionEnvironment.handler, publisher=publisher))


WORLDS = [
    (
        announcing(partial(Announcing, change=lambda _: [announcement()])),
        Invariant.ANNOUNCED_EARLY,
    ),
    (
        announcing(lambda *_: FakePublisher(refused={"P-1"})),
        Invariant.WAITED_FOR_NEIGHBOUR,
    ),
    (Algorithm("bad", lambda _: raising), Invariant.HANDLER_RAISED),
]


AT_THE_END: list[tuple[Invariant, Callable[[World], object]]] = [
    (Invariant.LOST, lambda world: world.monitor.requested("never sent")),
    (
        Invariant.TABLES_AT_END,
        lambda world: world.services.tables.write(
            *by_address([ticket_item("Q", 7, "other")]).popitem()
        ),
    ),
    (
        Invariant.WRITE_UNITS,
        lambda world: setattr(world.services.tables, "units_written", 1.0),
    ),
    (
        Invariant.ATTEMPTS,
        lambda world: setattr(world, "scenario", replace(DAY, max_attempts=0)),
    ),
]
"""The invariant that these changes break, without a decision."""


class TestWorld:
    """The monitor sees the announcements and responses of workers."""

    @pytest.mark.parametrize(("algorithm", "check"), WORLDS)
    def test_broken_promise_is_seen_when_nothing_else_goes_wrong(
        self, algorithm: Algorithm, check: Invariant
    ) -> None:
        outcome = World(replace(DAY, is_fair=True), Choices(1), algorithm).run()

        assert outcome.violation
        assert outcome.violation.check is check

    @pytest.mark.parametrize(("check", "change"), AT_THE_END)
    def test_broken_promise_is_seen_when_the_history_is_over(
        self, check: Invariant, change: Callable[[World], object]
    ) -> None:
        world = World(DAY, Choices(1))
        change(world)
        outcome = world.run()

        assert outcome.violation
        assert outcome.violation.check is check


def test_each_check_is_seen_to_fail() -> None:
    """By a known-bad algorithm, operator or restore, or by a test above."""
    seen = {check for _, check in (*OPERATORS, *WORLDS)}
    seen |= {restore.breaks for restore in RESTORES}
    seen |= {check for check, _ in (*NUMBERED, *FRESH, *AT_THE_END)}

    assert seen | {algorithm.breaks for algorithm in KNOWN_BAD} == {*Invariant}
