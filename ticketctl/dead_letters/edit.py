"""Replaces the body of a dead letter by a valid one."""

from dataclasses import replace
from pathlib import Path
from typing import TextIO

from ticket_numbering.contract.errors import PoisonMessageError
from ticket_numbering.contract.limits import Limits
from ticket_numbering.contract.messages import CreateTicket, RequestKey
from ticketctl.aws.request_fields import exact_fields, read_fields
from ticketctl.aws.stack import System, limits_of
from ticketctl.cli.errors import InputError
from ticketctl.cli.output import console, print_json_line, visible
from ticketctl.cli.prompts import confirm
from ticketctl.dead_letters.dead_letter import DeadLetter
from ticketctl.dead_letters.delete import save_new
from ticketctl.dead_letters.numbered import refuse_number_of, refuse_numbered
from ticketctl.dead_letters.redrive import resend
from ticketctl.dead_letters.selection import Selection, select


def edit_dead_letter(
    stack: System, message_id: str, file: TextIO, save: Path | None, *, yes: bool
) -> None:
    """Send a file's body in place of a dead letter's, which is printed or saved first.

    A person agrees first, if project or key can be read and the new ones differ.

    Raises:
        InputError: It or the new body has a number, the new body is unchanged, or the
            worker would refuse it.
        CloudError: The dead letter is gone, or could not be sent or deleted.
    """
    [dead_letter] = select(stack, Selection([message_id]))
    limits = limits_of(stack)
    refuse_numbered(stack, [dead_letter])
    body, request = _read(file, limits)
    if exact_fields(body) == exact_fields(dead_letter.body):
        raise InputError("nothing was sent: the body is unchanged")
    other = _other_request(dead_letter, request.key)
    remedy = (
        f"the dead letter is the request {other}"
        if other
        else "give another ticket another key, or if none is wanted: "
        f"ticketctl dead-letters delete {dead_letter.message_id}"
    )
    refuse_number_of(stack, request.key, remedy)
    if other:
        new = _named(*request.key)
        confirm(f"Replace the request {other} by {new}, and delete it?", yes=yes)
    if save:
        save_new([dead_letter], save)
    else:
        print_json_line(dead_letter.as_json())
    resend(stack, [replace(dead_letter, body=body)])
    key = request.idempotency_key
    console().print(f"sent with the idempotency key {key}", markup=False)


def _read(file: TextIO, limits: Limits) -> tuple[str, CreateTicket]:
    try:
        body = file.read()
        request = CreateTicket.parse(body)
    except UnicodeDecodeError as error:
        remedy = "; iconv -f utf-16 -t utf-8 makes it of what PowerShell writes"
        raise InputError(f"nothing was sent: the body is not UTF-8{remedy}") from error
    except PoisonMessageError as error:
        raise InputError(f"nothing was sent: {visible(str(error))}") from error
    if refusal := limits.refusal(request):
        raise InputError(f"nothing was sent: {refusal}")
    return body, request


def _other_request(dead_letter: DeadLetter, new: RequestKey) -> str | None:
    """Name a dead letter's request, unless all that can be read of it is the new's."""
    fields = read_fields(dead_letter.body)
    read = tuple(fields.get(name) for name in new._fields)
    old = CreateTicket.key_of(dead_letter.body) or read
    is_same = all(was is None or was == now for was, now in zip(old, new, strict=True))
    return None if is_same else _named(*old)


def _named(project_id: object, key: object) -> str:
    return visible(f"{key or '-'} of {project_id or '-'}")
