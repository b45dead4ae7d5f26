"""A damaged answer over a connection is no answer, to the worker and to commands."""

import json
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any, Final

import boto3
import pytest
from botocore.parsers import ResponseParserError

from tests.support.builders import CALLER
from tests.support.ctl_process import exit_status
from tests.support.environment import ENVIRONMENT
from tests.support.worker_calls import METHODS
from ticket_numbering.allocation.store import TicketStore
from ticket_numbering.contract.errors import StoreUnavailableError
from ticket_numbering.function.bootstrap import bootstrap
from ticket_numbering.function.settings import Settings
from ticketctl.aws.outputs import NEEDED_OUTPUTS
from ticketctl.aws.stack import Stack, find_stack
from ticketctl.cli.errors import CloudError
from ticketctl.commands.audit import audit
from ticketctl.commands.export import export
from ticketctl.commands.sequences import seed
from ticketctl.status.status import status_of

KEYS: Final = {"tickets": ("project_id", "number"), "keys": ("id",)}
SOUND: Final = {"GetCallerIdentity", "DescribeTable"}
NUMBER: Final = {"number": {"N": "70"}, "id": {"S": "a"}, "project_id": {"S": "P"}}


def answer_to(operation: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what the operation would have if nothing were damaged."""
    if operation == "DescribeTable":
        names = KEYS[request["TableName"]]
        return {"Table": {"KeySchema": [{"AttributeName": name} for name in names]}}
    responses = {} if operation == "BatchGetItem" else [{"Item": NUMBER}]
    return {"Items": [NUMBER], "Responses": responses}


class Damaging(BaseHTTPRequestHandler):
    """Answers as DynamoDB does, with the checksum of another body."""

    def do_POST(self) -> None:
        operation = self.headers["X-Amz-Target"].rpartition(".")[2]
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps(answer_to(operation, request)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        if operation not in SOUND:
            self.send_header("x-amz-crc32", "1")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Pages(BaseHTTPRequestHandler):
    """Answers each request with a page, as a proxy does that wants a password."""

    def do_POST(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", "15")
        self.end_headers()
        self.wfile.write(b"<html>Hi</html>")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(params=[Damaging])
def address(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """Serve such answers, and lead the clients of this process to them."""
    with HTTPServer(("127.0.0.1", 0), request.param) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "test")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
        Thread(target=server.serve_forever).start()
        yield url
        server.shutdown()


@pytest.mark.usefixtures("address")
@pytest.mark.parametrize("method", METHODS[TicketStore])
def test_worker_knows_nothing_when_the_answer_is_damaged(method: str) -> None:
    worker = bootstrap(Settings.from_environ(ENVIRONMENT))

    with pytest.raises(StoreUnavailableError):
        METHODS[TicketStore][method](worker)


@pytest.mark.usefixtures("address")
@pytest.mark.parametrize(
    ("command", "options"),
    [(export, {}), (audit, {}), (seed, {"last": 9, "yes": True})],
    ids=["export", "audit", "seed"],
)
def test_command_ends_when_the_answer_is_damaged(
    command: Callable[..., None], options: dict[str, Any]
) -> None:
    """Scans, and the query before a write."""
    outputs = {
        "TicketsTableName": "tickets",
        "IdempotencyKeysTableName": "keys",
        "AssignmentsTopicArn": CALLER,
    }
    parameters = {"IdempotencyRetentionDays": "0"}
    stack = Stack("numbers", "eu-west-1", outputs, parameters, boto3.Session())
    project = ("PROJ",) if command is seed else ()

    with pytest.raises(ResponseParserError):
        exit_status(command, stack, *project, **options)


@pytest.mark.usefixtures("address")
@pytest.mark.parametrize("address", [Pages], indirect=True)
def test_status_names_what_answers_with_a_page() -> None:
    outputs = dict.fromkeys(NEEDED_OUTPUTS, CALLER)
    session = boto3.Session()
    stack = Stack("numbers", "eu-west-1", outputs, {}, session)

    with pytest.raises(CloudError, match="cannot stand in for CloudFormation"):
        find_stack("numbers", "eu-west-1", None)
    lines = status_of(stack)["problems"]

    assert [line.partition(" does not answer")[0] for line in lines] == [
        f"unknown, because {name}" for name in ("CloudFormation", "SQS", "CloudWatch")
    ]
