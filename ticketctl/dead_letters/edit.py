"""Gets a new body for a dead letter, one that the worker accepts."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Final, TextIO
from uuid import uuid4

from ticket_numbering.errors import InvalidMessageError
from ticket_numbering.json_body import json_object
from ticketctl.cli.errors import InputError
from ticketctl.cli.output import notes, visible
from ticketctl.dead_letters.dead_letter import KEY_IS_TAKEN, DeadLetter
from ticketctl.dead_letters.resend import resend
from ticketctl.system.contract import body_of, problem_of
from ticketctl.system.stack import System

_KEY: Final = "idempotency_key"
_DEFAULT_EDITOR: Final = "vi"


def laid_out(body: str) -> str:
    """Return a JSON object laid out for people; any other body as it is."""
    try:
        json_object(body)
        text = json.dumps(json.loads(body), ensure_ascii=False, indent=2)
    except (InvalidMessageError, ValueError):
        return body
    # No encoding has a lone surrogate; this makes it an escape again.
    return text.encode(errors="backslashreplace").decode()


def edit_dead_letter(
    stack: System,
    letter: DeadLetter,
    file: TextIO | None,
    *,
    new_key: bool,
    force: bool,
) -> None:
    """Send an edited body in place of a dead letter.

    Args:
        stack: Whose dead letter it is.
        letter: The dead letter.
        file: Holds the new body; without it an editor is opened.
        new_key: Put in a new idempotency key, unless the text has one.
        force: Accept an unchanged body, and a key that another ticket has.

    Raises:
        InputError: The worker would refuse the new body, or it is unchanged.
        CloudError: The dead letter is gone, or could not be sent or deleted.
    """
    with nullcontext(_text(file)) if file else edited(laid_out(letter.body)) as text:
        body = new_body(text, letter, new_key=new_key, force=force)
        resend(stack, [replace(letter, body=body)])


@contextmanager
def edited(text: str) -> Iterator[str]:
    """Let a person edit a text; if the block fails, the text is kept in a file.

    Raises:
        InputError: There is no editor, or it failed.
    """
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not command and not sys.stdin.isatty():
        raise InputError("no terminal to edit at; give the new body with --body")
    with NamedTemporaryFile(
        "w", suffix=".json", encoding="utf-8", delete=False
    ) as file:
        file.write(text)
    path = Path(file.name)
    try:
        _run_editor(command or _DEFAULT_EDITOR, path)
        with path.open(encoding="utf-8") as changed:
            new_text = _text(changed)
        yield new_text
    except BaseException:
        notes().print(f"your text is kept in {path}", markup=False)
        raise
    path.unlink()


def new_body(text: str, letter: DeadLetter, *, new_key: bool, force: bool) -> str:
    """Return the body that an edited text stands for.

    Args:
        text: What a person wrote.
        letter: The dead letter that it replaces.
        new_key: Put in a new idempotency key, unless the text has one.
        force: Accept an unchanged body, and a key that another ticket has.

    Raises:
        InputError: The worker would refuse it, or it is unchanged.
    """
    fields = _fields(text)
    if new_key and fields and fields.get(_KEY) in {None, letter.idempotency_key}:
        fields = fields | {_KEY: str(uuid4())}
    body = text if fields is None else body_of(fields)
    if problem := problem_of(body):
        raise InputError(f"nothing was sent: {visible(problem)}")
    if force:
        return body
    if fields == _fields(letter.body):
        raise InputError("the body is unchanged; nothing was sent (--force sends it)")
    if letter.reason == KEY_IS_TAKEN and _request(fields) == _request(
        _fields(letter.body)
    ):
        raise InputError(
            "nothing was sent: another ticket has its number under this key; "
            "give it a new one (--new-key), or insist (--force)"
        )
    return body


def _text(file: TextIO) -> str:
    try:
        return file.read()
    except UnicodeDecodeError as error:
        raise InputError("the new body is not UTF-8; nothing was sent") from error


def _fields(text: str) -> dict[str, Any] | None:
    try:
        json_object(text)
        fields: dict[str, Any] = json.loads(text)
    except (InvalidMessageError, ValueError):
        return None
    return fields


def _request(fields: dict[str, Any] | None) -> tuple[Any, Any]:
    return (fields or {}).get("project_id"), (fields or {}).get(_KEY)


def _run_editor(command: str, path: Path) -> None:
    try:
        # The person's own command.
        subprocess.run([*shlex.split(command), str(path)], check=True)  # noqa: S603
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        raise InputError(
            f"the editor {command!r} failed; set EDITOR, or use --body"
        ) from error
