"""Bodies that are no valid create-ticket message, one for each way to be none."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

Ticket = dict[str, Any]

# Python 3.11 gives up at about 1,000 levels; later versions stand more, not this many.
_DEEP: Final = 50_000
# Python refuses to read an integer of more than 4,300 digits.
_MANY_DIGITS: Final = 5_000
# The worker takes 256 KiB, SQS 1 MiB.
_TOO_LARGE: Final = 300 * 1024


def _with_raw(ticket: Ticket, name: str, raw: str) -> str:
    """Append a member that `json.dumps` would not write."""
    return f'{json.dumps(ticket)[:-1]}, "{name}": {raw}}}'


def _with(**fields: Any) -> Callable[[Ticket], str]:
    return lambda ticket: json.dumps(ticket | fields)


def _without(name: str) -> Callable[[Ticket], str]:
    return lambda ticket: json.dumps({k: v for k, v in ticket.items() if k != name})


def _with_weight(raw: str) -> Callable[[Ticket], str]:
    return lambda ticket: _with_raw(ticket, "attributes", f'{{"weight": {raw}}}')


POISON: Final[Mapping[str, Callable[[Ticket], str]]] = {
    "not-json": lambda ticket: json.dumps(ticket)[:-1],
    "not-an-object": lambda ticket: json.dumps([ticket]),
    "missing-field": _without("title"),
    "unknown-field": _with(assignee="ada@example.com"),
    "wrong-type": _with(title=42),
    "empty-title": _with(title=""),
    "too-long-title": _with(title="x" * 201),
    "bad-project-id": _with(project_id="PROJ#1"),
    "lone-surrogate": _with(title="Half an emoji: \ud83d"),
    "nul-character": _with(description="Before.\0After."),
    "byte-order-mark": lambda ticket: "\ufeff" + json.dumps(ticket),
    "not-a-number": _with_weight("NaN"),
    "huge-integer": _with_weight("9" * _MANY_DIGITS),
    "deep-nesting": _with_weight("[" * _DEEP + "]" * _DEEP),
    "duplicate-name": lambda ticket: _with_raw(ticket, "title", '"Another title"'),
    "too-large": _with(description="x" * _TOO_LARGE),
}
"""Makes a valid ticket a body of the kind named."""
