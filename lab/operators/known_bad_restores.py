"""Restores that lack a condition: the histories catch each."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from operators.restored_history import Make
from operators.restored_system import RestoredSystem
from simulation.aws.clients import AlteredClient
from simulation.aws.tables import KEYS
from simulation.checks.violations import Invariant
from ticketctl.restore.verdicts import Verdicts


class NoRecords(Verdicts):
    """Makes no record from a ticket."""

    def record_of(self, ticket: Any) -> None:
        """Return none."""


Action = Mapping[str, Any]


def dropping(drops: Callable[[Action], bool]) -> Make:
    """Return restores whose transactions lack some of their actions."""

    def wrap(real: Any) -> AlteredClient:
        def transact_write_items(**request: Any) -> Any:
            left = [action for action in request["TransactItems"] if not drops(action)]
            return real.transact_write_items(TransactItems=left) if left else {}

        return AlteredClient(real, transact_write_items=transact_write_items)

    return partial(RestoredSystem, wrapper=wrap)


def puts_record(action: Action) -> bool:
    """Return whether it writes the record of a key."""
    return bool(action.get("Put", {}).get("TableName") == KEYS)


def puts_ticket(action: Action) -> bool:
    """Return whether it writes a ticket."""
    put = action.get("Put", {"Item": {}, "TableName": KEYS})
    return put["TableName"] != KEYS and "idempotency_key" in put["Item"]


def puts_reserved(action: Action) -> bool:
    """Return whether it writes a reserved number."""
    item = action.get("Put", {"Item": {}})["Item"]
    return "reserved_up_to" in item and "idempotency_key" not in item


KNOWN_BAD: Final[Mapping[str, tuple[Make, Invariant]]] = {
    "no record is made": (
        partial(RestoredSystem, verdicts=NoRecords),
        Invariant.SECOND_NUMBER,
    ),
    "records are not written": (dropping(puts_record), Invariant.SECOND_NUMBER),
    "tickets are not written": (dropping(puts_ticket), Invariant.RESTORE_FINDING),
    "reserved numbers are not written": (
        dropping(puts_reserved),
        Invariant.RESTORE_SILENT,
    ),
}
