"""Replaces the body of a dead letter by a valid one."""

from dataclasses import replace
from typing import TextIO

from ticket_numbering.contract.errors import PoisonMessageError
from ticket_numbering.contract.messages import CreateTicket
from ticketctl.aws.request_fields import exact_fields
from ticketctl.aws.stack import System, limits_of
from ticketctl.cli.errors import InputError
from ticketctl.cli.output import console, visible
from ticketctl.dead_letters.numbered import refuse_numbered
from ticketctl.dead_letters.redrive import resend
from ticketctl.dead_letters.selection import Selection, select


def edit_dead_letter(stack: System, message_id: str, file: TextIO) -> None:
    """Send a file's body in place of a dead letter's.

    Raises:
        InputError: It has a number, the new body is unchanged, or the worker would
            refuse it.
        CloudError: The dead letter is gone, or could not be sent or deleted.
    """
    [dead_letter] = select(stack, Selection([message_id]))
    limits = limits_of(stack)
    refuse_numbered(stack, [dead_letter])
    try:
        body = file.read()
        request = CreateTicket.parse(body)
    except UnicodeDecodeError as error:
        raise InputError("nothing was sent: the new body is not UTF-8") from error
    except PoisonMessageError as error:
        raise InputError(f"nothing was sent: {visible(str(error))}") from error
    if refusal := limits.refusal(request):
        raise InputError(f"nothing was sent: {refusal}")
    if exact_fields(body) == exact_fields(dead_letter.body):
        raise InputError("nothing was sent: the body is unchanged")
    resend(stack, [replace(dead_letter, body=body)])
    key = request.idempotency_key
    console().print(f"sent with the idempotency key {key}", markup=False)
