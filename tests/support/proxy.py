"""Proxies in front of the emulator; that of SNS can refuse calls or kill callers."""

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

from ticketctl.local.emulator import Emulator
from ticketctl.local.stack import LocalStack

_REPLACED: Final = {"host", "content-length", "connection"}


@dataclass(frozen=True)
class Answer:
    """The answer to the caller."""

    status: int
    content: bytes
    content_type: str = "application/x-amz-json-1.0"


def workers(emulator: Emulator) -> list[psutil.Process]:
    """Return the processes that run the function at this moment."""
    return psutil.Process(emulator.process.pid).children()


class Proxy(ThreadingHTTPServer):
    """Stands between the function and the emulator."""

    daemon_threads = True
    # The default of 5 makes callers wait a second when workers start together.
    request_queue_size = 128

    def __init__(self, stack: LocalStack, calls: type["Connection"]) -> None:
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
        for worker in workers(self._emulator):
            with suppress(psutil.NoSuchProcess):
                ports = {link.laddr.port for link in worker.net_connections("tcp")}
                if port in ports:
                    worker.kill()
                    return True
        return False


class Connection(BaseHTTPRequestHandler):
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


class Action(Enum):
    """What the proxy does with a call."""

    LET_THROUGH = auto()
    KILL_CALLER = auto()
    REFUSE = auto()


class SnsProxy(Proxy):
    """Takes one action for each call; the last one stays."""

    def __init__(self, stack: LocalStack, *actions: Action) -> None:
        super().__init__(stack, _SnsConnection)
        self.calls = 0
        self.actions = [*actions]


class _SnsConnection(Connection):
    server: SnsProxy

    def do_POST(self) -> None:
        proxy, body = self.server, self.body()
        proxy.calls += 1
        match proxy.actions.pop(0) if len(proxy.actions) > 1 else proxy.actions[0]:
            case Action.KILL_CALLER:
                proxy.kill_caller(self.client_address[1])
                self.reply(None)
            case Action.REFUSE:
                self.reply(Answer(HTTPStatus.SERVICE_UNAVAILABLE, b""))
            case Action.LET_THROUGH:
                self.reply(proxy.apply(self.path, dict(self.headers), body))


@contextmanager
def sns_proxy(stack: LocalStack, *actions: Action) -> Iterator[SnsProxy]:
    with serving(SnsProxy(stack, *actions)) as server:
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
