"""What producers send: requests of every form, repeats, rivals for a key, poison."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from simulation.engine.choices import Choices
from simulation.requests import PRIORITIES

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
    # By case alone, named as a ticket is, and one the start of the other.
    ("P0", "p0", "P0-1"),
    ("P0", "P", "p0"),
)
KEYS: Final = ("key-{}", "key-{}", "{:k>128}")
MOST_PADDING: Final = 60_000
OPTIONAL_VALUES: Final[Mapping[str, Callable[[Choices], Any]]] = {
    "description": lambda choices: "words \n" * choices.pick(9),
    "priority": lambda choices: PRIORITIES[choices.pick(len(PRIORITIES))],
    "reporter": lambda choices: ("Ann", "ann", "J\u00fcrgen \U0001f39f")[
        choices.pick(3)
    ],
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
    """One message of a producer."""

    at: float
    body: str
    attributes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def request(project: str, key: str, title: str = "a ticket", **fields: Any) -> str:
    """Return the body of a create-ticket message."""
    content = {"project_id": project, "idempotency_key": key, "title": title}
    return json.dumps(content | fields)


@dataclass
class Producers:
    """Draws what is sent in one history."""

    choices: Choices
    count: int
    projects: Sequence[str]
    spread: float
    """Seconds within which all is sent."""
    key: str = KEYS[0]
    poison: float = 0.08
    """How much of it is poison."""
    repeats: float = 0.35
    """How much of the rest has to do with what was sent before."""
    has_every_field: bool = False
    padding: int = 1
    sent: list[Content] = field(default_factory=list)
    """What was valid of it."""

    def sendings(self) -> Iterator[Sending]:
        """Yield what is sent."""
        with_attributes = self.choices.chance(0.2)
        for serial in range(self.count):
            body = self._body(serial)
            at = self.choices.duration(0.0, self.spread)
            yield Sending(at, body, MESSAGE_ATTRIBUTES if with_attributes else {})

    def _body(self, serial: int) -> str:
        if self.choices.chance(self.poison):
            return POISON[self.choices.pick(len(POISON))]
        content = self._content(serial)
        self.sent.append(content)
        return json.dumps(content)

    def _content(self, serial: int) -> Content:
        if self.sent and self.choices.chance(self.repeats):
            earlier = self.sent[self.choices.pick(len(self.sent))]
            changes = (_same, _same, _in_other_words, _rival, self._elsewhere, _twin)
            return changes[self.choices.pick(len(changes))](earlier, self.choices)
        content = {
            "project_id": self.projects[self.choices.pick(len(self.projects))],
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
        """Use a key that another project may have, too."""
        project = self.projects[choices.pick(len(self.projects))]
        return earlier | {"project_id": project}


def _same(earlier: Content, choices: Choices) -> Content:
    """Send it again."""
    del choices
    return earlier


def _in_other_words(earlier: Content, choices: Choices) -> Content:
    """Say what was left out, which asks for the same ticket."""
    del choices
    return {"labels": [], "reporter": None, "priority": "medium"} | earlier


def _rival(earlier: Content, choices: Choices) -> Content:
    """Ask for another ticket under the same key: it differs in one field."""
    others: tuple[Content, ...] = (
        {"title": "A ticket"},
        {"description": f"{earlier.get('description') or ''} "},
        {"priority": "low" if earlier.get("priority") == "high" else "high"},
        {"reporter": f"{earlier.get('reporter') or ''}."},
        {"labels": [*earlier.get("labels", []), "another"]},
        {"attributes": {**earlier.get("attributes", {}), "a": "another"}},
    )
    return earlier | others[choices.pick(len(others))]


def _twin(earlier: Content, choices: Choices) -> Content:
    """Use a key that differs in case only, or at its end only."""
    key = earlier["idempotency_key"]
    key = key.swapcase() if choices.chance(0.5) else f"{key[:-1]}~"
    return earlier | {"idempotency_key": key}
