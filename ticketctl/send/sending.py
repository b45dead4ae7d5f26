"""Sends requests to the queue, batch by batch, and tells how each ended.

Nothing is remembered of what was sent: whoever sends the same requests again gets the
same numbers, because they have the same keys.
"""

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ticketctl.send.checking import Request
from ticketctl.system.queues import MAX_ENTRIES, batches
from ticketctl.system.rate_limiter import Pace

MAX_ATTEMPTS: Final = 5
_FIRST_BACKOFF_SECONDS: Final = 0.2


@dataclass(frozen=True)
class Outcome:
    """What became of one request."""

    request: Request
    message_id: str | None = None
    """Of the message on the queue."""
    refusal: str = ""
    """Why there is none."""


@dataclass(frozen=True)
class Sender:
    """Sends requests, in the order in which they come."""

    sqs: Any
    queue_url: str
    limiter: Pace = field(default_factory=Pace)
    sleep: Callable[[float], None] = time.sleep

    def send(self, requests: Iterable[Request]) -> Iterator[Outcome]:
        """Send them, and yield what became of each batch before the next is sent.

        Raises:
            BotoCoreError: SQS cannot be asked.
            ClientError: SQS refuses a whole batch.
        """
        most = self.limiter.batch_size(MAX_ENTRIES)
        for batch in batches(requests, _size, most):
            self.sleep(self.limiter.delay(len(batch)))
            yield from self._send(batch)

    def _send(self, batch: Sequence[Request]) -> Iterator[Outcome]:
        """Send a batch, and retry what SQS failed to take by a fault of its own."""
        for attempt in range(1, MAX_ATTEMPTS + 1):
            outcomes, retryable = self._attempt(batch)
            yield from outcomes
            if not retryable or attempt == MAX_ATTEMPTS:
                yield from retryable
                return
            self.sleep(_backoff_seconds(attempt))
            batch = [outcome.request for outcome in retryable]

    def _attempt(self, batch: Sequence[Request]) -> tuple[list[Outcome], list[Outcome]]:
        """Return how entries ended, and those that can be retried."""
        answer = self.sqs.send_message_batch(
            QueueUrl=self.queue_url,
            Entries=[
                {
                    "Id": str(position),
                    "MessageBody": request.body,
                    "MessageGroupId": request.group,
                }
                for position, request in enumerate(batch)
            ],
        )
        sent = {entry["Id"]: entry for entry in answer.get("Successful", [])}
        failed = {entry["Id"]: entry for entry in answer.get("Failed", [])}
        ended, retryable = list[Outcome](), list[Outcome]()
        for position, request in enumerate(batch):
            if entry := sent.get(str(position)):
                ended.append(Outcome(request, entry["MessageId"]))
                continue
            failure = failed.get(str(position), {"Code": "no answer"})
            own = ended if failure.get("SenderFault") else retryable
            own.append(Outcome(request, refusal=_why(failure)))
        return ended, retryable


def _size(request: Request) -> int:
    # A lone surrogate, of an unchecked line, is for SQS to refuse.
    return len(request.body.encode(errors="surrogatepass"))


def _why(failure: Mapping[str, Any]) -> str:
    return " ".join(f"{failure['Code']} {failure.get('Message', '')}".split())


def _backoff_seconds(attempt: int) -> float:
    """Return a backoff with full jitter."""
    limit = _FIRST_BACKOFF_SECONDS * 2**attempt
    return random.uniform(0, limit)  # noqa: S311 - no secret.
