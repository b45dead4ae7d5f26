"""Reads messages of the topic, and formats them as lines for people."""

from dataclasses import dataclass
from typing import Any, Final

from rich.text import Text

from ticket_numbering.contract.events import TicketNumberAssigned, TicketRefused
from ticket_numbering.contract.mark_events import TicketErased, TicketVoided
from ticket_numbering.contract.messages import RequestKey
from ticket_numbering.contract.values import PRIORITIES
from ticketctl.aws.queues import Received
from ticketctl.aws.request_fields import json_fields
from ticketctl.cli.output import sanitized

ASSIGNED: Final[str] = TicketNumberAssigned.model_fields["type"].default
REFUSED: Final[str] = TicketRefused.model_fields["type"].default
VOIDED: Final[str] = TicketVoided.model_fields["type"].default
ERASED: Final[str] = TicketErased.model_fields["type"].default
_STATUSES: Final = {VOIDED: TicketVoided.status, ERASED: TicketErased.status}

_BODY_WIDTH: Final = 200
_TITLE_WIDTH: Final = 100
_PRIORITY_WIDTH: Final = max(map(len, PRIORITIES))


@dataclass(frozen=True)
class Announcement:
    """An announced event."""

    event: dict[str, Any]
    """The CloudEvents object; repeats have the same id."""
    replayed: bool = False
    """Whether it may have been announced before."""

    @property
    def type(self) -> str:
        """The event type."""
        return str(self.event["type"])

    @property
    def data(self) -> dict[str, Any]:
        """The fact; empty if the event has no object."""
        data = self.event.get("data")
        return data if isinstance(data, dict) else {}

    @property
    def key(self) -> RequestKey:
        """The key of the event's request."""
        names = "project_id", "idempotency_key"
        return RequestKey(*(str(self.data.get(name)) for name in names))


def read_announcement(message: Received) -> Announcement | None:
    """Read a message; return None if it is no CloudEvents object."""
    event = json_fields(message.body)
    if isinstance(event.get("id"), str) and isinstance(event.get("type"), str):
        return Announcement(event, message.attributes.get("replayed") == "true")
    return None


def line_of(message: Received) -> Text:
    """Return a message as a sanitized line for people."""
    announcement = read_announcement(message)
    if announcement is None:
        body = sanitized(message.body, _BODY_WIDTH)
        return Text(f"not an announcement: {body}", style="yellow")
    data, event_id = announcement.data, announcement.event["id"]
    key = _text(data.get("ticket_key", event_id))
    line = Text(f"{key:<12}", style="bold green")
    if announcement.type == ASSIGNED:
        project, priority = _text(data.get("project_id")), _text(data.get("priority"))
        title = _text(data.get("title"))
        priority = f"{priority:<{_PRIORITY_WIDTH}}"
        line = Text.assemble(line, f" {project:<10} {priority}  {title}")
    elif announcement.type == REFUSED:
        project, reason = _text(data.get("project_id")), _text(data.get("error_type"))
        where, own_key = _text(data.get("field")), _text(data.get("idempotency_key"))
        line = Text(f"{'refused':<12}", style="bold red")
        if code := data.get("reason"):  # An older worker has none.
            where = f"{where}, {_text(code)}"
        line = Text.assemble(line, f" {project:<10} {reason}: {where}  {own_key}")
    elif status := _STATUSES.get(announcement.type):
        line = Text(f"{key} {status}: {_text(data.get('reason'))}")
    else:
        line = Text(f"{_text(event_id):<12} {_text(announcement.type)}")
    return line.append("  (replay)", style="yellow") if announcement.replayed else line


def _text(value: Any) -> str:
    return sanitized("-" if value is None else str(value), _TITLE_WIDTH)
