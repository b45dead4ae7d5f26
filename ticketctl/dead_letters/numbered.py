"""Finds dead letters whose requests have a number.

SQS moves a message after ten deliveries, whatever failed. If announcing failed, the
number is committed, and only the same request can get it announced: as a replay.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ticket_numbering.dynamodb_items import key_id
from ticket_numbering.errors import PoisonMessageError
from ticket_numbering.messages import CreateTicket, RequestKey
from ticketctl.audit.table_reader import TableReader
from ticketctl.cli.errors import InputError
from ticketctl.cli.output import notes
from ticketctl.dead_letters.dead_letter import DeadLetter
from ticketctl.system.items import KEY_ATTRIBUTES, is_request_key
from ticketctl.system.stack import System


def refuse_numbered(stack: System, dead_letters: Sequence[DeadLetter]) -> None:
    """Refuse dead letters that have a number.

    Raises:
        InputError: Some have a number; they are named.
    """
    ids = {
        dead_letter.message_id: key_id(RequestKey(project_id, key))
        for dead_letter in dead_letters
        if (project_id := dead_letter.project_id)
        and (key := dead_letter.idempotency_key)
        and is_request_key(project_id, key)
    }
    keys = [{"id": {"S": id_}} for id_ in {*ids.values()}]
    table = stack.outputs["IdempotencyKeysTableName"]
    found = TableReader(stack.client("dynamodb")).items(table, keys, KEY_ATTRIBUTES)
    records = {record["id"]["S"]: record for record in found}
    is_refused = False
    for dead_letter in dead_letters:
        record = records.get(ids.get(dead_letter.message_id, ""))
        if record and _is_numbered(dead_letter, record):
            is_refused = True
            number = record.get("number", {}).get("N", "?")
            notes().print(
                f"{dead_letter.message_id}: has {dead_letter.project_id}-{number}, "
                "perhaps not announced"
            )
    if is_refused:
        raise InputError(
            "nothing was done: a number may lack its announcement, which "
            "`ticketctl dead-letters redrive` makes up for"
        )


def _is_numbered(dead_letter: DeadLetter, record: Mapping[str, Any]) -> bool:
    """Return whether the key's number is that of this very request.

    The `ErrorType` of an earlier refusal stays with a message through a redrive, and
    it may have been numbered since. Without one, its key is taken whatever it records.
    """
    if dead_letter.error_type is None:
        return True
    try:
        request = CreateTicket.parse(dead_letter.body)
    except PoisonMessageError:
        return False
    return request.matches(record.get("fingerprint", {}).get("S", ""))
