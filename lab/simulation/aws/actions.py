"""The actions of a transaction, and the checks before any of them is prepared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from simulation.aws.errors import ServiceError, validation
from simulation.aws.items import (
    MAX_ITEM_BYTES,
    Address,
    Item,
    KeyMismatchError,
    size_of,
)
from simulation.aws.tables import Tables

MAX_ACTIONS: Final = 100
MAX_TRANSACTION_BYTES: Final = 4 * 1024 * 1024

NONE: Final = "None"

Reason = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Action:
    """A put of a transaction, or a check alone; the other kinds are not modelled."""

    request: Mapping[str, Any]
    address: Address
    item: Item | None
    """None leaves the item as it is."""


def actions_of(request: Mapping[str, Any], tables: Tables) -> Sequence[Action]:
    """Return the actions of a transaction.

    Raises:
        ServiceError: The request breaks a rule, so nothing is prepared.
    """
    members = request["TransactItems"]
    if not 1 <= len(members) <= MAX_ACTIONS:
        raise validation(f"1 to {MAX_ACTIONS} actions are allowed")
    actions = _actions(members, tables)
    if len({action.address for action in actions}) < len(actions):
        raise validation(
            "Transaction request cannot include multiple operations on one item"
        )
    sizes = [size_of(action.item) for action in actions if action.item]
    if max(sizes, default=0) > MAX_ITEM_BYTES:
        raise validation("Item size has exceeded the maximum allowed size")
    if sum(sizes) > MAX_TRANSACTION_BYTES:
        raise validation("the items exceed 4 MB in all")
    return actions


def _actions(members: Sequence[Mapping[str, Any]], tables: Tables) -> Sequence[Action]:
    """Return the actions; a key that does not match the schema is a reason."""
    actions: list[Action] = []
    reasons: list[Reason] = []
    for member in members:
        ((kind, request),) = member.items()
        assert kind in {"Put", "ConditionCheck"}, kind
        try:
            address, item = tables.address(request), request.get("Item")
            if item:
                tables.check_index(address)
            actions.append(Action(request, address, item))
            reasons.append({"Code": NONE})
        except KeyMismatchError as error:
            reasons.append({"Code": "ValidationError", "Message": error.message})
    if len(actions) < len(members):
        raise cancelled(reasons)
    return actions


def cancelled(reasons: Sequence[Reason]) -> ServiceError:
    """Return the error that holds a reason for each action."""
    return ServiceError("TransactionCanceledException", CancellationReasons=reasons)
