"""The network between a worker and a service: slow and lossy."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Protocol

from botocore.exceptions import BotoCoreError

from simulation.aws.errors import ServiceError, error_of, is_retried
from simulation.aws.faults import DONE_UNSEEN, KILLS, NOT_DONE, Fault, FaultPlan
from simulation.aws.latency import Latency
from simulation.engine.choices import Choices
from simulation.engine.scheduler import Scheduler
from simulation.engine.tasks import FOREVER, Future, Process
from ticket_numbering.function.bootstrap import CLIENT_CONFIG

MAX_LATENESS_SECONDS: Final = 20.0
"""How long after the caller's timeout a late request can still be served."""

AROUND_REDELIVERY: Final = (0.3, 0.1)
"""Seconds before and after a redelivery, in which a dead caller's request may land."""

MAX_BACKOFF_SECONDS: Final = 0.05
"""botocore's longest first backoff after an error that is not throttling."""

SERVICES: Final = "services"
"""The process of the services' tasks."""

Request = Mapping[str, Any]


class Service(Protocol):
    """A service that answers requests."""

    def serve(
        self, operation: str, request: Request, *, partly: bool
    ) -> dict[str, Any]:
        """Answer a request; do only a part of a batch if `partly`.

        Raises:
            ServiceError: The request is refused.
        """
        ...


class Log(Protocol):
    """Keeps the events of a run."""

    def note(self, what: str, detail: Any = None) -> None:
        """Add an event of the running task."""
        ...

    def called(self, operation: str, request: Request, fault: Fault | None) -> None:
        """Add a call."""
        ...


@dataclass
class Network:
    """Carries calls as botocore makes them with the worker's configuration."""

    scheduler: Scheduler
    choices: Choices
    faults: FaultPlan
    latency: Latency
    history: Log
    attempts: int = CLIENT_CONFIG["retries"]["total_max_attempts"]
    read_timeout: float = CLIENT_CONFIG["read_timeout"]
    """Seconds to the client's timeout; FOREVER if only a fault causes one."""
    redelivery: float = 0.0
    """Seconds until a killed caller's messages are redelivered.

    Its last request can take effect as late as that; 0: it takes effect at once.
    """
    slow_calls: Mapping[str, float] = field(default_factory=dict)
    """Additional seconds that calls of these names take."""
    services: Process = field(default_factory=lambda: Process(SERVICES))
    calls: int = 0

    def call(self, service: Service, operation: str, request: Request) -> Any:
        """Send a request; retry it as botocore does.

        Raises:
            Exception: As of botocore.
        """
        for attempt in range(1, self.attempts + 1):
            try:
                return self._try(service, operation, request)
            except BotoCoreError:
                if attempt == self.attempts:
                    raise
            except ServiceError as error:
                if attempt == self.attempts or not is_retried(error):
                    raise
            self._sleep(self.choices.duration(0.0, MAX_BACKOFF_SECONDS))
        raise AssertionError

    def _try(self, service: Service, operation: str, request: Request) -> Any:
        self.calls += 1
        fault = self.faults.next(operation)
        self.history.called(operation, request, fault)
        if fault:
            self.scheduler.observe(fault.name)
        if fault is Fault.KILLED_BEFORE:
            self.scheduler.kill(self.scheduler.process)
        if fault in NOT_DONE:
            self._sleep(self.latency.sample(self.choices))
            raise error_of(fault)
        if fault is Fault.HUNG:
            self.scheduler.sleep(self.read_timeout)
            raise error_of(fault)
        serve = partial(
            service.serve, operation, request, partly=fault is Fault.PARTIAL
        )
        answer = self._answer(operation, serve, fault)
        if fault in KILLS:
            self.scheduler.kill(self.scheduler.process)
        if fault in DONE_UNSEEN:
            raise error_of(fault)
        self.history.note(f"< {operation}", answer)
        if self.choices.are_exhaustive:
            self.scheduler.observe(str(answer))
        if isinstance(answer, ServiceError):
            raise answer
        return answer

    def _answer(
        self, operation: str, serve: "partial[dict[str, Any]]", fault: Fault | None
    ) -> Any:
        """Start the service's task, and wait for its answer up to the timeout."""
        future = Future()
        delay = self.latency.sample(self.choices)
        delay += self.slow_calls.get(operation, 0.0)
        pause = 0.0 if self.read_timeout == FOREVER else self.read_timeout
        if fault is Fault.LATE:
            delay += pause + self.choices.duration(0.0, MAX_LATENESS_SECONDS)
        if fault is Fault.KILLED_DURING and self.redelivery:
            delay += self._redelivery_delay()
        caller = self.scheduler.process
        caller.calls += 1
        self.scheduler.spawn(
            self.services,
            f"{caller.name}/{caller.calls}",
            lambda: self._serve(serve, future),
            delay,
            observed=f"{serve.args} {serve.keywords}"
            if self.choices.are_exhaustive
            else (),
        )
        if fault is Fault.KILLED_DURING:
            self.scheduler.kill(self.scheduler.process)
        if fault is Fault.LATE:
            self._sleep(pause)
            raise error_of(fault)
        if not self.scheduler.wait(future, self.read_timeout):
            self.history.note(f"< {operation}", Fault.LATE)
            raise error_of(Fault.LATE)
        return future.value

    def _redelivery_delay(self) -> float:
        """Return 0, or a time around the redelivery of the caller's messages."""
        if self.choices.chance(0.5):
            return 0.0
        early, late = AROUND_REDELIVERY
        return self.choices.duration(self.redelivery - early, self.redelivery + late)

    def _serve(self, serve: Callable[[], Any], future: Future) -> None:
        try:
            answer: Any = serve()
        except ServiceError as error:
            answer = error
        self._sleep(self.latency.sample(self.choices))
        self.scheduler.resolve(future, answer)

    def _sleep(self, seconds: float) -> None:
        """Sleep; where nothing takes time, no other task runs in between."""
        if seconds:
            self.scheduler.sleep(seconds)
