"""Requests as JSON fields, validated by the worker's model."""

import json
from typing import Any

from ticket_numbering.contract.errors import InvalidMessageError
from ticket_numbering.contract.json_body import json_object

Fields = dict[str, Any]


def json_fields(text: str) -> Fields:
    """Parse a JSON object; return an empty one for any other text."""
    try:
        value = json.loads(text)
        json.dumps(value, allow_nan=False)  # NaN and Infinity are no JSON.
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def read_fields(body: str) -> Fields:
    """Parse a body as the worker does; return an empty object for an invalid one."""
    try:
        return json_object(body)
    except InvalidMessageError:
        return {}


def exact_fields(text: str) -> Fields | None:
    """Parse a JSON object; return None if parsing would lose information."""
    try:
        json_object(text)
        fields: Fields = json.loads(text)
    except (InvalidMessageError, ValueError):
        return None
    return fields


def body_of(fields: Fields) -> str:
    """Return the message body with these fields."""
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
