"""The requests of message bodies, parsed independently of the worker's models."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, Final

RequestId = tuple[str, str]
"""A project and an idempotency key."""

PROJECT: Final = re.compile("[A-Za-z0-9._-]{1,64}")
KEY: Final = re.compile("[!-~]{1,128}")
PRIORITIES: Final = ("low", "medium", "high", "urgent")
CAP: Final = "max_number"
IDENTITY: Final = ("project_id", "idempotency_key")
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
    return isinstance(value, str) and bool(value)


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


@dataclass(frozen=True, slots=True)
class Request:
    """A valid request."""

    id: RequestId
    content: str
    """Every field of its ticket, defaults included; equal for the same ticket only."""
    cap: float
    """The highest number that it accepts."""


def parse(body: str) -> Request | None:
    """Return the request; None for poison."""
    try:
        given = json.loads(body)
    except ValueError:
        return None
    if not isinstance(given, dict):
        return None
    cap = given.pop(CAP, inf)
    content = {**OPTIONAL, **given}
    if content.keys() != CHECKS.keys():
        return None
    if not all(CHECKS[name](value) for name, value in content.items()):
        return None
    request_id = content["project_id"], content["idempotency_key"]
    return Request(request_id, canonical(content), cap)


def key_of(body: str) -> RequestId | None:
    """Return the key of a request or of poison; None if it holds no valid one."""
    try:
        given = json.loads(body)
    except ValueError:
        return None
    fields = given if isinstance(given, dict) else {}
    if not all(CHECKS[name](fields.get(name)) for name in IDENTITY):
        return None
    return fields["project_id"], fields["idempotency_key"]


def canonical(content: Mapping[str, Any]) -> str:
    """Return a text that is equal for requests of the same ticket only."""
    return json.dumps(content, sort_keys=True)
