"""The requests of message bodies, parsed independently of the worker's models."""

import json
import re
from collections.abc import Callable, Mapping
from math import inf
from typing import Any, Final

RequestId = tuple[str, str]
"""A project and an idempotency key."""

PROJECT: Final = re.compile("[A-Za-z0-9._-]{1,64}")
KEY: Final = re.compile("[!-~]{1,128}")
PRIORITIES: Final = ("low", "medium", "high", "urgent")
CAP: Final = "max_number"
OPTIONAL: Final[Mapping[str, Any]] = {
    "description": None,
    "priority": "medium",
    "reporter": None,
    "labels": [],
    "attributes": {},
}
"""The optional fields and their defaults."""


def _is_string(value: Any) -> bool:
    return isinstance(value, str)


def _is_text(value: Any) -> bool:
    return _is_string(value) and bool(value)


CHECKS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "project_id": lambda value: _is_text(value) and bool(PROJECT.fullmatch(value)),
    "idempotency_key": lambda value: _is_text(value) and bool(KEY.fullmatch(value)),
    "title": _is_text,
    "description": lambda value: value is None or _is_string(value),
    "priority": lambda value: value in PRIORITIES,
    "reporter": lambda value: value is None or _is_text(value),
    "labels": lambda value: isinstance(value, list) and all(map(_is_text, value)),
    "attributes": lambda value: (
        isinstance(value, dict) and all(map(_is_string, value.values()))
    ),
}


def content_of(body: str) -> dict[str, Any] | None:
    """Return every field of a valid request's ticket, defaults included.

    The cap is none of them. None for poison.
    """
    try:
        given = json.loads(body)
    except ValueError:
        return None
    if not isinstance(given, dict):
        return None
    given.pop(CAP, None)
    if given.keys() - CHECKS.keys():
        return None
    content = {**OPTIONAL, **given}
    complete = content.keys() == CHECKS.keys()
    valid = complete and all(CHECKS[name](value) for name, value in content.items())
    return content if valid else None


def cap_of(body: str) -> float:
    """Return the highest number that a valid request accepts."""
    cap: float = json.loads(body).get(CAP, inf)
    return cap


def identity(content: Mapping[str, Any]) -> RequestId:
    """Return the request's id."""
    return content["project_id"], content["idempotency_key"]


def canonical(content: Mapping[str, Any]) -> str:
    """Return a text that is equal for requests of the same ticket only."""
    return json.dumps(content, sort_keys=True)
