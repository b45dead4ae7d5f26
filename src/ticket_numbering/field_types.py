"""The types of the contracts' fields: bounded, and free of what SQS forbids."""

import re
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

MAX_NUMBER: Final = 10**15
"""Still exact in JSON for every reader, and far beyond any project."""

NOT_ALLOWED: Final = "not_allowed"

# What SQS and SNS accept in a message is all else; see SendMessage in the SQS API.
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


# They stand after the bounds of a field, so that a bound is reported in its own words.
TEXT: Final = AfterValidator(_allowed)
ONE_LINE: Final = AfterValidator(lambda text: _one_line(_allowed(text)))

ProjectId = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$", max_length=64)]
IdempotencyKey = Annotated[str, Field(pattern=r"^[!-~]+$", max_length=128)]
Title = Annotated[str, Field(min_length=1, max_length=200), ONE_LINE]
Label = Annotated[str, Field(min_length=1, max_length=64), ONE_LINE]
Description = Annotated[str, Field(max_length=65_536), TEXT]
Reporter = Annotated[str, Field(min_length=1, max_length=254), ONE_LINE]
AttributeName = Annotated[str, Field(min_length=1, max_length=128), ONE_LINE]
AttributeValue = Annotated[str, Field(max_length=1024), TEXT]
MaxNumber = Annotated[int, Field(ge=1, le=MAX_NUMBER)]
Priority = Literal["low", "medium", "high", "urgent"]
Timestamp = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
