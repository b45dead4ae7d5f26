"""Finds dead letters whose requests have a number.

SQS moves a message after ten deliveries, whatever failed. If announcing failed, the
number is committed, and only the same request can get it announced: as a replay.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ticket_numbering.dynamodb_items import key_id
from ticket_numbering.errors import PoisonMessageError
from ticket_numbering.messages import CreateTicket, RequestKey
from ticketctl.cli.errors import InputError
from ticketctl.cli.output import notes
from ticketctl.dead_letters.dead_letter import DeadLetter
from ticketctl.system.items import is_request_key
from ticketctl.system.stack import System

_MAX_KEYS: Final = 100  # BatchGetItem API.


def refuse_numbered(stack: System, letters: Sequence[DeadLetter]) -> None:
    """Refuse dead letters that have a number.

    Raises:
        InputError: Some have a number; each one is named.
    """
    ids = {letter.message_id: id_ for letter in letters if (id_ := _record_id(letter))}
    records = _records(stack, set(ids.values()))
    numbered = False
    for letter in letters:
        record = records.get(ids.get(letter.message_id, ""))
        if record and _is_numbered(letter, record):
            numbered = True
            number = record.get("number", {}).get("N", "?")
            notes().print(
                f"{letter.message_id}: has {letter.project_id}-{number}, "
                "perhaps not announced"
            )
    if numbered:
        raise InputError(
            "nothing was done: a number may lack its announcement, which "
            "`ticketctl dead-letters redrive` makes up for (--force goes on without)"
        )


def _is_numbered(letter: DeadLetter, record: Mapping[str, Any]) -> bool:
    """Tell whether the key's number is that of this very request.

    The `ErrorType` of an earlier refusal stays with a message through a redrive, and
    it may have been numbered since. Without one, its key is taken whatever it records.
    """
    if letter.error_type is None:
        return True
    try:
        request = CreateTicket.parse(letter.body)
    except PoisonMessageError:
        return False
    return request.matches(record.get("fingerprint", {}).get("S", ""))


def _record_id(letter: DeadLetter) -> str | None:
    project_id, key = letter.project_id or "", letter.idempotency_key or ""
    if is_request_key(project_id, key):
        return key_id(RequestKey(project_id, key))
    return None


def _records(stack: System, ids: Iterable[str]) -> Mapping[str, Mapping[str, Any]]:
    """Return the records of the keys that have one, by their ids."""
    dynamodb = stack.client("dynamodb")
    table = stack.outputs["IdempotencyKeysTableName"]
    keys: list[dict[str, Any]] = [{"id": {"S": id_}} for id_ in ids]
    records: dict[str, Mapping[str, Any]] = {}
    while keys:
        request = {"Keys": keys[:_MAX_KEYS], "ConsistentRead": True}
        answer = dynamodb.batch_get_item(RequestItems={table: request})
        records |= {item["id"]["S"]: item for item in answer["Responses"][table]}
        unprocessed = answer.get("UnprocessedKeys", {}).get(table, {})
        keys = [*unprocessed.get("Keys", []), *keys[_MAX_KEYS:]]
    return records
