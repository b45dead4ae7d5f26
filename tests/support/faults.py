"""Faults of the worker's calls, their odds, and the services' words for them."""

import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Final

from simulation.aws.errors import ServiceError
from simulation.aws.faults import Effect, Fault, Kind
from tests.support.proxy import Answer
from ticket_numbering.function.bootstrap import CLIENT_CONFIG

QUERY: Final = "Query"
LOOKUP: Final = "BatchGetItem"
WRITE: Final = "TransactWriteItems"
PUBLISH: Final = "PublishBatch"
DEAD_LETTER: Final = "SendMessageBatch"


CANCELLED_CODE: Final = "TransactionCanceledException"


def _refused(code: str, text: str) -> Kind:
    return Kind(text, Effect.BEFORE, partial(ServiceError, code))


class Modelled(Enum):
    """A fault of a call that the laboratory's model of AWS makes by itself."""

    CONFLICT = _refused(CANCELLED_CODE, "another transaction held an item")
    CANCELLED = _refused(CANCELLED_CODE, "cancelled, because an item was throttled")
    IN_PROGRESS = _refused(
        "TransactionInProgressException", "a transaction with its token was in progress"
    )
    SLOW = Kind("it took long")


Met = Fault | Modelled
Cards = dict[Met, int]


def _usual(times: int) -> Cards:
    """Return the faults that any call can meet; those that cost seconds only once."""
    quick = (Fault.REFUSED, Fault.LOST, Fault.FAILED_BEFORE, Fault.THROTTLED)
    slow = (Modelled.SLOW, Fault.LATE, Fault.KILLED_BEFORE)
    return {**dict.fromkeys(quick, times), **dict.fromkeys(slow, 1)}


_CANCELLED: Final[Cards] = {
    Modelled.CONFLICT: 20,
    Modelled.CANCELLED: 8,
    Modelled.IN_PROGRESS: 8,
}
_DURING: Final[Cards] = {Fault.KILLED_DURING: 1}
_AFTERWARDS: Final[Cards] = {Fault.FAILED_AFTER: 2, Fault.KILLED_AFTER: 1}
_CUT: Final[Cards] = {Fault.GARBLED: 2}

DECKS: Final[Mapping[str, tuple[int, Cards]]] = {
    QUERY: (300, _usual(4) | _CUT),
    LOOKUP: (30, _usual(1) | _CUT),
    WRITE: (320, _usual(5) | _AFTERWARDS | _CANCELLED | _CUT | _DURING),
    PUBLISH: (100, _usual(2) | _AFTERWARDS | _CUT),
    DEAD_LETTER: (50, _usual(1) | _AFTERWARDS | _CUT),
}
"""The cards of each operation's deck, and how many of them are which fault.

Batches that fail in part are for the histories: no process and no time is in it.
"""

STUBBORN: Final = 0.5
"""Share of faults that fail the SDK's own retry too, so that the worker sees them."""

_READ_TIMEOUT: Final = CLIENT_CONFIG["read_timeout"]
PAUSES: Final = {
    Modelled.SLOW: (0.1, 1.0),
    Fault.LATE: (_READ_TIMEOUT, 2 * _READ_TIMEOUT),
    Fault.KILLED_DURING: (0.0, 2 * _READ_TIMEOUT),
}
"""Least and most seconds before such a call is applied; most pauses are short."""


@dataclass(frozen=True)
class Call:
    """A request of the worker."""

    operation: str
    headers: Mapping[str, str]
    body: bytes
    dice: random.Random
    """The call's own source of chance."""


Apply = Callable[[bytes], Answer]


def worded(call: Call, fault: Met) -> Answer | None:
    """Word the caller's error as the called service does, if that answers at all."""
    make = fault.value.error
    error = make() if make else None
    if not isinstance(error, ServiceError):
        return None
    if fault in VARIED:
        error = VARIED[fault](call)
    if call.operation == PUBLISH:
        text = f"<Response><Error><Code>{error.code}</Code></Error></Response>"
        return Answer(error.status, text.encode(), "text/xml")
    content = json.dumps({"__type": f"aws#{error.code}"} | error.members)
    return Answer(error.status, content.encode())


def _throttled(call: Call) -> ServiceError:
    codes = {
        PUBLISH: ("Throttling",),
        DEAD_LETTER: ("RequestThrottled", "ThrottlingException"),
    }
    usual = ("ProvisionedThroughputExceededException", "ThrottlingException")
    return ServiceError(call.dice.choice(codes.get(call.operation, usual)))


def _cancelled(codes: Sequence[str], call: Call) -> ServiceError:
    """Give one or more actions a reason, and the others none."""
    actions = len(json.loads(call.body)["TransactItems"])
    guilty = call.dice.sample(range(actions), call.dice.randint(1, actions))
    reasons = [{"Code": "None"} for _ in range(actions)]
    for position in guilty:
        reasons[position] = {"Code": call.dice.choice(codes), "Message": "Injected"}
    return ServiceError(CANCELLED_CODE, CancellationReasons=reasons)


VARIED: Final[Mapping[Met, Callable[[Call], ServiceError]]] = {
    Fault.THROTTLED: _throttled,
    Modelled.CONFLICT: partial(_cancelled, ["TransactionConflict"]),
    Modelled.CANCELLED: partial(
        _cancelled, ["ThrottlingError", "ProvisionedThroughputExceeded"]
    ),
}
"""Errors with one of several codes, or with reasons."""


def treated(
    call: Call,
    fault: Met,
    apply: Apply,
    kill: Callable[[], None],
    sleep: Callable[[float], None] = time.sleep,
) -> Answer | None:
    """Let a call meet a fault; return its answer, if there is to be one."""
    effect, kills = fault.value.effect, fault.value.kills
    if kills and effect is not Effect.AFTER:
        kill()
    if fault in PAUSES:
        least, most = PAUSES[fault]
        sleep(least + (most - least) * call.dice.random() ** 3)
    if effect is Effect.BEFORE:
        return worded(call, fault)
    answer = apply(call.body)
    if kills and effect is Effect.AFTER:
        kill()
    is_answered = effect is Effect.NONE or fault is Fault.GARBLED
    return answer if is_answered else worded(call, fault)
