"""Requests as JSON fields, validated by the worker's model."""

import json
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from ticket_numbering.contract.errors import InvalidMessageError
from ticket_numbering.contract.field_types import IdempotencyKey, ProjectId
from ticket_numbering.contract.json_body import json_object

Fields = dict[str, Any]

_PROJECT_ID: Final[TypeAdapter[str]] = TypeAdapter(ProjectId)
_IDEMPOTENCY_KEY: Final[TypeAdapter[str]] = TypeAdapter(IdempotencyKey)


def is_project_id(text: Any) -> bool:
    """Tell whether it is a valid project id."""
    return _is_valid(_PROJECT_ID, text)


def is_idempotency_key(text: Any) -> bool:
    """Tell whether it is a valid idempotency key."""
    return _is_valid(_IDEMPOTENCY_KEY, text)


def _is_valid(kind: TypeAdapter[str], text: Any) -> bool:
    try:
        kind.validate_python(text)
    except ValidationError:
        return False
    return True


def json_fields(text: str) -> Fields:
    """Parse a JSON object; return an empty one if the text is none."""
    try:
        value = json.loads(text)
        json.dumps(value, allow_nan=False)  # NaN and Infinity are no JSON.
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def exact_fields(text: str) -> Fields | None:
    """Parse a JSON object; return None if that would lose something."""
    try:
        json_object(text)
        fields: Fields = json.loads(text)
    except (InvalidMessageError, ValueError):
        return None
    return fields


def body_of(fields: Fields) -> str:
    """Return the message body of these fields."""
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
