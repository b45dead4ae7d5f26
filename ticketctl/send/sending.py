"""Sends requests to the queue, several batches at a time, and tells how each ended.

Nothing is remembered of what was sent: whoever sends the same requests again gets the
same numbers, because they have the same keys.
"""

import random
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import (
    ALL_COMPLETED,
    FIRST_COMPLETED,
    Future,
    ThreadPoolExecutor,
    wait,
)
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4

from ticketctl.send.preparing import Request
from ticketctl.system.queues import FIFO_SUFFIX, MAX_ENTRIES, batches
from ticketctl.system.rate_limiter import Pace

IN_FLIGHT: Final = 4
MAX_TRIES: Final = 5
_FIRST_REST_SECONDS: Final = 0.2


@dataclass(frozen=True)
class Outcome:
    """What became of one request."""

    request: Request
    message_id: str | None = None
    """Of the message on the queue."""
    refusal: str = ""
    """Why there is none."""


@dataclass
class Sending:
    """Sends requests, in the order in which they come."""

    sqs: Any
    queue_url: str
    on_done: Callable[[Outcome], None]
    """Called for each request, in one thread, which Ctrl-C does not interrupt.

    An error of its own ends the sending, once it was called for all that SQS took.
    """
    pace: Pace = field(default_factory=Pace)
    deliver_repeats: bool = False
    """On a FIFO queue: let what was sent within 5 minutes through, to be announced."""
    sleep: Callable[[float], bool] | None = None
    """Tells whether to stop; else sleeps until `run` is interrupted."""
    _stop: threading.Event = field(default_factory=threading.Event)

    def run(self, requests: Iterable[Request]) -> None:
        """Send them all.

        Raises:
            BotoCoreError: SQS cannot be asked. What is on its way is waited for.
            ClientError: SQS refuses a whole batch. Likewise.
            KeyboardInterrupt: Somebody has enough. Likewise.
        """
        # In a thread of its own, for only the main one is interrupted: so what was sent
        # is counted exactly, and told whole.
        with ThreadPoolExecutor(1) as alone:
            job = alone.submit(self._run, requests)
            try:
                job.result()
            except BaseException:
                self._stop.set()
                wait([job])
                raise

    def _run(self, requests: Iterable[Request]) -> None:
        most = self.pace.batch_size(MAX_ENTRIES)
        # Side by side, batches could overtake each other, which FIFO must not.
        workers = 1 if self._is_fifo else IN_FLIGHT
        running: set[Future[list[Outcome]]] = set()
        with ThreadPoolExecutor(workers) as pool:
            try:
                for batch in batches(requests, _size, most):
                    if self._is_stopped_after(self.pace.delay(len(batch))):
                        break
                    running.add(pool.submit(self._send, batch))
                    free = len(running) < workers
                    self._collect(running, FIRST_COMPLETED, 0 if free else None)
                self._collect(running, ALL_COMPLETED)
            except BaseException:
                self._stop.set()
                self._settle(running)
                raise

    @property
    def _is_fifo(self) -> bool:
        return self.queue_url.endswith(FIFO_SUFFIX)

    def _is_stopped_after(self, seconds: float) -> bool:
        return (self.sleep or self._stop.wait)(seconds)

    def _collect(
        self,
        running: set[Future[list[Outcome]]],
        until: str,
        patience: float | None = None,
    ) -> None:
        done, _ = wait(running, timeout=patience, return_when=until)
        for each in done:
            # Taken out only once it did not fail, so that `_settle` sees the others.
            outcomes = each.result()
            running.remove(each)
            if error := self._tell(outcomes):
                raise error

    def _settle(self, running: set[Future[list[Outcome]]]) -> None:
        """Count what was on its way when something went wrong."""
        done, _ = wait(running, return_when=ALL_COMPLETED)
        for each in done:
            if not each.exception():
                self._tell(each.result())

    def _tell(self, outcomes: Iterable[Outcome]) -> Exception | None:
        """Tell all, and return the first error: who reads may have enough."""
        errors = []
        for outcome in outcomes:
            try:
                self.on_done(outcome)
            except Exception as error:  # noqa: BLE001 - raised once all are counted.
                errors.append(error)
        return errors[0] if errors else None

    def _send(self, batch: Sequence[Request]) -> list[Outcome]:
        """Send a batch, and again what SQS failed to take by a fault of its own."""
        pending, outcomes = list(batch), list[Outcome]()
        for attempt in range(1, MAX_TRIES + 1):
            found = self._try(pending)
            last = attempt == MAX_TRIES
            again = [] if last else [each for each, retry in found if retry]
            outcomes += [each for each, retry in found if last or not retry]
            pending = [each.request for each in again]
            if not pending:
                break
            if self._is_stopped_after(_rest_seconds(attempt)):
                outcomes += again
                break
        return outcomes

    def _try(self, batch: Sequence[Request]) -> list[tuple[Outcome, bool]]:
        """Return each outcome, and whether to try again."""
        answer = self.sqs.send_message_batch(
            QueueUrl=self.queue_url,
            Entries=[
                {"Id": str(place), **self._entry(request)}
                for place, request in enumerate(batch)
            ],
        )
        taken = {each["Id"]: each["MessageId"] for each in answer.get("Successful", [])}
        failed = {each["Id"]: each for each in answer.get("Failed", [])}
        return [
            (Outcome(request, taken[str(place)]), False)
            if str(place) in taken
            else _refused(request, failed.get(str(place), {}))
            for place, request in enumerate(batch)
        ]

    def _entry(self, request: Request) -> dict[str, str]:
        entry = {"MessageBody": request.body, "MessageGroupId": request.project_id}
        if self._is_fifo and self.deliver_repeats:
            entry["MessageDeduplicationId"] = str(uuid4())
        return entry


def _size(request: Request) -> int:
    return len(request.body.encode())


def _refused(request: Request, entry: Mapping[str, Any]) -> tuple[Outcome, bool]:
    code = entry.get("Code", "no answer")
    why = " ".join(f"{code}: {entry.get('Message', '')}".rstrip(": ").split())
    return Outcome(request, refusal=why), not entry.get("SenderFault", False)


def _rest_seconds(attempt: int) -> float:
    """Return a rest with full jitter, so that crowds spread out."""
    return random.uniform(0, _FIRST_REST_SECONDS * 2**attempt)  # noqa: S311 - no secret.
