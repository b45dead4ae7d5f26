"""The types of the contracts' fields: bounded, and free of what SQS forbids."""

import re
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

NOT_ALLOWED: Final = "not_allowed"

# What SQS and SNS accept in a message is all else; see SendMessage in the SQS API.
# Listed, and not as "all but the accepted", which takes ten times longer to compile.
FORBIDDEN_CHARACTERS: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]"
)


LINE_BREAKS_AND_CONTROLS: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def _allowed(text: str) -> str:
    if found := FORBIDDEN_CHARACTERS.search(text):
        problem = f"character U+{ord(found[0]):04X} is not allowed"
        raise PydanticCustomError(NOT_ALLOWED, problem)
    return text


def _one_line(text: str) -> str:
    if LINE_BREAKS_AND_CONTROLS.search(text) or not text.strip():
        problem = "must be one line that is not blank"
        raise PydanticCustomError(NOT_ALLOWED, problem)
    return text


# What the two functions take, as JSON Schema can say it, for whoever checks before
# sending. The characters stand in the patterns as themselves: then Python, ECMA-262
# with the `u` flag, RE2 and Rust read them alike. The ranges leave out what is not
# allowed; the second pattern asks for a character that `str.strip` leaves.
_BLANK: Final = " \xa0\u1680\u2000-\u200a\u202f\u205f\u3000"
_REST: Final = "\ue000-\ufffd\U00010000-\U0010ffff"
_INK: Final = (
    "!-~\xa1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e\u2030-\u205e\u2060-\u2fff"
    "\u3001-\ud7ff"
)
_TEXT_PATTERN: Final = f"^[\\t\\n\\r -\ud7ff{_REST}]*$"
_ONE_LINE_PATTERN: Final = f"^[{_BLANK}]*[{_INK}{_REST}][{_BLANK}{_INK}{_REST}]*$"
_TEXT_SCHEMA: Final[JsonDict] = {"pattern": _TEXT_PATTERN}
_ONE_LINE_SCHEMA: Final[JsonDict] = {"pattern": _ONE_LINE_PATTERN}
# As the schema of an object's names, "pattern" alone would become "patternProperties".
_NAME_SCHEMA: Final[JsonDict] = {"allOf": [_ONE_LINE_SCHEMA]}

# They stand after the bounds of a field, so that a bound is reported in its own words.
TEXT: Final = AfterValidator(_allowed)
ONE_LINE: Final = AfterValidator(lambda text: _one_line(_allowed(text)))

ProjectId = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$", max_length=64)]
IdempotencyKey = Annotated[str, Field(pattern=r"^[!-~]+$", max_length=128)]
Title = Annotated[
    str,
    Field(min_length=1, max_length=200, json_schema_extra=_ONE_LINE_SCHEMA),
    ONE_LINE,
]
Label = Annotated[
    str,
    Field(min_length=1, max_length=64, json_schema_extra=_ONE_LINE_SCHEMA),
    ONE_LINE,
]
Description = Annotated[
    str, Field(max_length=65_536, json_schema_extra=_TEXT_SCHEMA), TEXT
]
Reporter = Annotated[
    str,
    Field(min_length=1, max_length=254, json_schema_extra=_ONE_LINE_SCHEMA),
    ONE_LINE,
]
AttributeName = Annotated[
    str, Field(min_length=1, max_length=128, json_schema_extra=_NAME_SCHEMA), ONE_LINE
]
AttributeValue = Annotated[
    str, Field(max_length=1024, json_schema_extra=_TEXT_SCHEMA), TEXT
]
Priority = Literal["low", "medium", "high", "urgent"]
Timestamp = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
