"""Parses a body: one JSON object without a repeated name, or a clear reason."""

import gc
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

from pydantic import ValidationError

from ticket_numbering.contract.errors import InvalidMessageError
from ticket_numbering.contract.reasons import Reason

MAX_REPORTED_NAME: Final = 64
MAX_REPORTED_PROBLEMS: Final = 3
MAX_NAMES: Final = 100
"""Twice the names of the largest valid object; each wrong one is a problem."""

_ENVELOPES: Final = {
    ("Type", "TopicArn"): "the envelope of SNS: set RawMessageDelivery on the "
    "subscription",
    ("detail-type", "detail"): "an event of EventBridge: give the target the input "
    "path $.detail",
    ("specversion", "type"): "a CloudEvent: send its data alone",
    ("message_id", "body"): "a saved dead letter: send its body: jq -r .body",
}
"""The members that identify an envelope, and the remedy for its producer."""

_REASONS: Final = {
    "missing": Reason.MISSING,
    "extra_forbidden": Reason.UNKNOWN_FIELD,
    "too_long": Reason.TOO_MANY,
    "string_unicode": Reason.LONE_SURROGATE,
    "literal_error": Reason.UNKNOWN_VALUE,
    "greater_than_equal": Reason.OUT_OF_RANGE,
    "less_than_equal": Reason.OUT_OF_RANGE,
    "string_too_long": Reason.TOO_LONG,
    "string_too_short": Reason.TOO_SHORT,
}
"""The reason of each type of Pydantic's errors; `_reason` knows the others."""


def json_object(body: str) -> dict[str, Any]:
    """Read a body that must be one JSON object.

    Raises:
        InvalidMessageError: It is not one, or repeats a name.
    """
    if not body.strip():
        raise not_json("empty")
    if body.startswith("\ufeff"):
        raise not_json("starts with a byte-order mark")
    try:
        parsed = _read(body)
    except json.JSONDecodeError as error:
        raise not_json(f"not JSON: {error}") from error
    except RecursionError as error:
        raise not_json("nested too deeply") from error
    if not isinstance(parsed, dict):
        raise not_json("must be a JSON object")
    return parsed


def not_json(problem: str) -> InvalidMessageError:
    """Return the error of a body that is not one JSON object."""
    return InvalidMessageError(f"body: {problem}", reason=Reason.NOT_JSON)


def reject_envelope(fields: Mapping[str, Any]) -> None:
    """Reject an object that another service has put around a body.

    Raises:
        InvalidMessageError: It is one; the message has the remedy for its producer.
    """
    for members, remedy in _ENVELOPES.items():
        if fields.keys() >= {*members}:
            raise InvalidMessageError(f"body: {remedy}", reason=Reason.ENVELOPE)


def reject_many_names(fields: Mapping[str, Any]) -> None:
    """Reject an object of too many names: to list its problems would take long.

    Raises:
        InvalidMessageError: It is one; its project and key can still be read.
    """
    if len(fields) > MAX_NAMES:
        problem = f"body: must have at most {MAX_NAMES} names"
        raise InvalidMessageError(problem, reason=Reason.TOO_MANY)


def _read(body: str) -> Any:
    """Read JSON; a number of thousands of digits, which int() rejects, as a float."""
    read = partial(json.loads, body, object_pairs_hook=_unique)
    with _without_collector():
        try:
            return read()
        except json.JSONDecodeError:
            raise
        except ValueError:
            return read(parse_int=float)


@contextmanager
def _without_collector() -> Iterator[None]:
    """Disable the garbage collector, which triples the time and finds no cycles."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        [(name, _)] = Counter(name for name, _ in pairs).most_common(1)
        problem = f"{shown(name)}: appears more than once"
        raise InvalidMessageError(problem, reason=Reason.REPEATED_NAME)
    return fields


def shown(name: str) -> str:
    """Return a name that the producer chose, shortened and printable."""
    if len(name) > MAX_REPORTED_NAME:
        name = name[:MAX_REPORTED_NAME] + "..."
    return name if name and name.isprintable() else json.dumps(name)


def problems(error: ValidationError) -> str:
    """Return the fields and their faults as text, without the values."""
    problems = error.errors(
        include_url=False, include_context=False, include_input=False
    )
    first = problems[:MAX_REPORTED_PROBLEMS]
    listed = [f"{_place(problem['loc'])}: {problem['msg']}" for problem in first]
    more = len(problems) - len(listed)
    return "; ".join(listed) + (f"; and {more} more" if more else "")


def fault_of(error: ValidationError, known: Collection[str]) -> tuple[str, Reason]:
    """Return the first wrong field, `body` for an unknown one, and its first reason."""
    problems = error.errors(
        include_url=False, include_context=False, include_input=False
    )
    faults = [
        (str(problem["loc"][0]) if problem["loc"] else "body", problem["type"])
        for problem in problems
    ]
    field = next((name for name, _ in faults if name in known), "body")
    reasons = {_reason(kind) for name, kind in faults if field in {name, "body"}}
    return field, min(reasons, key=[*Reason].index)


def _reason(kind: str) -> Reason:
    """Return the reason of an error's type; this module's own are of the pattern."""
    of_others = Reason.WRONG_TYPE if kind.endswith("_type") else Reason.PATTERN
    return _REASONS.get(kind, of_others)


def _place(location: tuple[int | str, ...]) -> str:
    """Return the name of a field; Pydantic cannot, if the name is no valid text."""
    return ".".join(shown(str(part)) for part in location) or "body"
