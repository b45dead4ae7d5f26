"""The requests and write units of a batch, counted where botocore sends them."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.backends import emulator_backend, moto_backend
from tests.support.builders import (
    SOURCE,
    create_ticket,
    create_tickets,
    plenty,
    queue_record,
)
from tests.support.fakes import FakeTime, key_of
from ticket_numbering.adapters.sns_publisher import SNSPublisher
from ticket_numbering.adapters.sqs_dead_letters import SQSDeadLetters
from ticket_numbering.allocation.allocation import Allocator
from ticket_numbering.contract.messages import CreateTicket
from ticket_numbering.worker.worker import BatchReport, Worker
from ticketctl.local.clients import Clients


@dataclass
class CountedWorker:
    """The worker with its real adapters, a clock set by hand, and its requests."""

    time: datetime = datetime(2026, 11, 21, 12, tzinfo=UTC)
    requests: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        backend = moto_backend()
        self.worker = Worker(
            Allocator(backend.store(), 25, 10.0, now=lambda: self.time),
            SNSPublisher(backend.sns, backend.topic),
            SQSDeadLetters(backend.sqs, backend.dead),
            # One after the other: moto fails when two threads write at once.
            pool=lambda _: ThreadPoolExecutor(1),
            source=SOURCE,
        )
        for client in (backend.dynamodb, backend.sns, backend.sqs):
            client.meta.events.register("before-call", self._count)

    def handle(
        self, bodies: list[CreateTicket] | list[str], receive_count: int = 1
    ) -> BatchReport:
        """Process one batch, and count its requests alone."""
        self.requests.clear()
        records = [queue_record(body, receive_count=receive_count) for body in bodies]
        return self.worker.handle(records, FakeTime().time_left)

    def _count(self, model: Any, **_: Any) -> None:
        self.requests[model.name] += 1


@pytest.fixture
def counted(mocked: None) -> CountedWorker:
    """Return a worker whose requests are counted."""
    del mocked
    return CountedWorker()


class TestRequestsOfABatch:
    """Requests cost money and time; a batch makes as few as it can."""

    def test_ten_tickets_cost_three_requests_when_they_are_of_one_project(
        self, counted: CountedWorker
    ) -> None:
        report = counted.handle(create_tickets(10))

        assert [key_of(result) for result in report.results] == [
            f"PROJ-{number}" for number in range(1, 11)
        ]
        calls = ("Query", "TransactWriteItems", "PublishBatch")
        assert counted.requests == dict.fromkeys(calls, 1)

    @pytest.mark.parametrize(("seconds", "requests"), [(0.0, 2), (0.1, 3)])
    def test_query_is_left_out_when_a_batch_follows_at_once(
        self, counted: CountedWorker, seconds: float, requests: int
    ) -> None:
        counted.handle(create_tickets(10))
        counted.time += timedelta(seconds=seconds)

        report = counted.handle(create_tickets(10))

        assert key_of(report.results[-1]) == "PROJ-20"
        assert counted.requests.total() == requests

    def test_announcement_is_shared_when_there_are_ten_projects(
        self, counted: CountedWorker
    ) -> None:
        counted.handle([create_ticket(f"P{serial}") for serial in range(10)])

        expected = {"Query": 10, "TransactWriteItems": 10, "PublishBatch": 1}
        assert counted.requests == expected

    def test_batch_costs_a_read_and_no_write_when_it_is_redelivered(
        self, counted: CountedWorker
    ) -> None:
        requests = [*create_tickets(5, "A"), *create_tickets(5, "B")]
        counted.handle(requests)

        counted.handle(requests, receive_count=2)

        assert counted.requests == {"BatchGetItem": 1, "PublishBatch": 1}

    def test_ten_records_cost_one_request_when_they_are_poison(
        self, counted: CountedWorker
    ) -> None:
        counted.handle(["{"] * 10)

        assert counted.requests == {"SendMessageBatch": 1}


@pytest.mark.emulator
def test_ticket_costs_four_write_units_when_it_is_of_up_to_a_kilobyte(
    emulator_clients: Clients,
) -> None:
    """Two for the ticket and two for its key; the read costs one unit a batch."""
    backend = emulator_backend(emulator_clients)
    events, answers = backend.dynamodb.meta.events, []
    before, after = "provide-client-params.dynamodb", "after-call.dynamodb"
    events.register(before, _ask_for_capacity, "ask")
    events.register(after, lambda parsed, **_: answers.append(parsed), "collect")

    allocator = Allocator(backend.store(), 25, 10.0)
    allocator.advance(allocator.start("PROJ", create_tickets(10)), plenty)

    events.unregister(before, unique_id="ask")
    events.unregister(after, unique_id="collect")
    query, write = (answer["ConsumedCapacity"] for answer in answers)
    assert query["CapacityUnits"] == 1.0
    assert [table["WriteCapacityUnits"] for table in write] == [20.0, 20.0]


def _ask_for_capacity(params: dict[str, Any], model: Any, **_: Any) -> dict[str, Any]:
    if model.name in {"Query", "TransactWriteItems"}:
        return params | {"ReturnConsumedCapacity": "TOTAL"}
    return params
