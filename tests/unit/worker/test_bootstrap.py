"""Clients are built once, with nothing left to botocore's changing defaults."""

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from datetime import timedelta
from fnmatch import fnmatch
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.client import BaseClient

from tests.support.builders import plenty
from tests.support.canned_aws import Reply, Wire, checksum_of, error_reply
from tests.support.environment import ENVIRONMENT, TUNED
from tests.support.template_loader import listed, properties, source
from tests.support.worker_calls import (
    DEAD_LETTERS,
    DEFAULT,
    ENVELOPES,
    LINE,
    METHODS,
    SETTINGS,
    Call,
    calls_with,
    clients_and_calls,
    clients_made,
)
from ticket_numbering.adapters.batch_api import MAX_BATCH_ENTRIES
from ticket_numbering.allocation.store import TicketStore
from ticket_numbering.contract.errors import StoreUnavailableError
from ticket_numbering.contract.head import Head
from ticket_numbering.contract.limits import Limits
from ticket_numbering.function.bootstrap import bootstrap
from ticket_numbering.function.settings import Settings
from ticket_numbering.worker.events import Events
from ticket_numbering.worker.worker import MAX_PROJECTS_SIDE_BY_SIDE
from ticketctl.local.artifact import SERVICES

SEVEN = Reply({"Items": [{"number": {"N": "7"}}]})

DAMAGED = {
    "head": Reply({"Items": [{"number": {"N": "70"}}]}),
    "read_keys": Reply({"Responses": {"the-keys": []}}),
    "read_keys_in_transaction": Reply({"Responses": [{}]}),
    "write_block": error_reply("TransactionCanceledException", CancellationReasons=[]),
}
"""A plausible response for each method of the store."""

OTHER = {name: f"{value}-2" for name, value in ENVIRONMENT.items()} | TUNED


@pytest.fixture
def clients() -> Iterator[dict[str, Any]]:
    """Return the clients that boto3 makes from now on, by service."""
    with clients_made() as made:
        yield made


def test_bootstrap_gives_each_setting_its_place() -> None:
    """The calls show the names of the resources."""
    worker = bootstrap(SETTINGS)

    assert worker.allocator.max_attempts == 7
    assert worker.allocator.deadline_reserve == 2.5
    assert worker.events == Events("/ticket-numbering/the-stack", padding=6)


def described(part: Any) -> Any:
    """Return an object of the worker as values that can be compared."""
    if isinstance(part, BaseClient):
        return part.meta.service_model.service_name
    if isinstance(part, str | int | float | timedelta | type):
        return part
    if isinstance(part, Limits):
        return part.model_dump()
    if is_dataclass(part):
        members = {
            attribute.name: getattr(part, attribute.name) for attribute in fields(part)
        }
    else:
        members = getattr(part, "__dict__", {})
    return type(part), {name: described(value) for name, value in members.items()}


def worker_of(variables: dict[str, str]) -> Any:
    return described(bootstrap(Settings.from_environ(variables)))


@pytest.mark.parametrize("variable", OTHER)
def test_worker_is_another_one_when_a_setting_is(variable: str) -> None:
    """A setting that is not handed over would be silent.

    One may count only where another one has chosen an adapter.
    """
    others = {name: TUNED[name] for name in TUNED.keys() - {variable}}
    plain, tuned = ENVIRONMENT, ENVIRONMENT | others
    changed = [base | {variable: OTHER[variable]} for base in (plain, tuned)]

    assert worker_of(plain) == worker_of(plain)
    assert [*map(worker_of, changed)] != [worker_of(plain), worker_of(tuned)]


class TestCalls:
    """Every service of the worker is in the artifact, and its calls are allowed."""

    def test_every_method_of_a_port_is_called_by_these_tests(self) -> None:
        services, calls = clients_and_calls()

        for port, methods in METHODS.items():
            assert {name for name in vars(port) if name[0] != "_"} == methods.keys()
        assert {call.service for call in calls} == services

    @pytest.mark.parametrize("settings", [DEFAULT, SETTINGS], ids=["default", "tuned"])
    def test_nothing_counts_as_sent_when_no_answer_confirms_it(
        self, settings: Settings
    ) -> None:
        """By any adapter: its message would be deleted. A call takes ten entries."""
        _, calls, results = calls_with(settings)

        assert results["publish"].keys() == {
            envelope.event.id for envelope in ENVELOPES
        }
        letters = {dead_letter.record.message_id for dead_letter in DEAD_LETTERS}
        assert results["send"].keys() == letters
        entries = [
            len(value)
            for call in calls
            for value in call.parameters.values()
            if isinstance(value, list)
        ]
        assert max(entries) == MAX_BATCH_ENTRIES

    def test_artifact_keeps_the_services_that_the_worker_has_clients_of(self) -> None:
        """And the one that can give it credentials; a cold start needs them all."""
        services, _ = clients_and_calls()

        assert services | {"sts"} == SERVICES

    def test_role_allows_each_call_on_its_resource(self) -> None:
        variables = source()["Resources"]["NumberingWorker"]["Properties"]
        named = variables["Environment"]["Variables"]
        owners = {value: named[name].get("Ref") for name, value in ENVIRONMENT.items()}
        owners[TUNED["LINES_TABLE"]] = named["LINES_TABLE"]["Fn::If"][1]["Ref"]
        policies = properties("NumberingWorkerRole", UseLine="true")["Policies"]
        allowed = [
            (statement["Resource"].strip("${}").removesuffix(".Arn"), pattern)
            for policy in policies
            for statement in policy["PolicyDocument"]["Statement"]
            for pattern in listed(statement["Action"])
        ]

        _, calls = clients_and_calls()

        assert [
            (right, owner)
            for call in calls
            for right, target in rights_of(call)
            for owner in [owners[target]]
            if not any(owner == on and fnmatch(right, what) for on, what in allowed)
        ] == []


def rights_of(call: Call) -> Iterator[tuple[str, str]]:
    """Yield the rights of a call, each with its resource."""
    parameters = call.parameters
    for item in parameters.get("TransactItems", []):
        for action, request in item.items():
            yield f"{call.service}:{action}Item", request["TableName"]
    if "TransactItems" not in parameters:
        names = {"TableName", "TopicArn", "QueueUrl"} & parameters.keys()
        targets = [*parameters.get("RequestItems", ()), *map(parameters.get, names)]
        for target in targets:
            operation = call.operation
            if call.service != "dynamodb":  # There batches need a right of their own.
                operation = operation.removesuffix("Batch")
            yield f"{call.service}:{operation}", str(target)
        assert targets, call.operation


@pytest.mark.parametrize("tuned", [TUNED, {}], ids=["tuned", "default"])
def test_clients_leave_nothing_to_changing_defaults(
    clients: dict[str, Any], tuned: dict[str, str]
) -> None:
    """A call with its retry fits into the reserve; each thread has a connection."""
    bootstrap(Settings.from_environ(ENVIRONMENT | tuned))

    line = clients.pop(LINE, None)
    assert clients
    for client in clients.values():
        config = client.meta.config
        longest_call = 2 * (config.connect_timeout + config.read_timeout) + 1
        default = Settings.model_fields["deadline_reserve_seconds"].default
        assert config.retries == {"mode": "standard", "total_max_attempts": 2}
        assert (config.connect_timeout, config.read_timeout) == (1, 3)
        assert longest_call < default
        assert config.tcp_keepalive is True
        assert config.max_pool_connections == MAX_PROJECTS_SIDE_BY_SIDE
    if line:
        config = line.meta.config
        assert config.retries == {"mode": "standard", "total_max_attempts": 1}
        assert (config.connect_timeout, config.read_timeout) == (0.3, 0.3)


def test_client_validates_nothing_when_the_function_made_it(
    clients: dict[str, Any],
) -> None:
    bootstrap(SETTINGS)
    client = clients["dynamodb"]
    answer: Any = (
        SimpleNamespace(status_code=200, headers={}, content=b"{}"),
        {"Items": []},
    )
    client.meta.events.register("before-call", lambda **_: answer)

    assert client.query()["Items"] == []


@pytest.mark.usefixtures("no_delay")
class TestDamagedAnswers:
    """A number that DynamoDB did not send never counts, even if botocore reads it."""

    @pytest.mark.parametrize("method", METHODS[TicketStore])
    @pytest.mark.parametrize("checksums", [("0", "0"), ("0", "x"), ("x",)], ids=str)
    def test_answer_is_none_when_its_checksum_does_not_fit(
        self, clients: dict[str, Any], method: str, checksums: Sequence[str]
    ) -> None:
        """Nor after retries; botocore cannot retry a malformed checksum."""
        worker = bootstrap(DEFAULT)
        damaged = [
            replace(DAMAGED[method], checksum=checksum) for checksum in checksums
        ]
        wire = Wire(clients["dynamodb"], damaged)

        with pytest.raises(StoreUnavailableError):
            METHODS[TicketStore][method](worker)
        assert len(wire.requests) == len(wire.replies)

    @pytest.mark.parametrize("method", METHODS[TicketStore])
    @pytest.mark.parametrize("page", ["<html>Sign in</html>", "null", "[]"])
    def test_answer_is_none_when_it_is_a_proxys_page(
        self, clients: dict[str, Any], method: str, page: str
    ) -> None:
        """Without a checksum it would be an empty answer: a block that is committed."""
        worker = bootstrap(DEFAULT)
        Wire(clients["dynamodb"], [Reply(page=page)])

        with pytest.raises(StoreUnavailableError):
            METHODS[TicketStore][method](worker)

    def test_event_and_dead_letter_are_not_out_when_a_proxys_page_answers(
        self, clients: dict[str, Any]
    ) -> None:
        worker = bootstrap(DEFAULT)
        for service in ("sns", "sqs"):
            Wire(clients[service], [Reply(page="<html>Sign in</html>")])

        [not_out] = worker.publisher.publish(ENVELOPES[:1], plenty).values()
        [not_sent] = worker.dead_letters.send(DEAD_LETTERS[:1], plenty).values()

        assert str(not_out) == "SNS: ResponseParserError"
        assert str(not_sent) == "SQS: missing from the answer"

    @pytest.mark.parametrize("checksum", [None, checksum_of(SEVEN.content)])
    def test_answer_counts_when_its_checksum_fits_or_is_missing(
        self, clients: dict[str, Any], checksum: str | None
    ) -> None:
        """An emulator may send none. A retry repairs a single damage."""
        store = bootstrap(DEFAULT).allocator.store
        sound = replace(SEVEN, checksum=checksum)
        damaged = replace(DAMAGED["head"], checksum="0")
        wire = Wire(clients["dynamodb"], [damaged, sound, sound])

        assert [store.head("PROJ"), store.head("PROJ")] == [Head(7, "")] * 2
        assert len(wire.requests) == 3


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:4566", None])
def test_clients_follow_region_and_endpoint_of_the_environment(
    clients: dict[str, Any], monkeypatch: pytest.MonkeyPatch, endpoint: str | None
) -> None:
    """The same code talks to an emulator or to AWS; there is no local switch."""
    if endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)

    bootstrap(SETTINGS)

    for client in clients.values():
        aws = (
            f"https://{client.meta.service_model.service_name}.eu-west-1.amazonaws.com"
        )
        assert client.meta.endpoint_url == (endpoint or aws)
