"""Transactions: prepared item by item, decided at once, committed item by item.

Between the decision and the last commit a Query can see a part of a block.
A transaction can be cancelled for a conflict with one that is cancelled itself.
Sources: DynamoDB developer guide, "DynamoDB transactions: how it works"; "Distributed
Transactions at Scale in Amazon DynamoDB", USENIX ATC 2023.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from simulation.aws.actions import NONE, Action, Reason, actions_of, cancelled
from simulation.aws.errors import ServiceError
from simulation.aws.items import Address, holds, write_units
from simulation.aws.latency import Steps
from simulation.aws.tables import WITHHELD, Tables
from simulation.engine.tasks import FOREVER

TOKEN_SECONDS: Final = 600.0
"""The lifetime of a token; TransactWriteItems API reference."""

UNITS_FACTOR: Final = 2
"""Each item costs two writes: to prepare and to commit."""


@dataclass(slots=True)
class Token:
    """The request of a client's token, and when it was done."""

    request: Mapping[str, Any]
    done_at: float = FOREVER
    """FOREVER while the transaction runs."""


class Transactions:
    """The coordinator of every transaction."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._tokens: dict[str, Token] = {}

    def run(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Do all of it or nothing.

        Raises:
            ServiceError: Nothing was done, or the same token is in progress.
        """
        token = request.get("ClientRequestToken")
        content = {k: v for k, v in request.items() if k != "ClientRequestToken"}
        if token is None:
            return self._transact(content)
        if self._is_replay(token, content):
            return {}
        entry = self._tokens[token] = Token(content)
        try:
            answer = self._transact(content)
        except ServiceError:
            del self._tokens[token]
            raise
        entry.done_at = self._tables.scheduler.now
        return answer

    def _is_replay(self, token: str, content: Mapping[str, Any]) -> bool:
        entry = self._tokens.get(token)
        if entry is None or self._tables.scheduler.now - entry.done_at >= TOKEN_SECONDS:
            return False
        if entry.request != content:
            raise ServiceError("IdempotentParameterMismatchException")
        if entry.done_at == FOREVER:
            raise ServiceError("TransactionInProgressException")
        return True

    def _transact(self, request: Mapping[str, Any]) -> dict[str, Any]:
        actions = actions_of(request, self._tables)
        held: list[Address] = []
        reasons: dict[Address, Reason] = {}
        tables = self._tables
        ordered = tables.choices.order(actions)
        steps = tables.latency.steps(tables.choices, len(ordered))
        for position, action in enumerate(ordered):
            if position:
                tables.scheduler.sleep(steps.item())
            reason = self._prepare(action)
            if reason is None:
                held.append(action.address)
            else:
                reasons[action.address] = reason
                tables.on_failed_action(action.address, reason["Code"])
        if reasons:
            self._cancel(actions, held, reasons, steps)
        self._pause(steps.decision)
        self._commit(actions, steps)
        return {}

    def _prepare(self, action: Action) -> Reason | None:
        """Lock the item, or return the reason why not."""
        tables = self._tables
        if action.address in tables.locked:
            return {"Code": "TransactionConflict", "Message": "in use"}
        old = tables.read(action.address)
        units = UNITS_FACTOR * write_units(action.item or old or {})
        if not tables.charge(action.address, units):
            return {"Code": "ThrottlingError", "Message": "too many writes"}
        if holds(action.request, old):
            tables.locked.add(action.address)
            return None
        reason = {"Code": "ConditionalCheckFailed", "Message": "failed"}
        wanted = action.request.get("ReturnValuesOnConditionCheckFailure")
        return reason | ({"Item": old} if old and wanted == "ALL_OLD" else {})

    def _cancel(
        self,
        actions: Sequence[Action],
        held: Sequence[Address],
        reasons: Mapping[Address, Reason],
        steps: Steps,
    ) -> None:
        """Unlock the items; raise with all of the reasons, or with some."""
        for address in held:
            self._tables.scheduler.sleep(steps.item())
            self._tables.locked.discard(address)
        self._pause(steps.decision)
        reported = self._reported(list(reasons))
        listed = [
            reasons[action.address] if action.address in reported else {"Code": NONE}
            for action in actions
        ]
        raise cancelled(listed)

    def _reported(self, failed: list[Address]) -> list[Address]:
        """Return the items to report: DynamoDB does not promise every reason."""
        choices = self._tables.choices
        if len(failed) == 1 or not choices.chance(self._tables.partial_reasons):
            return failed
        self._tables.effects[WITHHELD] += 1
        return [*choices.order(failed)][: 1 + choices.pick(len(failed) - 1)]

    def _commit(self, actions: Sequence[Action], steps: Steps) -> None:
        """Decide, and then write item by item."""
        tables = self._tables
        tables.on_decision(
            {action.address: action.item for action in actions if action.item}
        )
        ordered = tables.choices.order(actions)
        for action in ordered:
            tables.scheduler.sleep(steps.item())
            if action.item:
                tables.write(action.address, action.item)
            tables.locked.discard(action.address)

    def _pause(self, seconds: float) -> None:
        """Sleep; where a decision takes no time, no other task runs in between."""
        if seconds:
            self._tables.scheduler.sleep(seconds)
