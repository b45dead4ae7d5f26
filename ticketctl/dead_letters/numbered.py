"""Finds dead letters whose requests have a number.

SQS moves a message after `MaxReceiveCount` failed deliveries. If announcing failed, the
number is committed, and only the same request can get it announced: as a replay.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ticket_numbering.contract.dynamodb_items import (
    FINGERPRINT,
    NUMBER,
)
from ticket_numbering.contract.errors import PoisonMessageError
from ticket_numbering.contract.messages import CreateTicket, RequestKey
from ticketctl.aws.items import is_request_key, plain
from ticketctl.aws.stack import System
from ticketctl.aws.tickets import records_of
from ticketctl.cli.errors import InputError
from ticketctl.cli.output import remark
from ticketctl.dead_letters.dead_letter import DeadLetter


def refuse_numbered(stack: System, dead_letters: Sequence[DeadLetter]) -> None:
    """Refuse dead letters if some have a number, and print those."""
    keys = {one.message_id: key for one in dead_letters if (key := _key(one))}
    records = records_of(stack, keys.values())
    numbered = [
        (dead_letter, record)
        for dead_letter in dead_letters
        if (key := keys.get(dead_letter.message_id))
        and (record := plain(records.get(key, {})))
        and _is_numbered(dead_letter, record)
    ]
    for dead_letter, record in numbered:
        remark(
            f"{dead_letter.message_id}: has {dead_letter.project_id}-"
            f"{record.get(NUMBER, '?')}, perhaps not announced"
        )
    if numbered:
        raise InputError(
            "nothing was done: a number may lack its announcement, which "
            "`ticketctl dead-letters redrive` makes up for"
        )


def refuse_number_of(stack: System, key: RequestKey, remedy: str) -> None:
    """Refuse to send the request of a key that has a number.

    Raises:
        InputError: It has one.
    """
    if record := records_of(stack, [key]).get(key):
        raise InputError(
            f"nothing was sent: {key.idempotency_key} of {key.project_id} has the "
            f"number {key.project_id}-{plain(record).get(NUMBER, '?')}; {remedy}"
        )


def _key(dead_letter: DeadLetter) -> RequestKey | None:
    """Return the key that can be looked up; other texts may be too long for that."""
    project_id, key = dead_letter.project_id, dead_letter.idempotency_key
    if project_id and key and is_request_key(project_id, key):
        return RequestKey(project_id, key)
    return None


def _is_numbered(dead_letter: DeadLetter, record: Mapping[str, Any]) -> bool:
    """Return whether the key's number is that of this very request.

    The `ErrorType` of an earlier refusal stays with a message through a redrive, and
    it may have been numbered since. Without one, any record of its key counts.
    """
    if dead_letter.error_type is None:
        return True
    try:
        request = CreateTicket.parse(dead_letter.body)
    except PoisonMessageError:
        return False
    return request.matches(str(record.get(FINGERPRINT)))
