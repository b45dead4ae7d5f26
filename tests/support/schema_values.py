"""Draws values that a JSON Schema allows, and any others.

Strategies of our own, because hypothesis-jsonschema ends with draft 7.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from hypothesis import strategies as st

from simulation.scenarios.requests import SCHEMA, validator

Values = st.SearchStrategy[Any]

# Blanks, line breaks, controls and the like; no surrogates, which no pattern
# can name in every dialect.
_EDGES: Final = (
    "\0\t\n\x0b\r\x1b\x1f \x7f\x85\xa0\u200b\u2003\u2028\u3000\ufeff\ufffd\ufffe\uffff"
    'a#~"\\\u00e9\U0001f511\U0001ffff'
)
_CHARACTERS: Final = st.sampled_from(_EDGES) | st.characters(codec="utf-8")
_NUMBERS: Final = (
    st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.integers(0, 10**16).map(float)
    | st.sampled_from([0.0, 1.0, 1e15, 1e15 + 1, 10**15, 10**15 + 1, 1e300])
)
_SCALARS: Final[Values] = (
    st.none() | st.booleans() | _NUMBERS | st.text(_CHARACTERS, max_size=4)
)

ANYTHING: Final[Values] = (
    _SCALARS
    | st.lists(_SCALARS, max_size=3)
    | st.dictionaries(st.text(_CHARACTERS, max_size=4), _SCALARS, max_size=3)
)


def allowed(schema: Mapping[str, Any]) -> Values:
    """Return a strategy of values that the schema allows."""
    match schema:
        case {"type": "array", "items": items}:
            return st.lists(allowed(items), max_size=3)
        case {"properties": fields, "required": required}:
            drawn = {name: allowed(field) for name, field in fields.items()}
            needed = {name: drawn.pop(name) for name in required}
            return st.fixed_dictionaries(needed, optional=drawn)
        case {"additionalProperties": values, "propertyNames": names}:
            return st.dictionaries(allowed(names), allowed(values), max_size=3)
        case {"anyOf": options}:
            return st.one_of([allowed(option) for option in options])
        case _:
            return _scalars(schema)


def _scalars(schema: Mapping[str, Any]) -> Values:
    match schema:
        case {"enum": values}:
            return st.sampled_from(values)
        case {"type": "null"}:
            return st.none()
        case {"type": "integer", "minimum": low, "maximum": high}:
            whole = st.integers(low, high)
            return whole | whole.map(float)
        case _:
            return _texts(schema)


def _texts(schema: Mapping[str, Any]) -> Values:
    """Return a strategy of texts, some of them as long as the schema allows."""
    is_allowed: Callable[[str], bool] = validator(schema).is_valid
    if "pattern" in schema:
        short = st.from_regex(schema["pattern"])
    else:
        characters = _CHARACTERS.filter(lambda character: is_allowed(f"x{character}"))
        short = st.text(characters, max_size=4)
    long = short.map(lambda text: text.ljust(schema.get("maxLength", 0), "x"))
    return (short | long).filter(is_allowed)


REQUESTS: Final[Values] = allowed(SCHEMA)
"""Every request that the published schema allows."""
