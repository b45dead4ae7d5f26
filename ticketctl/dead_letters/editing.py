"""Judges what somebody made of a letter's body."""

import json
from typing import Any, Final
from uuid import uuid4

from ticket_numbering.errors import InvalidMessageError
from ticket_numbering.json_body import json_object
from ticketctl.dead_letters.letters import KEY_IS_TAKEN, Letter
from ticketctl.system.contract import body_of, problem_of

_KEY: Final = "idempotency_key"


def pretty(body: str) -> str:
    """Return JSON laid out for people, if nothing of it gets lost; else the body."""
    try:
        parsed = json.loads(body, object_pairs_hook=_members, parse_float=_exact)
        laid_out = json.dumps(parsed, ensure_ascii=False, indent=2)
        # A lone surrogate is in no encoding; like this it is an escape again.
        return laid_out.encode(errors="backslashreplace").decode()
    except (ValueError, RecursionError):
        return body


def new_body(text: str, letter: Letter, *, new_key: bool) -> str:
    """Return the message that an edited text stands for.

    Args:
        text: What somebody wrote.
        letter: What it replaces.
        new_key: Put in a new idempotency key, unless the text has one.
    """
    try:
        fields = json_object(text)
    except InvalidMessageError:
        return text
    if new_key and fields.get(_KEY) in {None, letter.idempotency_key}:
        fields = fields | {_KEY: str(uuid4())}
    return body_of(fields)


def is_unchanged(body: str, letter: Letter) -> bool:
    """Return whether a body asks for the same as the letter's."""
    before, after = _fields(letter.body), _fields(body)
    if before is None or after is None:
        return pretty(body).strip() == pretty(letter.body).strip()
    return before == after


def problems(body: str, letter: Letter, *, force: bool = False) -> list[str]:
    """Return why the worker would refuse the new body, a line each.

    Args:
        body: The new body.
        letter: What it replaces.
        force: Do not object to a key that is taken.
    """
    problem = problem_of(body)
    found = [problem] if problem else []
    fields = _fields(body) or {}
    key = fields.get("project_id"), fields.get(_KEY)
    taken = (letter.project_id, letter.idempotency_key)
    if letter.reason == KEY_IS_TAKEN and key == taken and not force:
        found.append(
            f"{_KEY}: another ticket has its number under this key; "
            "give it a new one (--new-key), or insist (--force)"
        )
    return found


def _fields(body: str) -> dict[str, Any] | None:
    try:
        return json_object(body)
    except InvalidMessageError:
        return None


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        message = "a name stands twice"
        raise ValueError(message)
    return members


def _exact(number: str) -> float:
    if repr(float(number)) != number:
        message = "not a number that Python would write like this"
        raise ValueError(message)
    return float(number)
