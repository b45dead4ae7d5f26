"""The judge's objections to a plan, which overrule it.

A line may be written only if the audit of the tables with the planned items has no new
finding.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from ticket_numbering.contract.messages import RequestKey
from ticketctl.ledger.agreement import expiry_of
from ticketctl.ledger.findings import Finding, FindingKind
from ticketctl.ledger.item import Item, Ticket, parse
from ticketctl.ledger.judge import Window, judge, new_findings, ranges_of
from ticketctl.ledger.record import KeyRecord, MalformedRecord
from ticketctl.ledger.standing import OF_CONTENT
from ticketctl.restore.database import Database, Slot
from ticketctl.restore.deciding import Decider
from ticketctl.restore.steps import Act, Step, refused

_HOLES: Final = {FindingKind.GAP, FindingKind.UNFINISHED_SEED}


@dataclass(frozen=True)
class Stretch:
    """Numbers of a project that are judged together, with their neighbours."""

    project_id: str
    slots: Sequence[Slot]
    """The slots in ascending order."""
    below: Slot | None
    above: Item | None
    """The final item at the next number that has one."""


def new_in(
    database: Database,
    decider: Decider,
    stretch: Stretch,
    steps: Mapping[int, Step],
    top: int,
) -> list[Finding]:
    """Return the new findings that steps would cause.

    `top` is the project's highest number, in the tables or in the file.
    """
    project_id, slots, terms = stretch.project_id, stretch.slots, decider.terms
    before = [slot.there for slot in slots if slot.there]
    after = [*_results(database, decider, stretch, steps)]
    records = dict(_records(database, decider, [*before, *after]))
    written = records | {
        record.key: record
        for number, step in steps.items()
        if step.act is Act.PUT and step.record
        for key in [str(step.record["idempotency_key"])]
        for record in [KeyRecord(project_id, key, number, step.record)]
    }
    named = {record.number for record in records.values() if record}
    slots_named = (database.slot(project_id, number) for number in named)
    others = {slot.number: slot.there for slot in slots_named if slot.there}
    upper = database.neighbour(project_id, slots[-1].number, ">")
    before += [upper] if upper else []
    after += [stretch.above] if stretch.above else []
    expired = {*_expired([*before, *after], terms.retention_days)}
    lower = database.neighbour(project_id, slots[0].number, "<")
    of_tables = Window(project_id, before, lower, top, records, others, expired)
    lower = stretch.below.nearest if stretch.below else None
    of_plan = Window(project_id, after, lower, top, written, others, expired)
    return new_findings(judge(of_tables), judge(of_plan))


def _results(
    database: Database, decider: Decider, stretch: Stretch, steps: Mapping[int, Step]
) -> Iterator[Item]:
    """Yield the final items of the numbers, in ascending order."""
    terms = decider.terms
    for slot in stretch.slots:
        step = steps[slot.number]
        if item := terms.result(slot.own, slot.there, step):
            yield item
        if step.reserves:
            place = stretch.project_id, slot.number + 1
            kept = database.kept_hash(*place)
            yield parse(terms.reserved(*place, step.reserves, **kept))


def _expired(items: Iterable[Item], days: int) -> Iterator[int]:
    """Yield the numbers of tickets whose key records may have expired, for an audit."""
    now = datetime.now(UTC)
    for item in items:
        expiry = expiry_of(item, days) if isinstance(item, Ticket) else None
        if expiry and expiry <= now:
            yield item.number


def _records(
    database: Database, decider: Decider, items: Sequence[Item]
) -> Iterator[tuple[RequestKey, KeyRecord | None]]:
    """Yield the tables' records of tickets' keys, and other records of their numbers.

    An expired key may have no record, or that of another ticket.
    """
    for item in items:
        place = item.project_id, item.number
        for record in database.records.naming(*place, is_own=False):
            yield record.key, record
    for item in items:
        if isinstance(item, Ticket) and decider.record_of(item):
            of_key = database.records.of_key(item.key)
            if not isinstance(of_key, MalformedRecord):
                yield item.key, of_key


def blamed(
    findings: Iterable[Finding], steps: Mapping[int, Step], last: int
) -> dict[int, Step]:
    """Return the refusals of the numbers that would cause findings.

    The numbers above a hole at the end wait for it, and are named once.
    """
    due = sorted(number for number, step in steps.items() if step.is_due)
    refusals: dict[int, Step] = {}
    for finding in findings:
        is_hole = finding.kind in _HOLES and finding.recorded is None
        if is_hole and min(finding.numbers) > last:
            continue
        if finding.kind is FindingKind.DUPLICATE and not any(
            steps[number].form for number in finding.numbers if number in steps
        ):
            continue  # Both exist, and a record decides which of them counts.
        for first, end in ranges_of(finding):
            within = [number for number in due if first <= number <= end]
            around = [
                number
                for number in due
                if first - 1 <= number + bool(steps[number].reserves)
                and number <= end + 1
            ]
            for number in within or around:
                why = f"with it the tables would have a finding: {finding.kind}"
                refusals[number] = refused(why)
    return refusals


def without_doubtful(
    findings: Iterable[Finding], steps: Mapping[int, Step]
) -> dict[int, Step]:
    """Return the steps without the records of doubtful tickets."""
    doubts = [
        ends
        for finding in findings
        if finding.kind in OF_CONTENT  # No record is made from it.
        for ends in ranges_of(finding)
    ]
    return {
        number: replace(step, act=Act.NONE, record=None)
        if step.is_made and any(low <= number <= high for low, high in doubts)
        else step
        for number, step in steps.items()
    }
