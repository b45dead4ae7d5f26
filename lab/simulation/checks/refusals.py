"""Checks of refusals: each is true when it is announced, and answers its message.

That of poison is announced before its dead letter arrives.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from simulation.aws.messages import Message, code_of, reason_of
from simulation.checks.history import History, actor, caller
from simulation.checks.monitor import FULL, Monitor
from simulation.checks.violations import Invariant, broken
from simulation.scenarios.requests import (
    Fault,
    Request,
    RequestId,
    fault_of,
    key_of,
)
from ticket_numbering.contract.attributes import SOURCE_MESSAGE_ID
from ticket_numbering.contract.dynamodb_items import key_of_id

MISMATCH: Final = "IdempotencyMismatchError"
TRUE_OF_VALID: Final[Mapping[str, Fault]] = {
    FULL: ("max_number", "cap_reached"),
    MISMATCH: ("idempotency_key", "key_reused"),
}
"""The errors of messages that are valid: the field, and the reason's code."""
ANNOUNCED_DELIVERIES: Final = 4
"""The deliveries after which poison is dead-lettered without its event."""


@dataclass
class Refusals:
    """Compares each refusal with its message and with the numbers at that moment.

    A refusal for a key that has its number can be right: another worker may have
    numbered an equal request meanwhile, above the refused cap.
    """

    monitor: Monitor
    at_caps: list[tuple[Request, frozenset[int]]] = field(default_factory=list)
    """Requests refused at their caps, with the result of `below_seeds` for their keys.

    Those numbers are no excuse: a read of the key shows them.
    """
    below_seeds: dict[tuple[str, RequestId], frozenset[int]] = field(
        default_factory=dict
    )
    """The numbers given below unfinished seeds when a process last read a key."""
    messages: dict[str, Message] = field(default_factory=dict)
    """The messages that arrived, by id."""
    contradicted: set[str] = field(default_factory=set)
    """Numbers that refused requests got below the end of an unfinished seed."""

    def noted(self, what: str, detail: Any) -> None:
        """See a process read keys, before it refuses requests."""
        if what == "> transact_get_items":
            for action in detail[0]["TransactItems"]:
                key = key_of_id(action["Get"]["Key"]["id"]["S"])
                given = self.monitor.below_seeds(key.project_id)
                self.below_seeds[actor(), key] = given

    def announced(self, event: Any) -> None:
        """See a refusal before a subscriber does."""
        data = event["data"]
        message = self._message(data["message_id"])
        self._check_reason(event["id"], data["error_type"], message)
        expected = fault_of(message.body) or TRUE_OF_VALID.get(data["error_type"])
        if (data["field"], data["reason"]) != expected:
            broken(Invariant.REFUSAL_CODE, f"{event['id']}: not because of {expected}")
        self.monitor.refusals[message.id].add(data["error_type"])

    def _message(self, message_id: str) -> Message:
        for message in self.monitor.queue.arrived[len(self.messages) :]:
            self.messages[message.id] = message
        return self.messages[message_id]

    def _check_reason(self, event_id: str, error_type: str, message: Message) -> None:
        request = self.monitor.sent[message.body]
        if error_type not in {FULL, MISMATCH}:
            if request is not None:
                broken(Invariant.REFUSAL_REASON, f"{event_id}: the message is valid")
            return
        if request is None:
            broken(Invariant.REFUSAL_REASON, f"{event_id}: the message is invalid")
        number, content = self.monitor.numbered.get(request.id, (None, ""))
        is_same = content == request.content
        if error_type == MISMATCH and (number is None or is_same):
            broken(Invariant.REFUSAL_REASON, f"{event_id}: no other ticket has the key")
        if error_type == FULL:
            project, _ = request.id
            given = self.below_seeds.get(
                (caller(), request.id), self.monitor.below_seeds(project)
            )
            self.at_caps.append((request, given))
            if self.monitor.last[request.id[0]] < request.cap:
                broken(
                    Invariant.REFUSED_BELOW_CAP,
                    f"refused below its cap: {message.body}",
                )
            self._check_number(request, given)

    def dead_lettered(self, letter: Message) -> None:
        """See a dead letter that has just arrived: its event is out before it.

        Excepted is poison that names no request, or whose event failed too often.
        """
        monitor, reason = self.monitor, reason_of(letter)
        if reason is not None:
            expected = fault_of(letter.body) or TRUE_OF_VALID.get(reason, ("", ""))
            if code_of(letter) != expected[1]:
                broken(Invariant.REFUSAL_CODE, f"dead letter, not of {expected}")
        if reason is None or not monitor.has_key_records or key_of(letter.body) is None:
            return
        message_id = letter.attributes[SOURCE_MESSAGE_ID]["StringValue"]
        receives = max(
            message.receives
            for message in monitor.queue.arrived
            if message.id == message_id
        )
        announced = monitor.refusals[message_id]
        if receives <= ANNOUNCED_DELIVERIES and reason not in announced:
            broken(
                Invariant.DEAD_LETTER_BEFORE_EVENT,
                f"{message_id} was dead-lettered before its event",
            )

    def finish(self) -> None:
        """Check that no refused request got a number that it accepts."""
        for request, given in self.at_caps:
            self._check_number(request, given)

    def _check_number(self, request: Request, given: frozenset[int]) -> None:
        """Check that a refused request has no number that it accepts.

        A worker that read before a seed may give one until the seed is finished, but
        for those that were given before the refused key was read.
        """
        number, content = self.monitor.numbered.get(request.id, (0, ""))
        if content != request.content or number > request.cap:
            return
        if number not in self.monitor.below_seeds(request.id[0]) - given:
            broken(
                Invariant.REFUSED_AND_NUMBERED,
                f"refused, but has number {number}: {request.id}",
            )
        self.contradicted.add(f"{request.id[0]}-{number}")


def check_order(monitor: Monitor, at_caps: list[Request]) -> None:
    """Check that each project's numbers follow the order of arrival.

    Of each key the first request counts that was not refused at its cap. One that has
    a number beyond its cap does not: it took the place of an equal one. Nor does a key
    of which a refused request came back: it can give its place to an equal one.
    """
    messages = monitor.queue.arrived
    arrived = [(monitor.sent[message.body], message.receives) for message in messages]
    back = {
        request.id
        for request, receives in arrived
        if request in at_caps and receives > 1
    }
    counting = [
        request
        for request, _ in arrived
        if request and request not in at_caps and request.id not in back
    ]
    first = {request.id: request for request in reversed(counting)}
    last: dict[str, int] = {}
    for project, key in dict.fromkeys(request.id for request in counting):
        number, _ = monitor.numbered.get((project, key), (None, ""))
        if number is not None and number <= first[project, key].cap:
            if number < last.get(project, 0):
                broken(
                    Invariant.OVERTAKEN,
                    f"{project}-{number} was overtaken on a FIFO queue",
                )
            last[project] = number


def check_poison_last(history: History) -> None:
    """Check that no invocation announces a number after it sent a dead letter."""
    sent: set[str] = set()
    for _, process, what, detail in history.events:
        if what == "> send_message_batch":
            sent.add(process)
        elif what == "> publish_batch" and process in sent:
            entries = detail[0]["PublishBatchRequestEntries"]
            if any("replayed" in entry["MessageAttributes"] for entry in entries):
                broken(
                    Invariant.POISON_BEFORE_NUMBERS,
                    f"{process} announced a number after poison",
                )
