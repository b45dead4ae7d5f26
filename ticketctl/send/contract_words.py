"""What a request breaks of the contract, in words for the person who wrote it.

They repeat no text of the request, which could be large, or rude to a terminal.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from jsonschema.exceptions import ValidationError

_MAX_NAME: Final = 64
_WORDS: Final = {"string": "text", "array": "a list", "object": "an object"}


def told(error: ValidationError, inside: tuple[Any, ...] = ()) -> Iterator[str]:
    """Say an error of the schema's, with the field before it."""
    place = inside + tuple(error.relative_path)
    where = ".".join(shown(str(each)) for each in place) or "body"
    limit: Any = error.validator_value
    given: Any = error.instance
    schema: Any = error.schema
    match error.validator:
        case "required":
            for name in limit:
                if name not in given:
                    yield f"{name}: is missing"
        case "additionalProperties":
            for name in given:
                if name not in schema["properties"]:
                    yield f"{shown(name)}: is no field of a ticket"
        case "anyOf" | "allOf":
            yield from _of_the_alternative(error, place)
        case "type" if "enum" in schema:
            return  # What it may be is told, which says more.
        case _:
            yield f"{where}: {_limit_in_words(error, limit)}"


def _of_the_alternative(
    error: ValidationError, place: tuple[Any, ...]
) -> Iterator[str]:
    """A field that may be null: say what is wrong with the text that it is not."""
    for each in error.context or ():
        if each.validator != "type" or each.validator_value != "null":
            yield from told(each, place)


def _limit_in_words(error: ValidationError, limit: Any) -> str:
    match error.validator:
        case "type":
            return f"must be {_WORDS.get(limit, limit)}"
        case "enum":
            return f"must be one of {', '.join(limit)}"
        case "minLength":
            return "is empty"
        case "maxLength":
            return f"longer than {limit} characters"
        case "maxItems" | "maxProperties":
            return f"more than {limit}"
        case _:
            return error.message


def shown(name: str) -> str:
    """Return a name that somebody else chose as a line can hold it."""
    if len(name) > _MAX_NAME:
        name = name[:_MAX_NAME] + "..."
    return name if name and name.isprintable() else json.dumps(name)


def first_wrong(pattern: str, text: str) -> str:
    """Say why a text does not match the pattern of its field."""
    if not text:
        return "is empty"
    # Behind a letter, for a blank is allowed where the text is not blank.
    wrong = (each for each in text if not re.fullmatch(pattern, f"x{each}"))
    if (found := next(wrong, None)) is None:
        return "is blank"
    name = f'"{found}"' if "!" <= found <= "~" else f"U+{ord(found):04X}"
    return f"character {name} is not allowed"
