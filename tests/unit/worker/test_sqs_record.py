"""A record is read as SQS delivers it, and tolerated as anything else makes it."""

import json
from typing import Any

import pytest

from tests.support.builders import queue_record, sqs_record, ticket_fields
from tests.support.cases import cases
from ticket_numbering.errors import InvalidMessageError
from ticket_numbering.sqs_record import SQSRecord


class TestDelivered:
    """What SQS says about a message is read."""

    def test_record_takes_over_what_sqs_delivers(self) -> None:
        """Identity, body and attributes come from the event."""
        raw = sqs_record("text", messageAttributes={"a": {"stringValue": "b"}})

        record = SQSRecord.of(raw)

        assert record.message_id == raw["messageId"]
        assert record.body == "text"
        assert record.message_attributes == {"a": {"stringValue": "b"}}

    def test_record_reads_count_and_time(self) -> None:
        """SQS delivers numbers as text."""
        record = queue_record(receive_count=3, sent_at=1_795_000_000_123)

        assert record.receive_count == 3
        assert record.sent_at == 1_795_000_000_123

    def test_record_of_a_standard_queue_has_no_group(self) -> None:
        """Neither order nor group."""
        record = queue_record()

        assert record.group_id is None
        assert not record.is_fifo

    def test_record_of_a_fair_queue_has_a_group_and_no_order(self) -> None:
        """A group on a standard queue keeps no order."""
        record = queue_record(group_id="PROJ")

        assert record.group_id == "PROJ"
        assert not record.is_fifo

    def test_record_of_a_fifo_queue_has_a_group_and_order(self) -> None:
        """Only FIFO queues number their messages."""
        record = queue_record(group_id="PROJ", sequence_number="18849496460467696128")

        assert record.group_id == "PROJ"
        assert record.is_fifo


class TestMadeByHand:
    """A record that lacks anything is still a record."""

    @pytest.mark.parametrize(
        "raw",
        cases(
            {
                "nothing-else": {"messageId": "m"},
                "nulls": {
                    "messageId": "m",
                    "body": None,
                    "attributes": None,
                    "messageAttributes": None,
                },
                "empty": {
                    "messageId": "m",
                    "body": None,
                    "attributes": {},
                    "messageAttributes": {},
                },
            }
        ),
    )
    def test_record_has_defaults_for_what_is_missing(self, raw: dict[str, Any]) -> None:
        """It counts as delivered once, at an unknown time."""
        record = SQSRecord.of(raw)

        assert record.receive_count == 1
        assert record.sent_at == 0
        assert record.group_id is None
        assert not record.is_fifo
        assert record.message_attributes == {}

    @pytest.mark.parametrize(
        "count",
        cases(
            {
                "empty": "",
                "blank": " ",
                "words": "many",
                "negative": "-1",
                "fraction": "1.5",
                "hex": "0x2",
                "non-ascii": "\u0663",
                "underscore": "1_000",
                "plus": "+2",
                "endless": "9" * 5_000,
            }
        ),
    )
    def test_record_counts_garbage_as_unknown(self, count: str) -> None:
        """A count that is no number is one delivery at an unknown time."""
        attributes = {"ApproximateReceiveCount": count, "SentTimestamp": count}
        record = SQSRecord("m", "{}", attributes)

        assert record.receive_count == 1
        assert record.sent_at == 0

    def test_record_reads_a_count_that_is_already_a_number(self) -> None:
        """An event made by hand may hold numbers where SQS has text."""
        attributes = {"ApproximateReceiveCount": 2, "SentTimestamp": 5}
        record = SQSRecord.of({"messageId": "m", "attributes": attributes})

        assert record.receive_count == 2
        assert record.sent_at == 5

    def test_record_counts_zero_deliveries_as_one(self) -> None:
        """What is here was delivered."""
        assert queue_record(receive_count=0).receive_count == 1


class TestParse:
    """A record's body is one request."""

    def test_parse_reads_the_request(self) -> None:
        """The body, and nothing else of the record, makes the request."""
        fields = ticket_fields("PROJ", "order-7")

        assert queue_record(json.dumps(fields)).parse().key == ("PROJ", "order-7")

    @pytest.mark.parametrize("body", [None, 1, {"a": "b"}], ids=repr)
    def test_parse_refuses_a_record_without_a_text(self, body: Any) -> None:
        """A missing body is poison like any other."""
        with pytest.raises(InvalidMessageError, match=r"^body: missing$"):
            SQSRecord("m", body).parse()

    def test_parse_refuses_a_bad_body(self) -> None:
        """The reason is the contract's."""
        with pytest.raises(InvalidMessageError, match=r"^body: must be a JSON object$"):
            SQSRecord("m", "[]").parse()
