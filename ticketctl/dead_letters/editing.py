"""Deletes dead letters, or sends another body in place of one, unless it has a number.

SQS moves a message after `MaxReceiveCount` failed deliveries. If the announcement
failed, the number is committed, and only a replay of the same request can announce it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TextIO

from ticket_numbering.contract.dynamodb_items import FINGERPRINT, NUMBER
from ticket_numbering.contract.errors import PoisonMessageError
from ticket_numbering.contract.limits import Limits
from ticket_numbering.contract.messages import CreateTicket, RequestKey
from ticketctl.aws.items import plain
from ticketctl.aws.request_fields import exact_fields, read_fields
from ticketctl.aws.stack import StackAccess, limits_of
from ticketctl.aws.tickets import records_of
from ticketctl.cli.errors import InputError
from ticketctl.cli.output import (
    console,
    counted,
    json_line,
    print_json_line,
    print_note,
    sanitized,
    stderr_console,
)
from ticketctl.cli.prompts import confirm
from ticketctl.dead_letters.dead_letter import DeadLetter
from ticketctl.dead_letters.dead_letter_queue import delete_dead_letters
from ticketctl.dead_letters.redrive import outlives_its_key, resend
from ticketctl.dead_letters.selection import Selection, select
from ticketctl.dead_letters.views import print_table
from ticketctl.files.whole_file import whole_file

_SHOWN: Final = 20


def delete_selected(
    stack: StackAccess,
    selection: Selection,
    save: Path | None,
    *,
    skip_numbered: bool,
    yes: bool,
) -> None:
    """Delete the selected dead letters, after a confirmation and a copy.

    Raises:
        InputError: Some have a number and are not skipped, or cannot be saved.
    """
    dead_letters = select(stack, selection)
    if numbered := _numbered(stack, dead_letters):
        if not skip_numbered:
            raise InputError(f"{_not_done(stack)}; --skip-numbered deletes the others")
        dead_letters = [
            dead_letter
            for dead_letter in dead_letters
            if dead_letter.message_id not in numbered
        ]
    if not dead_letters:
        console().print("nothing to delete")
        return
    if not yes:
        print_table(stderr_console(), dead_letters[:_SHOWN])
    kept = f"a copy goes to {save}" if save else "--save FILE keeps a copy"
    confirm(
        f"Delete {counted(len(dead_letters), 'dead letter')} for ever ({kept})?",
        yes=yes,
    )
    if save:
        _save_new(dead_letters, save)
    console().print(f"dead letters deleted: {delete_dead_letters(stack, dead_letters)}")


def edit_dead_letter(  # noqa: PLR0913 - one parameter for each option.
    stack: StackAccess,
    message_id: str,
    file: TextIO,
    save: Path | None,
    retention_days: int,
    *,
    yes: bool,
) -> None:
    """Send a file's body in place of a dead letter's, which is first printed or saved.

    If project or key can be read and the new ones differ, a person confirms first.

    Raises:
        InputError: The old or the new request has a number, the new body is unchanged,
            or the worker would refuse it; or it is the same request and may outlive its
            key.
        CloudError: The dead letter is gone, or could not be sent or deleted.
    """
    [dead_letter] = select(stack, Selection([message_id]))
    limits = limits_of(stack)
    if _numbered(stack, [dead_letter]):
        raise InputError(_not_done(stack))
    body, request = _read(file, limits)
    if exact_fields(body) == exact_fields(dead_letter.body):
        raise InputError("nothing was sent: the body is unchanged")
    other = _other_request(dead_letter, request.key)
    _reject_number_of(stack, request.key, dead_letter, other)
    if not other and outlives_its_key(dead_letter, retention_days):
        raise InputError("nothing was sent")
    if other:
        new = _named(*request.key)
        confirm(f"Replace the request {other} by {new}, and delete it?", yes=yes)
    if save:
        _save_new([dead_letter], save)
    else:
        print_json_line(dead_letter.as_json())
    resend(stack, [replace(dead_letter, body=body)], retention_days)
    key = request.idempotency_key
    console().print(f"sent with the idempotency key {key}", markup=False)


def _save_new(dead_letters: Sequence[DeadLetter], path: Path) -> None:
    """Write a line of JSON for each dead letter to a new file, and sync it.

    Raises:
        InputError: The file exists, or cannot be written.
    """
    try:
        with whole_file(path) as file:
            file.writelines(
                json_line(dead_letter.as_json()) for dead_letter in dead_letters
            )
    except InputError as error:
        raise InputError(f"{error}; nothing was deleted") from error


def _read(file: TextIO, limits: Limits) -> tuple[str, CreateTicket]:
    try:
        body = file.read()
        request = CreateTicket.parse(body)
    except UnicodeDecodeError as error:
        remedy = "; for a file of PowerShell: iconv -f utf-16 -t utf-8"
        raise InputError(f"nothing was sent: the body is not UTF-8{remedy}") from error
    except PoisonMessageError as error:
        raise InputError(f"nothing was sent: {sanitized(str(error))}") from error
    if refusal := limits.refusal(request):
        raise InputError(f"nothing was sent: {refusal}")
    return body, request


def _other_request(dead_letter: DeadLetter, new: RequestKey) -> str | None:
    """Return a dead letter's request as text, unless it equals the new one."""
    fields = read_fields(dead_letter.body)
    old = [fields.get(name) for name in new._fields]
    is_same = all(was is None or was == now for was, now in zip(old, new, strict=True))
    return None if is_same else _named(*old)


def _named(project_id: object, key: object) -> str:
    return sanitized(f"{key or '-'} of {project_id or '-'}")


def _numbered(stack: StackAccess, dead_letters: Sequence[DeadLetter]) -> set[str]:
    """Print the dead letters that have a number, and return their message ids."""
    keys = [CreateTicket.key_of(dead_letter.body) for dead_letter in dead_letters]
    records = records_of(stack, filter(None, keys))
    numbered = [
        (dead_letter, record)
        for dead_letter, key in zip(dead_letters, keys, strict=True)
        if key in records and _is_numbered(dead_letter, record := plain(records[key]))
    ]
    for dead_letter, record in numbered:
        print_note(
            f"{dead_letter.message_id}: has {dead_letter.project_id}-"
            f"{record.get(NUMBER, '?')}, perhaps not announced"
        )
    return {dead_letter.message_id for dead_letter, _ in numbered}


def _reject_number_of(
    stack: StackAccess, key: RequestKey, dead_letter: DeadLetter, other: str | None
) -> None:
    """Reject a new body whose key has a number.

    Raises:
        InputError: The key has a number.
    """
    if record := records_of(stack, [key]).get(key):
        remedy = (
            f"the dead letter is the request {other}"
            if other
            else "give another ticket another key, or if none is wanted: "
            f"{stack.program} dead-letters delete {dead_letter.message_id}"
        )
        raise InputError(
            f"nothing was sent: {key.idempotency_key} of {key.project_id} has the "
            f"number {key.project_id}-{plain(record).get(NUMBER, '?')}; {remedy}"
        )


def _not_done(stack: StackAccess) -> str:
    return (
        "nothing was done: a number may lack its announcement, which "
        f"`{stack.program} dead-letters redrive` makes up for"
    )


def _is_numbered(dead_letter: DeadLetter, record: Mapping[str, Any]) -> bool:
    """Return whether the key's number belongs to this request.

    A redrive keeps the `ErrorType` of an earlier refusal, and the request may have been
    numbered since. Without an `ErrorType` any record of the key counts.
    """
    if dead_letter.error_type is None:
        return True
    try:
        request = CreateTicket.parse(dead_letter.body)
    except PoisonMessageError:
        return False
    return request.matches(str(record.get(FINGERPRINT)))
