"""Faults of the worker's calls, their odds, and the services' words for them."""

import json
import random
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

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
_IN_PART: Final[Cards] = {Fault.PARTIAL: 6, Fault.GARBLED: 1}

DECKS: Final[Mapping[str, tuple[int, Cards]]] = {
    QUERY: (300, _usual(4) | _CUT),
    LOOKUP: (30, _usual(1) | _IN_PART),
    WRITE: (320, _usual(5) | _AFTERWARDS | _CANCELLED | _CUT | _DURING),
    PUBLISH: (100, _usual(2) | _AFTERWARDS | _IN_PART),
    DEAD_LETTER: (50, _usual(1) | _AFTERWARDS | _IN_PART),
}
"""The cards of each operation's deck, and how many of them are which fault."""

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
        return _xml(error.status, f"<Error><Code>{error.code}</Code></Error>")
    content = json.dumps({"__type": f"aws#{error.code}"} | error.members)
    return Answer(error.status, content.encode())


def _xml(status: int, content: str) -> Answer:
    return Answer(status, f"<Response>{content}</Response>".encode(), "text/xml")


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
    if effect is Effect.PARTLY:
        return apply_in_part(call, apply)
    answer = apply(call.body)
    if kills and effect is Effect.AFTER:
        kill()
    is_answered = effect is Effect.NONE or fault is Fault.GARBLED
    return answer if is_answered else worded(call, fault)


def apply_in_part(call: Call, apply: Apply) -> Answer:
    """Withhold one or more entries from the emulator, and report them as AWS does."""
    parts = {PUBLISH: _publish_in_part, DEAD_LETTER: _send_in_part}
    return parts.get(call.operation, _look_up_in_part)(call, apply)


def _split(call: Call, entries: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return the entries to pass on and those to withhold; all can be withheld."""
    withheld = call.dice.sample(entries, call.dice.randint(1, len(entries)))
    return [entry for entry in entries if entry not in withheld], withheld


def _look_up_in_part(call: Call, apply: Apply) -> Answer:
    [(table, wanted)] = json.loads(call.body)["RequestItems"].items()
    passed, withheld = _split(call, wanted["Keys"])
    found: dict[str, Any] = {"Responses": {}}
    if passed:
        request = {"RequestItems": {table: wanted | {"Keys": passed}}}
        found = json.loads(apply(json.dumps(request).encode()).content)
    unprocessed = {"UnprocessedKeys": {table: wanted | {"Keys": withheld}}}
    return Answer(HTTPStatus.OK, json.dumps(found | unprocessed).encode())


def _send_in_part(call: Call, apply: Apply) -> Answer:
    request = json.loads(call.body)
    passed, withheld = _split(call, request["Entries"])
    sent: dict[str, Any] = {"Successful": []}
    if passed:
        body = json.dumps(request | {"Entries": passed})
        sent = json.loads(apply(body.encode()).content)
    failed = [
        {"Id": entry["Id"], "Code": "InternalError", "SenderFault": False}
        for entry in withheld
    ]
    return Answer(HTTPStatus.OK, json.dumps(sent | {"Failed": failed}).encode())


def _publish_in_part(call: Call, apply: Apply) -> Answer:
    prefix = "PublishBatchRequestEntries.member."
    form, entries = {}, defaultdict[str, dict[str, str]](dict)
    for name, value in parse_qsl(call.body.decode(), keep_blank_values=True):
        position, _, member = name.removeprefix(prefix).partition(".")
        if name.startswith(prefix):
            entries[position][member] = value
        else:
            form[name] = value
    passed, withheld = _split(call, [*entries.values()])
    for place, entry in enumerate(passed, 1):
        form |= {f"{prefix}{place}.{name}": entry[name] for name in entry}
    if passed:
        apply(urlencode(form).encode())
    sent = "".join(f"<member><Id>{entry['Id']}</Id></member>" for entry in passed)
    failed = "".join(
        f"<member><Id>{entry['Id']}</Id><Code>InternalError</Code></member>"
        for entry in withheld
    )
    result = f"<Successful>{sent}</Successful><Failed>{failed}</Failed>"
    return _xml(HTTPStatus.OK, f"<PublishBatchResult>{result}</PublishBatchResult>")
