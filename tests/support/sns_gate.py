"""A door in front of SNS: it lets calls through, kills the caller, or refuses."""

import http.client
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from enum import Enum, auto
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeVar
from urllib.parse import urlsplit

import psutil

from ticketctl.local.stack import LocalStack

Server = TypeVar("Server", bound=ThreadingHTTPServer)

_PASSED_ON = ("Content-Type", "Authorization", "X-Amz-Date", "X-Amz-Target")


class Manner(Enum):
    """How the door treats a call."""

    LET_THROUGH = auto()
    KILL_CALLER = auto()
    REFUSE = auto()


class Door(ThreadingHTTPServer):
    """Treats each call in a manner of its own, and the last manner stays."""

    daemon_threads = True

    def __init__(self, stack: LocalStack, manners: Sequence[Manner]) -> None:
        """Stand in front of the system's endpoint."""
        super().__init__(("127.0.0.1", 0), _Call)
        self.behind = urlsplit(stack.endpoint_url).netloc
        self.workers: Callable[[], list[psutil.Process]] = stack.emulator.workers
        self.calls = 0
        self._manners = list(manners)

    @property
    def url(self) -> str:
        """Where callers find the door."""
        return f"http://127.0.0.1:{self.server_port}"

    def next_manner(self) -> Manner:
        """Return how to treat this call."""
        self.calls += 1
        return self._manners.pop(0) if len(self._manners) > 1 else self._manners[0]

    def treat(self, manner: Manner) -> None:
        """Treat all further calls in this manner."""
        self._manners = [manner]


class _Call(BaseHTTPRequestHandler):
    server: Door

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        match self.server.next_manner():
            case Manner.KILL_CALLER:
                self._caller().kill()
            case Manner.REFUSE:
                self.send_error(HTTPStatus.SERVICE_UNAVAILABLE)
            case Manner.LET_THROUGH:
                self._pass_on(body)

    def _pass_on(self, body: bytes) -> None:
        headers = {
            name: self.headers[name] for name in _PASSED_ON if name in self.headers
        }
        emulator = http.client.HTTPConnection(self.server.behind, timeout=10)
        with closing(emulator) as connection:
            connection.request("POST", self.path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.getheader("Content-Type", "text/xml"))
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _caller(self) -> psutil.Process:
        """Return the function's process at the other end of this connection."""
        port = self.client_address[1]
        return next(
            worker
            for worker in self.server.workers()
            for connection in worker.net_connections("tcp")
            if connection.laddr.port == port
        )

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing: the test says what it expects."""


@contextmanager
def door(stack: LocalStack, *manners: Manner) -> Iterator[Door]:
    """Put a door in front of the system."""
    with serving(Door(stack, manners)) as server:
        yield server


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    """Let a server answer until the end of the block."""
    with server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
