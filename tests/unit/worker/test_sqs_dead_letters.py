"""Poison lies in the dead-letter queue byte for byte, with its reason."""

import base64
from dataclasses import replace
from typing import Any

import pytest

from operators.model_services import ModelServices
from tests.support.builders import fifo_record, plenty, queue_record
from tests.support.cases import cases
from ticket_numbering.adapters.batch_api import attributes_size
from ticket_numbering.adapters.sqs_dead_letters import (
    MAX_MESSAGE_ATTRIBUTES,
    MAX_REASON_CHARACTERS,
    MAX_SEND_BYTES,
    SQSDeadLetters,
    error_message,
)
from ticket_numbering.contract.attributes import (
    ERROR_REASON,
    REASON_ATTRIBUTES,
    text_attribute,
)
from ticket_numbering.contract.errors import (
    DeadLetterError,
    IdempotencyMismatchError,
    InvalidMessageError,
)
from ticket_numbering.contract.reasons import Reason
from ticket_numbering.function.bootstrap import CLIENT_CONFIG
from ticket_numbering.worker.results import Poison
from ticket_numbering.worker.sqs_record import SQSRecord

QUEUE = "dead"
NOT_JSON = InvalidMessageError("body: not JSON", reason=Reason.NOT_JSON)
CODE = ERROR_REASON
"""Is there if it takes no place of the message's own attributes."""
OURS = REASON_ATTRIBUTES - {CODE}
PLACES = MAX_MESSAGE_ATTRIBUTES - len(OURS)
"""The message's own attributes that a dead letter keeps."""


class Queue:
    """The laboratory's dead-letter queue, and the adapter on it."""

    def __init__(self, url: str = QUEUE) -> None:
        self.sqs = ModelServices().sqs
        self.dead_letters = SQSDeadLetters(self.sqs, url)

    def send(
        self, *records: SQSRecord, error: InvalidMessageError = NOT_JSON
    ) -> dict[str, DeadLetterError]:
        """Send the records for this reason, with time to spare."""
        dead_letters = [Poison(record, error) for record in records]
        return self.dead_letters.send(dead_letters, plenty)

    def attributes(self) -> dict[str, Any]:
        """Return the attributes of the only entry."""
        [entry] = self.sqs.entries
        return {**entry["MessageAttributes"]}

    @property
    def identities(self) -> list[tuple[str | None, str | None]]:
        """The group and the deduplication id of each entry."""
        return [
            (entry.get("MessageGroupId"), entry.get("MessageDeduplicationId"))
            for entry in self.sqs.entries
        ]


@pytest.fixture
def queue() -> Queue:
    """Return a standard queue."""
    return Queue()


def reason_attributes(
    record: SQSRecord, error: Exception = NOT_JSON
) -> dict[str, dict[str, str]]:
    """Return the attributes that say why a message is a dead letter."""
    values = {
        "ErrorType": type(error).__name__,
        "ErrorMessage": str(error),
        "SourceMessageId": record.message_id,
        "SentTimestamp": str(record.sent_at),
    }
    assert values.keys() == OURS, "give each attribute its value here"
    return {name: text_attribute(value) for name, value in values.items()}


def filling(record: SQSRecord, error: Exception, missing: int) -> SQSRecord:
    """Give the record a body that leaves its reason this many bytes too few."""
    ours = attributes_size(reason_attributes(record, error))
    return replace(record, body="x" * (MAX_SEND_BYTES - ours + missing))


def delivered(value: str, data_type: str = "String") -> dict[str, Any]:
    """Return a text attribute as Lambda delivers it."""
    return {
        "stringValue": value,
        "stringListValues": [],
        "binaryListValues": [],
        "dataType": data_type,
    }


def with_attributes(count: int, **others: Any) -> SQSRecord:
    """Return a record with attributes of its own."""
    own = {f"name-{number}": delivered(str(number)) for number in range(count)}
    return queue_record("x", messageAttributes=others | own)


class TestEntries:
    """The message is unchanged, and attributes give the reason."""

    @pytest.mark.parametrize(
        "body",
        cases(
            {
                "whitespace": ' \r\n{"b": 1,   "a":\t2}\n\n ',
                "escapes": r'{"a": "\u0000 \ud800 \/"}',
                "unicode": "Cafe\u0301 \U0001f469\u200d\U0001f467 \u0627\u0644",
                "byte-order-mark": "\ufeff{}",
            }
        ),
    )
    def test_send_keeps_the_body_and_adds_only_the_reason(
        self, queue: Queue, body: str
    ) -> None:
        record = queue_record(body)
        error = IdempotencyMismatchError("used")

        assert queue.dead_letters.send([Poison(record, error)], plenty) == {}
        [call] = queue.sqs.requests["send_message_batch"]
        assert call["QueueUrl"] == QUEUE
        attributes = queue.attributes()
        reason = reason_attributes(record, error)
        assert attributes == reason | {CODE: text_attribute("key_reused")}
        assert queue.sqs.entries == [
            {"Id": "0", "MessageBody": body, "MessageAttributes": attributes}
        ]

    def test_send_makes_up_neither_a_body_nor_a_time_when_the_record_has_none(
        self, queue: Queue
    ) -> None:
        """SQS rejects an empty body; the redrive policy moves the message."""
        queue.send(SQSRecord("message-1", None))

        assert queue.sqs.entries[0]["MessageBody"] == ""
        assert set(queue.attributes()) == OURS - {"SentTimestamp"} | {CODE}

    def test_send_identifies_a_dead_letter_by_its_message_only_when_the_queue_is_fifo(
        self, queue: Queue
    ) -> None:
        """Sent again it is dropped; another message of the same body is not.

        A standard queue refuses a deduplication id, also from a FIFO source.
        """
        fifo = Queue(f"{QUEUE}.fifo")
        records = [fifo_record("x"), queue_record("x", group_id="P"), queue_record("x")]
        ids = [record.message_id for record in records]

        queue.send(*records)
        fifo.send(*records)

        assert queue.identities == [("PROJ", None), ("P", None), (None, None)]
        assert fifo.identities == [("PROJ", ids[0]), ("P", ids[1]), (ids[2], ids[2])]


@pytest.mark.parametrize(
    ("message", "reason"),
    cases(
        {
            "unicode": ("Caf\u00e9 \U0001f6aa", "Caf\u00e9 \U0001f6aa"),
            "nul": ("a\x00b", "a\ufffdb"),
            "escape": ("\x1b[31mred", "\ufffd[31mred"),
            "surrogate": ("a\ud800", "a\ufffd"),
            "noncharacters": ("\ufffe\uffff", "\ufffd\ufffd"),
            "empty": ("", "InvalidMessageError"),
            "long": ("r" * (MAX_REASON_CHARACTERS + 1), "r" * MAX_REASON_CHARACTERS),
        }
    ),
)
def test_reason_is_something_that_sqs_accepts(message: str, reason: str) -> None:
    assert error_message(InvalidMessageError(message)) == reason


class TestOwnAttributes:
    """The message's own attributes travel along while there is room."""

    @pytest.mark.parametrize("own", [0, PLACES - 1, PLACES, PLACES + 1, 10])
    def test_send_never_has_more_than_ten_attributes(
        self, queue: Queue, own: int
    ) -> None:
        """Those of a dead letter that comes back give way to the latest reason."""
        old = {name: delivered("old") for name in (*OURS, CODE)}

        queue.send(with_attributes(own, **old))

        attributes = queue.attributes()
        assert attributes.keys() >= OURS
        assert text_attribute("old") not in attributes.values()
        assert (CODE in attributes) is (own < PLACES)
        assert len(attributes) == min(len(REASON_ATTRIBUTES) + own, 10)

    def test_send_keeps_type_and_value_of_own_attributes_and_leaves_out_malformed_ones(
        self, queue: Queue
    ) -> None:
        """A hand-made event may have values that SQS never delivers."""
        blob = bytes(range(256))
        own: dict[str, Any] = {
            "bad-base64": {"binaryValue": "A", "dataType": "Binary"},
            "no-value": {"stringValue": None, "dataType": "String"},
            "no-type": {"stringValue": "x", "dataType": None},
            "text": delivered("Caf\u00e9"),
            "number": delivered("42.50", "Number.amount"),
            "blob": {
                "binaryValue": base64.b64encode(blob).decode(),
                "dataType": "Binary.png",
            },
        }

        assert queue.send(with_attributes(0, **own)) == {}
        attributes = queue.attributes()
        own = {name: attributes[name] for name in attributes.keys() - {*OURS, CODE}}
        assert own == {
            "text": text_attribute("Caf\u00e9"),
            "number": {"DataType": "Number.amount", "StringValue": "42.50"},
            "blob": {"DataType": "Binary.png", "BinaryValue": blob},
        }


class TestRoom:
    """Body, reason and own attributes together fit the limit, or nothing is tried."""

    @pytest.mark.parametrize(
        ("reason", "missing", "kept"),
        cases(
            {
                "fits-just": ("body: empty", 0, "body: empty"),
                "one-byte-too-long": ("body: empty", 1, "body: empt"),
                "cut-within-a-character": ("title: \u00e9\u00e9", 1, "title: \u00e9"),
                "cut-to-one-byte": ("body", 3, "b"),
            }
        ),
    )
    def test_send_cuts_no_more_of_the_reason_than_it_must(
        self, queue: Queue, reason: str, missing: int, kept: str
    ) -> None:
        error = InvalidMessageError(reason)
        record = filling(with_attributes(1), error, missing)

        assert queue.send(record, error=error) == {}
        assert queue.attributes() == reason_attributes(
            record, InvalidMessageError(kept)
        )

    @pytest.mark.parametrize(("missing", "kept"), [(0, True), (1, False)])
    def test_send_keeps_an_own_attribute_when_it_just_fits(
        self, queue: Queue, missing: int, *, kept: bool
    ) -> None:
        room = attributes_size({"name-0": text_attribute("0")})
        record = filling(with_attributes(1), NOT_JSON, missing - room)

        queue.send(record)

        assert ("name-0" in queue.attributes()) is kept

    def test_send_counts_bytes_and_attributes_among_those_of_a_call(
        self, queue: Queue
    ) -> None:
        half = "\u00e9" * (MAX_SEND_BYTES // 4)

        assert queue.send(queue_record(half), queue_record(half)) == {}
        assert [len(batch) for batch in queue.sqs.batches] == [1, 1]


class TestFailures:
    """A dead letter that SQS did not take is reported by its message id."""

    def test_send_tells_the_dead_letters_that_are_too_large_or_that_sqs_did_not_take(
        self, queue: Queue
    ) -> None:
        """A body near 1 MiB is not tried; the redrive policy moves it whole."""
        large, bad = queue_record("x" * MAX_SEND_BYTES), queue_record("\0")

        failures = queue.send(queue_record("x"), large, bad, queue_record("x"))

        assert failures.keys() == {large.message_id, bad.message_id}
        assert {*map(type, failures.values())} == {DeadLetterError}
        assert "at most 1048576 fit" in str(failures[large.message_id])
        assert str(failures[bad.message_id]) == "SQS: InvalidMessageContents"

    def test_dead_letter_is_not_sent_when_a_hanging_call_would_outlive_the_invocation(
        self, queue: Queue
    ) -> None:
        """It comes back, and the invocation ends in time to report the rest."""
        record = queue_record("x")
        client_waits = CLIENT_CONFIG["connect_timeout"] + CLIENT_CONFIG["read_timeout"]
        hanging_call = client_waits * CLIENT_CONFIG["retries"]["total_max_attempts"]

        failures = queue.dead_letters.send(
            [Poison(record, NOT_JSON)], lambda: hanging_call
        )

        assert queue.sqs.entries == []
        assert "time ran out" in str(failures[record.message_id])
