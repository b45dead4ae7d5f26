"""The network between a worker and a service: slow and lossy."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, NoReturn, Protocol

from botocore.exceptions import BotoCoreError

from simulation.aws.errors import ServiceError, is_retried
from simulation.aws.fault_plans import FaultPlan
from simulation.aws.faults import Effect, Fault
from simulation.aws.latency import Latency
from simulation.engine.choices import Choices
from simulation.engine.scheduler import Scheduler
from simulation.engine.tasks import Future, Process
from ticket_numbering.function.bootstrap import CLIENT_CONFIG

MAX_LATENESS_SECONDS: Final = 20.0
"""The longest time from a caller's timeout to the execution of its request."""

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
            ServiceError: The request is rejected.
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
    """Seconds to the client's timeout."""
    redelivery: float = 0.0
    """Seconds until a killed caller's messages are redelivered.

    Its last request can take effect as late as that; 0: it takes effect at once.
    """
    slow_calls: Mapping[str, float] = field(default_factory=dict)
    """Additional seconds that calls of these names take."""
    services: Process = field(default_factory=lambda: Process(SERVICES))
    calls: Counter[str] = field(default_factory=Counter)
    """The count of calls by operation."""

    def configured(self, config: Mapping[str, Any]) -> "Network":
        """Return the network as a client with this configuration uses it."""
        return replace(
            self,
            attempts=config["retries"]["total_max_attempts"],
            read_timeout=config["read_timeout"],
        )

    def call(self, service: Service, operation: str, request: Request) -> Any:
        """Send a request; retry it as botocore does.

        Raises:
            Exception: Like botocore.
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
        self.calls[operation] += 1
        fault = self.faults.next(operation)
        self.history.called(operation, request, fault)
        if fault and fault.value.effect is Effect.BEFORE:
            self._end(fault, self._wait_in_vain(fault))
        partly = fault is not None and fault.value.effect is Effect.PARTLY
        serve = partial(service.serve, operation, request, partly=partly)
        answer = self._answer(operation, serve, fault)
        if fault and fault.value.effect is Effect.AFTER:
            self._end(fault)
        self.history.note(f"< {operation}", answer)
        if isinstance(answer, ServiceError):
            raise answer
        return answer

    def _answer(
        self, operation: str, serve: "partial[dict[str, Any]]", fault: Fault | None
    ) -> Any:
        """Start the service's task, and wait for its answer up to the timeout."""
        future = Future()
        delay = self.latency.way(self.choices, operation, is_answer=False)
        delay += self.slow_calls.get(operation, 0.0)
        late = fault if fault and fault.value.effect is Effect.DURING else None
        if late:
            delay += self._lateness(late)
        caller = self.scheduler.process
        caller.calls += 1
        self.scheduler.spawn(
            self.services,
            f"{caller.name}/{caller.calls}",
            lambda: self._serve(serve, future),
            delay,
        )
        if late:
            self._end(late, self.read_timeout if late.value.times_out else 0.0)
        if not self.scheduler.wait(future, self.read_timeout):
            self.history.note(f"< {operation}", Fault.LATE)
            self._end(Fault.LATE)
        return future.value

    def _wait_in_vain(self, fault: Fault) -> float:
        """Return the wait of a caller whose call the service does not receive."""
        if fault.value.kills:
            return 0.0
        if fault.value.times_out:
            return self.read_timeout
        return self.latency.sample(self.choices)

    def _lateness(self, fault: Fault) -> float:
        """Return the delay of a call that is executed after its caller is gone.

        For a killed caller it is 0, or close to the redelivery of its messages.
        """
        if fault.value.times_out:
            return self.read_timeout + self.choices.duration(0.0, MAX_LATENESS_SECONDS)
        if not self.redelivery or self.choices.chance(0.5):
            return 0.0
        early, late = AROUND_REDELIVERY
        return self.choices.duration(self.redelivery - early, self.redelivery + late)

    def _end(self, fault: Fault, seconds: float = 0.0) -> NoReturn:
        """End the call after this time: raise the fault's error, or kill the caller.

        Raises:
            Exception: Like botocore.
            GreenletExit: The caller was killed.
        """
        self._sleep(seconds)
        if fault.value.error:
            raise fault.value.error()
        self.scheduler.kill(self.scheduler.process)
        raise AssertionError

    def _serve(self, serve: "partial[dict[str, Any]]", future: Future) -> None:
        try:
            answer: Any = serve()
        except ServiceError as error:
            answer = error
        self._sleep(self.latency.way(self.choices, serve.args[0], is_answer=True))
        self.scheduler.resolve(future, answer)

    def _sleep(self, seconds: float) -> None:
        """Sleep; where nothing takes time, no other task runs in between."""
        if seconds:
            self.scheduler.sleep(seconds)
