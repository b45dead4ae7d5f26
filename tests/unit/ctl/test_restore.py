"""After any damage and `ticketctl restore`, each old request has its old number."""

import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.audits import audited, findings_of
from tests.support.builders import create_ticket
from tests.support.cases import cases
from tests.support.ctl_process import Ended
from tests.support.evidence import chain_after
from tests.support.stage import Stage, line
from ticket_numbering.allocation.block import Block
from ticket_numbering.contract.dynamodb_items import (
    EXTERNAL,
    RESERVED_UP_TO,
    TIMES,
    ticket_item,
)
from ticket_numbering.contract.field_types import timestamp
from ticket_numbering.contract.head import Head
from ticket_numbering.contract.messages import CreateTicket
from ticketctl.aws.items import serialized
from ticketctl.cli.errors import Status

EARLIER, LATER = range(3, 7), range(7, 13)
"""Numbers that the worker gives before and after the restored second; 1, 2 imported."""
VOIDED, ERASED, BOTH = (4, 8), (5, 9), (6, 10)
"""Numbers with these marks, all set after the restored second."""


def request(number: int) -> CreateTicket:
    """Return the request that has a number."""
    key = f"import:PROJ-{number}" if number in {1, 2} else f"key-{number}"
    return create_ticket(idempotency_key=key, title=f"Ticket {number}")


@dataclass
class History:
    """A system with a past, and its tables at the restored second."""

    stage: Stage
    saved: str = ""
    """The name of the export of all tickets, made before the damage."""
    earlier: dict[str, list[Any]] = field(default_factory=dict)
    """The items of both tables at the restored second."""

    def begin(self) -> None:
        """Number, mark and export tickets."""
        old = [line(number, title=f"Ticket {number}") for number in (1, 2)]
        self.stage.call("import", self.stage.file(*old))
        self.send(*EARLIER)
        tables = self.stage.services.tables
        self.earlier = {name: tables.items(name) for name in ("tickets", "keys")}
        self.send(*LATER)
        for mark, numbers in {"void": VOIDED + BOTH, "erase": ERASED + BOTH}.items():
            for number in numbers:
                self.stage.call(mark, f"PROJ-{number}", "--reason", f"it's {number}")
        path = self.stage.folder / "saved.jsonl"
        path.write_text(self.stage.call("export").out)
        self.saved = str(path)
        self.stage.controls.mapping = "Disabled"

    def send(self, *numbers: int) -> dict[int, Any]:
        """Let the worker number requests; return the event of each that has one."""
        queue, events = self.stage.services.queues["source"], {}
        for number in numbers:
            queue.send(request(number).model_dump_json())
            self.stage.work()
            events[number] = json.loads(self.stage.published[-1]["Message"])
        return events

    def lose(self, *numbers: int, tables: Sequence[str] = ("tickets",)) -> None:
        """Delete tickets, or the records of their keys."""
        for number in numbers:
            if "tickets" in tables:
                self.stage.lose("PROJ", number)
            if "keys" in tables:
                self.stage.lose("PROJ", request(number).idempotency_key)

    def restore(self, *tables: str) -> None:
        """Put tables in the place of today's, as they were at the restored second."""
        self.lose(*range(1, 13), tables=tables)
        for table in tables:
            self.stage.write(*self.earlier[table])

    def bring_back(self, file: str = "") -> Ended:
        """Import, and run the commands that it prints, as a shell reads them."""
        ended = self.stage.call("restore", file or self.saved, "--partial")
        for program, *words in map(shlex.split, ended.out.splitlines()):
            if program == "ticketctl":
                assert self.stage.call(*words).status == Status.OK
        return ended

    def tickets(self) -> dict[int, dict[str, Any]]:
        """Return the tickets without the times of their marks."""
        return {
            number: {k: v for k, v in item.items() if k not in TIMES.values()}
            for number, item in self.stage.tickets().items()
        }


@pytest.fixture
def history(stage: Stage) -> History:
    history = History(stage)
    history.begin()
    return history


Damage = Callable[[History], object]


def restored(*tables: str) -> Damage:
    return lambda history: history.restore(*tables)


def lost(*numbers: int) -> Damage:
    return lambda history: history.lose(*numbers)


def unrecorded(*numbers: int) -> Damage:
    return lambda history: history.lose(*numbers, tables=("keys",))


def gone(*numbers: int) -> Damage:
    return lambda history: history.lose(*numbers, tables=BOTH_TABLES)


def both(*damages: Damage) -> Damage:
    return lambda history: [damage(history) for damage in damages]


def seeded(last: int) -> Damage:
    return lambda history: history.stage.seed(last).apply()


BOTH_TABLES = ("tickets", "keys")
SINGLE = {1: "imported", 2: "last-imported", 3: "first", 7: "plain", 8: "voided"} | {
    9: "erased",
    10: "voided-and-erased",
    12: "last",
}
WHOLE = {
    "tickets-older": (restored("tickets"), ()),
    "keys-older": (restored("keys"), ()),
    "both-older": (restored(*BOTH_TABLES), LATER),
    "two-neighbours-lost": (gone(7, 8), ()),
    "ticket-lost-with-the-next-ones-key": (both(lost(7), unrecorded(8)), ()),
    "keys-older-than-a-lost-tickets-erasure": (both(restored("keys"), lost(5)), ()),
    "last-two-lost": (lost(11, 12), ()),
    "last-imported-lost-with-the-next": (gone(2, 3), (2,)),
}
"""Damage, and the numbers that are changed afterwards: nothing vouches for them."""

DAMAGES = WHOLE | {
    f"{name}-{damage.__name__}": (
        damage(number),
        (number,) if damage is gone and number in {1, 2, 12} else (),
    )
    for number, name in SINGLE.items()
    for damage in (lost, unrecorded, gone)
}


class TestRestore:
    """Nothing is lost or doubled, for any file in any order."""

    @pytest.mark.parametrize(("damage", "changed"), cases(DAMAGES))
    def test_each_old_request_has_its_old_number_after_a_restore(
        self, history: History, damage: Damage, changed: Sequence[int]
    ) -> None:
        """And its event the same content; the next request has the next number."""
        before, events = history.tickets(), history.send(*range(1, 13))
        damage(history)

        history.bring_back()

        assert not audited(history.stage).findings
        after, repeats = history.tickets(), history.send(*range(1, 13))
        for number in changed:
            before[number] = after[number]
            events[number]["data"].pop("chain", None)
        assert after == before
        assert repeats == events
        assert history.send(13)[13]["data"]["number"] == 13
        assert not audited(history.stage).findings
        verified = history.stage.call("restore", history.saved, "--verify")
        assert verified.status == Status.OK

    def test_ticket_goes_back_beside_items_whose_numbers_are_fractions(
        self, history: History
    ) -> None:
        """They are another program's, and take the number of none."""
        before = history.stage.read("PROJ", PLAIN)
        for number in (PLAIN - 1, PLAIN):
            fraction = {
                **history.stage.read("PROJ", number),
                "number": {"N": f"{number}.5"},
            }
            history.stage.write(fraction)
        history.lose(PLAIN)

        ended = history.bring_back()

        assert ended.status == Status.OK
        assert history.stage.read("PROJ", PLAIN) == before


def exported(history: History, number: int) -> dict[str, Any]:
    lines = map(json.loads, Path(history.saved).read_text().splitlines())
    [item] = [line for line in lines if line.get("number") == number]
    return dict(item)


def edited(history: History, number: int, /, **fields: Any) -> str:
    """Return a file of one exported ticket, changed; None removes a field."""
    fields_of = exported(history, number) | fields
    return history.stage.file({k: v for k, v in fields_of.items() if v is not None})


def changed(number: int, **fields: Any) -> Damage:
    return lambda history: history.stage.change("PROJ", number, **fields)


def reserved(number: int) -> Damage:
    """Reserve the number of a lost ticket, with its hash."""

    def damage(history: History) -> None:
        own = history.stage.tickets()[number]["chain"]
        item = history.stage.seed(number).item(number)
        history.stage.write(item | {"chain": {"S": own}})

    return damage


def recorded(number: int, **fields: Any) -> Damage:
    """Change the record of a ticket's key."""
    return lambda history: history.stage.change("PROJ", f"key-{number}", **fields)


LAST, PLAIN = LATER[-1], LATER[0]
UNFIT = "its hash does not fit its content and the ticket before it"
UNLIKE = "differs from the record of its idempotency_key in "
UNTIED = "nothing shows that it is of the same history"
OTHER_TEXT = {"title": "Another"}
SALTED = {"salt": "A" * 22}
BARE = {"chain": None, "salt": None, "origin": EXTERNAL}
"""How an earlier restore wrote a ticket without its hash."""

UNSURE: dict[str, tuple[Damage, int, dict[str, Any], str]] = {
    "salt-changed": (lost(LAST), LAST, SALTED, UNFIT),
    "hash-missing": (
        lost(LAST),
        LAST,
        {"chain": None, "salt": None},
        f"{UNLIKE}chain",
    ),
    "one-before-it-missing": (
        lost(LAST - 1, LAST),
        LAST,
        {},
        f"PROJ-{LAST - 1} is missing and not coming back, so the numbers above wait",
    ),
    "text-of-an-erased-ticket": (
        lost(ERASED[0]),
        ERASED[0],
        {"status": None, "erased_at": None},
        UNFIT,
    ),
    "origin-added": (
        lost(LAST),
        LAST,
        {"origin": "elsewhere"},
        "the tables would have a finding: chain-on-external-ticket",
    ),
    "erased-with-text": (
        lost(ERASED[1]),
        ERASED[1],
        {"title": "Brought back"},
        "it is erased, and has text: erase it again",
    ),
    "record-of-another-hash": (
        both(
            lost(ERASED[1]),
            recorded(ERASED[1], chain="v1:another", assigned_at="-"),
        ),
        ERASED[1],
        {},
        f"{UNLIKE}assigned_at, chain",
    ),
    "record-without-a-hash": (
        both(lost(PLAIN), recorded(PLAIN, chain=None)),
        PLAIN,
        {},
        f"{UNLIKE}chain",
    ),
    "record-of-another-text-without-a-hash": (
        both(
            changed(PLAIN, **BARE),
            recorded(PLAIN, chain=None, fingerprint="v1:another"),
        ),
        PLAIN,
        {},
        f"{UNLIKE}fingerprint",
    ),
    "record-of-a-later-release": (
        both(lost(PLAIN), recorded(PLAIN, fingerprint="v9:later")),
        PLAIN,
        {},
        "is of a later release: use the newest ticketctl",
    ),
    "another-text-here-without-its-hash": (
        changed(PLAIN, **BARE),
        PLAIN,
        OTHER_TEXT,
        "it is here with another text\n",
    ),
    "another-key-here": (
        changed(PLAIN, idempotency_key="other"),
        PLAIN,
        {},
        "it is here with another idempotency_key, text\n",
    ),
    "erased-import-and-its-text's-record": (
        lost(1),
        1,
        {"status": "erased", "title": "erased", "erased_at": "-", "erased_reason": "-"},
        UNTIED,
    ),
    "no-hash-where-one-is-kept": (
        reserved(LAST),
        LAST,
        BARE,
        "a lost ticket with another hash has this number",
    ),
    "lost-and-changed": (
        both(reserved(LAST), unrecorded(LAST)),
        LAST,
        OTHER_TEXT,
        UNFIT,
    ),
    "external-by-a-number-that-is-lost-too": (gone(1, 2), 1, {}, UNTIED),
    "no-record-and-changed": (gone(PLAIN), PLAIN, OTHER_TEXT, UNFIT),
    "ticket-with-more-than-is-known": (
        both(unrecorded(ERASED[0]), changed(ERASED[0], note="x")),
        ERASED[0],
        {},
        "gets none: it has attributes that this ticketctl does not know",
    ),
    "number-given-here-right-below-a-seed": (
        both(seeded(20), gone(LAST)),
        LAST,
        {"idempotency_key": "other", "chain": None},
        UNTIED,
    ),
    "key-of-another-ticket": (
        both(seeded(20), unrecorded(7)),
        7,
        {"number": 15, "chain": None},
        "PROJ-7 has the same idempotency_key",
    ),
}
"""Damage, a ticket, how its line differs from the export, and why it is refused."""


class TestRefusals:
    """Each doubtful item is named before anything is written, and stays as it is."""

    @pytest.mark.parametrize(("damage", "number", "fields", "why"), cases(UNSURE))
    def test_ticket_is_refused_when_its_record_or_hash_does_not_vouch_for_it(
        self,
        history: History,
        damage: Damage,
        number: int,
        fields: dict[str, Any],
        why: str,
    ) -> None:
        damage(history)
        before = history.stage.tickets(), history.stage.records()
        path = edited(history, number, **fields)

        planned = history.stage.call("restore", path, "--partial", "--dry-run")
        ended = history.stage.call("restore", path, "--partial")

        assert why in planned.err
        assert (planned.status, ended.status) == (Status.PROBLEM, Status.PROBLEM)
        assert "refused: 1" in ended.out
        assert (history.stage.tickets(), history.stage.records()) == before

    @pytest.mark.parametrize("number", [LATER[0], ERASED[0]])
    def test_record_stays_when_it_is_of_another_ticket(
        self, history: History, number: int
    ) -> None:
        other = {"fingerprint": "v1:another", "chain": "v1:another"}
        history.stage.change("PROJ", f"key-{number}", **other)
        before = history.stage.records()

        history.stage.call("restore", history.saved)

        assert history.stage.records() == before

    def test_text_stays_away_when_it_is_erased_after_the_look(
        self, history: History
    ) -> None:
        stage, number = history.stage, LATER[0]
        history.lose(number)
        erase_record = partial(
            stage.change, "PROJ", f"key-{number}", fingerprint="erased:"
        )
        stage.before("transact_write_items", erase_record)

        ended = stage.call("restore", edited(history, number), "--partial")

        assert ended.status == Status.OK, ended.err
        assert stage.tickets()[number]["title"] == "erased"
        assert not audited(stage).findings

    def test_hash_counts_for_nothing_when_the_next_ticket_has_no_room_for_it(
        self, history: History
    ) -> None:
        """The writer of a file can compute a hash that fits the text."""
        history.lose(2, tables=BOTH_TABLES)
        forged = exported(history, 3) | {"number": 2, "idempotency_key": "forged"}
        forged["chain"] = chain_after(forged, "")

        history.stage.call("restore", history.stage.file(forged), "--partial")

        assert "chain" not in history.stage.tickets().get(2, {})

    def test_ticket_has_its_hash_again_when_it_was_put_back_without_it(
        self, history: History
    ) -> None:
        """An older or a partial file wrote it as one of another system."""
        stage, before, due = history.stage, history.tickets(), 4_000_000_000
        stage.change("PROJ", 11, **BARE)
        stage.change("PROJ", "key-11", chain=None, expires_at=due)
        history.lose(12)

        ended = stage.call("restore", history.saved)

        assert ended.status == Status.OK, ended.err
        assert history.tickets() == before
        assert stage.records()["key-11"]["expires_at"] == due
        assert not findings_of(stage)

    def test_key_gets_no_record_when_its_time_is_over(self, history: History) -> None:
        """Its time began with its number."""
        stage, now = history.stage, datetime.now(UTC)
        stage.controls.parameters["IdempotencyRetentionDays"] = "40"
        for number, age in {13: 39, 14: 40}.items():
            stage.put(number, assigned_at=timestamp(now - timedelta(days=age)))
        Path(history.saved).write_text(stage.call("export").out)

        ended = stage.call("restore", history.saved)

        assert ended.status == Status.OK, ended.err
        assert "key-14" not in (records := stage.records())
        due = int((now + timedelta(days=1)).timestamp())
        assert due - 1 <= records["key-13"]["expires_at"] <= due


class TestAmongSeeds:
    """A seed goes on guarding its numbers, and nothing else comes among the others."""

    def test_lost_number_keeps_its_hash_when_the_ticket_below_takes_a_reserved_one(
        self, history: History
    ) -> None:
        """Else a worker with an old read would increment into the hole."""
        stage, before = history.stage, history.stage.tickets()
        both(reserved(LAST - 2), lost(LAST - 1))(history)

        stage.call("restore", edited(history, LAST - 2), "--partial")

        after = stage.tickets()
        assert after[LAST - 2] == before[LAST - 2]
        assert after[LAST - 1]["chain"] == before[LAST - 1]["chain"]
        assert after[LAST - 1][RESERVED_UP_TO] == LAST
        assert not findings_of(stage)

    def test_next_number_of_a_seed_is_blocked_when_a_ticket_takes_a_guard(
        self, history: History
    ) -> None:
        """A worker with an old read increments past a ticket, up to the guard."""
        stage, saved = history.stage, Path(history.saved)
        every = saved.read_text()
        history.lose(*LATER)
        stage.seed(30).apply()

        for last in (7, 12):
            saved.write_text("".join(every.splitlines(keepends=True)[:last]))
            stage.call("restore", history.saved, "--partial")

            tickets = stage.tickets()
            ends = {n for n in tickets if tickets[n].get(RESERVED_UP_TO) == 30}
            assert ends == {last + 1, 30}
        assert stage.tickets()[12]["chain"]
        assert not audited(stage).findings

    def test_end_of_a_seed_stays_one_when_its_imported_ticket_goes_back(
        self, stage: Stage
    ) -> None:
        """The file is of the old system, and the tickets were lost after its import."""
        file = stage.file(line(1), line(2))
        stage.call("import", file)
        before = stage.tickets()
        stage.lose("PROJ", 1)
        stage.lose("PROJ", 2)
        stage.seed(2).apply()

        stage.call("import", file)

        assert stage.tickets() == before

    @pytest.mark.parametrize("is_over", [True, False], ids=["over", "not-over"])
    def test_key_is_used_again_only_after_its_time(
        self, history: History, *, is_over: bool
    ) -> None:
        stage, date = history.stage, "2020-01-01T00:00:00.000Z"
        stage.controls.parameters["IdempotencyRetentionDays"] = "40"
        stage.change("PROJ", 12, idempotency_key="key-3")
        stage.change("PROJ", 3, **({"assigned_at": date} if is_over else {}))
        stage.change("PROJ", "key-3", number=12)
        path = stage.folder / "again.jsonl"
        path.write_text(stage.call("export").out)

        ended = stage.call("restore", str(path), "--dry-run")

        taken = "PROJ-3: its idempotency_key is that of PROJ-12"
        assert (taken in ended.err) is not is_over


class TestKeysOfTwo:
    """A file can have a key twice, once its time was over: the plan says who has it."""

    def test_later_ticket_takes_the_record_when_the_tables_have_neither(
        self, history: History, tmp_path: Path
    ) -> None:
        bare = {"chain": None, "salt": None}
        history.stage.change("PROJ", 12, idempotency_key="key-3", **bare)
        history.stage.lose("PROJ", "key-12")
        Path(history.saved).write_text(history.stage.call("export").out)
        elsewhere = Stage(tmp_path)
        elsewhere.controls.mapping = "Disabled"

        ended = elsewhere.call("restore", history.saved)

        assert ended.status == Status.OK, ended.err
        assert elsewhere.records()["key-3"]["number"] == 12
        assert elsewhere.tickets() == history.stage.tickets()

    @pytest.mark.parametrize("lost", [(), (3, 12)], ids=["none", "both"])
    def test_later_ticket_takes_the_record_when_the_tables_have_others(
        self, history: History, lost: Sequence[int]
    ) -> None:
        """The other is named: with it an audit would find two tickets of one key."""
        bare = {"chain": None, "salt": None}
        history.stage.change("PROJ", 12, idempotency_key="key-3", **bare)
        history.lose(3, 12, tables=("keys",))
        Path(history.saved).write_text(history.stage.call("export").out)
        history.lose(*lost)

        ended = history.stage.call("restore", history.saved)

        assert ended.status == Status.PROBLEM
        assert "PROJ-3: its idempotency_key is that of PROJ-12" in ended.err
        assert history.stage.records()["key-3"]["number"] == 12

    @pytest.mark.parametrize("lost", [(2,), (4, "key-4")], ids=["older", "later"])
    def test_ticket_is_back_when_its_key_was_used_again_after_its_time(
        self, stage: Stage, lost: Sequence[int | str]
    ) -> None:
        """The next ticket covers its hash, and the record is the later one's."""
        stage.controls.parameters["IdempotencyRetentionDays"] = "40"
        requests = [request(number) for number in (3, 4, 5)]
        old = Block.of(Head(), requests, "2020-01-01T00:00:00.000Z", lambda: "s" * 22)
        for asked, assignment, salt in old.tickets:
            stage.write(serialized(ticket_item(asked, assignment, salt)))
        history = History(stage)
        again = history.send(4, 6)[4]["data"]["number"]
        stage.call("erase", f"PROJ-{again}", "--reason", "asked to")
        before, named = stage.tickets(), numbers_named(stage)
        file = stage.folder / "again.jsonl"
        file.write_text(stage.call("export").out)
        for place in lost:
            stage.lose("PROJ", place)
        stage.controls.mapping = "Disabled"

        ended = stage.call("restore", str(file))

        assert again == len(requests) + 1
        assert ended.status == Status.OK, ended.err
        assert (stage.tickets(), numbers_named(stage)) == (before, named)
        assert not findings_of(stage, retention_days=40)


def numbers_named(stage: Stage) -> dict[str, int]:
    return {key: int(record["number"]) for key, record in stage.records().items()}


class TestReserved:
    """A seed stays one: its external numbers are no gap after a restore."""

    @pytest.fixture
    def seeded(self, history: History) -> Stage:
        """Return a system that was seeded and went on; its file has all of it."""
        stage = history.stage
        history.send(13)
        stage.write(stage.seed(20).item(14) | {"chain": {"S": "v1:lost"}})
        stage.seed(20).apply()
        history.send(21, 22)
        Path(history.saved).write_text(stage.call("export").out)
        return stage

    def test_item_stays_when_a_reserved_number_of_the_file_is_a_ticket_here(
        self, history: History, seeded: Stage
    ) -> None:
        seeded.lose("PROJ", 14)
        seeded.put(14)
        before = seeded.tickets()

        ended = seeded.call("restore", history.saved)

        assert "PROJ-14: a ticket has this number here" in ended.err
        assert seeded.tickets() == before

    def test_ticket_stays_when_the_file_has_its_number_as_lost(
        self, history: History
    ) -> None:
        """It came back after the export."""
        stage, item = history.stage, history.stage.read("PROJ", LAST)
        reserved(LAST)(history)
        Path(history.saved).write_text(stage.call("export").out)
        stage.write(item)

        ended = stage.call("restore", history.saved)

        assert ended.status == Status.OK, ended.err
        assert stage.read("PROJ", LAST) == item


class TestMarks:
    """A mark is a promise: it comes along, by commands that can be run as printed."""

    def test_no_mark_is_to_be_set_when_it_is_there_or_its_ticket_erased(
        self, history: History
    ) -> None:
        """An erased ticket takes no void any more."""
        history.restore("tickets")
        stage, lost = history.stage, (*ERASED, *BOTH)
        stage.call("restore", history.saved)
        for number in lost:
            stage.call("erase", f"PROJ-{number}", "--reason", f"it's {number}")

        again = stage.call("restore", history.saved)

        assert " erase " not in again.out
        assert again.out.count(" void ") == 1  # The other one came back with its mark.
