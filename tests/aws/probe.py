"""Transactional reads of an item that a pending transaction is about to create.

AWS documents a conflict for an item that a transaction updates; not for a new one.
"""

import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Event
from typing import Any, Final

from botocore.exceptions import ClientError

from tests.aws.contention import BATCH, run_for
from tests.aws.meter import Meter, quantiles
from tests.support.backends import Backend
from tests.support.builders import create_tickets
from ticket_numbering.adapters.dynamodb_store import DynamoDBTicketStore
from ticket_numbering.allocation.block import Block
from ticket_numbering.allocation.head import Head
from ticket_numbering.allocation.store import Committed
from ticket_numbering.contract.chain import new_salt
from ticket_numbering.contract.errors import TransientError

PROJECT: Final = "PROBE"
PAUSE_SECONDS: Final = 0.002


@dataclass(frozen=True)
class Pending:
    """A transaction without an answer."""

    number: int
    """The first that it puts."""
    since: float


@dataclass
class Probe:
    """A writer of blocks, and a reader of each next number."""

    backend: Backend
    meter: Meter = field(default_factory=Meter)
    reads: dict[str, list[tuple[float, float]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """By outcome: seconds since the write began, and seconds that the read took."""
    blocks: int = 0

    def __post_init__(self) -> None:
        """Build the client."""
        self._client = self.meter.client()
        self._pending: Pending | None = None
        self._stop = Event()

    def run(self, seconds: float) -> None:
        """Write and read for a time, or until Ctrl-C."""
        run_for(seconds, self._stop, self._write, self._read)

    def report(self) -> dict[str, Any]:
        """Return the reads that were answered before the transaction was."""
        return {
            "blocks": self.blocks,
            "blocks_cancelled": len(self.meter.cancelled),
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

    def _write(self) -> None:
        tables = self.backend.tickets, self.backend.keys
        store, head = DynamoDBTicketStore(self._client, *tables), Head()
        while not self._stop.is_set():
            requests = create_tickets(BATCH, PROJECT)
            date = head.date_after(datetime.now(UTC))
            block = Block.of(head, requests, date, new_salt)
            self._pending = Pending(head.next_number, time.monotonic())
            is_done = _is_committed(store, block)
            self._pending = None
            self.blocks += is_done
            head = block.last if is_done else store.head(PROJECT)

    def _read(self) -> None:
        while not self._stop.wait(PAUSE_SECONDS):
            if pending := self._pending:
                start = time.monotonic()
                outcome = self._outcome(pending.number)
                took = time.monotonic() - start
                if self._pending is pending:
                    self.reads[outcome].append((start - pending.since, took))

    def _outcome(self, number: int) -> str:
        key = {"project_id": {"S": PROJECT}, "number": {"N": str(number)}}
        get = {"TableName": self.backend.tickets, "Key": key}
        try:
            answer = self._client.transact_get_items(TransactItems=[{"Get": get}])
        except ClientError as error:
            response: Any = error.response
            reasons = response.get("CancellationReasons", [response["Error"]])
            return str(reasons[0]["Code"])
        return "present" if answer["Responses"][0].get("Item") else "absent"


def _is_committed(store: DynamoDBTicketStore, block: Block) -> bool:
    with suppress(TransientError):
        return isinstance(store.write_block(block), Committed)
    return False
