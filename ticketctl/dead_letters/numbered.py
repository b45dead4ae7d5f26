"""Finds letters whose requests have numbers: their announcements may be missing.

SQS moves a message after too many deliveries, whatever failed. If announcing did, the
number is committed, and only the same request can get it announced: as a replay.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from ticketctl.audit.read_meter import ReadMeter
from ticketctl.audit.table_scan import TableReader
from ticketctl.cli.errors import InputError
from ticketctl.dead_letters.letters import Letter
from ticketctl.dead_letters.reports import name_failures
from ticketctl.system.items import IDEMPOTENCY_KEY, PROJECT_ID, key_record
from ticketctl.system.stack import System

_ATTRIBUTES: Final = ("id", "project_id", "idempotency_key", "number")


def refuse_numbered(stack: System, letters: Sequence[Letter]) -> None:
    """Refuse letters that have a number.

    A letter with an `ErrorType` has none: the worker set it aside instead.

    Raises:
        InputError: Some have; each is named.
        NotThereError: A key's record cannot be read.
    """
    moved = [letter for letter in letters if letter.error_type is None]
    ids = {letter.message_id: key for letter in moved if (key := _key_id(letter))}
    ticket_keys = _ticket_keys(stack, set(ids.values()))
    numbered = {
        message_id: f"has {ticket_keys[key]}, perhaps not announced"
        for message_id, key in ids.items()
        if key in ticket_keys
    }
    if numbered:
        name_failures(numbered)
        message = (
            "nothing is done, for what has a number may lack its announcement: "
            "`ticketctl dead-letters redrive` makes up for it (--force goes on without)"
        )
        raise InputError(message)


def _key_id(letter: Letter) -> str | None:
    project_id, key = letter.project_id or "", letter.idempotency_key or ""
    if PROJECT_ID.fullmatch(project_id) and IDEMPOTENCY_KEY.fullmatch(key):
        return f"{project_id}#{key}"
    return None


def _ticket_keys(stack: System, ids: Iterable[str]) -> dict[str, str]:
    """Return the ticket keys of the requests that have one, by the record's id."""
    reader = TableReader(stack.client("dynamodb"), ReadMeter())
    table = stack.outputs["IdempotencyKeysTableName"]
    keys = [{"id": {"S": key_id}} for key_id in ids]
    records = map(key_record, reader.items(table, keys, _ATTRIBUTES))
    return {
        f"{record.project_id}#{record.idempotency_key}": (
            f"{record.project_id}-{record.number}"
        )
        for record in records
    }
