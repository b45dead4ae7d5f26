"""What a message that came from the topic says: an announcement, or something else."""

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

ASSIGNED: Final = "ticket-numbering.TicketNumberAssigned.v1"
VOIDED: Final = "ticket-numbering.TicketVoided.v1"

# SNS refuses a filter policy of more combinations of values.
_MAX_COMBINATIONS: Final = 150


@dataclass(frozen=True)
class Heard:
    """An announcement as it came."""

    event: dict[str, Any]
    """The CloudEvents object."""
    replayed: bool
    """Whether it may have been announced before."""
    attributes: Mapping[str, str] = field(default_factory=dict, compare=False)
    """What filter policies go by."""

    @property
    def event_id(self) -> str:
        """The same each time that this is announced."""
        return str(self.event["id"])

    @property
    def type(self) -> str:
        """What kind of fact it announces, and in which version."""
        return str(self.event["type"])

    @property
    def data(self) -> dict[str, Any]:
        """The fact; empty if the event holds no object."""
        data = self.event.get("data")
        return data if isinstance(data, dict) else {}

    def says(self, name: str) -> str | None:
        """Return what the attributes say, or else the fact; SNS goes by the former."""
        value = self.attributes.get(name, self.data.get(name))
        return value if isinstance(value, str) else None


@dataclass(frozen=True)
class NotAnAnnouncement:
    """A message that is no CloudEvents object."""

    body: str


@dataclass(frozen=True)
class Filter:
    """Which announcements to hear; an empty choice lets everything through."""

    projects: Collection[str] = ()
    priorities: Collection[str] = ()
    types: Collection[str] = ()

    @property
    def policy(self) -> dict[str, list[str]]:
        """The filter policy for SNS; parts that would be too much for it are left out.

        So whoever hears must let each announcement through here as well.
        """
        choices = {
            "event_type": self.types,
            "priority": self.priorities,
            "project_id": self.projects,
        }
        policy: dict[str, list[str]] = {}
        for name, values in choices.items():
            combinations = math.prod(len(each) for each in policy.values()) * len(
                values
            )
            if values and combinations <= _MAX_COMBINATIONS:
                policy[name] = sorted(values)
        return policy

    def lets_through(self, heard: Heard) -> bool:
        """Tell whether the announcement is one of those to hear."""
        return (
            (not self.projects or heard.says("project_id") in self.projects)
            and (not self.priorities or heard.says("priority") in self.priorities)
            and (not self.types or heard.type in self.types)
        )


def heard(message: Mapping[str, Any]) -> Heard | NotAnAnnouncement:
    """Read a message as SQS gives it, delivered raw or in the envelope of SNS."""
    attributes = _texts(message.get("MessageAttributes"), "StringValue")
    return announcement(message["Body"], attributes)


def announcement(body: str, attributes: Mapping[str, str]) -> Heard | NotAnAnnouncement:
    """Read a message of which the body and the texts among its attributes are known."""
    event = _object(body)
    if event.get("Type") == "Notification" and isinstance(event.get("Message"), str):
        attributes = _texts(event.get("MessageAttributes"), "Value")
        event = _object(event["Message"])
    if isinstance(event.get("id"), str) and isinstance(event.get("type"), str):
        return Heard(event, attributes.get("replayed") == "true", attributes)
    return NotAnAnnouncement(body)


def _texts(attributes: Any, name_of_value: str) -> dict[str, str]:
    """Return the attributes that hold a text."""
    if not isinstance(attributes, dict):
        return {}
    return {
        name: value[name_of_value]
        for name, value in attributes.items()
        if isinstance(value, dict) and isinstance(value.get(name_of_value), str)
    }


def _object(text: str) -> dict[str, Any]:
    """Return the JSON object that a text holds, an empty one if it holds none."""
    try:
        value = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text)


def _refuse(constant: str) -> NoReturn:
    # NaN and Infinity are no JSON: printed again, they would stop whoever reads it.
    raise ValueError(constant)
