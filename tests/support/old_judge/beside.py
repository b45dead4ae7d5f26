"""Asks the old judge beside the new one: `pytest -p tests.support.old_judge.beside`.

BESIDE names a file for the counts. They differ at malformed items alone.
"""

import os
from collections import Counter
from typing import Any

from tests.support.old_judge import chain, items, numbers, recheck
from ticketctl.ledger import agreement as new_agreement
from ticketctl.ledger import database, sequence
from ticketctl.ledger.item import Malformed

AGREED: Counter[str] = Counter()
DIFFERED: Counter[str] = Counter()


def old(item: Any) -> items.Ticket:
    return items.Ticket(item.project_id, item.number, dict(item.fields))


def old_record(record: Any) -> Any:
    return record and items.KeyRecord(
        record.project_id, record.idempotency_key, record.number, record.fields
    )


def compare(name: str, now: Any, then: Any, detail: Any = "") -> None:
    if now == then:
        AGREED[name] += 1
    else:
        DIFFERED[f"{name}: now {now!r}, then {then!r}; {detail}"] += 1


class Check(sequence.SequenceCheck):
    def follow(self, item: Any) -> bool:
        shadow = self.__dict__.setdefault("_shadow", chain.ChainCheck())
        shadow.before = chain.Link(
            self.before.number, self.before.chain, self.before.assigned_at or ""
        )
        now, then = _follow(self, item), shadow.follow(old(item))
        detail = dict(item.fields)
        if isinstance(item, Malformed):
            then = now  # Nobody asks its record any more.
        compare("follow", now, then, detail)
        compare("runs", with_unlinked(self), plain_runs(shadow.runs), detail)
        return now


def plain_runs(runs):
    return {kind: numbers_in(ends) for kind, ends in runs.items() if ends}


def numbers_in(runs):
    return sorted({n for first, last in runs for n in range(first, last + 1)})


def with_unlinked(check):
    """The old judge had them among the changed ones, and sorted them out later."""
    runs = {kind: [*ends] for kind, ends in check.runs.items()}
    if check.unlinked:
        runs.setdefault(sequence.Kind.CHANGED, []).extend(check.unlinked)
    return plain_runs(runs)


class Numbers(database.Numbers):
    def __init__(self, starts: Any) -> None:
        _init(self, starts)
        self.shadow = numbers.Numbers(starts)

    def __exit__(self, *exc: object) -> None:
        self.shadow.__exit__()
        _exit(self)

    def add(self, page: Any) -> None:
        page = [*page]
        for read in page:
            self.shadow.add(
                old(read.item), is_expired=read.is_expired, is_judged=read.is_judged
            )
        _add(self, page)

    def match(self, records: Any) -> Any:
        unmatched = _match(self, records)
        then = [one for one in records if not self.shadow.match(old_record(one))]
        compare("match", unmatched, then)
        return unmatched

    def unmatched(self) -> Any:
        now, then = [*_unmatched(self)], [*self.shadow.unmatched()]
        compare("unmatched", now, then)
        return iter(now)

    def missing(self, project_id: str) -> Any:
        now, then = [*_missing(self, project_id)], [*self.shadow.missing(project_id)]
        detail = self._rows(
            "SELECT number, kind FROM items WHERE project_id = ?", project_id
        )
        compare("missing", now, then, detail[:20] if now != then else "")
        for name in ("counts", "unchained", "lost", "ends"):
            own = getattr(self, name)(project_id)
            compare(
                name,
                own,
                getattr(self.shadow, name)(project_id),
                detail[:20] if now != then else "",
            )
        return iter(now)


def ticket_problems(ticket: Any, record: Any, named: Any) -> Any:
    now = [*_ticket_problems(ticket, record, named)]
    place = record and (record.project_id, record.number)
    there = {place: old(named)} if named else {}
    then = [*recheck._of_ticket(old(ticket), old_record(record), there)]
    compare("ticket", now, then)
    return iter(now)


def record_problems(record: Any, there: Any) -> Any:
    now = [*_record_problems(record, there)]
    place = record.project_id, record.number
    named = {place: old(there)} if there else {}
    then = [*recheck._of_record(old_record(record), named)]
    compare("record", now, then, there and there.kind)
    return iter(now)


_follow = sequence.SequenceCheck.follow
_init, _exit = database.Numbers.__init__, database.Numbers.__exit__
_add, _match = database.Numbers.add, database.Numbers.match
_unmatched, _missing = database.Numbers.unmatched, database.Numbers.missing
_ticket_problems = new_agreement.ticket_problems
_record_problems = new_agreement.record_problems


def pytest_configure() -> None:
    from ticketctl.audit import recheck as now
    from ticketctl.ledger import judge

    sequence.SequenceCheck.follow = Check.follow
    for name in ("__init__", "__exit__", "add", "match", "unmatched", "missing"):
        setattr(database.Numbers, name, getattr(Numbers, name))
    for module in (now, judge):
        module.ticket_problems = ticket_problems
        module.record_problems = record_problems


def pytest_unconfigure() -> None:
    where = os.environ.get("BESIDE")
    if where:
        with open(f"{where}.{os.getpid()}", "w") as file:
            file.writelines(
                f"agreed {name} {count}\n" for name, count in AGREED.items()
            )
            file.writelines(
                f"differed {count} {name}\n" for name, count in DIFFERED.items()
            )
