"""What the benchmark adds to the model: a queue that delivers twice, and counts."""

import json
import math
from typing import Any

import pytest

from benchmarks.model_services import Announced, BenchQueue, FifoBenchQueue
from simulation.engine.choices import RandomChoices

QUEUES = [BenchQueue, FifoBenchQueue]


class Clock:
    """A time of day that stands still."""

    now = 0.0

    def __call__(self) -> float:
        """Return it."""
        return self.now


def queue_of(
    kind: type[BenchQueue], clock: Clock, *, redelivered: float = 0.0
) -> BenchQueue:
    """Return a queue with one message."""
    queue = kind("message", RandomChoices(1), clock, redelivered=redelivered)
    queue.ids["body"] = "P1", "key-1"
    queue.send("body", group="P1")
    return queue


@pytest.mark.parametrize("kind", QUEUES)
class TestRedelivery:
    """What is delivered once more comes once more, and is counted."""

    def test_message_comes_once_more_when_all_are_redelivered(
        self, kind: type[BenchQueue]
    ) -> None:
        """At once, and then never again."""
        queue = queue_of(kind, Clock(), redelivered=1.0)

        receives = []
        while batch := queue.receive(10):
            [message] = batch
            receives.append(message.receives)
            queue.delete(message.id)

        assert receives == [1, 2]
        assert queue.messages == {}
        assert queue.tally.redelivered == 1

    def test_message_is_gone_when_none_is_redelivered(
        self, kind: type[BenchQueue]
    ) -> None:
        """As in every queue."""
        queue = queue_of(kind, Clock())

        [message] = queue.receive(10)
        queue.delete(message.id)

        assert queue.messages == {}
        assert queue.tally.redelivered == 0

    def test_wait_begins_once_when_a_message_comes_again(
        self, kind: type[BenchQueue]
    ) -> None:
        """From its first receive to its first announcement."""
        clock = Clock()
        queue = queue_of(kind, clock, redelivered=1.0)
        clock.now = 2.0
        [message] = queue.receive(10)
        assert queue.first_received == {("P1", "key-1"): 2.0}

        queue.first_received.clear()  # It is announced.
        queue.delete(message.id)
        clock.now = 3.0
        assert queue.receive(10) == [message]

        assert queue.first_received == {}

    def test_wait_goes_on_when_a_message_was_not_done(
        self, kind: type[BenchQueue]
    ) -> None:
        """It has waited since it came first."""
        clock = Clock()
        queue = queue_of(kind, clock)
        for clock.now in (1.0, 1_000.0):
            assert len(queue.receive(10)) == 1

        assert queue.first_received == {("P1", "key-1"): 1.0}
        assert queue.tally.redelivered == 1

    def test_nothing_comes_when_the_queue_is_closed(
        self, kind: type[BenchQueue]
    ) -> None:
        """So that a run can end."""
        queue = queue_of(kind, Clock())
        queue.is_closed = True
        assert queue.receive(10) == []
        assert queue.next_visible_at() == math.inf


def test_request_is_told_when_it_is_announced() -> None:
    """And nothing is kept."""
    told: list[Any] = []
    topic = Announced(RandomChoices(1), on_event=told.append)
    data = {"project_id": "P1", "idempotency_key": "key-1"}
    message = json.dumps({"id": "P1-1", "data": data})

    topic.serve(
        "publish_batch",
        {"PublishBatchRequestEntries": [{"Id": "0", "Message": message}]},
        partly=False,
    )

    assert told == [("P1", "key-1")]
    assert topic.published == {}
