"""Reserves the end of a project before any other write of a restore.

From then on a worker continues after it. The reserved item has the hash of its ticket,
so an audit names the numbers still missing below it.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from shlex import quote
from typing import Final

from ticket_numbering.contract.dynamodb_items import (
    CHAIN,
    EXTERNAL,
    NUMBER,
    ORIGIN,
    RESERVED,
    RESERVED_UP_TO,
    STATUS,
)
from ticketctl.aws.items import serialized
from ticketctl.aws.retry import RetryPolicy
from ticketctl.aws.stack import Stack, StackAccess
from ticketctl.aws.tickets import get_ticket, tickets_above
from ticketctl.ledger.item import Item
from ticketctl.restore.comparison import agree
from ticketctl.restore.database import Database
from ticketctl.restore.outlines import Outline
from ticketctl.restore.steps import MARK, Form, Terms, is_mark
from ticketctl.sequences.seeding import Seed

_LISTED: Final = 1_000
"""The maximum of numbers of a hole for which commands are printed."""


@dataclass(frozen=True)
class End:
    """Reserves the ends of projects."""

    stack: StackAccess
    database: Database
    terms: Terms
    retry: RetryPolicy = field(default_factory=RetryPolicy)

    def reserve(self, outline: Outline) -> str:
        """Reserve the number that is restored last; return the obstacle, or ""."""
        project_id, number = outline.project_id, outline.end
        if not number:
            there = self.database.slot(project_id, outline.highest).there
            outline.mark = outline.highest if is_mark(there) else 0
            return ""
        outline.mark = number
        slot = self.database.slot(project_id, number)
        step = self.database.plan.step(project_id, number)
        item = slot.nearest
        chain = item.chain if step.form is not Form.EXTERNAL else ""
        seed = Seed(self.stack, project_id, number, self.terms.caller, MARK)

        def attempt() -> bool:
            is_put = seed.reserve(number, outline.last, chain)
            return is_put or get_ticket(self.stack, project_id, number) is not None

        self.retry.until(attempt, f"{project_id}: others kept it")
        if is_mark(get_ticket(self.stack, project_id, number)):
            seed.apply()
        for above in tickets_above(self.stack, project_id, outline.last):
            if is_mark(above):
                self.database.add_item(above)
            elif above.number < number and not self._is_expected(above):
                return "others numbered tickets meanwhile: run this again"
        return ""

    def _is_expected(self, above: Item) -> bool:
        """Return whether this restore would put the same item."""
        own = self.database.slot(above.project_id, above.number).own
        return own is not None and agree(own, above)


def commands_for(stack: Stack, database: Database, outline: Outline) -> Iterator[str]:
    """Yield the commands that reserve the numbers of a hole, in their order.

    The first reserves all of them as external numbers. Then each number with a key's
    record gets the hash of that record.
    """
    if not outline.hole:
        return
    project_id, (first, last) = outline.project_id, outline.hole
    table, region = stack.outputs["TicketsTableName"], stack.region
    yield f"{stack.program} seed {quote(project_id)} --last {last} --yes"
    hashes = {
        record.number: str(record.fields[CHAIN])
        for record in database.records.of_project(project_id)
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
