"""Poison lies in the dead-letter queue byte for byte, with the reason beside it."""

import base64
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from botocore.stub import ANY, Stubber
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builders import plenty, queue_record
from tests.support.canned_aws import aws_client, parameters
from tests.support.cases import cases
from ticket_numbering.batch_api import attributes_size
from ticket_numbering.bootstrap import CLIENT_CONFIG
from ticket_numbering.errors import (
    DeadLetterError,
    IdempotencyMismatchError,
    InvalidMessageError,
    PoisonMessageError,
)
from ticket_numbering.field_types import FORBIDDEN_CHARACTERS
from ticket_numbering.ports import DeadLetter
from ticket_numbering.sqs_dead_letters import (
    MAX_ATTRIBUTES,
    MAX_REASON_CHARACTERS,
    MAX_SEND_BYTES,
    SQSDeadLetters,
    reason_of,
)
from ticket_numbering.sqs_record import SQSRecord

QUEUE = "https://sqs.eu-west-1.amazonaws.com/123456789012/dead"
FIFO_QUEUE = f"{QUEUE}.fifo"
OURS = {"ErrorType", "ErrorMessage", "SourceMessageId", "SentTimestamp"}


class Queue:
    """A queue that answers as told, and remembers what it was asked."""

    def __init__(self, url: str = QUEUE) -> None:
        """Put a stub in the network's place."""
        client = aws_client("sqs")
        self.url = url
        self.calls = parameters(client)
        self.stub = Stubber(client)
        self.dead_letters = SQSDeadLetters(client, url)

    def takes(self, *ids: int, failed: dict[int, str] | None = None) -> None:
        """Expect a call, and take the entries of these ids."""
        failures = [
            {"Id": str(each), "Code": code, "SenderFault": True}
            for each, code in (failed or {}).items()
        ]
        taken = [
            {"Id": str(each), "MessageId": "m", "MD5OfMessageBody": "5"} for each in ids
        ]
        self.stub.add_response(
            "send_message_batch",
            {"Successful": taken, "Failed": failures},
            {"QueueUrl": self.url, "Entries": ANY},
        )

    def refuses(self, code: str, status: int = 400) -> None:
        """Expect a call, and refuse it as a whole."""
        self.stub.add_client_error("send_message_batch", code, http_status_code=status)

    @property
    def entries(self) -> list[dict[str, Any]]:
        """Entries of all calls."""
        return [entry for call in self.calls for entry in call["Entries"]]


@pytest.fixture
def queue() -> Iterator[Queue]:
    """Return a queue; every call it was told to expect must come."""
    queue = Queue()
    with queue.stub:
        yield queue
        queue.stub.assert_no_pending_responses()


@pytest.fixture
def fifo_queue() -> Iterator[Queue]:
    """Return a FIFO queue, likewise."""
    queue = Queue(FIFO_QUEUE)
    with queue.stub:
        yield queue
        queue.stub.assert_no_pending_responses()


def letter(
    record: SQSRecord | None = None, error: PoisonMessageError | None = None
) -> DeadLetter:
    """Return a dead letter."""
    return DeadLetter(
        record or queue_record("not JSON"),
        error or InvalidMessageError("body: not JSON"),
    )


def filling(record: SQSRecord, error: PoisonMessageError, missing: int) -> SQSRecord:
    """Give the record a body that leaves its reason so many bytes too few."""
    ours = attributes_size(
        {
            "ErrorType": text(type(error).__name__),
            "ErrorMessage": text(str(error)),
            "SourceMessageId": text(record.message_id),
            "SentTimestamp": text(str(record.sent_at)),
        }
    )
    return replace(record, body="x" * (MAX_SEND_BYTES - ours + missing))


def text(value: str) -> dict[str, str]:
    """Return a text attribute as SQS takes it."""
    return {"DataType": "String", "StringValue": value}


def delivered(value: str, data_type: str = "String") -> dict[str, Any]:
    """Return a text attribute as Lambda delivers it."""
    return {
        "stringValue": value,
        "stringListValues": [],
        "binaryListValues": [],
        "dataType": data_type,
    }


def delivered_attributes(count: int) -> dict[str, dict[str, Any]]:
    """Return attributes as Lambda delivers them."""
    return {f"name-{number}": delivered(str(number)) for number in range(count)}


class TestBody:
    """The body is what it was: a redrive sends the same message again."""

    @pytest.mark.parametrize(
        "body",
        cases(
            {
                "prose": "not JSON",
                "json": '{"b": 1,   "a":\t2}',
                "surrounding-whitespace": " \r\n{}\n\n ",
                "unicode": "Cafe\u0301 \U0001f469\u200d\U0001f467 \u0627\u0644\u0628",
                "escapes": r'{"a": "\u0000 \ud800 \/"}',
                "byte-order-mark": "\ufeff{}",
            }
        ),
    )
    def test_send_keeps_the_body_byte_for_byte(self, queue: Queue, body: str) -> None:
        """Nothing is trimmed, escaped, normalized or wrapped."""
        queue.takes(0)

        failures = queue.dead_letters.send([letter(queue_record(body))], plenty)

        assert failures == {}
        assert queue.entries[0]["MessageBody"].encode() == body.encode()

    def test_send_makes_no_body_up_when_the_record_has_none(self, queue: Queue) -> None:
        """SQS refuses it then, and the redrive policy moves what there is."""
        queue.takes(0)

        queue.dead_letters.send([letter(SQSRecord("message-1", None))], plenty)

        assert queue.entries[0]["MessageBody"] == ""

    def test_send_adds_nothing_else_to_a_record_of_a_standard_queue(
        self, queue: Queue
    ) -> None:
        """Fields of FIFO queues would be refused."""
        queue.takes(0)

        queue.dead_letters.send([letter()], plenty)

        assert set(queue.entries[0]) == {"Id", "MessageBody", "MessageAttributes"}

    def test_send_keeps_the_group_of_a_fair_queue(self, queue: Queue) -> None:
        """A group alone does not make a queue FIFO: no deduplication id."""
        queue.takes(0)

        queue.dead_letters.send([letter(queue_record("x", group_id="PROJ"))], plenty)

        assert queue.entries[0]["MessageGroupId"] == "PROJ"
        assert "MessageDeduplicationId" not in queue.entries[0]


class TestFifoQueue:
    """A letter is identified by the message that it was: SQS drops nothing else."""

    def test_send_keeps_two_letters_apart_when_their_bodies_are_equal(
        self, fifo_queue: Queue
    ) -> None:
        """Two dead letters of one body are two messages, each in its group."""
        records = [
            queue_record("x", group_id="PROJ", sequence_number=str(number))
            for number in (1, 2)
        ]
        fifo_queue.takes(0, 1)

        fifo_queue.dead_letters.send([letter(record) for record in records], plenty)

        groups = [entry["MessageGroupId"] for entry in fifo_queue.entries]
        ids = [entry["MessageDeduplicationId"] for entry in fifo_queue.entries]
        assert groups == ["PROJ"] * 2
        assert ids == [record.message_id for record in records]

    def test_send_names_a_letter_alike_when_it_is_sent_again(
        self, fifo_queue: Queue
    ) -> None:
        """A worker that died before its answer leaves no second copy."""
        record = queue_record("x", group_id="PROJ", sequence_number="1")
        fifo_queue.takes(0)
        fifo_queue.takes(0)

        for _ in range(2):
            fifo_queue.dead_letters.send([letter(record)], plenty)

        first, second = fifo_queue.entries
        assert first == second

    def test_send_makes_a_group_up_when_the_record_has_none(
        self, fifo_queue: Queue
    ) -> None:
        """An event made by hand: without a group SQS would refuse it for ever."""
        record = queue_record("x")
        fifo_queue.takes(0)

        fifo_queue.dead_letters.send([letter(record)], plenty)

        assert fifo_queue.entries[0]["MessageGroupId"] == record.message_id
        assert fifo_queue.entries[0]["MessageDeduplicationId"] == record.message_id

    def test_send_leaves_the_identity_out_when_only_the_source_is_fifo(
        self, queue: Queue
    ) -> None:
        """A standard queue refuses it, whatever the record says."""
        queue.takes(0)

        queue.dead_letters.send(
            [letter(queue_record("x", group_id="PROJ", sequence_number="1"))], plenty
        )

        assert "MessageDeduplicationId" not in queue.entries[0]


class TestReason:
    """Four attributes tell a person why the message lies there."""

    def test_send_tells_why_and_where_from(self, queue: Queue) -> None:
        """Type and text of the error, and which message it was."""
        record = queue_record("x", sent_at=1_795_000_000_123)
        queue.takes(0)

        queue.dead_letters.send(
            [letter(record, IdempotencyMismatchError("used"))], plenty
        )

        assert queue.entries[0]["MessageAttributes"] == {
            "ErrorType": text("IdempotencyMismatchError"),
            "ErrorMessage": text("used"),
            "SourceMessageId": text(record.message_id),
            "SentTimestamp": text("1795000000123"),
        }

    def test_send_leaves_the_time_out_when_it_is_unknown(self, queue: Queue) -> None:
        """A made-up time would mislead, and an empty one would be refused."""
        record = SQSRecord("message-1", "x")
        queue.takes(0)

        queue.dead_letters.send([letter(record)], plenty)

        assert set(queue.entries[0]["MessageAttributes"]) == OURS - {"SentTimestamp"}

    @pytest.mark.parametrize(
        ("message", "reason"),
        cases(
            {
                "clean": ("title: too long", "title: too long"),
                "unicode": ("Caf\u00e9 \U0001f6aa", "Caf\u00e9 \U0001f6aa"),
                "nul": ("a\x00b", "a\ufffdb"),
                "escape": ("\x1b[31mred", "\ufffd[31mred"),
                "surrogate": ("a\ud800", "a\ufffd"),
                "noncharacter": ("\ufffe\uffff", "\ufffd\ufffd"),
                "empty": ("", "InvalidMessageError"),
                "at-the-cap": (
                    "r" * MAX_REASON_CHARACTERS,
                    "r" * MAX_REASON_CHARACTERS,
                ),
                "past-the-cap": (
                    "r" * (MAX_REASON_CHARACTERS + 1),
                    "r" * MAX_REASON_CHARACTERS,
                ),
            }
        ),
    )
    def test_reason_of_is_something_that_sqs_accepts(
        self, message: str, reason: str
    ) -> None:
        """Forbidden characters show as such, and a long text has an end."""
        assert reason_of(InvalidMessageError(message)) == reason

    @given(st.text(st.characters(categories=None)))
    def test_reason_of_any_text_is_accepted(self, message: str) -> None:
        """A reason can never make the send fail."""
        reason = reason_of(InvalidMessageError(message))

        assert 0 < len(reason) <= MAX_REASON_CHARACTERS
        assert not FORBIDDEN_CHARACTERS.search(reason)
        assert reason.encode()


class TestTheirAttributes:
    """The message's own attributes travel along while there is room."""

    @pytest.mark.parametrize(
        ("theirs", "kept"), [(0, 0), (1, 1), (6, 6), (7, 6), (10, 6)]
    )
    def test_send_never_has_more_than_ten_attributes(
        self, queue: Queue, theirs: int, kept: int
    ) -> None:
        """Ours are the reason: they stay, and of theirs as many as fit."""
        record = queue_record("x", messageAttributes=delivered_attributes(theirs))
        queue.takes(0)

        queue.dead_letters.send([letter(record)], plenty)

        attributes = queue.entries[0]["MessageAttributes"]
        assert set(attributes) >= OURS
        assert len(attributes) == len(OURS) + kept <= MAX_ATTRIBUTES

    def test_send_keeps_type_and_value_of_their_attributes(self, queue: Queue) -> None:
        """Text, numbers, custom types and bytes come back as they were."""
        blob = bytes(range(256))
        theirs = {
            "text": delivered("Caf\u00e9"),
            "number": delivered("42.50", "Number.amount"),
            "blob": {
                "binaryValue": base64.b64encode(blob).decode(),
                "stringListValues": [],
                "binaryListValues": [],
                "dataType": "Binary.png",
            },
        }
        queue.takes(0)

        queue.dead_letters.send(
            [letter(queue_record("x", messageAttributes=theirs))], plenty
        )

        attributes = queue.entries[0]["MessageAttributes"]
        assert {name: attributes[name] for name in theirs} == {
            "text": text("Caf\u00e9"),
            "number": {"DataType": "Number.amount", "StringValue": "42.50"},
            "blob": {"DataType": "Binary.png", "BinaryValue": blob},
        }

    def test_send_tells_the_latest_reason_when_a_letter_comes_back(
        self, queue: Queue
    ) -> None:
        """After a redrive our own attributes are replaced, not doubled."""
        old = {name: delivered("old") for name in OURS} | delivered_attributes(6)
        record = queue_record("x", messageAttributes=old)
        queue.takes(0)

        queue.dead_letters.send([letter(record)], plenty)

        attributes = queue.entries[0]["MessageAttributes"]
        assert len(attributes) == MAX_ATTRIBUTES
        assert text("old") not in attributes.values()


class TestFailures:
    """A letter that SQS did not take is told by its message id."""

    def test_send_calls_nothing_when_there_is_no_poison(self, queue: Queue) -> None:
        """No letters, no call."""
        assert queue.dead_letters.send([], plenty) == {}
        assert queue.calls == []

    def test_send_tells_the_letter_that_sqs_did_not_take(self, queue: Queue) -> None:
        """The error keeps why the message is poison, for the log's reader."""
        good, bad = letter(), letter(error=InvalidMessageError("title: missing"))
        queue.takes(0, failed={1: "InvalidMessageContents"})

        failures = queue.dead_letters.send([good, bad], plenty)

        (error,) = failures.values()
        assert list(failures) == [bad.record.message_id]
        assert isinstance(error, DeadLetterError)
        assert "InvalidMessageContents" in str(error)
        assert "InvalidMessageError" in str(error)

    def test_send_tells_the_letter_that_the_answer_leaves_out(
        self, queue: Queue
    ) -> None:
        """Silence is no success: the message must not be deleted."""
        letters = [letter(), letter()]
        queue.takes(1)

        failures = queue.dead_letters.send(letters, plenty)

        assert list(failures) == [letters[0].record.message_id]

    def test_send_tells_the_letter_that_is_too_large_with_its_reason(
        self, queue: Queue
    ) -> None:
        """A body near 1 MiB is not tried; the redrive policy moves it whole."""
        record = queue_record("x" * MAX_SEND_BYTES)
        large = letter(record, InvalidMessageError("body: not JSON"))
        queue.takes(0, 2)

        failures = queue.dead_letters.send([letter(), large, letter()], plenty)

        assert list(failures) == [record.message_id]
        assert "InvalidMessageError" in str(failures[record.message_id])
        assert len(queue.entries) == 2

    def test_limit_of_a_call_is_that_of_sqs(self) -> None:
        """A queue takes 1 MiB, and refuses one byte more."""
        assert MAX_SEND_BYTES == 1_048_576

    def test_send_takes_the_largest_letter_that_fits(self, queue: Queue) -> None:
        """Body and attributes together may have the limit's size."""
        record = queue_record("")
        reason = attributes_size(
            {
                "ErrorType": text("InvalidMessageError"),
                "ErrorMessage": text("body: empty"),
                "SourceMessageId": text(record.message_id),
                "SentTimestamp": text(str(record.sent_at)),
            }
        )
        full = replace(record, body="x" * (MAX_SEND_BYTES - reason))
        queue.takes(0)

        failures = queue.dead_letters.send(
            [letter(full, InvalidMessageError("body: empty"))], plenty
        )

        assert failures == {}

    def test_send_makes_room_when_a_body_is_near_the_limit(self, queue: Queue) -> None:
        """The message's own attributes go first, then the end of the reason."""
        theirs = {"theirs": {"dataType": "String", "stringValue": "x" * 50}}
        body = "x" * (MAX_SEND_BYTES - 200)
        reason = InvalidMessageError("body: " + "y" * 500)
        queue.takes(0)

        failures = queue.dead_letters.send(
            [letter(queue_record(body, messageAttributes=theirs), reason)], plenty
        )

        [entry] = queue.entries
        attributes = entry["MessageAttributes"]
        assert failures == {}
        assert entry["MessageBody"] == body
        assert "theirs" not in attributes
        assert attributes["ErrorMessage"]["StringValue"].startswith("body: y")
        assert len(body) + attributes_size(attributes) <= MAX_SEND_BYTES

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
        """Bytes are counted, and what is left of the reason is whole characters."""
        error = InvalidMessageError(reason)
        record = filling(queue_record(""), error, missing)
        queue.takes(0)

        failures = queue.dead_letters.send([letter(record, error)], plenty)

        assert failures == {}
        assert queue.entries[0]["MessageAttributes"]["ErrorMessage"] == text(kept)

    @pytest.mark.parametrize(("missing", "kept"), [(0, True), (1, False)])
    def test_send_keeps_an_attribute_of_theirs_when_it_just_fits(
        self, queue: Queue, missing: int, *, kept: bool
    ) -> None:
        """The last byte of the limit can be used."""
        error = InvalidMessageError("body: empty")
        theirs = {"theirs": delivered("x")}
        room = attributes_size({"theirs": text("x")})
        record = filling(queue_record(""), error, missing - room)
        queue.takes(0)

        queue.dead_letters.send(
            [letter(replace(record, message_attributes=theirs), error)], plenty
        )

        assert ("theirs" in queue.entries[0]["MessageAttributes"]) is kept

    def test_send_counts_attributes_among_the_bytes_of_a_call(
        self, queue: Queue
    ) -> None:
        """Two bodies of half the limit do not fit into one call."""
        half = "\u00e9" * (MAX_SEND_BYTES // 4)
        queue.takes(0)
        queue.takes(1)

        failures = queue.dead_letters.send([letter(queue_record(half))] * 2, plenty)

        assert failures == {}
        assert len(queue.calls) == 2

    def test_send_sends_one_by_one_when_the_call_is_refused(self, queue: Queue) -> None:
        """One letter that SQS does not take cannot keep its neighbours back."""
        bad, good = letter(), letter()
        queue.refuses("InvalidMessageContents")
        queue.refuses("InvalidMessageContents")
        queue.takes(1)

        failures = queue.dead_letters.send([bad, good], plenty)

        assert list(failures) == [bad.record.message_id]

    def test_send_tells_every_letter_of_a_throttled_call(self, queue: Queue) -> None:
        """All come back; none is tried again at once."""
        letters = [letter(), letter()]
        queue.refuses("RequestThrottled", 403)

        failures = queue.dead_letters.send(letters, plenty)

        assert list(failures) == [each.record.message_id for each in letters]

    @pytest.mark.parametrize(
        "attribute",
        cases(
            {
                "bad-base64": {"binaryValue": "A", "dataType": "Binary"},
                "no-value": {"stringValue": None, "dataType": "String"},
                "no-type": {"stringValue": "x", "dataType": None},
            }
        ),
    )
    def test_send_harms_no_neighbour_when_an_attribute_makes_no_sense(
        self, queue: Queue, attribute: dict[str, Any]
    ) -> None:
        """An event made by hand may hold what SQS never delivers."""
        odd = letter(queue_record("x", messageAttributes={"odd": attribute}))
        good = letter()
        queue.takes(0, 1)

        failures = queue.dead_letters.send([odd, good], plenty)

        assert good.record.message_id not in failures


class TestDeadline:
    """A call that hangs must not bring the neighbours back."""

    def test_letter_is_not_sent_when_a_hanging_call_would_outlive_the_invocation(
        self, queue: Queue
    ) -> None:
        """It comes back, and the invocation ends in time to say what is done."""
        poison = letter()
        client_waits = CLIENT_CONFIG["connect_timeout"] + CLIENT_CONFIG["read_timeout"]
        hanging_call = client_waits * CLIENT_CONFIG["retries"]["total_max_attempts"]

        failures = queue.dead_letters.send([poison], lambda: hanging_call)

        assert [*failures] == [poison.record.message_id]
        assert "time ran out" in str(failures[poison.record.message_id])
