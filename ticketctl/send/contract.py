"""Tells before sending what the worker would refuse, from the published schema alone.

What the schema cannot say about a body is checked here: its size, a byte-order mark,
and names that stand twice in one object.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Final

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend

from ticketctl.send.contract_words import first_wrong, shown, told

SCHEMA_PATH: Final = (
    Path(__file__).resolve().parents[2] / "docs/schemas/create-ticket.schema.json"
)
MAX_BODY_BYTES: Final = 256 * 1024  # The schema's description.
_MAX_PROBLEMS: Final = 10

Fields = dict[str, Any]


class ContractError(Exception):
    """A text is not one JSON object; the message begins with the field, or `body`."""


def read_object(text: str) -> Fields:
    """Read one JSON object.

    Raises:
        ContractError: It is not one, or repeats a name.
    """
    if text.startswith("\ufeff"):
        message = "body: starts with a byte-order mark"
        raise ContractError(message)
    try:
        # As floats, for an integer of 5,000 digits would stop the parser.
        parsed = json.loads(text, object_pairs_hook=_unique, parse_int=float)
    except json.JSONDecodeError as error:
        message = f"body: not JSON: {error.msg} at column {error.colno}"
        raise ContractError(message) from error
    except RecursionError as error:
        message = "body: not JSON that can be read: nested too deeply"
        raise ContractError(message) from error
    if not isinstance(parsed, dict):
        message = "body: not a JSON object"
        raise ContractError(message)
    return parsed


def body_of(fields: Fields) -> str:
    """Return the message that asks for these fields."""
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def problems(fields: Fields, body: str | None = None) -> list[str]:
    """Return what is wrong with a request, each beginning with its field.

    Args:
        fields: The request.
        body: The message as it is sent; else as `body_of` makes it.
    """
    size = len((body_of(fields) if body is None else body).encode(errors="replace"))
    if size > MAX_BODY_BYTES:
        return [f"body: {size} bytes, at most {MAX_BODY_BYTES} are allowed"]
    found = (each for error in _errors(fields) for each in told(error))
    return list(dict.fromkeys(islice(found, _MAX_PROBLEMS)))


def problems_of_body(body: str) -> list[str]:
    """Return what is wrong with a message, each beginning with its field."""
    try:
        return problems(read_object(body), body)
    except ContractError as error:
        return [str(error)]


def significant(fields: Fields) -> Fields:
    """Return the fields that ask for something: all but those at their defaults."""
    known = _schema()["properties"]
    return {
        name: value
        for name, value in fields.items()
        if name not in known or known[name].get("default", ...) != value
    }


def field_names() -> list[str]:
    """Return the names of a request's fields."""
    return list(_schema()["properties"])


@cache
def _schema() -> Mapping[str, Any]:
    schema: Mapping[str, Any] = json.loads(SCHEMA_PATH.read_bytes())
    return schema


@cache
def _validator() -> Validator:
    # The stubs know neither what it takes nor what it makes.
    extended: Any = extend
    validator: Validator = extended(Draft202012Validator, {"pattern": _pattern})(
        _schema()
    )
    return validator


def _errors(fields: Fields) -> Iterator[ValidationError]:
    return _validator().iter_errors(fields)


def _pattern(
    _validator: Validator, pattern: str, instance: Any, _schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not matches(pattern, instance):
        yield ValidationError(first_wrong(pattern, instance))


def matches(pattern: str, text: str) -> bool:
    """Match the whole text: Python's `$` would let a last line break pass."""
    return re.fullmatch(pattern, text) is not None


def _unique(pairs: list[tuple[str, Any]]) -> Fields:
    fields: Fields = {}
    for name, value in pairs:
        if name in fields:
            message = f"{shown(name)}: appears more than once"
            raise ContractError(message)
        fields[name] = value
    return fields
