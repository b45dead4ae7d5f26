"""Padding and trace context, through the deployed function."""

import json
from typing import Any

import pytest

from tests.e2e.conftest import System
from tests.support.builders import ticket_fields

pytestmark = pytest.mark.emulator

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def send(system: System, fields: dict[str, Any], **attributes: str) -> None:
    """Send a request as a program does that uses the SDK alone."""
    system.stack.client("sqs").send_message(
        QueueUrl=system.stack.outputs["CreateTicketQueueUrl"],
        MessageBody=json.dumps(fields),
        MessageGroupId=fields["project_id"],
        MessageAttributes={
            name: {"DataType": "String", "StringValue": value}
            for name, value in attributes.items()
        },
    )


def test_announcement_has_padding_key_and_trace_when_they_are_asked_for(
    system: System, project: str
) -> None:
    with system.function_environment(NUMBER_PADDING="6"):
        send(system, ticket_fields(project, "mine-1"), traceparent=PARENT)
        system.wait_for(lambda: system.events(project))

    [event] = system.events(project)
    [attributes] = [
        message.attributes
        for message in system.announced
        if message.attributes["project_id"] == project
    ]
    assert event["data"]["display"] == f"{project}-000001"
    assert event["data"]["ticket_key"] == event["id"] == f"{project}-1"
    assert event["traceparent"] == PARENT
    assert attributes["idempotency_key"] == "mine-1"
    assert attributes["traceparent"] == PARENT
