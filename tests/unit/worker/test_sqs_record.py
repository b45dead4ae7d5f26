"""A record is read as SQS delivers it, and tolerated as anything else makes it."""

from typing import Any

import pytest

from tests.support.builders import queue_record
from tests.support.cases import cases
from ticket_numbering.contract.errors import InvalidMessageError
from ticket_numbering.worker.sqs_record import SQSRecord

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
STATE = "rojo=00f067aa0ba902b7, congo@vendor=t61rcWkgMzE"
PARENT_ALONE = {"traceparent": PARENT}


@pytest.mark.parametrize(
    ("overrides", "group_id", "is_fifo", "sort_key"),
    cases(
        {
            "standard": ({}, None, False, 5),
            "fair": ({"group_id": "PROJ"}, "PROJ", False, 5),
            "fifo": ({"group_id": "PROJ", "sequence_number": "18"}, "PROJ", True, 0),
        }
    ),
)
def test_record_has_order_only_when_the_queue_is_fifo(
    overrides: dict[str, Any], group_id: str | None, sort_key: int, *, is_fifo: bool
) -> None:
    record = queue_record(sent_at=5, **overrides)

    assert (record.group_id, record.is_fifo) == (group_id, is_fifo)
    assert record.sort_key == sort_key


@pytest.mark.parametrize(
    "members",
    cases(
        {
            "missing": {},
            "null": {"body": None, "attributes": None, "messageAttributes": None},
            "of-other-types": {"body": 1, "attributes": ["x"], "messageAttributes": 7},
            "of-odd-members": {
                "attributes": {"SentTimestamp": None, "Approximate ReceiveCount": "2"},
                "messageAttributes": {"text": "x", "\ud800": {}, "": {}},
            },
        }
    ),
)
def test_record_has_defaults_for_what_is_missing_or_odd(
    members: dict[str, Any],
) -> None:
    """It counts as delivered once, at an unknown time."""
    record = SQSRecord.of({"messageId": "m"} | members)

    assert (record.receive_count, record.sent_at) == (1, 0)
    assert (record.group_id, record.is_fifo) == (None, False)
    assert (record.body, record.message_attributes) == (None, {})


@pytest.mark.parametrize(
    ("written", "count", "time"),
    [
        ("0", 1, 0),
        (2, 2, 2),
        ("9" * 19, 10**19 - 1, 10**19 - 1),
        *[(odd, 1, 0) for odd in ("", " ", "many", "-1", "1.5", "0x2", "\u0663")],
        *[(odd, 1, 0) for odd in ("1_000", "+2", "9" * 20, "9" * 5_000)],
    ],
    ids=lambda value: ascii(value).replace("\\", "")[:20],
)
def test_record_counts_what_is_no_number_as_unknown(
    written: str | int, count: int, time: int
) -> None:
    attributes = {"ApproximateReceiveCount": written, "SentTimestamp": written}

    record = SQSRecord.of({"messageId": "m", "attributes": attributes})

    assert (record.receive_count, record.sent_at) == (count, time)
    assert record.sent_time == ("1970-01-01T00:00:00.002Z" if written == 2 else None)


@pytest.mark.parametrize(
    ("parent", "state", "trace"),
    cases(
        {
            "both": (PARENT, STATE, PARENT_ALONE | {"tracestate": STATE}),
            "no_state": (PARENT, None, PARENT_ALONE),
            "no_parent": (None, STATE, {}),
            "version": (f"ff{PARENT[2:]}", STATE, {}),
            "upper_case": (PARENT.upper(), STATE, {}),
            "no_trace": (f"00-{'0' * 32}-00f067aa0ba902b7-01", STATE, {}),
            "no_span": (f"{PARENT[:36]}{'0' * 16}-01", STATE, {}),
            "too_short": (PARENT[:-1], STATE, {}),
            "too_long": (f"{PARENT}-1", STATE, {}),
            "line_break": (f"{PARENT}\n", STATE, {}),
            "empty": ("", STATE, {}),
            "state_without_value": (PARENT, "rojo", PARENT_ALONE),
            "state_of_upper_case": (PARENT, "Rojo=1", PARENT_ALONE),
            "state_with_control_character": (PARENT, "rojo=\x01", PARENT_ALONE),
            "state_with_line_break": (PARENT, "rojo=1\n", PARENT_ALONE),
            "state_with_equals_sign": (PARENT, "rojo=1=2", PARENT_ALONE),
            "state_of_too_many": (
                PARENT,
                ",".join(f"k{number}=1" for number in range(33)),
                PARENT_ALONE,
            ),
            "state_too_long": (
                PARENT,
                ",".join(f"{name}={'1' * 200}" for name in "abc"),
                PARENT_ALONE,
            ),
        }
    ),
)
def test_record_has_the_trace_context_that_the_standard_allows(
    parent: str | None, state: str | None, trace: dict[str, str]
) -> None:
    """One of another type is none."""
    binary = {"binaryValue": "AAEC", "dataType": "Binary"}
    texts = {"traceparent": parent, "tracestate": state}
    attributes = {
        name: binary if text is None else {"stringValue": text, "dataType": "String"}
        for name, text in texts.items()
    }

    assert queue_record(messageAttributes=attributes).trace == trace


def test_parse_refuses_a_record_without_a_body() -> None:
    with pytest.raises(InvalidMessageError, match=r"^body: missing$"):
        SQSRecord("m", None).parse()
