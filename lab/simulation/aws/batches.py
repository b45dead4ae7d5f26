"""The common rules of the batch calls of SNS and SQS."""

import re
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from simulation.aws.errors import ServiceError
from simulation.engine.choices import Choices

MAX_ENTRIES: Final = 10
UNAVAILABLE: Final = HTTPStatus.INTERNAL_SERVER_ERROR
ENTRY_ID: Final = re.compile("[A-Za-z0-9_-]{1,80}")


def entries_of(
    prefix: str, entries: Sequence[Mapping[str, Any]], max_bytes: int, body: str
) -> Sequence[Mapping[str, Any]]:
    """Return the entries of a batch call.

    Raises:
        ServiceError: The whole call is rejected.
    """
    if not entries:
        raise ServiceError(f"{prefix}EmptyBatchRequest")
    if len(entries) > MAX_ENTRIES:
        raise ServiceError(f"{prefix}TooManyEntriesInBatchRequest")
    if len({entry["Id"] for entry in entries}) < len(entries):
        raise ServiceError(f"{prefix}BatchEntryIdsNotDistinct")
    if not all(ENTRY_ID.fullmatch(entry["Id"]) for entry in entries):
        raise ServiceError(f"{prefix}InvalidBatchEntryId")
    if sum(size_of(entry, body) for entry in entries) > max_bytes:
        raise ServiceError(f"{prefix}BatchRequestTooLong")
    return entries


def size_of(entry: Mapping[str, Any], body: str) -> int:
    """Return the bytes of the body and of the attributes."""
    size = _length(entry.get(body, ""))
    for name, attribute in entry.get("MessageAttributes", {}).items():
        size += _length(name) + sum(_length(part) for part in attribute.values())
    return size


def take(
    entries: Sequence[Mapping[str, Any]],
    accept: Callable[[Mapping[str, Any]], Mapping[str, Any]],
    choices: Choices,
    *,
    partly: bool,
) -> dict[str, Any]:
    """Answer 200 with the entries that were accepted and those that failed.

    With `partly` an entry fails without a fault of its own.
    """
    answer: dict[str, list[dict[str, Any]]] = {"Successful": [], "Failed": []}
    unlucky = choices.pick(len(entries)) if partly else None
    for position, entry in enumerate(entries):
        fails = position == unlucky or (partly and choices.chance(0.5))
        try:
            done = _attempt(accept, entry, choices, fails=fails)
        except ServiceError as error:
            sender_fault = error.status < UNAVAILABLE
            failure = {"Code": error.code, "SenderFault": sender_fault}
            if error.message:
                failure["Message"] = error.message
            answer["Failed"].append({"Id": entry["Id"], **failure})
        else:
            answer["Successful"].append({"Id": entry["Id"], **done})
    return answer


def _attempt(
    accept: Callable[[Mapping[str, Any]], Mapping[str, Any]],
    entry: Mapping[str, Any],
    choices: Choices,
    *,
    fails: bool,
) -> Mapping[str, Any]:
    if not fails:
        return accept(entry)
    if choices.chance(0.2):
        accept(entry)  # Reported as failed all the same.
    raise ServiceError("InternalError", status=UNAVAILABLE)


def _length(value: str | bytes) -> int:
    if isinstance(value, bytes):
        return len(value)
    return len(value.encode(errors="surrogatepass"))
