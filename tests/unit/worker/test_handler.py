"""The Lambda entry: the response's shape, the outcome lines, the metrics."""

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from simulation.aws.lambda_service import Context
from tests.support.builders import (
    create_ticket,
    sqs_event,
    sqs_record,
    ticket_fields,
)
from tests.support.fakes import (
    FakeDeadLetters,
    FakePublisher,
    FakeTicketStore,
    FakeTime,
)
from ticket_numbering.allocation import Allocator
from ticket_numbering.errors import StoreUnavailableError, TicketTooLargeError
from ticket_numbering.handler import LambdaHandler, build_handler
from ticket_numbering.messages import TicketNumberAssigned
from ticket_numbering.observability import Metric, logger
from ticket_numbering.ports import Block, Cancelled, Reason, Slot
from ticket_numbering.results import Assigned, Result, Retry
from ticket_numbering.sqs_record import SQSRecord
from ticket_numbering.worker import BatchReport, Worker

# Whoever refuses the event has nothing to count.
pytestmark = pytest.mark.filterwarnings("ignore:No application metrics:UserWarning")


@dataclass
class Function:
    """The function over fakes, with what it printed."""

    capture: pytest.CaptureFixture[str]
    log: io.StringIO
    store: FakeTicketStore = field(default_factory=FakeTicketStore)
    publisher: FakePublisher = field(default_factory=FakePublisher)
    dead_letters: FakeDeadLetters = field(default_factory=FakeDeadLetters)

    def __call__(self, *records: dict[str, Any], left: int = 30_000) -> Any:
        """Invoke the handler on a batch."""
        return self.handler()(sqs_event(*records), Context(lambda: left))

    def handler(self) -> LambdaHandler:
        """Return the handler of a new container."""
        allocator = Allocator(self.store, 3, 10.0)
        return build_handler(
            Worker(allocator, self.publisher, self.dead_letters, FakeTime().sleep)
        )

    def printed(self) -> tuple[list[dict[str, Any]], dict[str, list[float]]]:
        """Return the outcome lines and the metrics since the last look."""
        lines = [json.loads(line) for line in self.log.getvalue().splitlines()]
        metrics = self.capture.readouterr().out.splitlines()
        values = {
            name: value
            for blob in map(json.loads, metrics)
            for name, value in blob.items()
            if name in set(Metric)
        }
        return lines, values


@dataclass(frozen=True, slots=True)
class CarelessWorker(Worker):
    """Reports these results, whatever the batch."""

    results: Sequence[Result] = ()

    def handle(self, *_: Any) -> BatchReport:
        """Report; see `Worker`."""
        return BatchReport(self.results)


def careless_handler(*results: Result) -> LambdaHandler:
    """Return a handler over a worker that reports these results."""
    allocator = Allocator(FakeTicketStore(), 3, 10.0)
    return build_handler(
        CarelessWorker(allocator, FakePublisher(), FakeDeadLetters(), results=results)
    )


@pytest.fixture
def function(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Function:
    """Return the function over fakes."""
    # The logger keeps the standard output of the moment it was made.
    log = io.StringIO()
    monkeypatch.setattr(logger.registered_handler, "stream", log)
    return Function(capsys, log)


RAW_RECORD = sqs_record()
RECORD = SQSRecord.of(RAW_RECORD)


def failed(*records: dict[str, Any]) -> dict[str, Any]:
    """Return the response that names these records as failed."""
    return {
        "batchItemFailures": [{"itemIdentifier": each["messageId"]} for each in records]
    }


def conflict(block: Block) -> Cancelled:
    """Cancel a write because somebody holds its items."""
    return Cancelled([Slot(Reason.CONFLICT)] * len(block.requests))


class TestResponse:
    """SQS deletes all but what the response names, so its shape is everything."""

    def test_response_names_nobody_when_all_succeed(self, function: Function) -> None:
        """Success is an empty list, never an empty answer."""
        assert function(sqs_record(), sqs_record()) == failed()

    def test_response_names_exactly_the_failed_records_when_some_fail(
        self, function: Function
    ) -> None:
        """The number is committed, but its announcement is not."""
        function.publisher.refused = {"PROJ-2"}
        records = [sqs_record() for _ in range(3)]

        assert function(*records) == failed(records[1])

    def test_response_names_all_records_when_all_fail(self, function: Function) -> None:
        """A batch of failures is reported, not raised."""
        function.store.read_errors += [StoreUnavailableError("down")] * 9
        records = [sqs_record() for _ in range(2)]

        assert function(*records) == failed(*records)

    def test_response_names_nobody_when_poison_was_dead_lettered(
        self, function: Function
    ) -> None:
        """Poison that lies in the dead-letter queue is done with."""
        assert function(sqs_record("{"), sqs_record()) == failed()
        assert function.dead_letters.bodies == ["{"]

    def test_response_names_poison_when_its_dead_letter_fails(
        self, function: Function
    ) -> None:
        """Then the redrive policy moves the message in the end."""
        record = sqs_record("{")
        function.dead_letters.refused = {record["messageId"]}

        assert function(record) == failed(record)

    def test_response_names_all_records_when_time_has_run_out(
        self, function: Function
    ) -> None:
        """The invocation's own time is what counts."""
        record = sqs_record()

        assert function(record, left=9_000) == failed(record)

    def test_response_names_nobody_when_just_the_reserve_is_left(
        self, function: Function
    ) -> None:
        """Lambda counts in milliseconds, the worker in seconds."""
        assert function(sqs_record(), left=10_000) == failed()

    def test_every_identifier_is_a_message_id_of_the_batch(
        self, function: Function
    ) -> None:
        """An unknown or empty identifier would make SQS return the whole batch."""
        function.publisher.bug = RuntimeError("boom")
        records = [sqs_record() for _ in range(10)]

        response = function(*records)

        ids = [each["itemIdentifier"] for each in response["batchItemFailures"]]
        assert ids == [each["messageId"] for each in records]
        assert all(
            list(each) == ["itemIdentifier"] for each in response["batchItemFailures"]
        )

    def test_warm_function_forgets_the_failures_of_the_batch_before(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """One handler serves many batches; each response is its own batch's."""
        publisher = FakePublisher(refused={"PROJ-1"})
        worker = Worker(
            Allocator(FakeTicketStore(), 3, 10.0), publisher, FakeDeadLetters()
        )
        handler = build_handler(worker)
        first = sqs_record()

        assert handler(sqs_event(first), Context()) == failed(first)
        assert handler(sqs_event(sqs_record()), Context()) == failed()
        assert capsys.readouterr().err == ""

    def test_response_names_the_record_when_nobody_says_that_it_is_done(self) -> None:
        """A bug in the worker must not delete a message."""
        handler = careless_handler()

        assert handler(sqs_event(RAW_RECORD), Context()) == failed(RAW_RECORD)

    @pytest.mark.parametrize("order", [1, -1])
    def test_response_names_a_message_once_when_one_of_its_two_records_failed(
        self, order: int
    ) -> None:
        """Both are one message of the queue, and it has work left."""
        request, assigned_at = create_ticket(), "2026-11-21T06:00:00.000Z"
        event = TicketNumberAssigned.of(request, 1, assigned_at)
        results: list[Result] = [
            Assigned(RECORD, request, event),
            Retry(RECORD, StoreUnavailableError("down")),
        ]
        handler = careless_handler(*results[::order])

        response = handler(sqs_event(RAW_RECORD, RAW_RECORD), Context())

        assert response == failed(RAW_RECORD)

    def test_event_without_records_is_refused(self, function: Function) -> None:
        """It is no batch: an answer would hide a wrong trigger."""
        with pytest.raises(ValueError, match="no Records"):
            function()

    def test_event_of_another_kind_is_refused(self, function: Function) -> None:
        """What an operator sends by mistake is told as such."""
        handler = function.handler()

        with pytest.raises(ValueError, match="no Records"):
            handler({"detail-type": "Scheduled Event"}, Context())


class TestTolerance:
    """Records that SQS would not send, but people do, have a clear outcome."""

    def test_record_is_numbered_when_it_has_no_attributes(
        self, function: Function
    ) -> None:
        """Nothing of the promise depends on them."""
        record = sqs_record(attributes=None, messageAttributes=None)

        assert function(record) == failed()
        assert function.store.numbers() == [1]

    def test_record_is_numbered_when_it_has_an_unknown_member(
        self, function: Function
    ) -> None:
        """AWS adds members to events without notice."""
        assert function(sqs_record(novelty={"a": 1})) == failed()
        assert function.store.numbers() == [1]


class TestOutcomeLines:
    """One line a record tells what became of it, and never what it says."""

    def test_line_names_the_ticket_when_assigned(self, function: Function) -> None:
        """Everything needed to find the ticket, the message and the request."""
        request = create_ticket(title="Secret plans", description="Very secret")
        record = sqs_record(request)

        function(record)

        lines, _ = function.printed()
        assert len(lines) == 1
        assert lines[0]["level"] == "INFO"
        assert lines[0]["outcome"] == "assigned"
        assert lines[0]["ticket_key"] == "PROJ-1"
        assert lines[0]["message_id"] == record["messageId"]
        assert lines[0]["idempotency_key"] == request.idempotency_key
        assert lines[0]["function_request_id"]
        assert "ecret" not in json.dumps(lines)

    @pytest.mark.parametrize(
        "error", [StoreUnavailableError("down"), TicketTooLargeError("too large")]
    )
    def test_line_names_the_request_when_it_got_no_number(
        self, function: Function, error: Exception
    ) -> None:
        """Whoever waits for the ticket finds what became of it."""
        request = create_ticket()
        function.store.read_errors += [error] * 9

        function(sqs_record(request))

        lines, _ = function.printed()
        assert lines[0]["error_type"] == type(error).__name__
        assert lines[0]["project_id"] == request.project_id
        assert lines[0]["idempotency_key"] == request.idempotency_key

    def test_every_record_has_one_line_when_outcomes_differ(
        self, function: Function
    ) -> None:
        """A batch of each kind: levels and words follow the outcome."""
        function.publisher.refused = {"PROJ-2"}
        request = create_ticket()

        function(
            sqs_record(request), sqs_record(request), sqs_record("{"), sqs_record()
        )

        lines, _ = function.printed()
        assert [(each["outcome"], each["level"]) for each in lines] == [
            ("assigned", "INFO"),
            ("replayed", "INFO"),
            ("poison", "ERROR"),
            ("transient", "WARNING"),
        ]

    def test_line_gives_reason_without_trace_when_poison(
        self, function: Function
    ) -> None:
        """A foreseen failure needs a reason, not a stack."""
        function(sqs_record("{"))

        lines, _ = function.printed()
        assert lines[0]["error_type"] == "InvalidMessageError"
        assert lines[0]["field"] == "body"
        assert "exception" not in lines[0]

    @pytest.mark.parametrize(
        ("message", "field"),
        [
            ({"attributes": {"Jane Roe, diagnosed": 1}}, "attributes"),
            ({"Jane Roe": "diagnosed"}, "body"),
            ('{"Jane Roe": 1, "Jane Roe": 2}', "body"),
            ({"title": ""}, "title"),
        ],
    )
    def test_line_names_a_field_of_ours_and_no_word_of_the_producer_when_poison(
        self, function: Function, message: str | dict[str, Any], field: str
    ) -> None:
        """The reason may repeat names; it stands beside the dead letter only."""
        body = message if isinstance(message, str) else ticket_fields(**message)
        record = sqs_record(body)
        function.dead_letters.refused = {record["messageId"]}

        function(sqs_record(body), record)

        lines, _ = function.printed()
        assert lines[0]["field"] == field
        assert "Jane" not in json.dumps(lines)

    def test_line_gives_trace_when_error_is_unforeseen(
        self, function: Function
    ) -> None:
        """A bug should look like a bug."""
        function.publisher.bug = RuntimeError("boom")

        function(sqs_record())

        lines, _ = function.printed()
        assert lines[0]["level"] == "ERROR"
        assert lines[0]["outcome"] == "transient"
        assert "RuntimeError" in lines[0]["exception"]

    def test_line_keeps_its_keys_to_itself(self, function: Function) -> None:
        """A record's keys do not leak into the next record's line."""
        function(sqs_record(), sqs_record("{"))

        lines, _ = function.printed()
        assert "ticket_key" not in lines[1]


class TestMetrics:
    """Counts of each invocation, in the names that alarms and dashboards use."""

    def test_metrics_count_each_kind_of_outcome(self, function: Function) -> None:
        """Zeros are published too: no data and no failures are not the same."""
        function.publisher.refused = {"PROJ-2"}
        request = create_ticket()

        function(
            sqs_record(request), sqs_record(request), sqs_record("{"), sqs_record()
        )

        _, values = function.printed()
        assert values == {
            Metric.ASSIGNED: [1.0],
            Metric.REPLAYED: [1.0],
            Metric.POISON: [1.0],
            Metric.TRANSIENT: [1.0],
            Metric.COLLISIONS: [0.0],
            Metric.CONFLICTS: [0.0],
            Metric.ATTEMPTS: [1.0],
            Metric.ANNOUNCEMENTS_FAILED: [1.0],
        }

    def test_metrics_count_conflicts_collisions_and_attempts(
        self, function: Function
    ) -> None:
        """Attempts are a value for each block, so that CloudWatch has percentiles."""
        taken = Slot(ticket=Reason.CONDITION_FAILED)
        function.store.faults += [conflict, lambda _: Cancelled([taken])]

        function(sqs_record(create_ticket("A")))

        _, values = function.printed()
        assert values[Metric.CONFLICTS] == [1.0]
        assert values[Metric.COLLISIONS] == [1.0]
        assert values[Metric.ATTEMPTS] == [3.0]

    def test_metric_names_are_those_of_the_contract(self) -> None:
        """Alarms and dashboards name them; a change here breaks them silently."""
        assert [metric.value for metric in Metric] == [
            "TicketNumbersAssigned",
            "AssignmentsReplayed",
            "PoisonMessages",
            "TransientFailures",
            "SequenceCollisions",
            "SequenceConflicts",
            "AttemptsPerBlock",
            "AnnouncementsFailed",
        ]


def test_requests_a_ticket_are_three_tenths_when_ten_share_a_project(
    function: Function,
) -> None:
    """One query, one transaction and one announcement serve ten messages."""
    function(*[sqs_record(ticket_fields()) for _ in range(10)])

    assert function.store.calls == ["last_number", "write_block"]
    assert function.publisher.calls == 1
