"""The way from a worker to a service: slow, lossy, and never sure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Any, Final, Protocol

import botocore.exceptions
import botocore.parsers

from simulation.aws.service import ServiceError
from simulation.engine.choices import Choices
from simulation.engine.scheduler import FOREVER, Process, Promise, Scheduler
from simulation.faults import KILLS, Fault, FaultPlan
from simulation.history import History
from ticket_numbering.bootstrap import CLIENT_CONFIG

SERVICES: Final = "services"
ENDPOINT: Final = "https://simulated"
MAX_LATENESS_SECONDS: Final = 20.0
"""How long after the caller has given up a late request is still served."""

AROUND_REDELIVERY: Final = (0.3, 0.1)
"""Seconds before and after, within which two try the same."""

MAX_RETRY_PAUSE_SECONDS: Final = 0.05
"""botocore's first pause after an error that is not throttling, at most."""

Request = Mapping[str, Any]


class Service(Protocol):
    """Anything that answers requests."""

    def serve(
        self, operation: str, request: Request, *, partly: bool
    ) -> dict[str, Any]:
        """Answer a request; do only a part of a batch, if told so.

        Raises:
            ServiceError: It is refused.
        """
        ...


STEPS_A_CALL: Final = 20
"""Items of a common transaction."""

RETRIED_CODES: Final = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "ThrottlingException",
        "TransactionInProgressException",
    }
)
RETRIED_STATUSES: Final = frozenset({500, 502, 503, 504})
"""Of botocore's standard mode, what the model answers; botocore/retries/standard.py."""


@dataclass(frozen=True, slots=True)
class Latency:
    """How long things take, in seconds."""

    shortest: float = 0.002
    longest: float = 0.02
    stalls: float = 0.0
    """How often something takes up to `stall` seconds instead."""
    stall: float = 8.0
    steps_a_call: int = STEPS_A_CALL
    """With 1, each item of a transaction takes as long as a call."""
    phase: tuple[float, float] | None = None
    """How long all items of a transaction take, to prepare and again to commit.

    They do so side by side, however many they are; none: each takes its own time.
    """

    def sample(self, choices: Choices) -> float:
        """Return how long it takes this time."""
        if self.stalls and choices.chance(self.stalls):
            return choices.duration(self.longest, self.stall)
        return choices.duration(self.shortest, self.longest)

    def sample_step(self, choices: Choices, steps: int) -> float:
        """Return how long one item of a transaction takes, of so many."""
        if self.phase:
            return choices.duration(*self.phase) / steps
        if self.stalls and choices.chance(self.stalls / STEPS_A_CALL):
            return choices.duration(self.longest, self.stall)
        return choices.duration(self.shortest, self.longest) / self.steps_a_call


@dataclass
class Network:
    """Carries calls, as botocore makes them with the worker's configuration."""

    scheduler: Scheduler
    choices: Choices
    faults: FaultPlan
    latency: Latency
    history: History
    attempts: int = CLIENT_CONFIG["retries"]["total_max_attempts"]
    patience: float = CLIENT_CONFIG["read_timeout"]
    """Seconds after which the client gives up; for ever, if a fault alone decides."""
    redelivery: float = 0.0
    """Seconds until another gets the messages of who was killed.

    What the killed one asked for may be done as late as that; 0: it is done at once.
    """
    slow_calls: Mapping[str, float] = field(default_factory=dict)
    """Seconds that calls of these names take on top."""
    services: Process = field(default_factory=lambda: Process(SERVICES))
    calls: int = 0

    def call(self, service: Service, operation: str, request: Request) -> Any:
        """Send a request; again, if botocore would.

        Raises:
            Exception: What botocore raises.
        """
        for attempt in range(1, self.attempts + 1):
            try:
                return self._try(service, operation, request)
            except botocore.exceptions.BotoCoreError:
                if attempt == self.attempts:
                    raise
            except ServiceError as error:
                if attempt == self.attempts or not _is_retried(error):
                    raise
            if pause := self.choices.duration(0.0, MAX_RETRY_PAUSE_SECONDS):
                self.scheduler.sleep(pause)
        raise AssertionError

    def _try(self, service: Service, operation: str, request: Request) -> Any:
        self.calls += 1
        fault = self.faults.next(operation)
        self.history.called(operation, request, fault)
        if fault:
            self.scheduler.learn(fault.name)
        if fault is Fault.KILLED_BEFORE:
            self.scheduler.kill(self.scheduler.process)
        if fault in _NOT_DONE:
            if pause := self.latency.sample(self.choices):
                self.scheduler.sleep(pause)
            raise self._error(fault)
        if fault is Fault.HUNG:
            self.scheduler.sleep(self.patience)
            raise self._error(fault)
        serve = partial(
            service.serve, operation, request, partly=fault is Fault.PARTIAL
        )
        answer = self._answer(operation, serve, fault)
        if fault in KILLS:
            self.scheduler.kill(self.scheduler.process)
        if fault in _DONE_UNSEEN:
            raise self._error(fault)
        self.history.answered(operation, answer)
        if self.choices.are_exhaustive:
            self.scheduler.learn(str(answer))
        if isinstance(answer, ServiceError):
            raise answer
        return answer

    def _answer(
        self, operation: str, serve: "partial[dict[str, Any]]", fault: Fault | None
    ) -> Any:
        """Let the service work, and wait for it as long as the client does."""
        promise = Promise()
        delay = self.latency.sample(self.choices)
        delay += self.slow_calls.get(operation, 0.0)
        pause = 0.0 if self.patience == FOREVER else self.patience
        if fault is Fault.LATE:
            delay += pause + self.choices.duration(0.0, MAX_LATENESS_SECONDS)
        if fault is Fault.KILLED_DURING and self.redelivery:
            delay += self._lateness_of_the_dead()
        caller = self.scheduler.process
        caller.calls += 1
        self.scheduler.spawn(
            self.services,
            f"{caller.name}/{caller.calls}",
            lambda: self._serve(serve, promise),
            delay,
            knows=f"{serve.args} {serve.keywords}"
            if self.choices.are_exhaustive
            else (),
        )
        if fault is Fault.KILLED_DURING:
            self.scheduler.kill(self.scheduler.process)
        if fault is Fault.LATE:
            if pause:
                self.scheduler.sleep(pause)
            raise self._error(fault)
        if not self.scheduler.wait(promise, self.patience):
            self.history.answered(operation, Fault.LATE)
            raise self._error(Fault.LATE)
        return promise.value

    def _lateness_of_the_dead(self) -> float:
        """Return 0, or the time until somebody else tries the same."""
        if self.choices.chance(0.5):
            return 0.0
        early, late = AROUND_REDELIVERY
        return self.choices.duration(self.redelivery - early, self.redelivery + late)

    def _serve(self, serve: Callable[[], Any], promise: Promise) -> None:
        try:
            answer: Any = serve()
        except ServiceError as error:
            answer = error
        back = self.latency.sample(self.choices)
        if back:
            self.scheduler.sleep(back)
        self.scheduler.keep(promise, answer)

    def _error(self, fault: Fault) -> Exception:
        match fault:
            case Fault.REFUSED:
                return botocore.exceptions.EndpointConnectionError(
                    endpoint_url=ENDPOINT
                )
            case Fault.THROTTLED:
                return ServiceError("ThrottlingException")
            case Fault.FAILED_BEFORE | Fault.FAILED_AFTER:
                status = HTTPStatus.INTERNAL_SERVER_ERROR
                return ServiceError("InternalServerError", status=status)
            case Fault.GARBLED:
                return botocore.parsers.ResponseParserError("invalid XML")
            case Fault.LOST:
                return botocore.exceptions.ConnectionClosedError(endpoint_url=ENDPOINT)
            case _:
                return botocore.exceptions.ReadTimeoutError(endpoint_url=ENDPOINT)


_NOT_DONE: Final = {Fault.REFUSED, Fault.THROTTLED, Fault.FAILED_BEFORE}
_DONE_UNSEEN: Final = {Fault.FAILED_AFTER, Fault.LOST, Fault.GARBLED}


def _is_retried(error: ServiceError) -> bool:
    """Tell what botocore's standard mode tries again."""
    return error.code in RETRIED_CODES or error.status in RETRIED_STATUSES
