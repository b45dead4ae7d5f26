"""Puts a project back of which the tables have nothing: all of it, as the file has it.

The highest number is reserved first, with the hash of its item: whoever numbers from
then on goes on behind it, and a restore that was interrupted knows its own work by it.
The others follow from the highest down, each with its key's record, so each has an item
above it. The highest item is the last: it takes the place of its hash.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from botocore.exceptions import ClientError

from ticket_numbering.contract import dynamodb_items
from ticket_numbering.contract.dynamodb_items import (
    ASSIGNED_AT,
    CHAIN,
    EXPIRES_AT,
    REASONS,
    RESERVED,
    STATUS,
    key_of_id,
)
from ticket_numbering.contract.messages import Assignment
from ticketctl.aws.aws_errors import error_code
from ticketctl.aws.items import ledger_item, plain, serialized
from ticketctl.aws.retry import RetryPolicy
from ticketctl.aws.stack import System
from ticketctl.aws.table_reader import TableReader
from ticketctl.ledger.agreement import expiry_of, of_ticket
from ticketctl.ledger.findings import Finding, Kind
from ticketctl.ledger.item import Item, ItemKind, Reserved, Ticket
from ticketctl.ledger.judge import Window, judge, ranges_of
from ticketctl.ledger.record import KeyRecord
from ticketctl.ledger.sequence import is_given_here
from ticketctl.sequences.seeding import Seed

MARK: Final = "restore"
"""The reason of the highest number's item, until its ticket takes its place."""

_IN_FLIGHT: Final = 8
_AT_A_TIME: Final = 64
"""Lines after which Ctrl-C takes effect, at the latest."""

_UNSURE: Final = {
    *(Kind.CHANGED, Kind.NOT_VERIFIABLE, Kind.ERASED_WITH_TEXT, Kind.CHAINED_EXTERNAL),
}
"""Findings about a ticket's content, from which no record is made."""

BACK: Final = "back"
THERE: Final = "there already"


@dataclass(frozen=True)
class Line:
    """An item of the file, with the record that goes back with it."""

    item: Item
    record: Mapping[str, Any] | None


@dataclass(frozen=True)
class WholeProject:
    """A project of the file of which the tables have nothing, or only a part of it."""

    project_id: str
    lines: Sequence[Line]
    """The highest first."""
    findings: Sequence[Finding] = ()
    """Those of the file by itself, which come along."""
    there: frozenset[int] = frozenset()
    """The numbers that an interrupted restore has put back."""
    left: Sequence[KeyRecord] = ()
    """The file's records without an item of their number."""

    @property
    def top(self) -> Line:
        """The highest number's line."""
        return self.lines[0]


def whole_project(
    reader: TableReader,
    items: Mapping[int, Item],
    records: Mapping[int, KeyRecord],
    recorded: Sequence[KeyRecord],
    retention_days: int,
) -> WholeProject | None:
    """Return a project that goes back whole; None if the tables have something else.

    Args:
        reader: The reader of the tables.
        items: The project's items by number, in ascending order.
        records: The file's records that no ticket explains, by number.
        recorded: The project's records in the table.
        retention_days: The retention of keys; 0 stands for ever.
    """
    project_id = next(iter(items.values())).project_id
    ordered = [*items.values()]
    findings = judge(Window(project_id, ordered))
    wrong = [ends for one in findings if one.kind in _UNSURE for ends in ranges_of(one)]
    latest = {one.key: one.number for one in ordered if isinstance(one, Ticket)}
    lines = []
    for item in reversed(ordered):
        found, record = records.get(item.number), None
        is_sure = not any(first <= item.number <= last for first, last in wrong)
        if found and (_is_of(item, found) or _is_lost_ticket(item, found)):
            record = dict(found.fields)
        elif isinstance(item, Ticket) and latest[item.key] == item.number and is_sure:
            record = record_of(item, retention_days)
        lines.append(Line(item, record))
    whole = WholeProject(project_id, lines, findings)
    there = _part_of(reader, whole, recorded)
    if there is None:
        return None
    taken = {line.record["id"] for line in lines if line.record}
    left = [one for one in records.values() if one.fields["id"] not in taken]
    return replace(whole, there=there, left=left)


def record_of(ticket: Ticket, retention_days: int) -> dict[str, Any] | None:
    """Return the record of a ticket's key, made from the ticket.

    None is one whose time is over, or of a ticket without a date.
    """
    date, now = ticket.fields.get(ASSIGNED_AT), datetime.now(UTC)
    if not isinstance(date, str):
        return None
    is_own = is_given_here(ticket.kind)
    # The time of an imported ticket's key begins when its record is made.
    expiry = expiry_of(ticket, retention_days) if is_own else None
    if expiry and expiry <= now:
        return None
    if retention_days and not expiry:
        expiry = now + timedelta(days=retention_days)
    own = of_ticket(ticket)
    assigned = Assignment(ticket.number, own.fingerprint, date, ticket.chain or None)
    due = int(expiry.timestamp()) if expiry else None
    return dynamodb_items.key_item(ticket.key, assigned, due)


@dataclass(frozen=True)
class PuttingBack:
    """Puts whole projects back; the worker is stopped."""

    stack: System
    caller: str
    """The ARN of the caller."""
    retry: RetryPolicy = field(default_factory=RetryPolicy)

    def put_all(self, project: WholeProject) -> Iterator[tuple[Line, str]]:
        """Put a project back; yield each line with `BACK`, `THERE`, or why not."""
        top, *others = project.lines
        first = self._reserve(top)
        if first not in {BACK, THERE}:
            yield from ((line, first) for line in project.lines)
            return
        wanted = [one for one in others if one.item.number not in project.there]
        done = [one for one in others if one.item.number in project.there]
        yield from ((line, THERE) for line in done)
        with ThreadPoolExecutor(_IN_FLIGHT) as pool:
            for start in range(0, len(wanted), _AT_A_TIME):
                some = wanted[start : start + _AT_A_TIME]
                yield from zip(some, pool.map(self._put, some), strict=True)
        yield top, self._write(top, top.item.fields, takes_mark=True)

    def _reserve(self, top: Line) -> str:
        """Reserve the highest number, with the hash of its ticket."""
        number = top.item.number
        seed = Seed(self.stack, top.item.project_id, number, self.caller, MARK)
        hashed = {CHAIN: top.item.chain} if top.item.chain else {}
        fields = plain(seed.item(number)) | hashed
        return self._write(Line(top.item, None), fields)

    def _put(self, line: Line) -> str:
        return self._write(line, line.item.fields)

    def _write(
        self, line: Line, fields: Mapping[str, Any], *, takes_mark: bool = False
    ) -> str:
        outputs, item = self.stack.outputs, line.item
        place: dict[str, Any] = {
            "TableName": outputs["TicketsTableName"],
            "Item": serialized(fields),
            "ConditionExpression": "attribute_not_exists(project_id)",
        }
        if takes_mark:
            place |= _if_marked(item.chain)
        actions = [{"Put": place}]
        if line.record:
            record = {
                "TableName": outputs["IdempotencyKeysTableName"],
                "Item": serialized(line.record),
                "ConditionExpression": "attribute_not_exists(id)",
            }
            actions.append({"Put": record})

        def attempt() -> str | None:
            client = self.stack.client("dynamodb")
            try:
                client.transact_write_items(TransactItems=actions)
            except ClientError as error:
                if error_code(error) != "TransactionCanceledException":
                    raise
                return self._why_not(line, fields)
            return BACK

        return self.retry.until(attempt, f"{item.ticket_key}: others kept writing it")

    def _why_not(self, line: Line, fields: Mapping[str, Any]) -> str | None:
        """Return why a transaction was cancelled; None if it may be tried again."""
        reader, item = TableReader.of(self.stack), line.item
        place = item.project_id, item.number
        there = reader.tickets([place]).get(place)
        recorded_id = line.record["id"] if line.record else None
        key = [key_of_id(recorded_id)] if recorded_id else []
        records = {one: plain(found) for one, found in reader.records(key)}
        recorded = next(iter(records.values()), None)
        is_recorded = not line.record or (
            recorded is not None and _agree(recorded, line.record)
        )
        # Another restore may have put back what this one was to reserve.
        if there and _same(there.fields, item.fields) and is_recorded:
            return THERE
        is_marked = there is not None and is_mark(there, item.chain)
        if is_marked and fields.get(REASONS[RESERVED]) == MARK:
            return THERE
        if there and not is_marked:
            return "others wrote this number meanwhile: run this again"
        if recorded and line.record:
            return f"others recorded its key for {recorded.get('number')} meanwhile"
        return None


def is_mark(item: Item, chain: str) -> bool:
    """Return whether an item stands for the highest one of a restore at work."""
    is_own = item.fields.get(REASONS[RESERVED]) == MARK and item.chain == chain
    return isinstance(item, Reserved) and is_own


def _if_marked(chain: str) -> dict[str, Any]:
    """Return the condition that a number is reserved for its own item."""
    values = {":s": RESERVED, ":r": MARK} | ({":c": chain} if chain else {})
    of_chain = "#c = :c" if chain else "attribute_not_exists(#c)"
    return {
        "ConditionExpression": f"#s = :s AND #r = :r AND {of_chain}",
        "ExpressionAttributeNames": {
            "#s": STATUS,
            "#r": REASONS[RESERVED],
            "#c": CHAIN,
        },
        "ExpressionAttributeValues": serialized(values),
    }


def _part_of(
    reader: TableReader, whole: WholeProject, recorded: Sequence[KeyRecord]
) -> frozenset[int] | None:
    """Return the numbers that are there; None if the tables have something else."""
    lines = {line.item.number: line for line in whole.lines}
    top, there, has_mark, is_behind = whole.top.item, set[int](), False, False
    for page in reader.project(whole.project_id):
        for item in map(ledger_item, page):
            own = lines.get(item.number)
            if item.number > top.number:
                is_behind = True  # A worker was started, and went on behind the mark.
            elif own is None:
                return None
            elif _same(item.fields, own.item.fields):
                there.add(item.number)
            elif item.number == top.number and is_mark(item, top.chain):
                has_mark = True
            else:
                return None
    if (there or is_behind) and not has_mark:  # A finished restore, or another's work.
        return None
    known = {line.record["id"]: line for line in whole.lines if line.record}
    for record in recorded:
        line = known.get(str(record.fields["id"]))
        is_own = line and line.item.number in there and line.record
        is_new = record.number > top.number
        if not (is_new or (is_own and _agree(record.fields, is_own))):
            return None
    return frozenset(there)


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two items are equal; a set of a table is no list."""
    return dict(one) == dict(other)


def _agree(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two records are equal, but for when they expire."""
    names = (one.keys() | other.keys()) - {EXPIRES_AT}
    return all(one.get(name) == other.get(name) for name in names)


def _is_lost_ticket(item: Item, record: KeyRecord) -> bool:
    return item.kind is ItemKind.LOST and record.fields.get(CHAIN) == item.chain


def _is_of(item: Item, record: KeyRecord) -> bool:
    return isinstance(item, Ticket) and item.key == record.key
