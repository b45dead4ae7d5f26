"""Puts reserved numbers of an export back: they explain what is missing."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from botocore.exceptions import ClientError

from ticketctl.aws.aws_errors import error_code
from ticketctl.aws.items import serialized
from ticketctl.aws.retry import RetryPolicy
from ticketctl.aws.stack import System
from ticketctl.aws.table_reader import TableReader
from ticketctl.aws.tickets import last_number
from ticketctl.importing.existing import Tickets
from ticketctl.ledger.item import Item, Malformed


def missing_reserved(stack: System, tickets: Tickets) -> list[Item]:
    """Return the reserved numbers of a file where the table has no item."""
    lines = {
        (line.project_id, line.number): line
        for line in tickets.reserved
        if not isinstance(line, Malformed)
    }
    there = TableReader.of(stack).tickets(lines)
    return [line for place, line in lines.items() if place not in there]


@dataclass(frozen=True)
class PuttingBack:
    """Puts reserved numbers where nothing is; their projects are seeded above them."""

    stack: System
    retry: RetryPolicy

    def put_all(self, lines: Iterable[Item]) -> Iterator[Item]:
        """Put reserved numbers back, and yield those for which there was a place.

        A number above a project's last one would hide the numbers that come next.
        """
        ends: dict[str, int] = {}
        for line in lines:
            project_id = line.project_id
            if project_id not in ends:
                ends[project_id] = last_number(self.stack, project_id)
            if line.number <= ends[project_id] and self._put(line):
                yield line

    def _put(self, line: Item) -> bool:
        busy = f"{line.ticket_key}: others kept writing it"
        return self.retry.until(lambda: self._attempt(line), busy) == "put"

    def _attempt(self, line: Item) -> str | None:
        fields = json.loads(json.dumps(line.fields), parse_float=Decimal)
        try:
            self.stack.client("dynamodb").put_item(
                TableName=self.stack.outputs["TicketsTableName"],
                Item=serialized(fields),
                ConditionExpression="attribute_not_exists(project_id)",
            )
        except ClientError as error:
            match error_code(error):
                case "ConditionalCheckFailedException":
                    return "there"
                case "TransactionConflictException":
                    return None
            raise
        return "put"
