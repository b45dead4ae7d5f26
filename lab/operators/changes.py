"""Puts other parts in place of shipped ones, for a history."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from simulation.aws.tables import KEYS
from ticketctl.restore.writing import Writer

Change = tuple[Any, str, Callable[[Any], Any]]
"""A class or a module, the name of a part, and the part's replacement."""


@contextmanager
def changed(changes: Sequence[Change]) -> Iterator[None]:
    """Put other parts in place of real ones for a while."""
    real = [getattr(owner, name) for owner, name, _ in changes]
    try:
        for part, (owner, name, change) in zip(real, changes, strict=True):
            setattr(owner, name, change(part))
        yield
    finally:
        for part, (owner, name, _) in zip(real, changes, strict=True):
            setattr(owner, name, part)


Action = Mapping[str, Any]


def returning(value: Any) -> Callable[[Any], Any]:
    """Return a replacement that only returns a value."""
    return lambda _: lambda *_, **__: value


def then(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a replacement that changes an answer."""
    return lambda real: lambda *given, **named: change(real(*given, **named))


def unless_there(kind: type) -> Callable[[Any], Any]:
    """Return a replacement that answers no if an item of a kind exists."""
    return lambda real: (
        lambda own, there: not isinstance(there, kind) and real(own, there)
    )


def as_if_unrecorded(real: Any) -> Any:
    """Return a step as if no record had the hash."""
    return lambda *given, **_: real(*given, is_recorded=False)


def unchecked(real: Any) -> Any:
    """Put, or check nothing, on any ground."""

    def act(*given: Any) -> Any:
        [(kind, request)] = real(*given).items()
        left = {n: v for n, v in request.items() if n in {"TableName", "Key", "Item"}}
        if kind == "ConditionCheck":
            [name, *_] = request["Key"]
            either = f"attribute_exists({name}) OR attribute_not_exists({name})"
            left["ConditionExpression"] = either
        return {kind: left}

    return act


def writing_no(drops: Callable[[Action], bool]) -> Sequence[Change]:
    """Return a replacement that leaves some actions out of every transaction."""

    def change(answer: Any) -> Any:
        actions, size = answer
        return {at: action for at, action in actions.items() if not drops(action)}, size

    def transact(real: Any) -> Any:
        return lambda self, project_id, block: (
            not block.actions or real(self, project_id, block)
        )

    return (Writer, "_actions", then(change)), (Writer, "_transact", transact)


def puts_record(action: Action) -> bool:
    """Return whether it writes the record of a key."""
    return bool(action.get("Put", {}).get("TableName") == KEYS)


def puts_ticket(action: Action) -> bool:
    """Return whether it writes a ticket."""
    item = action.get("Put", {"Item": {}})["Item"]
    return "idempotency_key" in item and not puts_record(action)


def puts_reserved(action: Action) -> bool:
    """Return whether it writes a reserved number."""
    item = action.get("Put", {"Item": {}})["Item"]
    return "reserved_up_to" in item and not puts_ticket(action)


def forgetting(real: Any) -> Any:
    """Read again, and forget the writes of others."""

    def look(self: Any, *given: Any) -> None:
        real(self, *given)
        self.stale.clear()

    return look


def without_mark(real: Any) -> Any:
    """Reserve the end, and put it back in its turn."""

    def reserve(self: Any, outline: Any) -> Any:
        why = real(self, outline)
        outline.mark = 0
        return why

    return reserve


def tied(outline: Any) -> Any:
    """Take a file for one of the same history."""
    outline.is_tied = True
    return outline


def without_time(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a record that never expires."""
    return {name: value for name, value in record.items() if name != "expires_at"}
