"""The Lambda entry: the response's shape, the outcome lines, the metrics."""

import io
import json
from dataclasses import dataclass
from itertools import chain
from types import SimpleNamespace
from typing import Any

import pytest

from simulation.aws.lambda_service import Context
from tests.support.builders import (
    assigned_event,
    block_of,
    create_ticket,
    create_tickets,
    sqs_event,
    sqs_record,
    ticket_fields,
)
from tests.support.fakes import Fault, everywhere, held, passes
from tests.support.line import FailingLine, FakeLine
from tests.support.sample_messages import FULL
from tests.support.worker_on_fakes import WorkerOnFakes
from ticket_numbering.allocation.line import Line
from ticket_numbering.allocation.store import Reason
from ticket_numbering.contract.errors import (
    PoisonMessageError,
    SequenceFullError,
    StoreRefusedError,
    StoreUnavailableError,
)
from ticket_numbering.contract.messages import CreateTicket, RequestKey
from ticket_numbering.worker.handler import build_handler
from ticket_numbering.worker.observability import logger
from ticket_numbering.worker.results import (
    Assigned,
    Poison,
    Refused,
    Replayed,
    Result,
    Retry,
)
from ticket_numbering.worker.sqs_record import SQSRecord
from ticket_numbering.worker.worker import BatchReport

NOW = 1_795_000_100.0
"""By the function's clock, in seconds since 1970."""
SHORT_LINE = 700
"""Characters: the invocation's fields and those of the record."""
MAX_VALUES = 100
"""Of a metric in a line; CloudWatch User Guide, "Embedded metric format"."""

RAW_RECORD = sqs_record()
RECORD = SQSRecord.of(RAW_RECORD)
REQUEST = create_ticket()
EVENT = assigned_event(REQUEST)
DONE = Assigned(RECORD, REQUEST, EVENT)
FAILED = Retry(RECORD, StoreUnavailableError("down"))


@dataclass(kw_only=True)
class Function(WorkerOnFakes):
    """The function over fakes, and its output."""

    capture: pytest.CaptureFixture[str]
    log: io.StringIO

    def __post_init__(self) -> None:
        # The dead letters come last, and take some time.
        self.handle = build_handler(
            self.worker(clock=lambda: NOW + 60 * len(self.dead_letters.sent))
        )

    def __call__(self, *records: dict[str, Any], left: int = 30_000) -> Any:
        """Invoke the handler on a batch."""
        return self.handle(sqs_event(*records), Context(lambda: left))

    def lines(self) -> list[dict[str, Any]]:
        """Return the outcome lines."""
        return [json.loads(line) for line in self.log.getvalue().splitlines()]

    def metrics(self, unit: str) -> list[dict[str, list[float]]]:
        """Return the metrics of a unit since the last look, by line."""
        printed = map(json.loads, self.capture.readouterr().out.splitlines())
        lines = [
            {
                metric["Name"]: blob[metric["Name"]]
                for directive in blob["_aws"]["CloudWatchMetrics"]
                for metric in directive["Metrics"]
                if metric["Name"] != "ColdStart" and metric["Unit"] == unit
            }
            for blob in printed
        ]
        return [line for line in lines if line]


@pytest.fixture
def function(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Function:
    """Return the function over fakes."""
    # The logger keeps the standard output of the moment it was made.
    log = io.StringIO()
    monkeypatch.setattr(logger.registered_handler, "stream", log)
    return Function(capture=capsys, log=log)


def texts_in(value: Any) -> list[str]:
    """Return the texts of a JSON value, at any depth."""
    if isinstance(value, dict):
        return [*value, *texts_in([*value.values()])]
    if isinstance(value, list):
        return [text for member in value for text in texts_in(member)]
    return [value] if isinstance(value, str) else []


def failed(*records: dict[str, Any]) -> dict[str, Any]:
    """Return the response that names these records as failed."""
    return {
        "batchItemFailures": [
            {"itemIdentifier": record["messageId"]} for record in records
        ]
    }


class TestResponse:
    """SQS deletes all messages that the response does not name."""

    @pytest.mark.parametrize(
        ("results", "is_named"),
        [
            ([DONE], False),
            ([Replayed(RECORD, REQUEST, EVENT)], False),
            ([Poison(RECORD, PoisonMessageError("bad"))], False),
            ([FAILED], True),
            ([], True),
            ([DONE, FAILED], True),
            ([FAILED, DONE], True),
        ],
        ids=["assigned", "replayed", "poison", "retry", "none", "two", "two-reversed"],
    )
    def test_response_names_a_message_once_unless_all_its_results_are_done(
        self, results: list[Result], *, is_named: bool
    ) -> None:
        """A bug in the worker must not delete a message."""
        worker: Any = SimpleNamespace(handle=lambda *_: BatchReport(results))

        response = build_handler(worker)(sqs_event(RAW_RECORD, RAW_RECORD), Context())

        assert response == failed(*[RAW_RECORD] * is_named)

    @pytest.mark.parametrize(("left", "fails"), [(9_999, True), (10_000, False)])
    def test_response_names_records_when_less_time_than_the_reserve_is_left(
        self, function: Function, left: int, *, fails: bool
    ) -> None:
        """Lambda counts in milliseconds, the worker in seconds."""
        record = sqs_record()

        assert function(record, left=left) == failed(*[record] * fails)

    @pytest.mark.filterwarnings("ignore:No application metrics:UserWarning")
    @pytest.mark.parametrize("event", [{"Records": []}, {"detail-type": "Scheduled"}])
    def test_event_is_refused_when_it_has_no_records(
        self, function: Function, event: dict[str, Any]
    ) -> None:
        """It is no batch: an answer would hide a wrong trigger."""
        with pytest.raises(ValueError, match=r"^not an SQS event: it has no Records$"):
            function.handle(event, Context())


class TestOutcomeLines:
    """One line a record gives its outcome, and never its content."""

    def test_every_record_has_one_line_of_its_outcome(self, function: Function) -> None:
        function.publisher.refused = {"PROJ-2"}
        asked, other = (
            create_ticket(**FULL | {"idempotency_key": key}) for key in ("a", "b")
        )
        parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        trace = {"traceparent": {"stringValue": parent, "dataType": "String"}}
        records = [
            sqs_record(asked, messageAttributes=trace),
            sqs_record(asked, receive_count=2),
            # The reason repeats names; it stands with the dead letter only.
            sqs_record('{"Jane Roe": 1, "Jane Roe": 2}'),
            sqs_record(ticket_fields("PROJ", "c", title=7)),
            sqs_record(other),
        ]

        function(*records)

        lines = function.lines()
        done = {
            "level": "INFO",
            "message": "record processed",
            "project_id": "PROJ",
            "idempotency_key": "a",
            "ticket_key": "PROJ-1",
        }
        malformed = {
            "level": "ERROR",
            "message": "record failed",
            "outcome": "poison",
            "receive_count": 1,
            "error_type": "InvalidMessageError",
        }
        expected: list[dict[str, Any]] = [
            done | {"outcome": "assigned", "receive_count": 1, "traceparent": parent},
            done | {"outcome": "replayed", "receive_count": 2},
            malformed | {"field": "body", "reason": "repeated_name"},
            malformed
            | {"field": "title", "reason": "wrong_type"}
            | {"project_id": "PROJ", "idempotency_key": "c"},
            {
                "level": "WARNING",
                "message": "record failed",
                "outcome": "transient",
                "receive_count": 1,
                "error_type": "AnnouncementError",
                "error": "refused",
                "project_id": "PROJ",
                "idempotency_key": "b",
                "ticket_key": "PROJ-2",
            },
        ]
        pairs = [*zip(lines, expected, strict=True)]
        for line, own in pairs:
            assert {name: line.get(name) for name in own} == own
        # The others are the invocation's, and the same in every line.
        assert len({frozenset(line.keys() - own.keys()) for line, own in pairs}) == 1
        assert [line["message_id"] for line in lines] == [
            record["messageId"] for record in records
        ]
        assert {line["function_request_id"] for line in lines} == {
            Context().aws_request_id
        }
        words = ["Jane", *(FULL[name] for name in FULL.keys() - {*RequestKey._fields})]
        log = json.dumps(lines, ensure_ascii=False)
        assert not [text for text in texts_in(words) if text in log]

    def test_line_of_a_refusal_gives_its_reason_when_it_is_answered_or_not(
        self, function: Function
    ) -> None:
        """Until a refusal is out its line names the reason and the failure."""
        function.store.fill(1)
        answered = sqs_record(create_ticket(max_number=1))
        unsent = sqs_record(ticket_fields(title=7, **{"Jane Roe": "diagnosed"}))
        refusal = f"refused/{unsent['messageId']}/InvalidMessageError/title"
        function.publisher.refused = {refusal}

        assert function(answered, unsent) == failed(unsent)

        first, second = function.lines()
        assert (first["level"], first["message"]) == ("INFO", "record refused")
        assert first["outcome"] == Refused.outcome
        assert first["error_type"] == SequenceFullError.__name__
        assert (first["field"], first["reason"]) == ("max_number", "cap_reached")
        assert first["project_id"] == "PROJ"
        assert second["outcome"] == Retry.outcome
        assert second["error_type"] == "AnnouncementError"
        refused = {name: second[name] for name in ("refused_as", "field", "reason")}
        assert refused == {
            "refused_as": "InvalidMessageError",
            "field": "title",
            "reason": "wrong_type",
        }
        assert second["message_id"] == unsent["messageId"]
        assert "Jane" not in function.log.getvalue()

    @pytest.mark.parametrize(
        ("error", "level", "trace"),
        [
            (RuntimeError("boom"), "ERROR", "RuntimeError: boom"),
            # Such failures are fast, and each delivery of a backlog writes one.
            (StoreRefusedError("Query: AccessDeniedException"), "WARNING", None),
        ],
    )
    def test_message_comes_back_and_its_line_has_a_trace_only_when_the_error_is_a_bug(
        self, function: Function, error: Exception, level: str, trace: str | None
    ) -> None:
        """SQS deletes unreported messages, and the bug would lose one."""
        function.store.read_errors = [error] * 3
        record = sqs_record()

        assert function(record) == failed(record)

        [line] = function.lines()
        assert (line["level"], line["outcome"]) == (level, Retry.outcome)
        assert (line["message"], line["error"]) == ("record failed", str(error))
        assert "stack_trace" not in line
        if trace:
            assert trace in line["exception"]
        else:
            assert not {"exception", "exception_name"} & line.keys()
            assert len(function.log.getvalue()) <= SHORT_LINE

    def test_line_names_the_ticket_when_its_date_is_not_followed(
        self, function: Function
    ) -> None:
        """It fails no request, and its words are another program's."""
        function.store.put(block_of([create_ticket()], assigned_at="a date"))

        assert function(sqs_record()) == {"batchItemFailures": []}
        *_, line = function.lines()
        assert (line["level"], line["ticket_key"]) == ("ERROR", "PROJ-1")
        assert line["message"].startswith("date of a ticket is not followed")
        assert "a date" not in json.dumps(line)


class TestMetrics:
    """Counts of each invocation, in the names that alarms and dashboards use."""

    def test_metrics_count_each_kind_of_outcome(self, function: Function) -> None:
        """Zeros are published too: no data and no failures are not the same."""
        request, unsent = create_ticket(), sqs_record(ticket_fields(title=7))
        refusal = f"refused/{unsent['messageId']}/InvalidMessageError/title"
        function.publisher.refused = {"PROJ-2", refusal}
        full = create_ticket(max_number=1)
        asked = (request, request, None, None, full, "{")
        records = [*map(sqs_record, asked), unsent]

        assert function(*records) == failed(records[2], unsent)

        assert function.metrics("Count") == [
            {
                "TicketNumbersAssigned": [2.0],
                "AssignmentsReplayed": [1.0],
                "RefusedAtCap": [1.0],
                "PoisonMessages": [1.0],
                "TransientFailures": [2.0],
                "SequenceCollisions": [0.0],
                "SequenceConflicts": [0.0],
                "LineFailures": [0.0],
                "AttemptsPerBlock": [1.0],
                "AnnouncementsFailed": [2.0],
            }
        ]

    def test_wait_in_line_is_logged_and_measured(self, function: Function) -> None:
        function.line = Line(FakeLine(upto=20), lambda: -function.time.left)
        function.line.contended("PROJ")
        handle = build_handler(function.worker())

        handle(
            sqs_event(sqs_record(create_ticket()), sqs_record(create_ticket("OTHER"))),
            Context(),
        )

        [waited, other] = function.lines()
        [seconds] = [line["SecondsInLine"] for line in function.metrics("Seconds")]
        assert seconds == pytest.approx([waited["seconds_in_line"]], abs=0.001)
        assert 0.05 < waited["seconds_in_line"] < 2
        assert "seconds_in_line" not in other

    def test_metrics_count_failures_of_the_line(self, function: Function) -> None:
        function.line = Line(FailingLine(), lambda: -function.time.left)
        projects = "PROJ", "OTHER"
        for project_id in projects:
            function.line.contended(project_id)
        handle = build_handler(function.worker())

        handle(
            sqs_event(*[sqs_record(create_ticket(name)) for name in projects]),
            Context(),
        )

        [values] = function.metrics("Count")
        assert values["LineFailures"] == [2.0]
        assert values["TicketNumbersAssigned"] == [2.0]

    def test_metrics_count_conflicts_collisions_and_attempts_of_every_project(
        self, function: Function
    ) -> None:
        """Attempts are a value for each block, so that CloudWatch has percentiles."""
        taken = everywhere(ticket=Reason.CONDITION_FAILED)
        faults: list[Fault] = [held, taken, passes, taken, passes]
        left = {project: iter(faults) for project in "AB"}
        function.store.faults = [lambda block: next(left[block.project_id])(block)] * 10

        function(*[sqs_record(create_ticket(name)) for name in "AB" for _ in range(51)])

        [values] = function.metrics("Count")
        assert values["SequenceConflicts"] == [2.0]
        assert values["SequenceCollisions"] == [4.0]
        assert values["AttemptsPerBlock"] == [3.0, 2.0] * 2


class TestWaits:
    """Producers see the seconds from their sending to the announcement."""

    def test_each_announced_number_has_its_wait_until_sns_accepted_it(
        self, function: Function
    ) -> None:
        """Also that of an earlier delivery; all other records have none."""
        known, repeated, again = create_tickets(3)
        full = create_ticket("FULL", max_number=1)
        function.store.put(block_of([known]))
        function.store.fill(1, "FULL")
        function.publisher.refused = {"PROJ-6"}
        # An event made by hand may say anything, and clocks differ.
        malformed = sqs_record(sent_at="soon")

        function(
            malformed,
            sent_before(9, repeated),
            sent_before(1, repeated),
            sent_before(1, again),
            sent_before(9, again),
            sent_before(2.5),
            sent_before(0.5),
            sent_before(-7),
            sent_before(360, known, deliveries=3),
            sent_before(7, "{"),
            sent_before(8, full),
        )

        [line] = function.metrics("Seconds")
        assert sorted(line["SecondsToAnnounced"]) == pytest.approx([0, 2.5, 9, 9, 360])

    def test_line_has_as_many_values_as_cloudwatch_takes_when_a_batch_is_large(
        self, function: Function
    ) -> None:
        records = [sent_before(place / 8) for place in range(1_000)]

        assert function(*records) == failed()

        lines = [line["SecondsToAnnounced"] for line in function.metrics("Seconds")]
        assert max(map(len, lines)) <= MAX_VALUES
        assert sorted(chain(*lines)) == [place / 8 for place in range(1_000)]


def sent_before(
    seconds: float, request: CreateTicket | str | None = None, deliveries: int = 1
) -> dict[str, Any]:
    """Return a record of a message that was sent so long ago."""
    sent_at = round((NOW - seconds) * 1000)
    return sqs_record(request, sent_at=sent_at, receive_count=deliveries)
