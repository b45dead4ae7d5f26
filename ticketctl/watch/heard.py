"""What a message that came from the topic says: an announcement, or something else."""

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from ticket_numbering.messages import TicketNumberAssigned
from ticketctl.sequences.ticket_voided import TicketVoided

ASSIGNED: Final[str] = TicketNumberAssigned.model_fields["type"].default
VOIDED: Final[str] = TicketVoided.model_fields["type"].default


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
    """Which announcements to show; an empty choice lets everything through."""

    projects: Collection[str] = ()
    priorities: Collection[str] = ()

    def lets_through(self, message: Heard | NotAnAnnouncement) -> bool:
        """Tell whether to show the message."""
        if isinstance(message, NotAnAnnouncement):
            return True
        return (not self.projects or message.says("project_id") in self.projects) and (
            not self.priorities or message.says("priority") in self.priorities
        )


def announcement(body: str, attributes: Mapping[str, str]) -> Heard | NotAnAnnouncement:
    """Read a message, delivered raw or in the envelope of SNS.

    Args:
        body: The message as SQS gives it.
        attributes: The texts among its attributes.
    """
    event = _object(body)
    if event.get("Type") == "Notification" and isinstance(event.get("Message"), str):
        attributes = _texts(event.get("MessageAttributes"))
        event = _object(event["Message"])
    if isinstance(event.get("id"), str) and isinstance(event.get("type"), str):
        return Heard(event, attributes.get("replayed") == "true", attributes)
    return NotAnAnnouncement(body)


def _texts(attributes: Any) -> dict[str, str]:
    """Return the attributes of an envelope that hold a text."""
    if not isinstance(attributes, dict):
        return {}
    return {
        name: attribute["Value"]
        for name, attribute in attributes.items()
        if isinstance(attribute, dict) and isinstance(attribute.get("Value"), str)
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
