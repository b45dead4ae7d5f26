"""A damaged answer over a connection is no answer, to the worker and to commands."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import boto3
import pytest

from tests.support.builders import CALLER, announcement, plenty
from tests.support.environment import ENVIRONMENT
from ticket_numbering.contract.errors import StoreUnavailableError
from ticket_numbering.function.bootstrap import bootstrap
from ticket_numbering.function.settings import Settings
from ticketctl.aws.outputs import NEEDED_OUTPUTS
from ticketctl.aws.stack import Stack, find_stack
from ticketctl.cli.errors import CloudError
from ticketctl.status.status import status_of


class Answers(BaseHTTPRequestHandler):
    """Answers with a number, and the checksum of another body."""

    content = b'{"Items": [{"number": {"N": "70"}}]}'
    headers_sent = (("x-amz-crc32", "1"),)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.content)))
        for name, value in self.headers_sent:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(self.content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class Pages(Answers):
    """Answers each request with a page, as a proxy does that wants a password."""

    content = b"<html>Hi</html>"
    headers_sent = (("Content-Type", "text/html"),)


@pytest.fixture(autouse=True)
def _address(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Serve such answers, and lead the clients of this process to them."""
    with HTTPServer(("127.0.0.1", 0), getattr(request, "param", Answers)) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(name, "test")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
        Thread(target=server.serve_forever).start()
        yield
        server.shutdown()


def test_worker_knows_nothing_when_the_answer_is_damaged() -> None:
    store = bootstrap(Settings.from_environ(ENVIRONMENT)).allocator.store

    with pytest.raises(StoreUnavailableError):
        store.head("PROJ")


@pytest.mark.parametrize("_address", [Pages], indirect=True)
def test_worker_publishes_nothing_when_the_answer_is_a_page() -> None:
    worker = bootstrap(Settings.from_environ(ENVIRONMENT))

    [error] = worker.publisher.publish([announcement()], plenty).values()

    assert str(error) == "SNS: ResponseParserError"


@pytest.mark.parametrize("_address", [Pages], indirect=True)
def test_status_names_what_answers_with_a_page() -> None:
    outputs = dict.fromkeys(NEEDED_OUTPUTS, CALLER)
    stack = Stack("numbers", "eu-west-1", outputs, {}, boto3.Session())

    with pytest.raises(CloudError, match="cannot stand in for CloudFormation"):
        find_stack("numbers", "eu-west-1", None)
    lines = status_of(stack)["problems"]

    assert [line.partition(" does not answer")[0] for line in lines] == [
        f"unknown, because {name}" for name in ("CloudFormation", "SQS", "CloudWatch")
    ]
