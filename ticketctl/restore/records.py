"""Puts the records of lost tickets' keys back, where their numbers are reserved."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from botocore.exceptions import ClientError

from ticket_numbering.contract.dynamodb_items import (
    CHAIN,
    EXPIRES_AT,
    RESERVED,
    STATUS,
    ticket_id,
)
from ticketctl.aws.aws_errors import error_code
from ticketctl.aws.items import serialized
from ticketctl.aws.retry import RetryPolicy
from ticketctl.aws.stack import System
from ticketctl.aws.table_reader import TableReader
from ticketctl.ledger.record import KeyRecord

BACK: Final = "back"
THERE: Final = "there already"
OVER: Final = "its time is over"
WITHOUT_ITEM: Final = "no item of its number has its hash"


def due_records(
    reader: TableReader, records: Mapping[int, KeyRecord]
) -> list[KeyRecord]:
    """Return those of a project's records whose keys have none."""
    wanted = {one.key: one for one in records.values()}
    for key, _ in reader.records([*wanted]):
        wanted.pop(key, None)
    return [*wanted.values()]


@dataclass(frozen=True)
class RecordsBack:
    """Puts records back, each while the item of its number stands for its ticket."""

    stack: System
    retry: RetryPolicy = field(default_factory=RetryPolicy)

    def put_all(self, records: Iterable[KeyRecord]) -> Iterator[tuple[KeyRecord, str]]:
        """Put records back; yield each with `BACK`, or why not."""
        for record in records:
            yield record, self.put(record)

    def put(self, record: KeyRecord) -> str:
        """Put a record back; return `BACK`, or why not."""
        expires, chain = record.fields.get(EXPIRES_AT), record.fields.get(CHAIN)
        if isinstance(expires, int) and expires <= datetime.now(UTC).timestamp():
            return OVER
        if not chain:
            return WITHOUT_ITEM
        busy = f"{record.idempotency_key}: others kept writing it"
        return self.retry.until(lambda: self._attempt(record, str(chain)), busy)

    def _attempt(self, record: KeyRecord, chain: str) -> str | None:
        outputs = self.stack.outputs
        check = {
            "TableName": outputs["TicketsTableName"],
            "Key": ticket_id(record.project_id, record.number),
            "ConditionExpression": "#s = :s AND #c = :c",
            "ExpressionAttributeNames": {"#s": STATUS, "#c": CHAIN},
            "ExpressionAttributeValues": serialized({":s": RESERVED, ":c": chain}),
        }
        put = {
            "TableName": outputs["IdempotencyKeysTableName"],
            "Item": serialized(record.fields),
            "ConditionExpression": "attribute_not_exists(id)",
        }
        actions = [{"ConditionCheck": check}, {"Put": put}]
        try:
            client = self.stack.client("dynamodb")
            client.transact_write_items(TransactItems=actions)
        except ClientError as error:
            if error_code(error) != "TransactionCanceledException":
                raise
            reader = TableReader.of(self.stack)
            if not due_records(reader, {record.number: record}):
                return THERE
            place = record.project_id, record.number
            there = reader.tickets([place]).get(place)
            is_held = there and there.status == RESERVED and there.chain == chain
            return None if is_held else WITHOUT_ITEM
        return BACK
