"""A proxy between the worker and the emulator, where calls fail as they do in a cloud.

Each operation draws the fates of its calls from a shuffled deck: every kind of fault
comes up in every deck, and the seed says at which calls.
"""

import http.client
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

import psutil

from tests.support.faults import (
    DECKS,
    INSTEAD,
    PAUSES,
    PUBLISH,
    STUBBORN,
    WRITE,
    Answer,
    Call,
    Fault,
    apply_in_part,
    error,
)
from tests.support.sns_gate import serving
from ticketctl.local.stack import LocalStack

_REPLACED: Final = ("Host", "Content-Length", "Connection")


class FaultProxy(ThreadingHTTPServer):
    """Treats each call as its operation's deck says, and counts what it did.

    Args:
        stack: What it stands in front of.
        seed: Says how the decks are shuffled.
    """

    daemon_threads = True
    # The default of 5 makes callers wait a second when workers start together.
    request_queue_size = 128

    def __init__(self, stack: LocalStack, seed: int) -> None:
        """Listen on a port of its own."""
        super().__init__(("127.0.0.1", 0), _Connection)
        self.is_calm = False
        self.calls: Counter[str] = Counter()
        self.faults: Counter[tuple[str, Fault]] = Counter()
        self.late_writes: Counter[str] = Counter()
        self.kills = 0
        self._emulator = stack.emulator
        self._seed = seed
        self._drawn: Counter[str] = Counter()
        self._doomed: set[str] = set()
        self._in_flight = 0
        self._last_end = time.monotonic()
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        """Where callers find the proxy."""
        return f"http://127.0.0.1:{self.server_port}"

    def quiet_seconds(self) -> float:
        """Return how long ago the last call ended; 0 while one is on its way."""
        with self._lock:
            return 0 if self._in_flight else time.monotonic() - self._last_end

    @contextmanager
    def count(self, operation: str) -> Iterator[random.Random]:
        """Count a call while it lasts; gives its source of chance."""
        with self._lock:
            dice = self._dice(operation, self.calls[operation])
            self.calls[operation] += 1
            self._in_flight += 1
        try:
            yield dice
        finally:
            with self._lock:
                self._in_flight -= 1
                self._last_end = time.monotonic()

    def _dice(self, name: str, serial: int) -> random.Random:
        return random.Random(f"{self._seed}/{name}/{serial}")  # noqa: S311 - no secret.

    def draw(self, call: Call) -> Fault | None:
        """Return the fault that the call meets, if any."""
        # The SDK's retry has the id of the first try.
        sdk_call = call.headers["amz-sdk-invocation-id"]
        with self._lock:
            if self.is_calm or call.operation not in DECKS:
                return None
            if sdk_call in self._doomed:
                fault: Fault | None = Fault.REFUSED
            else:
                fault = self._card(call.operation)
            if fault is None:
                return None
            self.faults[call.operation, fault] += 1
            if fault is Fault.LATE or call.dice.random() < STUBBORN:
                self._doomed.add(sdk_call)
            return fault

    def _card(self, operation: str) -> Fault | None:
        size, faults = DECKS[operation]
        decks_before, place = divmod(self._drawn[operation], size)
        self._drawn[operation] += 1
        deck: list[Fault | None] = [*Counter(faults).elements()]
        deck += [None] * (size - len(deck))
        self._dice(f"{operation} deck", decks_before).shuffle(deck)
        return deck[place]

    def kill_caller(self, call: Call) -> None:
        """Kill the function's process at the other end of the call's connection."""
        for worker in self._emulator.workers():
            with suppress(psutil.NoSuchProcess):
                ports = {each.laddr.port for each in worker.net_connections("tcp")}
                if call.caller_port in ports:
                    worker.kill()
                    self.kills += 1

    def apply(self, call: Call, body: bytes) -> Answer:
        """Pass the call on to the emulator, with this body."""
        connection = http.client.HTTPConnection("127.0.0.1", self._emulator.port)
        with closing(connection) as emulator:
            emulator.request("POST", call.path, body, dict(call.headers))
            answer = emulator.getresponse()
            content_type = answer.getheader("Content-Type", "")
            return Answer(answer.status, answer.read(), content_type)


class _Connection(BaseHTTPRequestHandler):
    """A connection of the worker: one call after another."""

    server: FaultProxy
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
        headers = {name: self.headers[name] for name in self.headers}
        for name in _REPLACED:
            headers.pop(name, None)
        with self.server.count(operation) as dice:
            port = self.client_address[1]
            call = Call(operation, self.path, headers, body, port, dice)
            fault = self.server.draw(call)
            self._reply(self._treat(call, fault), fault)

    def _treat(self, call: Call, fault: Fault | None) -> Answer | None:
        """Return the answer, if there is to be one."""
        if fault is None:
            return self.server.apply(call, call.body)
        if fault in {Fault.KILLED_BEFORE, Fault.KILLED_LATE}:
            self.server.kill_caller(call)
        if fault in PAUSES:
            least, most = PAUSES[fault]
            time.sleep(least + (most - least) * call.dice.random() ** 3)
        if fault in INSTEAD:
            return INSTEAD[fault](call)
        if fault is Fault.PARTIAL:
            return apply_in_part(call, lambda body: self.server.apply(call, body))
        answer = self.server.apply(call, call.body)
        return self._reported(call, fault, answer)

    def _reported(self, call: Call, fault: Fault, answer: Answer) -> Answer | None:
        """Return what the caller hears of a call that was applied."""
        if fault in {Fault.LATE, Fault.KILLED_LATE} and call.operation == WRITE:
            committed = answer.status == HTTPStatus.OK
            self.server.late_writes["committed" if committed else "cancelled"] += 1
        if fault is Fault.KILLED_AFTER:
            self.server.kill_caller(call)
        if fault is Fault.FAILED_AFTER:
            return error(call, HTTPStatus.INTERNAL_SERVER_ERROR, "InternalServerError")
        return answer if fault in {Fault.SLOW, Fault.CUT} else None

    def _reply(self, answer: Answer | None, fault: Fault | None) -> None:
        """Answer, in half if it is to be cut; without an answer, hang up."""
        self.close_connection = answer is None or fault is Fault.CUT
        if answer is None:
            return
        size = len(answer.content)
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(size))
        self.end_headers()
        cut = size // 2 if fault is Fault.CUT else size
        self.wfile.write(answer.content[:cut])

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing: the proxy counts."""


@contextmanager
def fault_proxy(stack: LocalStack, seed: int) -> Iterator[FaultProxy]:
    """Put a proxy in front of the system."""
    with serving(FaultProxy(stack, seed)) as server:
        yield server
