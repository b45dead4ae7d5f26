"""The message that a dead letter becomes when it is sent back."""

from typing import Any, Final
from uuid import uuid4

from ticketctl.dead_letters.letters import Letter
from ticketctl.system.queues import GROUP_ID

_NO_GROUP: Final = "-"  # A FIFO queue demands one.

Entry = dict[str, Any]


def successor(letter: Letter, *, fifo: bool) -> Entry:
    """Return what to send: the body and the producer's attributes, without our reason.

    On a FIFO queue it has an id of its own, for SQS must not take it for a repeat.
    """
    attributes = {
        name: {
            part: value[part]
            for part in ("DataType", "StringValue", "BinaryValue")
            if part in value
        }
        for name, value in letter.own_attributes.items()
    }
    entry: Entry = {"MessageBody": letter.body}
    if attributes:
        entry["MessageAttributes"] = attributes
    group = group_of(letter)
    if fifo:
        entry["MessageDeduplicationId"] = str(uuid4())
    if fifo or group != _NO_GROUP:
        entry["MessageGroupId"] = group
    return entry


def group_of(letter: Letter) -> str:
    """Return the message group: the body's project, else the group it came with."""
    group = letter.project_id or letter.system.get("MessageGroupId", "")
    return group if GROUP_ID.fullmatch(group) else _NO_GROUP


def entry_size(entry: Entry) -> int:
    """Return the bytes that count for SQS's limits: body and attributes."""
    attributes = entry.get("MessageAttributes", {})
    return len(entry["MessageBody"].encode()) + sum(
        len(name.encode())
        + sum(
            len(part if isinstance(part, bytes) else part.encode())
            for part in value.values()
        )
        for name, value in attributes.items()
    )
