"""Proxies in front of the emulator, where calls fail as they do in a cloud.

Here real connections, processes and timeouts meet the faults of the laboratory. Errors
in a service's own words are for its histories, and for the tests of the adapters.
"""

import http.client
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain, repeat
from typing import Any, Final, TypeVar

import psutil

from simulation.aws.faults import Effect, Fault
from ticket_numbering.adapters.batch_api import READ_TIMEOUT_SECONDS
from ticketctl.local.emulator import Emulator
from ticketctl.local.stack import LocalStack

WRITE: Final = "TransactWriteItems"
PUBLISH: Final = "PublishBatch"

QUICK: Final = (
    *(Fault.REFUSED, Fault.FAILED_BEFORE),
    *(Fault.LOST, Fault.GARBLED, Fault.FAILED_AFTER),
)
SLOW: Final = (Fault.LATE, Fault.KILLED_BEFORE, Fault.KILLED_DURING, Fault.KILLED_AFTER)
"""They cost seconds, and come up half as often."""

DECKS: Final = {
    "Query": 300,
    "BatchGetItem": 30,
    WRITE: 250,
    PUBLISH: 100,
    "SendMessageBatch": 50,
}
"""The cards of each operation's deck; every fault is in every deck."""

STUBBORN: Final = 0.5
"""Share of faults that fail the SDK's own retry too, so that the worker sees them."""

_REPLACED: Final = {"host", "content-length", "connection"}


@dataclass(frozen=True)
class Answer:
    """The answer to the caller."""

    status: int
    content: bytes
    content_type: str = "application/x-amz-json-1.0"


FAILED: Final = Answer(HTTPStatus.INTERNAL_SERVER_ERROR, b"")


def workers(emulator: Emulator) -> list[psutil.Process]:
    """Return the processes that run the function at this moment."""
    return psutil.Process(emulator.process.pid).children()


def treated(
    fault: Fault,
    apply: Callable[[], Answer],
    kill: Callable[[], None],
    sleep: Callable[[float], None] = time.sleep,
) -> Answer | None:
    """Let a call meet a fault; return its answer, if there is to be one."""
    effect, kills = fault.value.effect, fault.value.kills
    if kills and effect is not Effect.AFTER:
        kill()
    if effect is Effect.DURING:
        # The time after the caller has given up; most of it is short.
        sleep(READ_TIMEOUT_SECONDS * (1 + random.random() ** 3))  # noqa: S311
    answer = None if effect is Effect.BEFORE else apply()
    if kills and effect is Effect.AFTER:
        kill()
    if fault in {Fault.FAILED_BEFORE, Fault.FAILED_AFTER}:
        return FAILED
    return answer if fault is Fault.GARBLED else None


class Proxy(ThreadingHTTPServer):
    """Stands between the function and the emulator; the next calls meet the faults."""

    daemon_threads = True
    # The default of 5 makes callers wait a second when workers start together.
    request_queue_size = 128

    def __init__(self, stack: LocalStack, *coming: Fault) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.coming = [*coming]
        self.calls: Counter[str] = Counter()
        self.kills = 0
        self.lock = threading.Lock()
        self._emulator = stack.emulator
        self._in_flight = 0
        self._last_end = time.monotonic()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def draw(self, operation: str, sdk_call: str) -> Fault | None:
        """Return the fault that a call meets; the SDK's retries have its id."""
        del operation, sdk_call
        return self.coming.pop(0) if self.coming else None

    @contextmanager
    def count(self, operation: str) -> Iterator[None]:
        """Count a call while it lasts."""
        with self.lock:
            self.calls[operation] += 1
            self._in_flight += 1
        try:
            yield
        finally:
            with self.lock:
                self._in_flight -= 1
                self._last_end = time.monotonic()

    def quiet_seconds(self) -> float:
        """Return how long ago the last call ended; 0 while one is on its way."""
        with self.lock:
            return 0 if self._in_flight else time.monotonic() - self._last_end

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

    def kill_caller(self, port: int) -> None:
        """Kill the function's process at the other end of a connection, if it lives."""
        for worker in workers(self._emulator):
            with suppress(psutil.NoSuchProcess):
                ports = {link.laddr.port for link in worker.net_connections("tcp")}
                if port in ports:
                    worker.kill()
                    self.kills += 1


class FaultProxy(Proxy):
    """Lets calls meet every fault, each time that their operation's deck is through."""

    def __init__(self, stack: LocalStack, seed: int) -> None:
        super().__init__(stack)
        self.is_calm = False
        self.faults: Counter[tuple[str, Fault]] = Counter()
        self._decks = {name: _shuffled(name, seed) for name in DECKS}
        self._stubborn = random.Random(seed)  # noqa: S311 - no secret.
        self._doomed: set[str] = set()

    def draw(self, operation: str, sdk_call: str) -> Fault | None:
        """Draw a card, unless the call is a retry of one that is to fail again."""
        with self.lock:
            if self.is_calm or operation not in DECKS:
                return None
            is_doomed = sdk_call in self._doomed
            fault = Fault.REFUSED if is_doomed else next(self._decks[operation])
            if fault:
                self.faults[operation, fault] += 1
                if fault is Fault.LATE or self._stubborn.random() < STUBBORN:
                    self._doomed.add(sdk_call)
            return fault


def _shuffled(operation: str, seed: int) -> Iterator[Fault | None]:
    """Yield the cards of one deck after the other."""
    dice = random.Random(f"{seed}/{operation}")  # noqa: S311 - no secret.
    faults = [*QUICK, *QUICK, *SLOW]
    deck = [*faults, *repeat(None, DECKS[operation] - len(faults))]
    return chain.from_iterable(dice.sample(deck, len(deck)) for _ in repeat(None))


class _Connection(BaseHTTPRequestHandler):
    """A connection of the function: one call after another."""

    server: Proxy
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def handle(self) -> None:
        # Killed callers leave in the middle of anything.
        with suppress(ConnectionError):
            super().handle()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        # Only SNS does not name the operation in a header.
        operation = self.headers.get("X-Amz-Target", PUBLISH).rpartition(".")[2]

        def apply() -> Answer:
            return self.server.apply(self.path, dict(self.headers), body)

        def kill() -> None:
            self.server.kill_caller(self.client_address[1])

        with self.server.count(operation):
            fault = self.server.draw(operation, self.headers["amz-sdk-invocation-id"])
            answer = treated(fault, apply, kill) if fault else apply()
            self._reply(answer, is_cut=fault is Fault.GARBLED)

    def _reply(self, answer: Answer | None, *, is_cut: bool) -> None:
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

    def log_message(self, *_: Any) -> None:
        """Print nothing: the test asserts."""


Server = TypeVar("Server", bound=Proxy)


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    """Let a proxy answer until the end of the block."""
    with server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
