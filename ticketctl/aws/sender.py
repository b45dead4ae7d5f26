"""Sends messages to the create-ticket queue, batch by batch.

It keeps no state: repeats of the same requests get the same numbers, because they have
the same keys.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import uuid4

from ticket_numbering.contract.attributes import is_fifo
from ticket_numbering.contract.field_types import is_project_id
from ticketctl.aws.queues import MAX_ENTRIES, NO_GROUP
from ticketctl.aws.request_fields import Fields, json_fields
from ticketctl.aws.retry import RateLimiter, RetryPolicy
from ticketctl.aws.stack import StackAccess
from ticketctl.cli.errors import CloudError

MAX_BATCH_BYTES: Final = 1024 * 1024  # SendMessageBatch.
MAX_ATTEMPTS: Final = 5


@dataclass(frozen=True)
class Request:
    """A message for the create-ticket queue, and the outcome of its sending."""

    body: str
    line: int = 0
    """Its line in a file."""
    message_id: str = ""
    """The id of the message on the queue."""
    problem: str = ""
    """SQS's reason, if it did not take the message."""
    may_be_sent: bool = False
    """Whether SQS did not report an outcome: the message may have arrived."""

    @property
    def fields(self) -> Fields:
        """The body's fields; none if it is no JSON object."""
        return json_fields(self.body)

    @property
    def group(self) -> str:
        """The project: tenant of a fair queue, message group of a FIFO queue."""
        project = self.fields.get("project_id")
        return str(project) if is_project_id(project) else NO_GROUP


@dataclass(frozen=True)
class Sender:
    """Sends requests in their order, several batches at a time.

    A FIFO queue gets one batch at a time, because the order matters.
    """

    sqs: Any
    queue_url: str
    limiter: RateLimiter = field(default_factory=RateLimiter)
    retry: RetryPolicy = field(
        default_factory=lambda: RetryPolicy(MAX_ATTEMPTS, shortest=0.4, longest=4.0)
    )
    """The retries of messages that SQS itself failed to take."""
    in_flight: int = 1
    """The maximum of concurrent batches."""

    def send(self, requests: Iterable[Request]) -> Iterator[Request]:
        """Send them, and yield the outcomes in their order."""
        in_flight = 1 if is_fifo(self.queue_url) else self.in_flight
        waiting: deque[Future[list[Request]]] = deque()
        with ThreadPoolExecutor(in_flight) as pool:
            try:
                for batch in _batches(requests, self.limiter.batch_size(MAX_ENTRIES)):
                    # The delay is the time to check the calls in flight.
                    while waiting and (
                        len(waiting) == in_flight or self.limiter.delay(0)
                    ):
                        yield from waiting[0].result()
                        waiting.popleft()
                    self.retry.sleep(self.limiter.delay(len(batch)))
                    waiting.append(pool.submit(self._send, batch))
                while waiting:
                    yield from waiting[0].result()
                    waiting.popleft()
            except (Exception, KeyboardInterrupt):
                # Calls in flight may still arrive.
                for future in waiting:
                    if not future.exception():
                        yield from future.result()
                raise

    def _send(self, batch: Sequence[Request]) -> list[Request]:
        """Send a batch, and retry the messages that SQS itself failed to take."""
        outcomes: list[Request] = []
        for _ in self.retry.tries():
            ended, batch = self._attempt(batch)
            outcomes += ended
            if not batch:
                break
        return [*outcomes, *batch]

    def _attempt(self, batch: Sequence[Request]) -> tuple[list[Request], list[Request]]:
        """Return the requests that are done, and those to retry."""
        answer = self.sqs.send_message_batch(
            QueueUrl=self.queue_url,
            Entries=[
                {"Id": str(index), **self._entry(request)}
                for index, request in enumerate(batch)
            ],
        )
        sent = {entry["Id"]: entry for entry in answer.get("Successful", [])}
        failed = {entry["Id"]: entry for entry in answer.get("Failed", [])}
        ended, retryable = list[Request](), list[Request]()
        for index, request in enumerate(batch):
            if entry := sent.get(str(index)):
                ended.append(replace(request, message_id=entry["MessageId"]))
                continue
            failure = failed.get(str(index))
            if failure is None:
                unknown = replace(request, problem="no answer", may_be_sent=True)
                retryable.append(unknown)
                continue
            own = ended if failure.get("SenderFault") else retryable
            problem = f"{failure['Code']} {failure.get('Message', '')}"
            own.append(replace(request, problem=" ".join(problem.split())))
        return ended, retryable

    def _entry(self, request: Request) -> dict[str, str]:
        entry = {"MessageBody": request.body, "MessageGroupId": request.group}
        if is_fifo(self.queue_url):
            # With a new id SQS delivers a repeat, which gets the same number.
            entry["MessageDeduplicationId"] = str(uuid4())
        return entry


def send(stack: StackAccess, bodies: Iterable[str]) -> list[Request]:
    """Put messages on the queue as they are, in order.

    Raises:
        CloudError: SQS did not take all of them.
    """
    sender = Sender(stack.client("sqs"), stack.outputs["CreateTicketQueueUrl"])
    sent = [*sender.send(map(Request, bodies))]
    for request in sent:
        if not request.message_id:
            may = "; it may have arrived" if request.may_be_sent else ""
            raise CloudError(f"SQS did not take a message: {request.problem}{may}")
    return sent


def _batches(requests: Iterable[Request], most: int) -> Iterator[list[Request]]:
    """Pack requests by count and bytes, in order."""
    batch: list[Request] = []
    size = 0
    for request in requests:
        # SQS rejects a lone surrogate of an unchecked line.
        length = len(request.body.encode(errors="surrogatepass"))
        if len(batch) == most or (batch and size + length > MAX_BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(request)
        size += length
    if batch:
        yield batch
