"""The requests of message bodies, read by the published schema.

A JSON Schema library validates them, so this shares no code with the worker's models.
The rules that a schema cannot express are written here once more.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, Final

from jsonschema import Draft202012Validator

RequestId = tuple[str, str]
"""A project and an idempotency key."""
Fault = tuple[str, str]
"""The field that is wrong, or `body`, and the code of the reason."""
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
MAX_NAMES: Final = 100
"""The limit of the body's object, by the producers' page."""
MAX_DIGITS: Final = 16
"""The limit of a whole number; Python rejects thousands of digits."""

NOT_JSON: Final = "not_json"
ENVELOPES: Final = (
    {"Type", "TopicArn"},
    {"detail-type", "detail"},
    {"specversion", "type"},
    {"message_id", "body"},
)
"""The members by which the envelope of another service is known."""
LONE_SURROGATE: Final = "lone_surrogate"
CODES: Final[Mapping[str, str]] = {
    "required": "missing",
    "maxItems": "too_many",
    "maxProperties": "too_many",
    "enum": "unknown_value",
    "type": "wrong_type",
    "minimum": "out_of_range",
    "maximum": "out_of_range",
    "maxLength": "too_long",
    "minLength": "too_short",
    "pattern": "pattern",
    "not": "pattern",
}
"""The code for each keyword of the schema."""
_ORDER: Final = (
    *("missing", "too_many", LONE_SURROGATE, "unknown_value", "wrong_type"),
    *("out_of_range", "too_long", "too_short", "pattern"),
)
"""The order of codes: the first of a field counts."""


class RepeatedNameError(ValueError):
    """An object has a name twice."""


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


def fault_of(body: str) -> Fault | None:
    """Return the fault of a refused message, if its body is the reason."""
    if len(body.encode(errors="surrogatepass")) > MAX_BODY_BYTES:
        return "body", "too_large"
    try:
        given = _read(body)
    except RepeatedNameError:
        return "body", "repeated_name"
    except (ValueError, RecursionError):
        return "body", NOT_JSON
    if not isinstance(given, dict):
        return "body", NOT_JSON
    return None if parse(body) else _fault(given)


def _fault(given: Fields) -> Fault:
    """Return the first wrong field, in the order of the contract, and why it is."""
    if len(given) > MAX_NAMES:
        return "body", "too_many"
    if any(members <= given.keys() for members in ENVELOPES):
        return "body", "envelope"
    if not all(map(_is_unicode, given)):
        return "body", LONE_SURROGATE
    for name, schema in FIELDS.items():
        if name not in given:
            codes = {CODES["required"]} if name in SCHEMA["required"] else set()
        else:
            codes = {*_codes(given[name], schema)}
        if codes:
            return name, min(codes, key=_ORDER.index)
    return "body", "unknown_field"


def _codes(value: Any, schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield the reasons why a field does not allow a value."""
    kind, *null = schema.get("anyOf", [schema])
    if null and value is None:
        return
    if not all(map(_is_unicode, _texts(value, kind))):
        yield LONE_SURROGATE
    for error in validator(kind).iter_errors(value):
        yield CODES[error.validator]


def _texts(value: Any, schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts of a value, where its schema asks for texts."""
    match schema.get("type", "string"), value:
        case "string", str():
            yield value
        case "array", list():
            for item in value:
                yield from _texts(item, schema["items"])
        case "object", dict():
            for name, item in value.items():
                yield from _texts(name, schema["propertyNames"])
                yield from _texts(item, schema["additionalProperties"])


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
    """Read an object without repeated names; Python rejects a byte-order mark."""
    try:
        given = _read(body)
    except (ValueError, RecursionError):
        return None
    return given if isinstance(given, dict) else None


def _read(body: str) -> Any:
    return json.loads(body, object_pairs_hook=_unique, parse_int=_number)


def _unique(pairs: Iterable[tuple[str, Any]]) -> Fields:
    fields: Fields = {}
    for name, value in pairs:
        if name in fields:
            raise RepeatedNameError(name)
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
