"""Lambda: polls the queue, invokes the handler, deletes the messages that did not fail.

Source: Lambda developer guide, "Handling errors for an SQS event source".
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Final

from aws_lambda_powertools.utilities.typing import LambdaContext

from simulation.aws.fault_plans import FaultPlan
from simulation.aws.faults import Fault
from simulation.aws.messages import MILLISECONDS, Message, record_of
from simulation.aws.network import Log
from simulation.aws.queues import Queue
from simulation.engine.choices import one_of
from simulation.engine.scheduler import Scheduler
from simulation.engine.tasks import Future, Process

FUNCTION_TIMEOUT_SECONDS: Final = 30.0

Handler = Callable[[dict[str, Any], Any], Any]


class HandlerError(Exception):
    """The handler raised an exception."""


class Context(LambdaContext):
    """A Lambda context with time left."""

    def __init__(self, remaining: Callable[[], int] = lambda: 30_000) -> None:
        self._function_name = "numbering-worker"
        self._memory_limit_in_mb = 512
        self._invoked_function_arn = (
            "arn:aws:lambda:eu-west-1:123456789012:function:numbering-worker"
        )
        self._aws_request_id = "9a1c7fd5-9b0f-4b8e-8f5d-0c6d1c2f3a4b"
        self.get_remaining_time_in_millis = remaining  # type: ignore[method-assign]


@dataclass
class Poller:
    """A poller of Lambda with its execution environment."""

    name: str
    scheduler: Scheduler
    faults: FaultPlan
    history: Log
    queue: Queue
    cold_start: Callable[[], Handler]
    """Starts an execution environment, and returns its handler."""
    batch_size: int
    deletion_latency: Callable[[], float]
    on_idle: Callable[[], object] = lambda: None
    """Called while a warm execution environment waits: its clock may jump."""
    on_return: Callable[[str, Sequence[Message], set[str]], None] = lambda *_: None
    """Called with an invocation's name, its batch, and the ids of its failures."""
    invocations: int = 0
    warm_handler: Handler | None = None
    """The handler of the execution environment, unless it was killed."""

    def run(self) -> None:
        """Poll for ever."""
        while True:
            self._idle()
            batch = self.queue.receive(self.batch_size)
            if batch:
                self._add_duplicate(batch)
                self._work(batch)
                if not self.queue.delivers_twice:
                    # Any poller may take the group's next batch.
                    self.scheduler.sleep(0.0)
                continue
            self.queue.wait(self.queue.next_visible_at() - self.scheduler.now)

    def _add_duplicate(self, batch: list[Message]) -> None:
        """Add a message in flight, now and then: delivery is at least once."""
        if not self.queue.delivers_twice:
            return
        others = [
            message
            for message in self.queue.messages.values()
            if message not in batch and message.visible_at > self.scheduler.now
        ]
        has_room = len(batch) < self.batch_size or self.batch_size == 1
        if others and has_room and self.faults.next("receive") is Fault.DUPLICATED:
            duplicate = one_of(self.queue.choices, others)
            self.history.note("delivers twice", duplicate.id)
            self.queue.deliver(duplicate)
            if self.batch_size == 1:
                self._put_back(batch)
            batch.append(duplicate)

    def _idle(self) -> None:
        if self.warm_handler:
            self.on_idle()

    def _put_back(self, batch: list[Message]) -> None:
        """Let another poller receive the batch."""
        message = batch.pop()
        message.receives -= 1
        message.visible_at = self.scheduler.now

    def _work(self, batch: list[Message]) -> None:
        shown = [(message.id, message.receives) for message in batch]
        self.history.note("receives", shown)
        failed = self._invoke({"Records": [record_of(message) for message in batch]})
        self.on_return(f"{self.name}.{self.invocations}", batch, failed)
        self._idle()
        self.scheduler.sleep(self.deletion_latency())
        for message in batch:
            if message.id in failed:
                continue
            if self.faults.next("delete") is Fault.NOT_DELETED:
                self.history.note("fails to delete", message.id)
                continue
            self.history.note("deletes", message.id)
            self.queue.delete(message.id)

    def _invoke(self, event: dict[str, Any]) -> set[str]:
        """Invoke the handler; return the ids of the messages that it reports."""
        self.invocations += 1
        process = Process(f"{self.name}.{self.invocations}")
        handler = self.warm_handler or self.cold_start()
        self.warm_handler = None
        deadline = self.scheduler.now + FUNCTION_TIMEOUT_SECONDS
        context = Context(
            lambda: int(max(0.0, deadline - self.scheduler.now) * MILLISECONDS)
        )

        def handle() -> None:
            try:
                response = handler(event, context)
            except Exception as error:
                raise HandlerError(f"the handler raised {error!r}") from error
            self.scheduler.resolve(process.ended, response)

        self.scheduler.spawn(process, process.name, handle, is_local=True)
        if not self.scheduler.wait(process.ended, FUNCTION_TIMEOUT_SECONDS):
            self.history.note("ends at its timeout", process.name)
            self.scheduler.kill(process)
        response = process.ended.value
        if response is None:
            return {record["messageId"] for record in event["Records"]}
        self.warm_handler = handler
        return {failure["itemIdentifier"] for failure in response["batchItemFailures"]}


class TaskPool(Executor):
    """Runs calls side by side, as tasks of the calling process."""

    def __init__(self, scheduler: Scheduler, threads: int) -> None:
        self._scheduler = scheduler
        self._threads = threads

    def map(self, fn: Any, *iterables: Any, **_: Any) -> Iterator[Any]:
        """Run the calls side by side; yield their results in order."""
        calls = [(args, Future()) for args in zip(*iterables, strict=True)]
        waiting = deque(calls)

        def work() -> None:
            while waiting:
                args, future = waiting.popleft()
                self._scheduler.resolve(future, fn(*args))

        process = self._scheduler.process
        for _thread in range(min(self._threads, len(calls))):
            name = f"{process.name}/{len(process.tasks)}"
            self._scheduler.spawn(process, name, work)
        for _args, future in calls:
            self._scheduler.wait(future)
            yield future.value

    def shutdown(self, *_: Any, **__: Any) -> None:
        """Do nothing: a killed process waits for no task."""
