"""Lambda: it polls the queue, invokes the handler, and deletes what did not fail.

Source: Lambda developer guide, "Handling errors for an SQS event source".
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Final

from aws_lambda_powertools.utilities.typing import LambdaContext

from simulation.aws.queues import MILLISECONDS, Message, Queue, record_of
from simulation.engine.scheduler import Process, Promise, Scheduler
from simulation.faults import Fault, FaultPlan
from simulation.history import History
from simulation.monitor import Violation

FUNCTION_TIMEOUT_SECONDS: Final = 30.0

Handler = Callable[[dict[str, Any], Any], Any]


class Context(LambdaContext):
    """A Lambda context with time left."""

    def __init__(self, remaining: Callable[[], int] = lambda: 30_000) -> None:
        """Set what Lambda sets."""
        self._function_name = "numbering-worker"
        self._memory_limit_in_mb = 512
        self._invoked_function_arn = (
            "arn:aws:lambda:eu-west-1:123456789012:function:numbering-worker"
        )
        self._aws_request_id = "9a1c7fd5-9b0f-4b8e-8f5d-0c6d1c2f3a4b"
        self.get_remaining_time_in_millis = remaining  # type: ignore[method-assign]


@dataclass
class Poller:
    """One of the batches that Lambda works on at a time, and its sandbox."""

    name: str
    scheduler: Scheduler
    faults: FaultPlan
    history: History
    queue: Queue
    new_sandbox: Callable[[], Handler]
    batch_size: int
    deleting_takes: Callable[[], float]
    remembered: Callable[[], Hashable] = lambda: ()
    """Stands for what the sandbox keeps for its next invocation."""
    on_return: Callable[[str, Sequence[Message], set[str]], None] = lambda *_: None
    """Sees an invocation's name, its batch, and what of it is to come back."""
    invocations: int = 0
    sandbox: Handler | None = None

    def run(self) -> None:
        """Poll for ever."""
        while True:
            self.scheduler.forget(self.invocations, self._memory())
            batch = self.queue.receive(self.batch_size)
            if batch:
                self._add_duplicate(batch)
                self._work(batch)
                if not self.queue.delivers_twice:
                    self.scheduler.sleep(0.0)  # The group's next batch is anybody's.
                continue
            promise = Promise()
            self.queue.idle.append(promise)
            self.scheduler.wait(
                promise, self.queue.next_visible_at() - self.scheduler.now
            )

    def _add_duplicate(self, batch: list[Message]) -> None:
        """At least once means that it can be twice at a time."""
        if not self.queue.delivers_twice:
            return
        others = [
            each
            for each in self.queue.messages.values()
            if each not in batch and each.visible_at > self.scheduler.now
        ]
        has_room = len(batch) < self.batch_size or self.batch_size == 1
        if others and has_room and self.faults.next("receive") is Fault.DUPLICATED:
            twice = others[self.queue.choices.pick(len(others))]
            self.history.note("delivers twice", twice.id)
            self.queue.deliver(twice)
            if self.batch_size == 1:
                self._put_back(batch)
            batch.append(twice)

    def _memory(self) -> Hashable:
        return self.remembered() if self.sandbox else None

    def _put_back(self, batch: list[Message]) -> None:
        """Let the batch be received by another."""
        message = batch.pop()
        message.receives -= 1
        message.visible_at = self.scheduler.now

    def _work(self, batch: list[Message]) -> None:
        shown = [(message.id, message.receives) for message in batch]
        self.history.note("receives", shown)
        self.scheduler.learn(tuple(shown))
        failed = self._invoke({"Records": [record_of(message) for message in batch]})
        self.on_return(f"{self.name}.{self.invocations}", batch, failed)
        self.scheduler.learn((tuple(sorted(failed)), self._memory()))
        self.scheduler.sleep(self.deleting_takes())
        for message in batch:
            if message.id in failed:
                continue
            if self.faults.next("delete") is Fault.NOT_DELETED:
                self.history.note("fails to delete", message.id)
                continue
            self.history.note("deletes", message.id)
            self.queue.delete(message.id)

    def _invoke(self, event: dict[str, Any]) -> set[str]:
        """Return the ids of the messages that are to come back."""
        self.invocations += 1
        process = Process(f"{self.name}.{self.invocations}")
        handler = self.sandbox or self.new_sandbox()
        self.sandbox = None
        deadline = self.scheduler.now + FUNCTION_TIMEOUT_SECONDS
        context = Context(
            lambda: int(max(0.0, deadline - self.scheduler.now) * MILLISECONDS)
        )

        def handle() -> None:
            try:
                response = handler(event, context)
            except Exception as error:
                message = f"the handler raised {error!r}"
                raise Violation(message) from error
            self.scheduler.keep(process.ended, response)

        self.scheduler.spawn(process, process.name, handle, is_local=True)
        if not self.scheduler.wait(process.ended, FUNCTION_TIMEOUT_SECONDS):
            self.history.note("ends at its timeout", process.name)
            self.scheduler.kill(process)
        response = process.ended.value
        if response is None:
            return {record["messageId"] for record in event["Records"]}
        self.sandbox = handler
        return {each["itemIdentifier"] for each in response["batchItemFailures"]}


class TaskPool(Executor):
    """Runs calls side by side as tasks of the process that asks for it."""

    def __init__(self, scheduler: Scheduler, threads: int) -> None:
        """Run on the scheduler, at most so many at a time."""
        self._scheduler = scheduler
        self._threads = threads

    def map(self, fn: Any, *iterables: Any, **_: Any) -> Iterator[Any]:
        """Call for each, side by side; yield the results in order."""
        calls = [(args, Promise()) for args in zip(*iterables, strict=True)]
        waiting = deque(calls)

        def work() -> None:
            while waiting:
                args, promise = waiting.popleft()
                self._scheduler.keep(promise, fn(*args))

        process = self._scheduler.process
        for _thread in range(min(self._threads, len(calls))):
            name = f"{process.name}/{len(process.tasks)}"
            self._scheduler.spawn(process, name, work)
        for _args, promise in calls:
            self._scheduler.wait(promise)
            yield promise.value

    def shutdown(self, *_: Any, **__: Any) -> None:
        """Do nothing: who was killed waits for nobody."""
