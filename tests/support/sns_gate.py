"""A gate in front of SNS: it lets calls through, kills the caller, or refuses."""

import http.client
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from enum import Enum, auto
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final, TypeVar

import psutil

from ticketctl.local.stack import LocalStack

_REPLACED: Final = {"host", "content-length", "connection"}


@dataclass(frozen=True)
class Answer:
    """The answer to the caller."""

    status: int
    content: bytes
    content_type: str = "application/x-amz-json-1.0"


class Gate(ThreadingHTTPServer):
    """Stands between the function and the emulator."""

    daemon_threads = True
    # The default of 5 makes callers wait a second when workers start together.
    request_queue_size = 128

    def __init__(self, stack: LocalStack, calls: type["Passage"]) -> None:
        super().__init__(("127.0.0.1", 0), calls)
        self._emulator = stack.emulator

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def apply(self, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        kept = {
            name: headers[name] for name in headers if name.lower() not in _REPLACED
        }
        connection = http.client.HTTPConnection("127.0.0.1", self._emulator.port)
        with closing(connection) as emulator:
            emulator.request("POST", path, body, kept)
            answer = emulator.getresponse()
            content_type = answer.getheader("Content-Type", "")
            return Answer(answer.status, answer.read(), content_type)

    def kill_caller(self, port: int) -> bool:
        """Kill the function's process at the other end of a connection, if it lives."""
        for worker in self._emulator.workers():
            with suppress(psutil.NoSuchProcess):
                ports = {link.laddr.port for link in worker.net_connections("tcp")}
                if port in ports:
                    worker.kill()
                    return True
        return False


class Passage(BaseHTTPRequestHandler):
    """A connection of the function: one call after another."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def handle(self) -> None:
        # Killed callers leave in the middle of anything.
        with suppress(ConnectionError):
            super().handle()

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers["Content-Length"]))

    def reply(self, answer: Answer | None, *, is_cut: bool = False) -> None:
        """Answer, in half if it is to be cut; without an answer, hang up."""
        self.close_connection = answer is None or is_cut
        if answer is None:
            return
        size = len(answer.content)
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(size))
        self.end_headers()
        self.wfile.write(answer.content[: size // 2 if is_cut else size])

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Print nothing: the test asserts."""


class Manner(Enum):
    """How the door treats a call."""

    LET_THROUGH = auto()
    KILL_CALLER = auto()
    REFUSE = auto()


class Door(Gate):
    """Treats each call in a manner of its own, and the last manner stays."""

    def __init__(self, stack: LocalStack, *manners: Manner) -> None:
        super().__init__(stack, _Call)
        self.calls = 0
        self.manners = [*manners]


class _Call(Passage):
    server: Door

    def do_POST(self) -> None:
        door, body = self.server, self.body()
        door.calls += 1
        match door.manners.pop(0) if len(door.manners) > 1 else door.manners[0]:
            case Manner.KILL_CALLER:
                door.kill_caller(self.client_address[1])
                self.reply(None)
            case Manner.REFUSE:
                self.reply(Answer(HTTPStatus.SERVICE_UNAVAILABLE, b""))
            case Manner.LET_THROUGH:
                self.reply(door.apply(self.path, dict(self.headers), body))


@contextmanager
def door(stack: LocalStack, *manners: Manner) -> Iterator[Door]:
    with serving(Door(stack, *manners)) as server:
        yield server


Server = TypeVar("Server", bound=ThreadingHTTPServer)


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
