"""Messages of producers: requests of every form, repeats, mismatches, poison."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from simulation.engine.choices import Choices, one_of
from simulation.requests import CAP, FIELDS

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
REPORTERS: Final = ("Ann", "ann", "J\u00fcrgen \U0001f39f")
MOST_PADDING: Final = 60_000
OPTIONAL_VALUES: Final[Mapping[str, Callable[[Choices], Any]]] = {
    "description": lambda choices: "words \n" * choices.pick(9),
    "priority": lambda choices: one_of(choices, FIELDS["priority"]["enum"]),
    "reporter": lambda choices: one_of(choices, REPORTERS),
    "labels": lambda choices: ["b", "a", "B", "a"][: choices.pick(5)],
    "attributes": lambda choices: (
        {"a": "1", "A": "", "\u00e9": " "} if choices.chance(0.7) else {}
    ),
}
MESSAGE_ATTRIBUTES: Final[Mapping[str, Mapping[str, str]]] = {
    "traceparent": {"DataType": "String", "StringValue": "00-0af7-b7ad-01"},
    "tries": {"DataType": "Number", "StringValue": "1"},
}

Content = dict[str, Any]


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
            for name, draw in OPTIONAL_VALUES.items():
                if self.choices.chance(0.5):
                    content[name] = draw(self.choices)
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
    return {"labels": [], "reporter": None, "priority": "medium"} | earlier


def _mismatch(earlier: Content, choices: Choices) -> Content:
    """Return a request with the same key that differs in one field."""
    differences: tuple[Content, ...] = (
        {"title": "A ticket"},
        {"description": f"{earlier.get('description') or ''} "},
        {"priority": "low" if earlier.get("priority") == "high" else "high"},
        {"reporter": f"{earlier.get('reporter') or ''}."},
        {"labels": [*earlier.get("labels", []), "another"]},
        {"attributes": {**earlier.get("attributes", {}), "a": "another"}},
    )
    return earlier | one_of(choices, differences)


def _similar_key(earlier: Content, choices: Choices) -> Content:
    """Return a request whose key differs in its case only, or at its end only."""
    key = earlier["idempotency_key"]
    key = key.swapcase() if choices.chance(0.5) else f"{key[:-1]}~"
    return earlier | {"idempotency_key": key}
