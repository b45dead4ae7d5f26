"""Writes the generated parts of pages and of the verifier.

A part stands between two markers, `<!-- generated: NAME -->` and `<!-- /generated -->`,
in Python within comments; an approved transcript between `<!-- transcript: FILE: TITLE
-->` and `<!-- /transcript -->`. The rest of such a file is written by hand.
The laboratory, which draws the diagram, reads the written schemas; so they come first.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from simulation.world import history_diagram
from ticket_numbering.contract.dynamodb_items import ticket_item
from ticket_numbering.contract.errors import (
    IdempotencyMismatchError,
    InvalidMessageError,
    SequenceFullError,
    TicketTooLargeError,
)
from ticket_numbering.contract.events import AssignedTicket, RefusedRequest
from ticket_numbering.contract.field_types import NOT_ONE_LINE
from ticket_numbering.contract.mark_events import ErasedTicket, VoidedTicket
from ticket_numbering.contract.messages import CONTENT_DEFAULTS, CreateTicket
from ticket_numbering.contract.reasons import Reason
from ticketctl.failures.cures import CURES
from ticketctl.ledger.item import MEANINGS, ItemKind
from ticketctl.ledger.sequence import explains_above, explains_below
from tools import contracts, generated, rights

ROOT: Final = Path(__file__).resolve().parents[1]
PAGES: Final = "*.md", "docs/*.md", "docs/examples/verify.py"

_PART: Final = re.compile(
    "(<!-- generated: ([a-z]+) -->).*?((?:# )?<!-- /generated -->)", re.DOTALL
)
_TRANSCRIPT: Final = re.compile(
    "(<!-- transcript: ([a-z-]+): ([^>]+) -->).*?(<!-- /transcript -->)", re.DOTALL
)
_FIELDS: Final = CreateTicket.model_fields
_ALWAYS: Final = ticket_item(contracts.REQUEST, contracts.ASSIGNMENT)
_OWN: Final = [name for name in _FIELDS if name not in contracts.REQUEST.key._fields]
"""The fields without the request's key."""
_OPTIONAL: Final = [name for name in CONTENT_DEFAULTS if name not in _ALWAYS]
"""The fields that a ticket has only if its request has them."""
_STORED: Final = [name for name in CONTENT_DEFAULTS if name in _ALWAYS]

_CHARACTERS: Final = {
    r"^[A-Za-z0-9._-]+$": "letters, digits, `.`, `_`, `-`",
    r"^[!-~]+$": "visible ASCII characters",
}


def pages() -> dict[str, str]:
    """Return the text of every file with generated parts, by path."""
    paths = [path for pattern in PAGES for path in ROOT.glob(pattern)]
    pages = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in paths}
    return {
        path: _TRANSCRIPT.sub(_shown, _PART.sub(_written, text))
        for path, text in pages.items()
    }


def _shown(match: re.Match[str]) -> str:
    """Return the terminal's output in an approved transcript, found by its title."""
    start, name, title, end = match.groups()
    path = ROOT / f"tests/transcripts/{name}.txt"
    _, rest = f"\n{path.read_text('utf-8')}".split(f"\n# {title}\n")
    lines = rest.partition("\n# ")[0].rstrip().splitlines()
    seen = [line for line in lines if line[:2] in {"$ ", "  ", "! ", ""}]
    parts = groupby(seen, lambda line: "sh" if line.startswith("$ ") else "text")
    blocks = (_block(kind, *(line[2:] for line in part)) for kind, part in parts)
    return "\n".join([start, "\n\n".join(blocks), end])


def _block(language: str, *lines: str) -> str:
    return "\n".join([f"```{language}", *lines, "```"])


def _written(match: re.Match[str]) -> str:
    start, name, end = match.groups()
    return f"{start}{PARTS[name]}{end}"


def _members(model: type[BaseModel]) -> str:
    """Return the members of an event's data."""
    return ", ".join(
        f"`{name}`" if field.is_required() else f"`{name}` (if there is one)"
        for name, field in model.model_fields.items()
    )


def _sets() -> str:
    """Return two sets as formatted Python."""
    optional, stored = (
        map('    "{}",'.format, names) for names in (_OPTIONAL, _STORED)
    )
    text = "TEXT = {", *stored, "    *OPTIONAL,", "}\n"
    return "\n".join(["", "OPTIONAL = {", *optional, "}", *text])


def _event(name: str) -> str:
    """Return an event's example, a member a line."""
    event = json.loads(contracts.EVENTS[name].message)
    return f"\n{_block('json', json.dumps(event, indent=2))}\n"


def _delivered() -> str:
    """Return the SQS message of a refusal."""
    refused = contracts.EVENTS["ticket-refused"]
    body = f"{refused.message[:50]}..."
    attributes = refused.entry(fifo=False)["MessageAttributes"]
    message = {"ReceiptHandle": "...", "Body": body, "MessageAttributes": attributes}
    return f"\n{_block('json', json.dumps(message, indent=2))}\n"


def _request_fields() -> Iterator[Sequence[str]]:
    """Yield the rows of a request's fields."""
    schema = CreateTicket.model_json_schema()
    yield "field", "required", "value", "meaning"
    for name, field in schema["properties"].items():
        required = "yes" if name in schema["required"] else ""
        yield f"`{name}`", required, _value(field), field["description"]


def _reasons() -> Iterator[Sequence[str]]:
    """Yield the reasons of a refusal, in their order."""
    errors = {
        TicketTooLargeError.reason: TicketTooLargeError.__name__,
        IdempotencyMismatchError.reason: IdempotencyMismatchError.__name__,
        SequenceFullError.reason: SequenceFullError.__name__,
    }
    yield "`reason`", "meaning", "action", "`error_type`"
    for reason in Reason:
        error = errors.get(reason, InvalidMessageError.__name__)
        yield f"`{reason}`", reason.meaning, reason.remedy, f"`{error}`"


def _cures() -> Iterator[Sequence[str]]:
    """Yield the remedies of the errors in the worker's log."""
    yield "error", "remedy"
    for error, (text, section) in CURES.items():
        name = f"`{error}`" if error.endswith("Error") else error
        yield name, f"{text}{f' [More]({section}).' if section else ''}"


def _kinds() -> Iterator[Sequence[str]]:
    """Yield the kinds of items, and whether each explains missing neighbours."""
    yield "kind", "item", "missing right before it", "missing right behind it"
    for kind in ItemKind:
        cells = explains_below(kind), explains_above(kind)
        yield kind, MEANINGS[kind], *("external" if cell else "a gap" for cell in cells)


def _value(schema: Mapping[str, Any]) -> str:
    """Return the values that a field's schema allows, in words."""
    match schema:
        case {"anyOf": [kind, {"type": "null"}]}:
            return _value({"default": schema["default"], **kind})
        case {"enum": values, "default": default}:
            return rights.codes(values).replace(
                f"`{default}`", f"`{default}` (the default)"
            )
        case {"type": "array", "items": items, "maxItems": most}:
            return f"at most {most:,}, each {_value(items)}"
        case {"propertyNames": names, "additionalProperties": texts}:
            most = schema["maxProperties"]
            return f"at most {most:,} names, each {_value(names)}; {_value(texts)} each"
        case _:
            return _scalar(schema)


def _scalar(schema: Mapping[str, Any]) -> str:
    match schema:
        case {"format": "date" | "date-time" as form}:
            return f"an RFC 3339 {form}"
        case {"minimum": least, "maximum": most}:
            return f"{least:,} to {most:,}"
        case {"pattern": pattern, "maxLength": most} if pattern in _CHARACTERS:
            return f"1 to {most:,} {_CHARACTERS[pattern]}"
        case {"not": refused, "maxLength": most} if refused == NOT_ONE_LINE:
            return f"one line of 1 to {most:,} characters"
        case {"maxLength": most}:
            return f"text of at most {most:,} characters"
        case _:
            return f"a {schema['type']}"


PARTS: Final[Mapping[str, str]] = {
    "table": generated.table(_request_fields()),
    "required": rights.codes(name for name in _FIELDS if _FIELDS[name].is_required()),
    "optional": rights.codes(_OPTIONAL),
    "unlogged": rights.codes(_OWN),
    "repeated": rights.codes(
        name for name in _OWN if name in AssignedTicket.model_fields
    ),
    "assigned": _members(AssignedTicket),
    "refused": _members(RefusedRequest),
    "voided": _members(VoidedTicket),
    "erased": _members(ErasedTicket),
    "number": _event("ticket-number-assigned"),
    "refusal": _event("ticket-refused"),
    "ticketattributes": rights.codes(
        contracts.EVENTS["ticket-number-assigned"].attributes
    ),
    "refusalattributes": rights.codes(contracts.EVENTS["ticket-refused"].attributes),
    "delivered": _delivered(),
    "sets": _sets(),
    "roles": generated.table(rights.rows_of_roles()),
    "tasks": generated.table(rights.rows_of_tasks()),
    "kinds": generated.table(_kinds()),
    "reasons": generated.table(_reasons()),
    "cures": generated.table(_cures()),
    "history": f"\n\n{history_diagram.diagram()}\n\n",
}
"""The parts, by their names in the markers."""


if __name__ == "__main__":
    generated.write(pages(), ROOT)
