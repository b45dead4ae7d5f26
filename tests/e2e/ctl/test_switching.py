"""`ticketctl stop` and `start` on the deployed system, whose worker has two queues."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.e2e.conftest import System
from tests.support.builders import ticket_fields
from tests.support.ctl_process import Ctl
from ticketctl.cli.errors import Status
from ticketctl.local.stack import LocalStack

pytestmark = pytest.mark.emulator


@contextmanager
def second_queue(stack: LocalStack) -> Iterator[str]:
    """Give the worker another queue, by a mapping without the alias; yield its URL."""
    sqs, api = stack.client("sqs"), stack.client("lambda")
    url: str = sqs.create_queue(QueueName=f"{stack.name}-second")["QueueUrl"]
    asked = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
    mapping = api.create_event_source_mapping(
        FunctionName=stack.outputs["WorkerFunctionName"],
        EventSourceArn=asked["Attributes"]["QueueArn"],
        FunctionResponseTypes=["ReportBatchItemFailures"],
    )
    try:
        yield url
    finally:
        api.delete_event_source_mapping(UUID=mapping["UUID"])
        sqs.delete_queue(QueueUrl=url)


@contextmanager
def timeout_of(stack: LocalStack, seconds: int) -> Iterator[None]:
    """Let the worker's function have another timeout: the test waits for as long."""
    api, name = stack.client("lambda"), stack.outputs["WorkerFunctionName"]
    before = api.get_function_configuration(FunctionName=name)["Timeout"]

    def publish(timeout: int) -> None:
        api.update_function_configuration(FunctionName=name, Timeout=timeout)
        version = api.publish_version(FunctionName=name)["Version"]
        api.update_alias(FunctionName=name, Name="live", FunctionVersion=version)

    publish(seconds)
    try:
        yield
    finally:
        publish(before)


def test_no_queue_is_numbered_between_stop_and_start(
    system: System, project: str, ctl: Ctl
) -> None:
    stack, request = system.stack, ticket_fields(project, "k-1")

    def send(url: str, **fields: Any) -> None:
        body = json.dumps(request | fields)
        stack.client("sqs").send_message(QueueUrl=url, MessageBody=body)

    with second_queue(stack) as second:
        with timeout_of(stack, 1):
            stopped = ctl("stop")
            send(second)
            shown = ctl("status", "--json").json
            waiting = ctl("find", project, "k-1")
        started = ctl("start")
        system.wait_for(lambda: system.events(project))
        send(stack.outputs["CreateTicketQueueUrl"], idempotency_key="k-2")
        events = system.wait_for(lambda: system.events(project)[1:])

    assert stopped.out.startswith("the worker is stopped: 2 mappings, of ")
    assert shown["worker_stopped"]
    assert waiting.status == Status.PROBLEM
    assert started.out.count("started: the mapping of ") == 2
    assert [event["data"]["number"] for event in events] == [2]
