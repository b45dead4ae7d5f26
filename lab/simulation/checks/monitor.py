"""The numbers and their announcements, checked at every decision and at the end."""

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from simulation.aws.items import Address, Item, plain
from simulation.aws.messages import Message
from simulation.aws.queues import Queue
from simulation.aws.tables import TICKETS
from simulation.aws.topics import Topic
from simulation.checks.violations import Invariant, broken
from simulation.scenarios.requests import OPTIONAL, Request, RequestId, canonical, parse

FOREIGN: Final = "of_the_next_version"
ADDED: Final = frozenset({"number", "assigned_at", "chain", "salt", FOREIGN})
"""The attributes of a ticket that its request does not have."""
FULL: Final = "SequenceFullError"
COPIED_FIELDS: Final = ("project_id", "idempotency_key", "title", "priority")
"""The fields of a request that its announcement repeats."""


@dataclass
class Monitor:
    """Compares the workers' decisions with the producers' requests."""

    topic: Topic
    queue: Queue
    dead_letters: Queue
    has_key_records: bool = True
    """Whether each ticket has a key record, as with the shipped algorithm."""
    forbids_deletion: bool = True

    sent: dict[str, Request | None] = field(default_factory=dict)
    """The request of each body; None for poison."""
    wanted: dict[RequestId, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The contents requested under each key."""
    last: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """The last number of each project."""
    issued: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    numbered: dict[RequestId, tuple[int, str]] = field(default_factory=dict)
    """The number and the content of each request that has its ticket."""
    recorded: dict[RequestId, int] = field(default_factory=dict)
    """The number in each key record."""
    refusals: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The reasons announced for each message."""

    def requested(self, body: str) -> Request | None:
        """See a message before its producer sends it; return its request."""
        request = self.sent[body] = parse(body)
        if request:
            self.wanted[request.id].add(request.content)
        return request

    def decided(self, writes: Mapping[Address, Item | None]) -> None:
        """See the items that hold from now on, before they can be read."""
        numbers: dict[str, list[int]] = defaultdict(list)
        for address, item in writes.items():
            if address.table == TICKETS:
                project, number = str(address.key[0]), int(address.key[1])
                if item is None:
                    self._see_deletion(project, number)
                else:
                    self._see_ticket(project, number, item)
                    numbers[project].append(number)
            elif self.has_key_records and item is not None:
                self._see_key(item)
        for project, new in numbers.items():
            self._check_sequence(project, sorted(new))
        if self.has_key_records and self.recorded != self._numbers():
            broken(
                Invariant.TABLES_APART, "a ticket and the record of its key went apart"
            )

    def _see_deletion(self, project: str, number: int) -> None:
        if self.forbids_deletion:
            broken(Invariant.DELETED, f"{project}-{number} was deleted")
        self.last[project] = number - 1

    def _see_ticket(self, project: str, number: int, item: Item) -> None:
        if number in self.issued[project]:
            broken(Invariant.GIVEN_TWICE, f"{project}-{number} was given twice")
        self.issued[project].add(number)
        request = project, plain(item["idempotency_key"])
        if request in self.numbered:
            broken(Invariant.SECOND_NUMBER, f"{request} has two numbers")
        if request not in self.wanted:
            broken(Invariant.UNREQUESTED, f"{request} was never requested")
        ticket = {
            name: plain(value) for name, value in item.items() if name not in ADDED
        }
        content = canonical({**OPTIONAL, **ticket})
        if content not in self.wanted[request]:
            broken(Invariant.CONTENT, f"{project}-{number} differs from its request")
        self.numbered[request] = number, content

    def _see_key(self, item: Item) -> None:
        request, number = _numbered(item)
        if request in self.recorded:
            broken(
                Invariant.RECORD_OVERWRITTEN, f"the record of {request} was overwritten"
            )
        self.recorded[request] = number

    def _check_sequence(self, project: str, new: list[int]) -> None:
        first = self.last[project] + 1
        if new != list(range(first, first + len(new))):
            broken(Invariant.ORDER, f"{project}: {new} was committed after {first - 1}")
        self.last[project] = new[-1]

    def _numbers(self) -> dict[RequestId, int]:
        return {request: number for request, (number, _) in self.numbered.items()}

    def below_seeds(self, project: str) -> frozenset[int]:  # noqa: ARG002
        """Return the numbers given below the last one of an unfinished seed."""
        return frozenset()

    def announced(self, event: Any) -> None:
        """See an announcement before a subscriber does: its number is committed."""
        request = event["data"]["project_id"], event["data"]["idempotency_key"]
        number, content = self.numbered.get(request, (None, ""))
        if number is None or event["id"] != f"{request[0]}-{number}":
            broken(
                Invariant.ANNOUNCED_EARLY,
                f"{event['id']} was announced before it was committed",
            )
        asked = json.loads(content)
        due = {name: asked[name] for name in COPIED_FIELDS} | {"number": number}
        data = {name: event["data"].get(name) for name in due}
        if data != due:
            broken(
                Invariant.ANNOUNCED_CONTENT, f"{event['id']} was announced as {data}"
            )

    def is_answered(self, message: Message) -> bool:
        """Return whether its number, or its refusal at its cap, is announced."""
        return self.is_done(message.body) or FULL in self.refusals[message.id]

    def is_done(self, body: str) -> bool:
        """Return whether the body's own ticket is numbered and announced."""
        request = self.sent[body]
        if request is None or request.id not in self.numbered:
            return False
        number, content = self.numbered[request.id]
        announced = self.topic.published.get(f"{request.id[0]}-{number}")
        return bool(announced) and request.content == content

    def is_valid(self, body: str) -> bool:
        """Return whether it is a request, and no other one with its key is numbered."""
        request = self.sent[body]
        if request is None:
            return False
        _, content = self.numbered.get(request.id, (None, request.content))
        return request.content == content

    def finish(self, items: Mapping[str, list[Item]]) -> None:
        """Check the announcements and the tables' items when nothing is left to do."""
        for event_id, events in self.topic.published.items():
            if len({self.words(event) for event in events}) > 1:
                broken(
                    Invariant.REPEAT_CONTENT,
                    f"{event_id} was announced in different words",
                )
        if self.forbids_deletion:
            self._check_tables(items)

    def words(self, message: str) -> str:
        """Return the part of an event that all with its id share."""
        return message

    def _check_tables(self, items: Mapping[str, list[Item]]) -> None:
        """Check that everything decided was written."""
        if dict(map(_numbered, items[TICKETS])) != self._numbers():
            broken(Invariant.TABLES_AT_END, "the table differs from the decisions")


def _numbered(item: Item) -> tuple[RequestId, int]:
    """Return the request of a ticket or of a key's record, and its number."""
    request = plain(item["project_id"]), plain(item["idempotency_key"])
    return request, int(plain(item["number"]))
