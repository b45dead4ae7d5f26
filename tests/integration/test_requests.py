"""What a ticket costs, counted where botocore sends its requests."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from moto import mock_aws

from tests.integration.conftest import empty_store
from tests.support.builders import create_ticket, create_tickets, plenty, queue_record
from tests.support.fakes import FakeTime, key_of
from tests.support.tables import create_table
from ticket_numbering.allocation import Allocator
from ticket_numbering.dynamodb_store import DynamoDBTicketStore
from ticket_numbering.messages import CreateTicket
from ticket_numbering.sns_publisher import SNSPublisher
from ticket_numbering.sqs_dead_letters import SQSDeadLetters
from ticket_numbering.worker import BatchReport, Worker


@dataclass
class Clock:
    """Stands still until somebody moves it."""

    time: datetime = datetime(2026, 11, 21, 12, tzinfo=UTC)

    def now(self) -> datetime:
        """Return the time of day."""
        return self.time


@dataclass
class CountedWorker:
    """The worker with its real adapters, and the requests that they have sent."""

    worker: Worker
    clock: Clock
    requests: Counter[str] = field(default_factory=Counter)

    def handle(
        self, requests: list[CreateTicket], receive_count: int = 1
    ) -> BatchReport:
        """Process one batch, counting from nought."""
        self.requests.clear()
        records = [queue_record(each, receive_count=receive_count) for each in requests]
        return self.worker.handle(records, FakeTime().time_left)


@pytest.fixture
def counted() -> Iterator[CountedWorker]:
    """Return a worker whose requests are counted."""
    with mock_aws():
        dynamodb, sns = boto3.client("dynamodb"), boto3.client("sns")
        sqs = boto3.client("sqs")
        create_table(dynamodb, "tickets", project_id="S", number="N")
        create_table(dynamodb, "keys", id="S")
        topic_arn = sns.create_topic(Name="assignments")["TopicArn"]
        queue_url = sqs.create_queue(QueueName="dead")["QueueUrl"]
        clock, store = Clock(), DynamoDBTicketStore(dynamodb, "tickets", "keys")
        worker = Worker(
            Allocator(store, 25, 10.0, now=clock.now),
            SNSPublisher(sns, topic_arn),
            SQSDeadLetters(sqs, queue_url),
            # One after the other: moto fails when two threads write at once.
            pool=lambda _: ThreadPoolExecutor(1),
        )
        counted = CountedWorker(worker, clock)
        for client in (dynamodb, sns, sqs):
            client.meta.events.register(
                "before-call",
                lambda model, **_: counted.requests.update([model.name]),
            )
        yield counted


class TestRequestsOfABatch:
    """Requests cost money and time; a batch makes as few as it can."""

    def test_ten_tickets_of_one_project_cost_three_requests(
        self, counted: CountedWorker
    ) -> None:
        """0.3 requests a ticket, where the textbook loop needs three."""
        report = counted.handle(create_tickets(10))

        assert [key_of(result) for result in report.results] == [
            f"PROJ-{number}" for number in range(1, 11)
        ]
        assert counted.requests == {
            "Query": 1,
            "TransactWriteItems": 1,
            "PublishBatch": 1,
        }

    def test_ten_tickets_cost_two_requests_when_they_follow_at_once(
        self, counted: CountedWorker
    ) -> None:
        """0.2 requests a ticket: the number is known from the batch before."""
        counted.handle(create_tickets(10))

        report = counted.handle(create_tickets(10))

        assert key_of(report.results[-1]) == "PROJ-20"
        assert counted.requests == {"TransactWriteItems": 1, "PublishBatch": 1}

    def test_ten_tickets_cost_three_requests_when_they_come_later(
        self, counted: CountedWorker
    ) -> None:
        """By then somebody else has probably gone on."""
        counted.handle(create_tickets(10))
        counted.clock.time += timedelta(seconds=0.1)

        counted.handle(create_tickets(10))

        assert counted.requests.total() == 3

    def test_ten_projects_share_the_announcement(self, counted: CountedWorker) -> None:
        """A query and a transaction each, and one call to SNS for all."""
        counted.handle([create_ticket(f"P{serial}") for serial in range(10)])

        assert counted.requests == {
            "Query": 10,
            "TransactWriteItems": 10,
            "PublishBatch": 1,
        }

    def test_redelivered_batch_costs_one_read_and_no_write(
        self, counted: CountedWorker
    ) -> None:
        """What was answered before is looked up, not written in vain."""
        requests = [*create_tickets(5, "A"), *create_tickets(5, "B")]
        counted.handle(requests)

        counted.handle(requests, receive_count=2)

        assert counted.requests == {"BatchGetItem": 1, "PublishBatch": 1}

    def test_poison_costs_one_request_for_ten(self, counted: CountedWorker) -> None:
        """Dead letters travel together, too."""
        records = [queue_record("{") for _ in range(10)]

        counted.worker.handle(records, FakeTime().time_left)

        assert counted.requests == {"SendMessageBatch": 1}


class TestWriteUnits:
    """What DynamoDB charges, as the emulator counts it by the documented rules."""

    @pytest.mark.emulator
    def test_ticket_of_up_to_a_kilobyte_costs_four_write_units(
        self, emulator_dynamodb: Any
    ) -> None:
        """Two for the ticket and two for its key; the read costs one unit a batch."""
        events, answers = emulator_dynamodb.meta.events, []
        ask, hear = "provide-client-params.dynamodb", "after-call.dynamodb"
        events.register(ask, _ask_for_capacity, "ask")
        events.register(hear, lambda parsed, **_: answers.append(parsed), "hear")
        store = empty_store(emulator_dynamodb)
        answers.clear()

        allocator = Allocator(store, 25, 10.0)
        allocator.advance(allocator.start("PROJ", create_tickets(10)), plenty)

        events.unregister(ask, unique_id="ask")
        events.unregister(hear, unique_id="hear")
        query, write = (answer["ConsumedCapacity"] for answer in answers)
        assert query["CapacityUnits"] == 1.0
        assert [table["WriteCapacityUnits"] for table in write] == [20.0, 20.0]


def _ask_for_capacity(params: dict[str, Any], model: Any, **_: Any) -> dict[str, Any]:
    if model.name in {"Query", "TransactWriteItems"}:
        return params | {"ReturnConsumedCapacity": "TOTAL"}
    return params
