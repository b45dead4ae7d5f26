"""The end of a project: it is reserved before anything else goes back.

A worker goes on behind it from then on. It has the hash of the ticket that it
stands for, so an audit names the numbers still missing below it.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from shlex import quote
from typing import Final

from botocore.exceptions import ClientError

from ticket_numbering.contract import aws_codes
from ticket_numbering.contract.dynamodb_items import (
    CHAIN,
    EXTERNAL,
    NUMBER,
    ORIGIN,
    REASONS,
    RESERVED,
    RESERVED_AFTER,
    RESERVED_UP_TO,
    STATUS,
)
from ticketctl.aws.aws_errors import error_code
from ticketctl.aws.items import serialized
from ticketctl.aws.retry import RetryPolicy
from ticketctl.aws.stack import Stack, StackAccess
from ticketctl.aws.tickets import get_ticket, tickets_above
from ticketctl.ledger.item import Item
from ticketctl.restore.comparison import agree
from ticketctl.restore.database import Database
from ticketctl.restore.deeds import MARK, Form, Terms, is_mark
from ticketctl.restore.outlines import Outline
from ticketctl.sequences.seeding import Seed

_LISTED: Final = 1_000
"""Numbers of a hole for which commands are printed."""


@dataclass(frozen=True)
class End:
    """Reserves the ends of projects."""

    stack: StackAccess
    database: Database
    terms: Terms
    retry: RetryPolicy = field(default_factory=RetryPolicy)

    def reserve(self, outline: Outline) -> str:
        """Reserve the number that goes back last; return why not, or ""."""
        project_id, number = outline.project_id, outline.end
        if not number:
            there = self.database.slot(project_id, outline.highest).there
            outline.mark = outline.highest if is_mark(there) else 0
            return ""
        outline.mark = number
        slot = self.database.slot(project_id, number)
        deed = self.database.plan.deed(project_id, number)
        item = slot.nearest
        more = {REASONS[RESERVED]: MARK, RESERVED_AFTER: outline.last}
        chain = item.chain if deed.form is not Form.EXTERNAL else ""
        if chain:
            more[CHAIN] = chain
        fields = self.terms.reserved(project_id, number, number, **more)
        self.retry.until(lambda: self._put(fields), f"{project_id}: others kept it")
        there = get_ticket(self.stack, project_id, number)
        if is_mark(there):
            Seed(self.stack, project_id, number, self.terms.caller, MARK).apply()
        for above in tickets_above(self.stack, project_id, outline.last):
            if is_mark(above):
                self.database.add_item(above)
            elif above.number < number and not self._is_expected(above):
                return "others numbered tickets meanwhile: run this again"
        return ""

    def _is_expected(self, above: Item) -> bool:
        """Return whether an item is one that this restore would put, too."""
        own = self.database.slot(above.project_id, above.number).own
        return own is not None and agree(own, above)

    def _put(self, fields: dict[str, object]) -> bool:
        """Put an item, and return whether something is there then."""
        try:
            self.stack.client("dynamodb").put_item(
                TableName=self.stack.outputs["TicketsTableName"],
                Item=serialized(fields),
                ConditionExpression="attribute_not_exists(project_id)",
            )
        except ClientError as error:
            match error_code(error):
                case aws_codes.CONDITION_FAILED:
                    return True
                case aws_codes.CONFLICT:
                    return False
            raise
        return True


def commands_for(stack: Stack, database: Database, outline: Outline) -> Iterator[str]:
    """Yield the commands that reserve the numbers of a hole, in their order.

    First all of them, as numbers of another system; then, in its place, each that a
    key's record names gets the hash that the record has kept.
    """
    if not outline.hole:
        return
    project_id, (first, last) = outline.project_id, outline.hole
    table, region = stack.outputs["TicketsTableName"], stack.region
    yield f"{stack.program} seed {quote(project_id)} --last {last} --yes"
    hashes = {
        record.number: str(record.fields[CHAIN])
        for record in database.records.there(project_id)
        if first <= record.number <= last and CHAIN in record.fields
    }
    named = max(hashes, default=0)
    for number in range(first, min(named, first + _LISTED) + 1):
        item = {
            "project_id": project_id,
            NUMBER: number,
            STATUS: RESERVED,
            ORIGIN: EXTERNAL,
            RESERVED_UP_TO: number,
        }
        if number in hashes:
            item[CHAIN] = hashes[number]
        condition = (
            "attribute_not_exists(project_id) OR "
            "(attribute_exists(reserved_at) AND attribute_not_exists(#c))"
        )
        yield (
            f"aws --region {quote(region)} dynamodb put-item "
            f"--table-name {quote(table)} --item {quote(json.dumps(serialized(item)))} "
            f"--condition-expression {quote(condition)} "
            f"--expression-attribute-names {quote(json.dumps({'#c': CHAIN}))}"
        )
