"""Messages of producers: requests of every form, repeats, mismatches, poison."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any, Final

from simulation.engine.choices import Choices, one_of
from simulation.scenarios.requests import CAP, FIELDS, OPTIONAL, validator

POISON: Final = (
    "not JSON",
    "  \n blanks around, \u00e9\U0001f39f and a tab\t ",
    "[]",
    '{"project_id": "P0"}',
    '{"project_id": "P#0", "idempotency_key": "k", "title": "t"}',
    '{"project_id": "P0", "idempotency_key": "k", "title": "t", "number": 7}',
    '{"project_id": "P0", "idempotency_key": "k", "title": "t", "priority": "top"}',
    '{"project_id": "P0", "idempotency_key": "k", "title": "t", "labels": "one"}',
)
PROJECTS: Final = (
    ("P0", "P1", "P2"),
    # Alike but for their case; of a ticket key's form; one a prefix of another.
    ("P0", "p0", "P0-1"),
    ("P0", "P", "p0"),
)
KEYS: Final = ("key-{}", "key-{}", "{:k>128}")
TEXTS: Final = ("Ann", "ann", "ann ", "J\u00fcrgen \U0001f39f", "", "two \nlines \n")
"""Texts of which each field takes those that its schema allows; some hardly differ."""
SEEDED: Final = {"description", "priority", "reporter", "labels", "attributes"}
"""Fields drawn from the history's choices; others, drawn apart, move no seed."""
MOST_PADDING: Final = 60_000
MESSAGE_ATTRIBUTES: Final[Mapping[str, Mapping[str, str]]] = {
    "traceparent": {"DataType": "String", "StringValue": "00-0af7-b7ad-01"},
    "tries": {"DataType": "Number", "StringValue": "1"},
}

Content = dict[str, Any]


def values(schema: Mapping[str, Any]) -> list[Any]:
    """Return a few values that a field's schema allows."""
    match schema:
        case {"anyOf": kinds}:
            return [value for kind in kinds for value in values(kind)]
        case {"enum": allowed}:
            return [*allowed]
        case {"type": "null"}:
            return [None]
        case {"type": "array", "items": items}:
            members = values(items)
            return [[], members, members[::-1], [*members[:1], *members[:1]]]
        case {"propertyNames": names, "additionalProperties": members}:
            pairs = [*zip(values(names), cycle(values(members)), strict=False)]
            return [{}, dict(pairs), dict(pairs[:1]), {pairs[0][0]: pairs[1][1]}]
        case _:
            return [*filter(validator(schema).is_valid, TEXTS)]


VALUES: Final[Mapping[str, Sequence[Any]]] = {
    name: [*values(FIELDS[name]), *FIELDS[name].get("examples", ())]
    for name in ("title", *OPTIONAL)
}
"""The values that each field of a ticket is drawn from."""


def others(name: str, value: Any) -> list[Any]:
    """Return the values of a field but for this one."""
    return [other for other in VALUES[name] if other != value]


@dataclass(frozen=True)
class Sending:
    """A message of a producer, and its time."""

    at: float
    body: str
    attributes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def request(project: str, key: str, title: str = "a ticket", **fields: Any) -> str:
    """Return the body of a create-ticket message."""
    content = {"project_id": project, "idempotency_key": key, "title": title}
    return json.dumps(content | fields)


@dataclass
class Producers:
    """Draws the messages of a history."""

    choices: Choices
    count: int
    projects: Sequence[str]
    spread: float
    """Seconds within which every message is sent."""
    key: str = KEYS[0]
    poison: float = 0.08
    """The share of poison."""
    repeats: float = 0.35
    """The share of valid messages that are derived from an earlier one."""
    has_every_field: bool = False
    caps: Sequence[int | None] = ()
    """The caps that requests name, if any do; repeats name others."""
    padding: int = 1
    sent: list[Content] = field(default_factory=list)
    """The valid contents so far."""

    def sendings(self) -> Iterator[Sending]:
        """Yield the messages."""
        with_attributes = self.choices.chance(0.2)
        for serial in range(self.count):
            body = self._body(serial)
            at = self.choices.duration(0.0, self.spread)
            yield Sending(at, body, MESSAGE_ATTRIBUTES if with_attributes else {})

    def _body(self, serial: int) -> str:
        if self.choices.chance(self.poison):
            return one_of(self.choices, POISON)
        content = self._content(serial)
        self.sent.append(content)
        cap = one_of(self.choices, self.caps) if self.caps else None
        return json.dumps(content | ({CAP: cap} if cap else {}))

    def _content(self, serial: int) -> Content:
        if self.sent and self.choices.chance(self.repeats):
            earlier = one_of(self.choices, self.sent)
            same = _same, _same, _written_out
            change = one_of(
                self.choices, (*same, _mismatch, self._elsewhere, _similar_key)
            )
            return change(earlier, self.choices)
        content = {
            "project_id": one_of(self.choices, self.projects),
            "idempotency_key": self.key.format(serial),
            "title": "a ticket",
            "description": "x" * self.padding,
        }
        if self.has_every_field:
            apart = Choices(serial)
            for name, default in OPTIONAL.items():
                choices = self.choices if name in SEEDED else apart
                if choices.chance(0.5):
                    content[name] = one_of(choices, others(name, default))
            if serial % 4 == 0:  # Chance alone would fill ever fewer of more fields.
                for name, default in OPTIONAL.items():
                    content.setdefault(name, others(name, default)[0])
        return content

    def _elsewhere(self, earlier: Content, choices: Choices) -> Content:
        """Return the request for any project."""
        project = one_of(choices, self.projects)
        return earlier | {"project_id": project}


def _same(earlier: Content, choices: Choices) -> Content:
    """Return the same request."""
    del choices
    return earlier


def _written_out(earlier: Content, choices: Choices) -> Content:
    """Return the same request with its defaults written out."""
    del choices
    return {**OPTIONAL} | earlier


def _mismatch(earlier: Content, choices: Choices) -> Content:
    """Return a request with the same key that differs in one field."""
    differences = [
        {name: value}
        for name in VALUES
        for value in others(name, earlier.get(name, OPTIONAL.get(name)))
    ]
    return earlier | one_of(choices, differences)


def _similar_key(earlier: Content, choices: Choices) -> Content:
    """Return a request whose key differs in its case only, or at its end only."""
    key = earlier["idempotency_key"]
    key = key.swapcase() if choices.chance(0.5) else f"{key[:-1]}~"
    return earlier | {"idempotency_key": key}
