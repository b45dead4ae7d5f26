"""Clients are built once, with nothing left to botocore's changing defaults."""

from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.exceptions import ParamValidationError
from botocore.stub import Stubber

from tests.support.builders import (
    announcement,
    block_of,
    create_ticket,
    plenty,
    queue_record,
)
from tests.support.canned_aws import aws_client, parameters
from tests.support.environment import ENVIRONMENT
from ticket_numbering.contract.errors import InvalidMessageError
from ticket_numbering.function.bootstrap import bootstrap
from ticket_numbering.function.settings import Settings
from ticket_numbering.worker.ports import DeadLetter
from ticket_numbering.worker.worker import MAX_PROJECTS_SIDE_BY_SIDE, Worker

SETTINGS = Settings.from_environ(
    ENVIRONMENT
    | {
        "MAX_ATTEMPTS": "7",
        "DEADLINE_RESERVE_SECONDS": "2.5",
        "IDEMPOTENCY_RETENTION_DAYS": "90",
        "NUMBER_PADDING": "6",
        "ALLOWED_PROJECTS": "INV-[0-9]{4}",
    }
)


@pytest.fixture
def clients(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the clients that boto3 makes from now on, by service."""
    made: dict[str, Any] = {}
    create: Any = boto3.client

    def client(service: str, **options: Any) -> Any:
        made[service] = create(service, **options)
        return made[service]

    monkeypatch.setattr(boto3, "client", client)
    return made


def test_bootstrap_gives_names_and_limits_to_the_adapters(
    clients: dict[str, Any],
) -> None:
    worker = bootstrap(SETTINGS)

    calls = _calls(worker, clients)
    ticket, key = (item["Put"] for item in calls["dynamodb"][0]["TransactItems"])
    assert (ticket["TableName"], key["TableName"]) == ("the-tickets", "the-keys")
    assert key["Item"]["expires_at"] == {"N": "1803016800"}
    assert calls["sns"][0]["TopicArn"] == SETTINGS.assignments_topic_arn
    assert calls["sqs"][0]["QueueUrl"] == SETTINGS.dead_letter_queue_url
    assert worker.allocator.max_attempts == 7
    assert worker.allocator.deadline_reserve == 2.5
    assert worker.number_padding == 6
    assert worker.source == "/ticket-numbering/the-stack"
    assert worker.limits == SETTINGS.limits


def _calls(worker: Worker, clients: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the parameters of a call through each of the worker's adapters."""
    calls = {service: parameters(client) for service, client in clients.items()}
    batch: dict[str, list[Any]] = {"Successful": [], "Failed": []}
    _answer(clients["dynamodb"], "transact_write_items", {})
    _answer(clients["sns"], "publish_batch", batch)
    _answer(clients["sqs"], "send_message_batch", batch)
    request = create_ticket()
    dead_letter = DeadLetter(queue_record("{"), InvalidMessageError("bad"))
    worker.allocator.store.write_block(block_of([request]))
    worker.publisher.publish([announcement(request)], plenty)
    worker.dead_letters.send([dead_letter], plenty)
    return calls


def _answer(client: Any, method: str, answer: dict[str, Any]) -> None:
    stub = Stubber(client)
    stub.add_response(method, answer)
    stub.activate()


def test_clients_leave_nothing_to_changing_defaults(clients: dict[str, Any]) -> None:
    """A call with its retry fits into the reserve; each thread has a connection."""
    bootstrap(SETTINGS)

    assert clients.keys() == {"dynamodb", "sns", "sqs"}
    for client in clients.values():
        config = client.meta.config
        longest_call = 2 * (config.connect_timeout + config.read_timeout) + 1
        default = Settings.model_fields["deadline_reserve_seconds"].default
        assert config.retries == {"mode": "standard", "total_max_attempts": 2}
        assert (config.connect_timeout, config.read_timeout) == (1, 3)
        assert longest_call < default
        assert config.tcp_keepalive is True
        assert config.max_pool_connections == MAX_PROJECTS_SIDE_BY_SIDE


def test_client_validates_nothing_when_the_function_made_it(
    clients: dict[str, Any],
) -> None:
    """The tests of the adapters validate what they send."""
    bootstrap(SETTINGS)
    client = clients["dynamodb"]
    answer: Any = SimpleNamespace(status_code=200), {"Items": []}
    client.meta.events.register("before-call", lambda **_: answer)

    assert client.query()["Items"] == []
    with pytest.raises(ParamValidationError):
        aws_client("dynamodb").query()


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:4566", None])
def test_clients_follow_region_and_endpoint_of_the_environment(
    clients: dict[str, Any], monkeypatch: pytest.MonkeyPatch, endpoint: str | None
) -> None:
    """The same code talks to an emulator or to AWS; there is no local switch."""
    if endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)

    bootstrap(SETTINGS)

    for service, client in clients.items():
        aws = f"https://{service}.eu-west-1.amazonaws.com"
        assert client.meta.endpoint_url == (endpoint or aws)


def test_bootstrap_needs_the_environment() -> None:
    with pytest.raises(ValueError, match="TICKETS_TABLE"):
        bootstrap()
