"""The log of one run: events, calls and answers."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from greenlet import getcurrent

from simulation.aws.errors import ServiceError
from simulation.aws.faults import Fault
from simulation.aws.items import write_units
from simulation.aws.network import SERVICES
from simulation.aws.transactions import UNITS_FACTOR
from simulation.engine.scheduler import Scheduler
from simulation.engine.tasks import Task

OUTSIDE: Final = "outside"
"""The process of tasks that are never killed."""


def actor() -> str:
    """Return the name of the running process; of the two above, that of the task."""
    task = getcurrent()
    if not isinstance(task, Task):
        return "-"
    is_named = task.process.name in {OUTSIDE, SERVICES}
    return task.name if is_named else task.process.name


def caller() -> str:
    """Return the name of the process whose call the running task serves."""
    return actor().partition("/")[0]


ANSWERS: Final = {"< transact_write_items", "< transact_get_items"}
"""Answers that can be progress: blocks, and requests refused at their caps."""


INVALID: Final = {"ValidationException", "ValidationError"}
ACTIONS_A_REQUEST: Final = 2


@dataclass
class History:
    """The events of a run in their order; formatted on demand."""

    scheduler: Scheduler
    events: list[tuple[float, str, str, Any]] = field(default_factory=list)
    on_note: Callable[[str, Any], None] = lambda *_: None
    """Called with each event when it happens."""

    def note(self, what: str, detail: Any = None) -> None:
        """Add an event of the running task."""
        self.events.append((self.scheduler.now, actor(), what, detail))
        self.on_note(what, detail)

    def called(
        self, operation: str, request: Mapping[str, Any], fault: Fault | None
    ) -> None:
        """Add a call."""
        self.note(f"> {operation}", (request, fault))

    def attempts(self) -> int:
        """Return the number of transactions sent."""
        return sum(what == "> transact_write_items" for _, _, what, _ in self.events)

    def refusals(self) -> Counter[str]:
        """Count the codes and reasons with which transactions were refused."""
        seen: Counter[str] = Counter()
        for _, _, what, detail in self.events:
            if what == "< transact_write_items" and isinstance(detail, ServiceError):
                reasons = detail.members.get("CancellationReasons", ())
                seen.update({detail.code, *(reason["Code"] for reason in reasons)})
        return seen

    def most_attempts(self) -> Counter[tuple[str, str]]:
        """Return each process's most attempts in a project without progress."""
        # botocore sends an attempt again under the same token.
        attempts: dict[tuple[str, str], set[str]] = defaultdict(set)
        # Where the last block was a single request.
        alone: set[tuple[str, str]] = set()
        most: Counter[tuple[str, str]] = Counter()
        for _, actor, what, detail in self.events:
            if what == "> transact_write_items":
                place = actor, _project_of(detail[0])
                attempts[place].add(detail[0]["ClientRequestToken"])
                is_alone = len(detail[0]["TransactItems"]) == ACTIONS_A_REQUEST
                (alone.add if is_alone else alone.discard)(place)
                most[place] = max(most[place], len(attempts[place]))
            elif what in ANSWERS:
                # The answer does not name the project, so all of them start over.
                for place in [place for place in attempts if place[0] == actor]:
                    if _is_progress(detail) or (_is_invalid(detail) and place in alone):
                        attempts[place].clear()
        return most

    def units_due(self) -> int:
        """Return the write units of all transactions sent, and of the lines' calls."""
        puts = sum(
            UNITS_FACTOR * write_units(action["Put"]["Item"])
            for _, _, what, detail in self.events
            if what == "> transact_write_items"
            for action in detail[0]["TransactItems"]
        )
        return puts + sum(what == "> update_item" for _, _, what, _ in self.events)

    def lines(self) -> list[str]:
        """Return a line for each event."""
        return [
            f"{time:9.3f}  {actor:14}  {what}  {_shown(detail)}".rstrip()
            for time, actor, what, detail in self.events
        ]


def _shown(detail: Any) -> str:  # noqa: PLR0911 - a table of forms.
    match detail:
        case None:
            return ""
        case (request, None):
            return _shown(request)
        case (request, Fault() as fault):
            return f"{_shown(request)}  {_shown(fault)}"
        case Fault():
            return f"!! {detail.value.text}"
        case ServiceError():
            reasons = detail.members.get("CancellationReasons", ())
            return " ".join([detail.code, *(reason["Code"] for reason in reasons)])
        case {"TransactItems": actions}:
            return "  ".join(_action(action) for action in actions)
        case {"PublishBatchRequestEntries": entries}:
            return "  ".join(_announced(entry) for entry in entries)
        case {"TableName": _}:
            kept = ("Key", "Item", "ExpressionAttributeValues")
            return "  ".join(str(detail[name]) for name in kept if name in detail)
        case _:
            return str(detail)


def _project_of(request: Mapping[str, Any]) -> str:
    ((_, put),) = request["TransactItems"][0].items()
    return str(put["Item"]["project_id"]["S"])


def _is_progress(answer: Any) -> bool:
    """Return whether a request got its number: written, or found to be recorded.

    The item of a ticket that took the number is no progress; that of a key is.
    """
    if isinstance(answer, ServiceError):
        reasons = answer.members.get("CancellationReasons", ())
        return any("Item" in reason for reason in reasons[1::2])
    return not isinstance(answer, Fault)


def _is_invalid(answer: Any) -> bool:
    """Return whether DynamoDB rejected the block; of one request, it is done with."""
    if not isinstance(answer, ServiceError):
        return False
    reasons = answer.members.get("CancellationReasons", ())
    codes = {answer.code, *(reason["Code"] for reason in reasons)}
    return not codes.isdisjoint(INVALID)


def _action(action: Mapping[str, Any]) -> str:
    ((kind, request),) = action.items()
    item = request.get("Item") or request["Key"]
    name = item.get("id", {}).get("S") or (
        f"{item['project_id']['S']}-{item['number']['N']}"
    )
    return f"{kind} {name}"


def _announced(entry: Mapping[str, Any]) -> str:
    replayed = entry["MessageAttributes"].get("replayed", {})
    is_replay = replayed.get("StringValue") == "true"
    event_id = entry["Message"].partition('"id":"')[2].partition('"')[0]
    return f"{event_id}{' (replay)' if is_replay else ''}"
