"""The rules that batch calls of SNS and SQS share."""

import re
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from simulation.aws.service import ServiceError
from simulation.engine.choices import Choices

MAX_ENTRIES: Final = 10
UNAVAILABLE: Final = HTTPStatus.INTERNAL_SERVER_ERROR
ENTRY_ID: Final = re.compile("[A-Za-z0-9_-]{1,80}")


def entries_of(
    prefix: str, entries: Sequence[Mapping[str, Any]], max_bytes: int, body: str
) -> Sequence[Mapping[str, Any]]:
    """Return the entries of a batch call.

    Raises:
        ServiceError: The call is refused as a whole.
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
    """Return the bytes that count: the body's, and all of the attributes."""
    size = _length(entry[body])
    for name, attribute in entry.get("MessageAttributes", {}).items():
        size += _length(name) + sum(_length(each) for each in attribute.values())
    return size


def take(
    entries: Sequence[Mapping[str, Any]],
    accept: Callable[[Mapping[str, Any]], str],
    choices: Choices,
    *,
    partly: bool,
) -> dict[str, Any]:
    """Accept the entries one by one, or only some of them, and say so with 200.

    Args:
        entries: What is asked for.
        accept: Returns the new message's id, or raises why the entry is refused.
        choices: Decide what fails.
        partly: Whether something fails that is nobody's fault.
    """
    answer: dict[str, list[dict[str, Any]]] = {"Successful": [], "Failed": []}
    unlucky = choices.pick(len(entries)) if partly else None
    for position, entry in enumerate(entries):
        fails = position == unlucky or (partly and choices.chance(0.5))
        try:
            message_id = _attempt(accept, entry, choices, fails=fails)
        except ServiceError as error:
            answer["Failed"].append(_failure(entry, error))
        else:
            answer["Successful"].append({"Id": entry["Id"], "MessageId": message_id})
    return answer


def _attempt(
    accept: Callable[[Mapping[str, Any]], str],
    entry: Mapping[str, Any],
    choices: Choices,
    *,
    fails: bool,
) -> str:
    if not fails:
        return accept(entry)
    if choices.chance(0.2):
        accept(entry)  # It failed only as far as anybody knows.
    raise ServiceError("InternalError", status=UNAVAILABLE)


def _failure(entry: Mapping[str, Any], error: ServiceError) -> dict[str, Any]:
    is_sender_s = error.status < UNAVAILABLE
    return {"Id": entry["Id"], "Code": error.code, "SenderFault": is_sender_s}


def _length(value: str | bytes) -> int:
    if isinstance(value, bytes):
        return len(value)
    return len(value.encode(errors="surrogatepass"))
