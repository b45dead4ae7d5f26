"""Replaces the body of a dead letter by a valid one."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TextIO
from uuid import uuid4

import click

from ticket_numbering.contract.errors import PoisonMessageError
from ticket_numbering.contract.messages import CreateTicket
from ticketctl.aws.allowed_projects import allowed_projects, project_problem
from ticketctl.aws.request_fields import body_of, exact_fields
from ticketctl.aws.stack import System
from ticketctl.cli.errors import InputError
from ticketctl.cli.output import console, remark, visible
from ticketctl.cli.prompts import is_interactive
from ticketctl.dead_letters.dead_letter import DeadLetter
from ticketctl.dead_letters.numbered import refuse_numbered
from ticketctl.dead_letters.redrive import resend
from ticketctl.dead_letters.selection import Selection, select
from ticketctl.dead_letters.views import laid_out


def edit_dead_letter(
    stack: System, message_id: str, file: TextIO | None, *, new_key: bool
) -> None:
    """Send an edited body in place of a dead letter.

    The body is a file's, or has a new key, or both; else an editor opens.

    Raises:
        InputError: It has a number, the new body is unchanged, or the worker would
            refuse it.
        CloudError: The dead letter is gone, or could not be sent or deleted.
    """
    [dead_letter] = select(stack, Selection([message_id]))
    allowed = allowed_projects(stack)
    refuse_numbered(stack, [dead_letter])
    given = _text(file) if file else dead_letter.body if new_key else None
    text = _edited(laid_out(dead_letter.body)) if given is None else nullcontext(given)
    with text as new_text:
        body = _new_body(new_text, dead_letter, allowed, new_key=new_key)
        resend(stack, [replace(dead_letter, body=body)])
    key = CreateTicket.parse(body).idempotency_key
    console().print(f"sent with the idempotency key {key}", markup=False)


@contextmanager
def _edited(text: str) -> Iterator[str]:
    """Let a person edit a text; if the block fails, a changed one is kept in a file."""
    if not (os.environ.get("VISUAL") or os.environ.get("EDITOR") or is_interactive()):
        raise InputError("no terminal to edit at; give the new body with --body")
    with NamedTemporaryFile(
        "w", suffix=".json", encoding="utf-8", delete=False
    ) as file:
        file.write(text)
    path = Path(file.name)
    try:
        _run_editor(path)
        with path.open(encoding="utf-8") as changed:
            new_text = _text(changed)
        yield new_text
    except BaseException:
        if path.read_bytes() == text.encode():
            path.unlink()
        else:
            remark(f"your text is kept in {path}")
        raise
    path.unlink()


def _run_editor(path: Path) -> None:
    try:
        click.edit(filename=str(path))
    except (click.ClickException, ValueError) as error:
        raise InputError(f"{error}; set EDITOR, or use --body") from error


def _new_body(
    text: str, dead_letter: DeadLetter, allowed: re.Pattern[str], *, new_key: bool
) -> str:
    fields = exact_fields(text)
    if new_key and fields:
        fields = fields | {"idempotency_key": str(uuid4())}
    body = text if fields is None else body_of(fields)
    try:
        request = CreateTicket.parse(body)
    except PoisonMessageError as error:
        raise InputError(f"nothing was sent: {visible(str(error))}") from error
    if problem := project_problem(request.project_id, allowed):
        raise InputError(f"nothing was sent: {problem}")
    if fields == exact_fields(dead_letter.body):
        raise InputError("the body is unchanged; nothing was sent")
    return body


def _text(file: TextIO) -> str:
    try:
        return file.read()
    except UnicodeDecodeError as error:
        raise InputError("the new body is not UTF-8; nothing was sent") from error
