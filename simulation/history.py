"""Who did what, and what was answered: the story of one run."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from simulation.aws.service import ServiceError
from simulation.faults import Fault


@dataclass
class History:
    """What happened, in order; written down as it comes, made readable when asked."""

    clock: Callable[[], float]
    actor: Callable[[], str]
    events: list[tuple[float, str, str, Any]] = field(default_factory=list)

    def note(self, what: str, detail: Any = None) -> None:
        """Write down that the running task did something."""
        self.events.append((self.clock(), self.actor(), what, detail))

    def called(
        self, operation: str, request: Mapping[str, Any], fault: Fault | None
    ) -> None:
        """Write down a call."""
        self.note(f"> {operation}", (request, fault))

    def answered(self, operation: str, answer: Any) -> None:
        """Write down what the caller saw."""
        self.note(f"< {operation}", answer)

    def attempts(self) -> Counter[str]:
        """Count the transactions that each process sent."""
        return Counter(
            actor
            for _, actor, what, _ in self.events
            if what == "> transact_write_items"
        )

    def refusals(self) -> Counter[str]:
        """Count the codes and reasons with which transactions were refused."""
        seen: Counter[str] = Counter()
        for _, _, what, detail in self.events:
            if what == "< transact_write_items" and isinstance(detail, ServiceError):
                reasons = detail.members.get("CancellationReasons", ())
                seen.update({detail.code, *(reason["Code"] for reason in reasons)})
        return seen

    def longest_tries(self) -> Counter[tuple[str, str]]:
        """Return how often each process tried in a project without an answer."""
        tries: Counter[tuple[str, str]] = Counter()
        longest: Counter[tuple[str, str]] = Counter()
        for _, actor, what, detail in self.events:
            if what == "> transact_write_items":
                place = actor, _project_of(detail[0])
                tries[place] += 1
                longest[place] = max(longest[place], tries[place])
            elif what == "< transact_write_items" and _is_progress(detail):
                # It does not say whose: every project of the process begins anew.
                for place in [each for each in tries if each[0] == actor]:
                    tries[place] = 0
        return longest

    def lines(self) -> list[str]:
        """Return the story, a line for each event."""
        return [
            f"{time:9.3f}  {actor:14}  {what}  {_shown(detail)}".rstrip()
            for time, actor, what, detail in self.events
        ]


def _shown(detail: Any) -> str:  # noqa: C901, PLR0911 - a table of forms.
    match detail:
        case None:
            return ""
        case (request, Fault() as fault):
            return f"{_shown(request)}  !! {fault.value}"
        case (request, None):
            return _shown(request)
        case Fault():
            return f"!! {detail.value}"
        case ServiceError():
            reasons = detail.members.get("CancellationReasons", ())
            codes = " ".join(reason["Code"] for reason in reasons)
            return f"{detail.code} {codes}".rstrip()
        case {"TransactItems": actions}:
            return "  ".join(_action(each) for each in actions)
        case {"Items": items} | {"Responses": items}:
            return str(items)
        case {"PublishBatchRequestEntries": entries}:
            return "  ".join(_announced(each) for each in entries)
        case {"Entries": entries}:
            return "  ".join(str(each["MessageBody"])[:60] for each in entries)
        case {"Successful": sent, "Failed": failed}:
            return f"sent {[e['Id'] for e in sent]} failed {[e['Id'] for e in failed]}"
        case {"TableName": _}:
            kept = ("Key", "Item", "ExpressionAttributeValues")
            return "  ".join(str(detail[name]) for name in kept if name in detail)
        case _:
            return str(detail)


def _project_of(request: Mapping[str, Any]) -> str:
    ((_, put),) = request["TransactItems"][0].items()
    return str(put["Item"]["project_id"]["S"])


def _is_progress(answer: Any) -> bool:
    """Tell whether some request was answered: written, or found to be recorded."""
    if isinstance(answer, ServiceError):
        reasons = answer.members.get("CancellationReasons", ())
        return any("Item" in reason for reason in reasons)
    return not isinstance(answer, Fault)


def _action(action: Mapping[str, Any]) -> str:
    ((kind, request),) = action.items()
    item = request.get("Item") or request["Key"]
    name = item.get("id", {}).get("S") or (
        f"{item['project_id']['S']}-{item['number']['N']}"
    )
    return f"{kind} {name}"


def _announced(entry: Mapping[str, Any]) -> str:
    attributes = entry["MessageAttributes"]
    replay = attributes["replayed"]["StringValue"] == "true"
    subject = entry["Message"].partition('"subject":"')[2].partition('"')[0]
    return f"{subject}{' (replay)' if replay else ''}"
