"""Trace context from a message, and padding from the settings."""

import json

import pytest

from tests.support.builders import queue_record
from tests.support.cases import cases
from tests.support.worker_on_fakes import WorkerOnFakes
from ticket_numbering.worker.sqs_record import SQSRecord

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
STATE = "rojo=00f067aa0ba902b7, congo@vendor=t61rcWkgMzE"


def traced(**texts: str) -> SQSRecord:
    """Return a record with these message attributes."""
    return queue_record(
        messageAttributes={
            name: {"stringValue": text, "dataType": "String"}
            for name, text in texts.items()
        }
    )


class TestPassedOn:
    """The announcement continues the trace of its request."""

    def test_event_has_the_trace_context_when_the_message_has_it(self) -> None:
        system = WorkerOnFakes()

        system.report(traced(traceparent=PARENT, tracestate=STATE), number_padding=6)

        [announcement] = system.publisher.announced
        event = json.loads(announcement.event.model_dump_json())
        assert (event["traceparent"], event["tracestate"]) == (PARENT, STATE)
        assert event["data"]["display"] == "PROJ-000001"
        # OpenTelemetry reads the message attributes.
        attributes = announcement.message_attributes
        assert attributes["traceparent"]["StringValue"] == PARENT
        assert attributes["tracestate"]["StringValue"] == STATE

    def test_parent_alone_is_passed_on_when_there_is_no_state(self) -> None:
        assert traced(traceparent=PARENT).trace == {"traceparent": PARENT}


class TestMalformed:
    """Trace context that the standard does not allow is ignored."""

    @pytest.mark.parametrize(
        "parent",
        cases(
            {
                "version": f"ff{PARENT[2:]}",
                "upper_case": PARENT.upper(),
                "no_trace": f"00-{'0' * 32}-00f067aa0ba902b7-01",
                "no_span": f"00-4bf92f3577b34da6a3ce929d0e0e4736-{'0' * 16}-01",
                "too_short": PARENT[:-1],
                "too_long": f"{PARENT}-1",
                "line_break": f"{PARENT}\n",
                "empty": "",
            }
        ),
    )
    def test_context_is_ignored_when_the_parent_is_malformed(self, parent: str) -> None:
        assert traced(traceparent=parent, tracestate=STATE).trace == {}

    @pytest.mark.parametrize(
        "state",
        cases(
            {
                "no_value": "rojo",
                "upper_case_key": "Rojo=1",
                "control_character": "rojo=\x01",
                "line_break": "rojo=1\n",
                "equals_sign": "rojo=1=2",
                "too_many": ",".join(f"k{number}=1" for number in range(33)),
                "too_long": f"rojo={'1' * 200},congo={'1' * 200},verde={'1' * 200}",
            }
        ),
    )
    def test_state_is_ignored_when_it_is_malformed(self, state: str) -> None:
        record = traced(traceparent=PARENT, tracestate=state)

        assert record.trace == {"traceparent": PARENT}

    def test_context_is_ignored_when_the_attribute_is_binary(self) -> None:
        binary = {"traceparent": {"binaryValue": "AAEC", "dataType": "Binary"}}

        assert queue_record(messageAttributes=binary).trace == {}
