"""The requests of message bodies, read by the published schema.

A JSON Schema library validates them, so this shares no code with the worker's models.
The rules that a schema cannot express are written here once more.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, Final

from jsonschema import Draft202012Validator

RequestId = tuple[str, str]
"""A project and an idempotency key."""
Fields = dict[str, Any]

SCHEMAS: Final = Path(__file__).parents[3] / "docs" / "schemas"
SCHEMA: Final = json.loads((SCHEMAS / "create-ticket.schema.json").read_bytes())
VERSION_1: Final = json.loads((SCHEMAS / "version-1.json").read_bytes())["fields"]
FIELDS: Final[Mapping[str, Mapping[str, Any]]] = SCHEMA["properties"]
IDENTITY: Final = ("project_id", "idempotency_key")
CAP: Final = "max_number"
"""No part of a ticket."""
OPTIONAL: Final[Mapping[str, Any]] = {
    name: VERSION_1.get(name, field)["default"]
    for name, field in FIELDS.items()
    if name not in {*SCHEMA["required"], CAP}
}
"""The optional fields and their defaults: of version 1, for no default may change."""
MAX_BODY_BYTES: Final = 256 * 1024
MAX_DIGITS: Final = 16
"""Of a whole number; Python refuses to read one of thousands."""


def validator(schema: Mapping[str, Any]) -> Draft202012Validator:
    """Return a validator that checks formats, too."""
    checker = Draft202012Validator.FORMAT_CHECKER
    return Draft202012Validator(schema, format_checker=checker)


_REQUEST: Final = validator(SCHEMA)
_KEY: Final = validator(
    {"properties": {name: FIELDS[name] for name in IDENTITY}, "required": [*IDENTITY]}
)


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
    given = _object(body)
    if given is None or not _REQUEST.is_valid(given):
        return None
    if len(body.encode(errors="surrogatepass")) > MAX_BODY_BYTES:
        return None
    if not _is_unicode(json.dumps(given, ensure_ascii=False)):
        return None
    cap = given.pop(CAP, None)
    given = {name: value for name, value in given.items() if value is not None}
    content = {**OPTIONAL, **given}
    request_id = content["project_id"], content["idempotency_key"]
    return Request(request_id, canonical(content), inf if cap is None else cap)


def key_of(body: str) -> RequestId | None:
    """Return the key of a request or of poison; None if it holds no valid one."""
    given = _object(body)
    if given is None or not _KEY.is_valid(given):
        return None
    return given["project_id"], given["idempotency_key"]


def canonical(content: Mapping[str, Any]) -> str:
    """Return a text that is equal for requests of the same ticket only."""
    return json.dumps(content, sort_keys=True)


def _object(body: str) -> Fields | None:
    """Read an object without a name twice; Python refuses a byte-order mark."""
    try:
        given = json.loads(body, object_pairs_hook=_unique, parse_int=_number)
    except (ValueError, RecursionError):
        return None
    return given if isinstance(given, dict) else None


def _unique(pairs: Iterable[tuple[str, Any]]) -> Fields:
    fields: Fields = {}
    for name, value in pairs:
        if name in fields:
            raise ValueError(name)
        fields[name] = value
    return fields


def _number(digits: str) -> float:
    return int(digits) if len(digits) <= MAX_DIGITS else float(digits)


def _is_unicode(text: str) -> bool:
    """Tell whether a text has no half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
