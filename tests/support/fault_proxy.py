"""A proxy between the worker and the emulator, where calls fail as they do in a cloud.

Each operation draws the fates of its calls from a shuffled deck: every kind of fault
comes up in every deck, and the seed says at which calls.
"""

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

from simulation.aws.faults import Effect, Fault
from tests.support.faults import (
    DECKS,
    PUBLISH,
    STUBBORN,
    WRITE,
    Call,
    Met,
    treated,
)
from tests.support.proxy import Answer, Connection, Proxy, serving
from ticketctl.local.stack import LocalStack


class FaultProxy(Proxy):
    """Treats each call as its operation's deck says, and counts the faults.

    Args:
        stack: The services behind it.
        seed: Says how the decks are shuffled.
    """

    def __init__(self, stack: LocalStack, seed: int) -> None:
        super().__init__(stack, _FaultyConnection)
        self.is_calm = False
        self.calls: Counter[str] = Counter()
        self.faults: Counter[tuple[str, Met]] = Counter()
        self.late_writes: Counter[str] = Counter()
        self.kills = 0
        self._seed = seed
        self._drawn: Counter[str] = Counter()
        self._doomed: set[str] = set()
        self._in_flight = 0
        self._last_end = time.monotonic()
        self._lock = threading.Lock()

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

    def draw(self, call: Call) -> Met | None:
        """Return the fault that the call meets, if any."""
        # The SDK's retry has the id of the first try.
        sdk_call = call.headers["amz-sdk-invocation-id"]
        with self._lock:
            if self.is_calm or call.operation not in DECKS:
                return None
            if sdk_call in self._doomed:
                fault: Met | None = Fault.REFUSED
            else:
                fault = self._card(call.operation)
            if fault is None:
                return None
            self.faults[call.operation, fault] += 1
            if fault is Fault.LATE or call.dice.random() < STUBBORN:
                self._doomed.add(sdk_call)
            return fault

    def _card(self, operation: str) -> Met | None:
        size, faults = DECKS[operation]
        decks_before, place = divmod(self._drawn[operation], size)
        self._drawn[operation] += 1
        deck: list[Met | None] = [*Counter(faults).elements()]
        deck += [None] * (size - len(deck))
        self._dice(f"{operation} deck", decks_before).shuffle(deck)
        return deck[place]


class _FaultyConnection(Connection):
    """A connection of the worker: one call after another."""

    server: FaultProxy

    def do_POST(self) -> None:  # noqa: N802 - the server calls it so.
        body = self.body()
        # Only SNS does not name the operation in a header.
        operation = self.headers.get("X-Amz-Target", PUBLISH).rpartition(".")[2]
        with self.server.count(operation) as dice:
            call = Call(operation, dict(self.headers), body, dice)
            fault = self.server.draw(call)
            self.reply(self._treat(call, fault), is_cut=fault is Fault.GARBLED)

    def _treat(self, call: Call, fault: Met | None) -> Answer | None:
        def apply(body: bytes) -> Answer:
            answer = self.server.apply(self.path, dict(self.headers), body)
            is_late = fault is not None and fault.value.effect is Effect.DURING
            if is_late and call.operation == WRITE:
                committed = answer.status == HTTPStatus.OK
                self.server.late_writes["committed" if committed else "cancelled"] += 1
            return answer

        return treated(call, fault, apply, self._kill) if fault else apply(call.body)

    def _kill(self) -> None:
        self.server.kills += self.server.kill_caller(self.client_address[1])


@contextmanager
def fault_proxy(stack: LocalStack, seed: int) -> Iterator[FaultProxy]:
    with serving(FaultProxy(stack, seed)) as server:
        yield server
