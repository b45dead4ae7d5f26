"""After any damage and `ticketctl import`, each old request has its old number."""

import json
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.audits import audited, found
from tests.support.builders import create_ticket
from tests.support.cases import cases
from tests.support.ctl_process import Ended, items_of
from tests.support.evidence import chain_after
from tests.support.stage import Stage, line
from ticket_numbering.contract.dynamodb_items import (
    EXTERNAL,
    RESERVED,
    RESERVED_UP_TO,
    TIMES,
)
from ticket_numbering.contract.field_types import timestamp
from ticket_numbering.contract.messages import CreateTicket
from ticketctl.aws.items import json_values, plain
from ticketctl.aws.retry import RetryPolicy
from ticketctl.cli.errors import Status
from ticketctl.importing.reserved import PuttingBack
from ticketctl.ledger.item import parse

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
        path.write_text(items_of(self.stage.call("export").out))
        self.saved = str(path)

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
        ended = self.stage.call("import", file or self.saved)
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
"""Damage, and the numbers that are not as they were afterwards: nobody vouches."""

DAMAGES = WHOLE | {
    f"{name}-{damage.__name__}": (
        damage(number),
        (number,) if damage is gone and number in {1, 2, 12} else (),
    )
    for number, name in SINGLE.items()
    for damage in (lost, unrecorded, gone)
}


class TestRestore:
    """Nothing is lost or doubled, whatever is restored in whatever order."""

    @pytest.mark.parametrize(("damage", "changed"), cases(DAMAGES))
    def test_each_old_request_has_its_old_number_after_an_import(
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
        verified = history.stage.call("import", history.saved, "--verify")
        assert verified.status == Status.OK


def exported(history: History, number: int) -> dict[str, Any]:
    lines = map(json.loads, Path(history.saved).read_text().splitlines())
    [found] = [one for one in lines if one["number"] == number]
    return dict(found)


def edited(history: History, number: int, /, **fields: Any) -> str:
    """Return a file of one exported ticket, changed; None removes a field."""
    found = exported(history, number) | fields
    return history.stage.file({k: v for k, v in found.items() if v is not None})


def changed(number: int, **fields: Any) -> Damage:
    return lambda history: history.stage.change("PROJ", number, **fields)


def reserved(number: int, chain: str = "") -> Damage:
    """Reserve the number of a lost ticket, with its own hash or another one."""

    def damage(history: History) -> None:
        own = history.stage.tickets()[number]["chain"]
        item = history.stage.seed(number).item(number)
        history.stage.write(item | {"chain": {"S": chain or own}})

    return damage


def rechained(history: History) -> None:
    history.lose(ERASED[1])
    history.stage.change("PROJ", f"key-{ERASED[1]}", chain="v1:another")


LAST, PLAIN = LATER[-1], LATER[0]
UNFIT = "its hash does not fit its content and the ticket before it"
UNLIKE = "differs from the record of its idempotency_key in "
NO_PLACE = "it is missing among numbers that were given here"
DESTROYED = "a lost ticket has this number; an import would destroy its hash"
OTHER_TEXT = {"title": "Another"}
SALTED = {"salt": "A" * 22}

UNSURE: dict[str, tuple[Damage, int, dict[str, Any], str]] = {
    "text-changed": (lost(LAST), LAST, OTHER_TEXT, f"{UNLIKE}fingerprint"),
    "salt-changed": (lost(LAST), LAST, SALTED, UNFIT),
    "hash-missing": (
        lost(LAST),
        LAST,
        {"chain": None, "salt": None},
        "the line lacks its hash: take an export",
    ),
    "one-before-it-missing": (
        lost(LAST - 1, LAST),
        LAST,
        {},
        f"PROJ-{LAST - 1}, the ticket before it, is missing here and in this file",
    ),
    "text-of-an-erased-ticket": (
        lost(ERASED[0]),
        ERASED[0],
        {"status": None, "erased_at": None},
        "its text was erased since: only the erased ticket can go back",
    ),
    "imported-text-changed": (
        lost(1),
        1,
        OTHER_TEXT | {"origin": None},
        "its idempotency_key is recorded for another text",
    ),
    "origin-added": (lost(LAST), LAST, {"origin": "elsewhere"}, UNFIT),
    "erased-with-text": (
        lost(ERASED[1]),
        ERASED[1],
        {"title": "Brought back"},
        "it is erased, and has text: erase it again",
    ),
    "record-of-another-hash": (rechained, ERASED[1], {}, f"{UNLIKE}chain"),
    "erased-import-and-its-text's-record": (
        lost(1),
        1,
        {"status": "erased", "title": "erased", "erased_at": "-", "erased_reason": "-"},
        f"{UNLIKE}fingerprint",
    ),
    "lost-with-another-hash": (reserved(LAST, "v1:another"), LAST, {}, DESTROYED),
    "lost-and-changed": (
        both(reserved(LAST), unrecorded(LAST)),
        LAST,
        OTHER_TEXT,
        DESTROYED,
    ),
    "external-by-a-number-that-is-lost-too": (gone(1, 2), 1, {}, NO_PLACE),
    "no-record-and-changed": (gone(PLAIN), PLAIN, OTHER_TEXT, NO_PLACE),
    "ticket-with-more-than-is-known": (
        both(unrecorded(ERASED[0]), changed(ERASED[0], note="x")),
        ERASED[0],
        {},
        "gets none: it has what this ticketctl does not know",
    ),
    "number-given-here-right-below-a-seed": (
        both(seeded(20), gone(LAST)),
        LAST,
        {"idempotency_key": "other", "chain": None},
        NO_PLACE,
    ),
    "key-of-another-ticket": (
        both(seeded(20), unrecorded(7)),
        7,
        {"number": 15, "chain": None},
        "PROJ-7 has the same idempotency_key",
    ),
    "key-of-two-tickets": (
        both(unrecorded(11, 12), changed(12, idempotency_key="key-11")),
        11,
        {},
        "PROJ-12 has the same idempotency_key; see: ticketctl audit",
    ),
    "ticket-undated": (
        both(unrecorded(1), changed(1, assigned_at=5)),
        1,
        {},
        "gets none: it has no date",
    ),
    "ticket-changed": (
        both(unrecorded(PLAIN), changed(PLAIN, **SALTED)),
        PLAIN,
        {},
        f"gets none: {UNFIT}",
    ),
}
"""Damage, a ticket, how its line differs from the export, and why it is refused."""


class TestRefusals:
    """Whatever is in doubt is named before anything is written, and stays as it is."""

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

        planned = history.stage.call("import", path, "--dry-run")
        ended = history.stage.call("import", path)

        assert f"PROJ-{fields.get('number', number)}: " in planned.err
        assert why in planned.err
        assert (planned.status, ended.status) == (Status.FOUND, Status.FOUND)
        assert "refused 1" in ended.out
        assert (history.stage.tickets(), history.stage.records()) == before

    @pytest.mark.parametrize("number", [LATER[0], ERASED[0]])
    def test_record_stays_when_it_is_of_another_ticket(
        self, history: History, number: int
    ) -> None:
        other = {"fingerprint": "v1:another", "chain": "v1:another"}
        history.stage.change("PROJ", f"key-{number}", **other)
        before = history.stage.records()

        history.stage.call("import", history.saved)

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

        ended = stage.call("import", edited(history, number))

        assert "its text was erased since" in ended.err
        assert number not in stage.given()

    def test_ticket_is_not_back_when_another_import_took_its_ground(
        self, history: History
    ) -> None:
        """The audit is clean then, for it was the highest."""
        stage, file = history.stage, history.stage.folder / "two.jsonl"
        gone(10, 11, 12)(history)
        file.write_text("\n".join(Path(history.saved).read_text().splitlines()[-2:]))
        stage.before("transact_write_items", partial(stage.put, 10))

        ended = stage.call("import", str(file))

        assert (
            "PROJ-11: it was announced and is not back: run this again before the "
            "worker starts\n"
        ) in ended.err
        assert "audit" not in ended.err
        assert 11 not in stage.given()

    def test_refused_ticket_is_judged_once_more_when_all_others_are_written(
        self, history: History
    ) -> None:
        """Another import put both back, this one's ground first."""
        stage, file = history.stage, history.stage.folder / "two.jsonl"
        both_of_it = stage.read("PROJ", 11), stage.read("PROJ", "key-11")
        gone(10, 11, 12)(history)
        file.write_text("\n".join(Path(history.saved).read_text().splitlines()[-2:]))
        stage.before("transact_write_items", partial(stage.put, 10))
        plans = int  # A call that does nothing.
        stage.before("batch_get_item", plans, partial(stage.write, *both_of_it))

        ended = stage.call("import", str(file))

        assert ended.out.startswith("imported 1, there already 1, refused 0")

    def test_hash_counts_for_nothing_when_the_next_ticket_has_no_room_for_it(
        self, history: History
    ) -> None:
        """Whoever writes a file can compute a hash that fits the text."""
        history.lose(2, tables=BOTH_TABLES)
        forged = exported(history, 3) | {"number": 2, "idempotency_key": "forged"}
        forged["chain"] = chain_after(forged, "")

        history.stage.call("import", history.stage.file(forged))

        assert "chain" not in history.stage.tickets()[2]

    def test_ticket_stays_away_when_the_one_before_it_is_here_without_its_hash(
        self, history: History
    ) -> None:
        """An earlier import of a part has written it as one of another system."""
        stage = history.stage
        bare = {"chain": None, "salt": None, "origin": EXTERNAL}
        stage.change("PROJ", 11, **bare)
        stage.change("PROJ", "key-11", chain=None)
        history.lose(12)
        before = found(stage)

        ended = stage.call("import", history.saved)

        assert (
            "PROJ-12: it cannot go back: its hash does not fit its content and the "
            "ticket before it, PROJ-11, which has no hash\n"
        ) in ended.err
        assert stage.tickets()[12]["status"] == RESERVED
        assert found(stage) == before

    def test_key_gets_no_record_when_its_time_is_over(self, history: History) -> None:
        """Its time began with its number."""
        stage, now = history.stage, datetime.now(UTC)
        stage.controls.parameters["IdempotencyRetentionDays"] = "40"
        lines = []
        for number, age in {13: 39, 14: 40}.items():
            date = timestamp(now - timedelta(days=age))
            stage.put(number, assigned_at=date)
            asked = {"idempotency_key": f"key-{number}", "title": f"Ticket {number}"}
            lines.append(line(number, **asked))

        file = stage.file(*lines)

        ended, again = (
            stage.call("import", file),
            stage.call("import", file, "--dry-run"),
        )

        assert "without a record: 1 key, whose time is over" in ended.out
        assert "PROJ: there already 2, missing 0, refused 0\n" in again.out
        assert "key-14" not in (records := stage.records())
        due = int((now + timedelta(days=1)).timestamp())
        assert due - 1 <= records["key-13"]["expires_at"] <= due

    @pytest.mark.parametrize("keys", [[], [LAST]], ids=["recorded", "unrecorded"])
    def test_lost_number_is_a_ticket_again_when_its_hash_is_the_reserved_one(
        self, history: History, keys: Sequence[int]
    ) -> None:
        """Somebody reserved it, and then found a backup; new ones are not allowed."""
        before = history.tickets()
        history.stage.outputs["AllowedProjects"] = "OPS"
        both(reserved(LAST), unrecorded(*keys))(history)

        ended = history.stage.call("import", history.saved)

        assert ended.status == Status.OK
        assert history.tickets() == before

    def test_ticket_of_another_system_has_the_date_that_its_key_recorded(
        self, history: History
    ) -> None:
        """The file says none: the first import took its own time."""
        before = history.tickets()
        history.lose(1)

        history.stage.call(
            "import", history.stage.file(line(1, title="Ticket 1", origin="phone"))
        )

        assert history.tickets()[1]["assigned_at"] == before[1]["assigned_at"]
        assert not audited(history.stage).findings


class TestAmongSeeds:
    """A seed goes on guarding its numbers, and nothing else comes among the others."""

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
            stage.call("import", history.saved)

            found = stage.tickets()
            ends = {n for n in found if found[n].get(RESERVED_UP_TO) == 30}
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
        path.write_text(items_of(stage.call("export").out))

        ended = stage.call("import", str(path), "--dry-run")

        taken = "PROJ-3: its idempotency_key is that of PROJ-12"
        assert (taken in ended.err) is not is_over
        assert ("1 key, whose time is over" in ended.out) is is_over


class TestKeysOfTwo:
    """A file can have a key twice, once its time was over: the plan says who has it."""

    def test_later_ticket_takes_the_record_when_the_tables_have_neither(
        self, history: History, tmp_path: Path
    ) -> None:
        history.stage.change("PROJ", 12, idempotency_key="key-3")
        Path(history.saved).write_text(items_of(history.stage.call("export").out))
        elsewhere = Stage(tmp_path)

        planned = elsewhere.call("import", history.saved, "--dry-run")
        ended = elsewhere.call("import", history.saved)

        taken = "PROJ-3: its idempotency_key is that of PROJ-12"
        assert taken in planned.err
        assert planned.err == ended.err
        assert (elsewhere.records()["key-3"]["number"], ended.status) == (12, 1)


LAST_FIRST, FIRST_FIRST = slice(None, None, -1), slice(None)
PARTS: dict[str, tuple[slice, Damage, Sequence[int]]] = {
    "last-first": (LAST_FIRST, restored("tickets"), (11,)),
    "first-first": (FIRST_FIRST, restored("tickets"), ()),
    "first-of-a-part-without-its-record": (
        LAST_FIRST,
        both(restored("tickets"), unrecorded(9, 11)),
        (11, 9),
    ),
    "last-of-a-part-without-its-record": (
        LAST_FIRST,
        both(restored("tickets"), unrecorded(8, 10)),
        (11, 10),
    ),
}
"""The order of the parts, the damage, and what waits for the second pass."""


class TestParts:
    """A file in parts brings everything back, whichever part is first."""

    @pytest.mark.parametrize(("order", "damage", "waiting"), cases(PARTS))
    def test_each_ticket_is_back_when_the_parts_are_imported_until_none_is_refused(
        self, history: History, order: slice, damage: Damage, waiting: Sequence[int]
    ) -> None:
        """A ticket waits at the end of a sequence, where it would leave a gap."""
        lines = Path(history.saved).read_text().splitlines(keepends=True)
        before, parts = history.tickets(), []
        for start in range(0, len(lines), 2):
            parts.append(history.stage.folder / f"part-{start:02}")
            parts[-1].write_text("".join(lines[start : start + 2]))
        damage(history)

        passes = [
            [history.bring_back(str(part)) for part in parts[order]] for _ in "12"
        ]

        refused = "".join(ended.err for ended in passes[0])
        named = [int(number) for number in re.findall(r"PROJ-(\d+): it ", refused)]
        assert named == [*waiting]
        why = "PROJ-10, the ticket before it, is missing here and in this file"
        assert (f"PROJ-11: it cannot go back: {why}" in refused) is bool(waiting)
        assert not any(ended.status for ended in passes[1])
        assert history.tickets() == before
        assert not audited(history.stage).findings


class TestReserved:
    """A seed stays one: what its numbers explain is no gap after a restore."""

    @pytest.fixture
    def seeded(self, history: History) -> Stage:
        """Return a system that was seeded and went on; its file has all of it."""
        stage = history.stage
        history.send(13)
        stage.write(stage.seed(20).item(14) | {"chain": {"S": "v1:lost"}})
        stage.seed(20).apply()
        history.send(21, 22)
        Path(history.saved).write_text(items_of(stage.call("export").out))
        return stage

    def test_reserved_numbers_go_back_as_they_were_when_a_restore_lacks_them(
        self, history: History, seeded: Stage
    ) -> None:
        """The restored second is before the seed; the keys are of today."""
        before = seeded.tickets()
        history.restore("tickets")
        for number in range(13, 23):
            seeded.lose("PROJ", number)

        planned = seeded.call("import", history.saved, "--verify")
        history.bring_back()

        assert "PROJ-20: a reserved number, missing\n" in planned.out
        assert not audited(seeded).findings
        after = seeded.tickets()
        assert {n: after[n] for n in (14, 20)} == {n: before[n] for n in (14, 20)}
        again = seeded.call("import", history.saved, "--verify")
        assert again.status == Status.OK

    def test_reserved_number_stays_away_when_the_sequence_is_below_it(
        self, stage: Stage
    ) -> None:
        """It would hide the numbers between them from the next reader."""
        stage.put(1)
        item = json_values(plain(stage.seed(9).item(9)))
        before = stage.tickets()

        put = PuttingBack(stage, RetryPolicy()).put_all([parse(item)])

        assert not [*put]
        assert stage.tickets() == before

    def test_item_stays_when_a_reserved_number_of_the_file_is_a_ticket_here(
        self, history: History, seeded: Stage
    ) -> None:
        seeded.lose("PROJ", 14)
        seeded.put(14)
        before = seeded.tickets()

        seeded.call("import", history.saved)

        assert seeded.tickets() == before


class TestMarks:
    """A mark is a promise: it comes along, by commands that can be run as printed."""

    def test_no_mark_is_to_be_set_when_it_is_there_or_its_ticket_erased(
        self, history: History, tmp_path: Path
    ) -> None:
        """An erased ticket takes no void any more."""
        elsewhere = Stage(tmp_path)
        elsewhere.call("import", history.saved)
        for number in (*ERASED, *BOTH):
            elsewhere.call("erase", f"PROJ-{number}", "--reason", f"it's {number}")

        again = elsewhere.call("import", history.saved)
        here = history.stage.call("import", history.saved)

        assert " erase " not in again.out
        assert again.out.count(" void ") == len(VOIDED)
        assert "--reason" not in here.out
