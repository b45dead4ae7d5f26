"""Executes a plan in blocks, which check the conditions of each step."""

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from botocore.exceptions import ClientError

from ticket_numbering.contract import aws_codes
from ticket_numbering.contract.dynamodb_items import (
    ASSIGNED_AT,
    CHAIN,
    FINGERPRINT,
    NUMBER,
    RECORD_ID,
    STATUS,
    record_id,
    ticket_id,
)
from ticket_numbering.contract.messages import RequestKey
from ticketctl.aws.aws_errors import error_code
from ticketctl.aws.items import key_record, put_or_check
from ticketctl.aws.retry import RetryPolicy
from ticketctl.aws.stack import StackAccess
from ticketctl.aws.table_reader import TableReader
from ticketctl.aws.tickets import around_each
from ticketctl.ledger.item import Item, Ticket
from ticketctl.ledger.record import KeyRecord
from ticketctl.restore.database import Database
from ticketctl.restore.outlines import Outline
from ticketctl.restore.planning import Planner
from ticketctl.restore.reading import Saved
from ticketctl.restore.steps import Act, Form, Step, Terms

MAX_ACTIONS: Final = 100
MAX_BYTES: Final = 4 * 1024 * 1024
"""The limit of TransactWriteItems."""

_OF_TICKET: Final = ("project_id", "idempotency_key", STATUS, ASSIGNED_AT, CHAIN)
_OF_RECORD: Final = (RECORD_ID, NUMBER, FINGERPRINT, ASSIGNED_AT, CHAIN)
"""The attributes that must be unchanged since the read."""

_PASSING: Final = {
    *("TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"),
}
"""The reasons after which the same block is retried."""

BACK: Final = "back"
THERE: Final = "there already"

Action = Mapping[str, Any]
Written = tuple[int, Step, str]
"""A number, its step, and `BACK`, `THERE`, or the reason why not."""


@dataclass
class Block:
    """The actions of a transaction, each on another item."""

    actions: dict[tuple[str, str], Action] = field(default_factory=dict)
    size: int = 0
    steps: list[tuple[int, Step]] = field(default_factory=list)

    def takes(self, actions: Mapping[tuple[str, str], Action], size: int) -> bool:
        """Return whether the block has room for more actions."""
        return (
            len(self.actions) + len(actions) <= MAX_ACTIONS
            and self.size + size <= MAX_BYTES
            and self.actions.keys().isdisjoint(actions)
        )


@dataclass(frozen=True)
class Writer:
    """Writes the due steps of a plan, block by block."""

    stack: StackAccess
    database: Database
    planner: Planner
    file: Saved
    terms: Terms
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    stale: set[tuple[str, int]] = field(default_factory=set)
    """The numbers that others have written since the plan."""

    def write(self, outline: Outline) -> Iterator[Written]:
        """Write a project's due steps; yield each with its result."""
        block = Block()
        # A seed that began before the mark can have its end above it.
        self.stale.add((outline.project_id, outline.mark))
        last: list[tuple[int, Step]] = []
        for number, step in self.database.plan.due(outline.project_id):
            if number == outline.mark:  # It stays until all below is restored.
                last.append((number, step))
            else:
                block = yield from self._add(outline, block, number, step)
        yield from self._flush(outline, block)
        for number, step in last:
            yield self._alone(outline, number, step)

    def _add(
        self, outline: Outline, block: Block, number: int, step: Step
    ) -> Generator[Written, None, Block]:
        """Add a step to a block, or write the full block and start a new one."""
        actions, size = self._actions(outline.project_id, number, step, block)
        if not block.takes(actions, size):
            yield from self._flush(outline, block)
            block = Block()
            actions, size = self._actions(outline.project_id, number, step, block)
        block.actions |= actions
        block.size += size
        block.steps.append((number, step))
        return block

    def _flush(self, outline: Outline, block: Block) -> Iterator[Written]:
        """Write a block; line by line if the block fails."""
        if not block.steps:
            return
        if self._transact(outline.project_id, block):
            yield from ((number, step, BACK) for number, step in block.steps)
            return
        for number, step in block.steps:
            yield self._alone(outline, number, step)

    def _alone(self, outline: Outline, number: int, step: Step) -> Written:
        """Write one line; plan it again if the tables have changed."""
        project_id, tried = outline.project_id, None
        is_stale = (project_id, number) in self.stale
        for _ in self.retry.tries():
            if is_stale:
                self._look_again(project_id, number, step)
                step = self.planner.judge_again(outline, number)
            if not step.is_due:
                return number, step, step.why or THERE
            before = self.database.slot(project_id, number), step
            if before == tried:
                return number, step, "DynamoDB rejects it as invalid"
            actions, size = self._actions(project_id, number, step, Block())
            if self._transact(project_id, Block(actions, size, [(number, step)])):
                return number, step, BACK
            tried, is_stale = before, True
        return number, step, "others kept writing it: run this again"

    def _transact(self, project_id: str, block: Block) -> bool:
        """Write a block; return whether it is written, or must be split."""

        def attempt() -> str | None:
            client = self.stack.client("dynamodb")
            try:
                client.transact_write_items(TransactItems=[*block.actions.values()])
            except ClientError as error:
                match error_code(error):
                    case aws_codes.CANCELLED:
                        return None if _is_passing(error) else "no"
                    case aws_codes.INVALID_REQUEST:
                        return "no"
                raise
            return BACK

        busy = f"{project_id}: others kept writing its items"
        return self.retry.until(attempt, busy) == BACK

    def _actions(
        self, project_id: str, number: int, step: Step, block: Block
    ) -> tuple[dict[tuple[str, str], Action], int]:
        """Return the actions for a number, with the checks of its conditions."""
        actions: dict[tuple[str, str], Action] = {}
        slot, size = self.database.slot(project_id, number), 0
        if step.form is not Form.NONE:
            own = self.file.item(self.database, project_id, number)
            item = self.terms.formed(step, own, slot.there)
            size += self.database.place(project_id, number)[0].size
            put = self._of_ticket(project_id, number, item.fields, slot.there)
            actions["tickets", str(number)] = put
            if step.reserves:
                kept = self.database.kept_hash(project_id, number + 1)
                guard = self.terms.reserved(
                    project_id, number + 1, step.reserves, **kept
                )
                put = self._of_ticket(project_id, number + 1, guard, None)
                actions["tickets", str(number + 1)] = put
        elif slot.there:
            check = self._of_ticket(project_id, number, None, slot.there)
            actions["tickets", str(number)] = check
        above = "tickets", str(number + 1)
        if step.is_witnessed and above not in block.actions:
            actions[above] = self._witness(project_id, number)
        if step.act is not Act.NONE:
            own_key = slot.own.idempotency_key if slot.own else None
            fields = step.record or {"idempotency_key": own_key}
            key = RequestKey(project_id, str(fields["idempotency_key"]))
            size += len(str(step.record or ""))
            actions["keys", key.idempotency_key] = self._of_key(key, step)
        return actions, size

    def _of_ticket(
        self,
        project_id: str,
        number: int,
        fields: Mapping[str, Any] | None,
        there: Item | None,
    ) -> Action:
        """Return the put of an item, or the check of the existing one."""
        table = self.stack.outputs["TicketsTableName"]
        key, before = ticket_id(project_id, number), there.fields if there else {}
        return put_or_check(table, key, fields, before, _OF_TICKET)

    def _witness(self, project_id: str, number: int) -> Action:
        """Return the check of the next number's hash."""
        slot = self.database.slot(project_id, number + 1)
        chain = (slot.there and slot.there.chain) or slot.nearest.chain
        table, key = (
            self.stack.outputs["TicketsTableName"],
            ticket_id(project_id, number + 1),
        )
        return put_or_check(table, key, None, {CHAIN: chain}, [CHAIN])

    def _of_key(self, key: RequestKey, step: Step) -> Action:
        record = self.database.records.of_key(key)
        before = record.fields if isinstance(record, KeyRecord) else {}
        table = self.stack.outputs["IdempotencyKeysTableName"]
        return put_or_check(table, record_id(key), step.record, before, _OF_RECORD)

    def _look_again(self, project_id: str, number: int, step: Step) -> None:
        """Read a number, its neighbours and its key record from the tables again."""
        [(_, around)] = around_each(self.stack, project_id, [number], page=2)
        nearby = (number - 1, number, number + 1)
        before = [self.database.slot(project_id, near).there for near in nearby]
        for near in nearby:
            self.database.remove_item(project_id, near)
        for item in (around.below, around.there, around.above):
            if item:
                self.database.add_item(item)
        self.stale.update(
            (project_id, near)
            for near, was in zip(nearby, before, strict=True)
            if self.database.slot(project_id, near).there != was
        )
        own = self.database.slot(project_id, number).own
        keys = {own.key} if isinstance(own, Ticket) else set()
        if step.record:
            keys.add(RequestKey(project_id, str(step.record["idempotency_key"])))
        for key in keys:
            self.database.records.remove(key)
        for _, record in TableReader.of(self.stack).records(keys):
            self.database.records.add(key_record(record))


def _is_passing(error: ClientError) -> bool:
    """Return whether a transaction was cancelled only for transient reasons."""
    reasons = error.response.get("CancellationReasons", [])
    codes = {reason.get("Code", "None") for reason in reasons} - {"None"}
    return codes <= _PASSING
