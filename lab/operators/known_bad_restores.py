"""Restores that lack a condition: the histories catch each."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from operators.restored_history import Make
from operators.restored_system import RestoredSystem
from simulation.aws.clients import AlteredClient
from simulation.aws.tables import KEYS
from ticketctl.restore.verdicts import Verdicts


class NoRecords(Verdicts):
    """Makes no record from a ticket."""

    def record_of(self, ticket: Any) -> None:
        """Return none."""


def without_records(real: Any) -> AlteredClient:
    """Return a client whose transactions leave the records of keys out."""

    def transact_write_items(**request: Any) -> Any:
        tickets = [
            action
            for action in request["TransactItems"]
            if action.get("Put", {}).get("TableName") != KEYS
        ]
        return real.transact_write_items(TransactItems=tickets) if tickets else {}

    return AlteredClient(real, transact_write_items=transact_write_items)


KNOWN_BAD: Final[Mapping[str, Make]] = {
    "no record is made": partial(RestoredSystem, verdicts=NoRecords),
    "records are not written": partial(RestoredSystem, wrapper=without_records),
}
