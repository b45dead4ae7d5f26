"""The faults of calls: their effects, errors and odds."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cache, partial
from typing import Final

from botocore.exceptions import (
    ConnectionClosedError,
    EndpointConnectionError,
    ReadTimeoutError,
)
from botocore.parsers import ResponseParserError

from simulation.aws.errors import ServiceError, internal_error

SERVICES: Final[Mapping[str, Collection[str]]] = {
    "DynamoDB": {
        "query",
        "get_item",
        "batch_get_item",
        "put_item",
        "update_item",
        "delete_item",
        "transact_get_items",
        "transact_write_items",
    },
    "SNS": {"publish_batch"},
    "SQS": {"send_message_batch", "delete"},
}
"""The calls that a service answers; SQS answers Lambda's deletions, too."""

CALLS_OF_OTHERS: Final = {"receive", "delete", "send_message"}
"""The calls that Lambda and the producers make."""

BATCHES: Final = ("publish_batch", "send_message_batch", "batch_get_item")
"""The worker's calls that can fail in part."""

ENDPOINT: Final = "https://simulated"

_timeout: Final = partial(ReadTimeoutError, endpoint_url=ENDPOINT)


class Effect(Enum):
    """The point at which a fault ends a call."""

    NONE = auto()
    """It does not: Lambda or a producer does something else."""
    PARTLY = auto()
    """It does not: the service does a part of a batch, and answers 200."""
    BEFORE = auto()
    """The service does not receive the call."""
    DURING = auto()
    """The service executes the call after its caller has stopped waiting."""
    AFTER = auto()
    """The service executes the call, and its answer is lost."""


@dataclass(frozen=True)
class Kind:
    """A kind of fault."""

    text: str
    effect: Effect = Effect.NONE
    error: Callable[[], Exception] | None = field(default=None, compare=False)
    """Makes the caller's error; an end of the call without one kills the caller."""
    calls: Collection[str] = ()
    """The calls that can have it; if empty, every call of the worker."""
    odds: int = 1
    """Its weight among the faults of a call."""
    in_outages: bool = False

    @property
    def kills(self) -> bool:
        """Whether the caller is killed."""
        return self.error is None and self.effect not in {Effect.NONE, Effect.PARTLY}

    @property
    def times_out(self) -> bool:
        """Whether the caller waits as long as its timeout."""
        return self.error is _timeout


def _rejected(code: str, text: str, odds: int = 0) -> Kind:
    error = partial(ServiceError, code)
    return Kind(text, Effect.BEFORE, error, odds=odds, in_outages=True)


class Fault(Enum):
    """A fault of a call; a history's draws depend on the order of the members."""

    HUNG = Kind(
        "it was never answered, and nothing was done",
        Effect.BEFORE,
        _timeout,
        odds=0,
        in_outages=True,
    )
    REFUSED = Kind(
        "the connection was refused",
        Effect.BEFORE,
        partial(EndpointConnectionError, endpoint_url=ENDPOINT),
        in_outages=True,
    )
    THROTTLED = _rejected("ThrottlingException", "throttled", odds=1)
    FAILED_BEFORE = Kind(
        "answered 500, and nothing was done",
        Effect.BEFORE,
        internal_error,
        in_outages=True,
    )
    DENIED = _rejected("AccessDeniedException", "AWS rejected it for a missing right")
    MISSING = _rejected(
        "ResourceNotFoundException", "AWS rejected it for a missing resource"
    )
    KEY_DISABLED = _rejected(
        "KMS.DisabledException", "AWS rejected it for a disabled encryption key"
    )
    UNFORESEEN = _rejected(
        "SomethingNewException", "AWS rejected it with an unknown code", odds=1
    )
    FAILED_AFTER = Kind("answered 500, but it was done", Effect.AFTER, internal_error)
    LOST = Kind(
        "the answer was lost",
        Effect.AFTER,
        partial(ConnectionClosedError, endpoint_url=ENDPOINT),
    )
    GARBLED = Kind(
        "the answer was no answer of the service",
        Effect.AFTER,
        partial(ResponseParserError, "invalid XML"),
    )
    LATE = Kind("it was done after the caller had given up", Effect.DURING, _timeout)
    KILLED_BEFORE = Kind("the caller was killed before the call", Effect.BEFORE)
    KILLED_DURING = Kind("the caller was killed while it waited", Effect.DURING)
    KILLED_AFTER = Kind("the caller was killed before it saw the answer", Effect.AFTER)
    # A batch fails in part as often as in the other ways that lose nothing.
    PARTIAL = Kind(
        "some entries failed in an answer of 200", Effect.PARTLY, calls=BATCHES, odds=3
    )
    DUPLICATED = Kind(
        "a message was delivered while it was being worked on", calls=("receive",)
    )
    NOT_DELETED = Kind(
        "Lambda failed to delete a message that was done", calls=("delete",)
    )
    SENT_TWICE = Kind("a producer sent a message again", calls=("send_message",))


FAULTS_OF_AN_OUTAGE: Final = [fault for fault in Fault if fault.value.in_outages]


@cache
def possible(call: str) -> Sequence[Fault]:
    """Return the faults that a call can have, each as often as its odds."""
    is_workers = call not in CALLS_OF_OTHERS
    return [
        fault
        for fault in Fault
        for _ in range(fault.value.odds)
        if call in fault.value.calls or (is_workers and not fault.value.calls)
    ]
