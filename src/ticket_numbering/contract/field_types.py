"""The types of the fields: bounded, and without the characters that SQS forbids."""

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Final, TypeGuard

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    TypeAdapter,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import PydanticCustomError, PydanticUseDefault

from ticket_numbering.contract.chain import CHAIN_PATTERN
from ticket_numbering.contract.values import MAX_NUMBER

_PATTERN: Final = "pattern"
"""The type of this module's errors, beside those of Pydantic."""

# Patterns that texts must not match, also in the schema: in the dialect that Python,
# ECMA 262 and others share, where surrogates have no name.
_LINE_BREAK: Final = {
    "description": "A line break at the end, which `$` allows in some languages.",
    "pattern": "\n",
}
FORBIDDEN_IN_TEXT: Final = {
    "description": "A character that SQS does not accept.",
    "pattern": "[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\ufffe\uffff]",
}
NOT_ONE_LINE: Final = {
    "description": "Nothing but blanks, or a line break or control character.",
    "pattern": "^[ \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]*$"
    "|[\\x00-\\x1f\\x7f-\\x9f\u2028\u2029\ufffe\uffff]",
}

# SQS and SNS accept all other characters; SQS API reference, SendMessage.
FORBIDDEN_CHARACTERS: Final = re.compile(
    FORBIDDEN_IN_TEXT["pattern"] + "|[\ud800-\udfff]"
)


def _allowed(text: str) -> str:
    if match := FORBIDDEN_CHARACTERS.search(text):
        problem = f"character U+{ord(match[0]):04X} is not allowed"
        raise PydanticCustomError(_PATTERN, problem)
    return text


def _one_line(text: str) -> str:
    if match := re.search(NOT_ONE_LINE["pattern"], text):
        problem = "must be one line that is not blank"
        if text.strip():
            problem = f"character U+{ord(match[0]):04X} is not allowed in one line"
        raise PydanticCustomError(_PATTERN, problem)
    return text


def _whole(value: Any) -> Any:
    """Return 5 for 5.0, which JSON Schema and JavaScript do not tell apart."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _given(value: Any) -> Any:
    if value is None:
        raise PydanticUseDefault
    return value


def _counted(value: Any) -> Any:
    """Reject too many names before their texts, as Pydantic rejects too many items."""
    if isinstance(value, dict) and len(value) > MAX_ATTRIBUTES:
        problem = f"must have at most {MAX_ATTRIBUTES} items"
        raise PydanticCustomError("too_long", problem)
    return value


def or_null(kind: Any) -> BeforeValidator:
    """Accept null for an absent optional field, because many serializers write it."""
    return BeforeValidator(_given, json_schema_input_type=kind | None)


# They follow the bounds of a field, so that a bound is reported in its own words.
TEXT: Final = AfterValidator(_allowed)
ONE_LINE: Final = AfterValidator(lambda text: _one_line(_allowed(text)))


def _without(forbidden: dict[str, str], **bounds: Any) -> Any:
    """Return the bounds of a text; the schema also gets the forbidden pattern."""
    return Field(json_schema_extra={"not": {**forbidden}}, **bounds)


def _in_words(rule: str) -> WrapValidator:
    """Report a broken rule in words, not as a pattern; the error keeps its type."""

    def validated(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
        try:
            return validate(value)
        except ValidationError as error:
            [problem] = error.errors(include_url=False, include_input=False)
            kind = problem["type"]
            words = "must be text" if kind == "string_type" else rule
            raise PydanticCustomError(kind, words) from None

    return WrapValidator(validated)


_PROJECT_ID_LENGTH: Final = 64
_KEY_LENGTH: Final = 128
PROJECT_ID_RULE: Final = (
    f"must be 1 to {_PROJECT_ID_LENGTH} letters, digits, '.', '_' or '-'"
)
IDEMPOTENCY_KEY_RULE: Final = f"must be 1 to {_KEY_LENGTH} visible ASCII characters"

ProjectId = Annotated[
    str,
    _without(_LINE_BREAK, pattern=r"^[A-Za-z0-9._-]+$", max_length=_PROJECT_ID_LENGTH),
    _in_words(PROJECT_ID_RULE),
]
IdempotencyKey = Annotated[
    str,
    _without(_LINE_BREAK, pattern=r"^[!-~]+$", max_length=_KEY_LENGTH),
    _in_words(IDEMPOTENCY_KEY_RULE),
]
Title = Annotated[str, _without(NOT_ONE_LINE, min_length=1, max_length=200), ONE_LINE]
Label = Annotated[str, _without(NOT_ONE_LINE, min_length=1, max_length=64), ONE_LINE]
Description = Annotated[str, _without(FORBIDDEN_IN_TEXT, max_length=65_536), TEXT]
Reporter = Annotated[
    str, _without(NOT_ONE_LINE, min_length=1, max_length=254), ONE_LINE
]
AttributeName = Annotated[
    str, _without(NOT_ONE_LINE, min_length=1, max_length=128), ONE_LINE
]
AttributeValue = Annotated[str, _without(FORBIDDEN_IN_TEXT, max_length=1024), TEXT]
MAX_LABELS: Final = 20
MAX_ATTRIBUTES: Final = 50
"""This project's own limit; that of a body bounds the bytes of both."""

Labels = Annotated[list[Label], Field(max_length=MAX_LABELS)]
Attributes = Annotated[
    dict[AttributeName, AttributeValue],
    Field(max_length=MAX_ATTRIBUTES),
    BeforeValidator(_counted),
]
MaxNumber = Annotated[int, Field(ge=1, le=MAX_NUMBER), BeforeValidator(_whole)]
Timestamp = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Chain = Annotated[str, _without(_LINE_BREAK, pattern=CHAIN_PATTERN)]
EventSource = Annotated[
    str, _without(_LINE_BREAK, pattern=r"^/ticket-numbering/[A-Za-z0-9-]+$")
]
"""The stack is in it, because two stacks can have the same ticket key."""

_PROJECT_ID: Final[TypeAdapter[str]] = TypeAdapter(ProjectId)
_IDEMPOTENCY_KEY: Final[TypeAdapter[str]] = TypeAdapter(IdempotencyKey)


# A mutated guard has no type, so the type checker would reject all its callers.
def is_project_id(value: Any) -> TypeGuard[str]:  # pragma: no mutate block
    """Tell whether it is a valid project id."""
    return _is_valid(_PROJECT_ID, value)


def is_idempotency_key(value: Any) -> TypeGuard[str]:  # pragma: no mutate block
    """Tell whether it is a valid idempotency key."""
    return _is_valid(_IDEMPOTENCY_KEY, value)


def _is_valid(kind: TypeAdapter[str], value: Any) -> bool:
    return kind.validator.isinstance_python(value)


def timestamp(moment: datetime) -> str:
    """Return an aware time in the form of every time: 2026-11-22T10:00:00.000Z."""
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def moment_of(time: object) -> datetime | None:
    """Read a time; return None for anything not in the form of `timestamp`."""
    try:
        moment = datetime.fromisoformat(str(time))
        return moment if timestamp(moment) == time else None
    except (OverflowError, ValueError):
        return None
