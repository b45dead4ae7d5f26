"""Transactional reads of a ticket that a pending transaction is about to create.

AWS documents a conflict for an item that a transaction updates; not for a new one.
"""

import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, Final

from botocore.exceptions import ClientError

from tests.aws.contention import Contention
from tests.aws.meter import quantiles

PAUSE_SECONDS: Final = 0.002


@dataclass
class Probe:
    """Reads the next number of a single worker's project."""

    writer: Contention
    reads: dict[str, list[tuple[float, float]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """By outcome: seconds since the write began, and seconds that the read took."""

    def look(self) -> None:
        """Read a ticket; count the outcome if its write is still pending then."""
        time.sleep(PAUSE_SECONDS)
        if pending := self.writer.meter.pending:
            start = time.monotonic()
            outcome = self._outcome(pending.ticket)
            took = time.monotonic() - start
            if self.writer.meter.pending is pending:
                self.reads[outcome].append((start - pending.since, took))

    def report(self) -> dict[str, Any]:
        """Return the reads that were answered before the transaction was."""
        return {
            "tickets": len(self.writer.answers),
            "blocks_cancelled": len(self.writer.meter.cancelled),
            "reads_while_pending": {
                outcome: {
                    "count": len(found),
                    "began_after_the_write_ms": quantiles(
                        [since for since, _ in found]
                    ),
                    "took_ms": quantiles([took for _, took in found]),
                }
                for outcome, found in self.reads.items()
            },
        }

    def _outcome(self, ticket: dict[str, Any]) -> str:
        key = {name: ticket[name] for name in ("project_id", "number")}
        get = {"TableName": self.writer.backend.tickets, "Key": key}
        read = self.writer.reader.client.transact_get_items
        try:
            answer = read(TransactItems=[{"Get": get}])
        except ClientError as error:
            response: Any = error.response
            reasons = response.get("CancellationReasons", [response["Error"]])
            return str(reasons[0]["Code"])
        return "present" if answer["Responses"][0].get("Item") else "absent"
