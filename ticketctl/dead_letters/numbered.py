"""Finds dead letters whose requests have a number.

SQS moves a message after ten deliveries, whatever failed. If announcing failed, the
number is committed, and only the same request can get it announced: as a replay.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ticket_numbering.dynamodb_items import key_id
from ticket_numbering.messages import RequestKey
from ticketctl.cli.errors import InputError
from ticketctl.cli.output import notes
from ticketctl.dead_letters.dead_letter import DeadLetter
from ticketctl.system.items import is_request_key
from ticketctl.system.stack import System

_MAX_KEYS: Final = 100  # BatchGetItem API.


def refuse_numbered(stack: System, letters: Sequence[DeadLetter]) -> None:
    """Refuse dead letters that have a number.

    One with an `ErrorType` has none: the worker did not number it.

    Raises:
        InputError: Some have a number; each one is named.
    """
    moved = [letter for letter in letters if letter.error_type is None]
    ids = {letter.message_id: id_ for letter in moved if (id_ := _record_id(letter))}
    numbers = _numbers(stack, set(ids.values()))
    numbered = [letter for letter in moved if ids.get(letter.message_id) in numbers]
    for letter in numbered:
        ticket_key = f"{letter.project_id}-{numbers[ids[letter.message_id]]}"
        notes().print(f"{letter.message_id}: has {ticket_key}, perhaps not announced")
    if numbered:
        raise InputError(
            "nothing was done: a number may lack its announcement, which "
            "`ticketctl dead-letters redrive` makes up for (--force goes on without)"
        )


def _record_id(letter: DeadLetter) -> str | None:
    project_id, key = letter.project_id or "", letter.idempotency_key or ""
    if is_request_key(project_id, key):
        return key_id(RequestKey(project_id, key))
    return None


def _numbers(stack: System, ids: Iterable[str]) -> Mapping[str, str]:
    """Return the numbers of the requests that have one, by the record's id."""
    dynamodb = stack.client("dynamodb")
    table = stack.outputs["IdempotencyKeysTableName"]
    keys: list[dict[str, Any]] = [{"id": {"S": id_}} for id_ in ids]
    numbers = {}
    while keys:
        request = {"Keys": keys[:_MAX_KEYS], "ConsistentRead": True}
        answer = dynamodb.batch_get_item(RequestItems={table: request})
        for item in answer["Responses"][table]:
            # Whatever a record lacks, its key is taken.
            numbers[item["id"]["S"]] = item.get("number", {}).get("N", "?")
        unprocessed = answer.get("UnprocessedKeys", {}).get(table, {})
        keys = [*unprocessed.get("Keys", []), *keys[_MAX_KEYS:]]
    return numbers
