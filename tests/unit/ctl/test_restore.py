"""After any damage and `ticketctl import`, each old request has its old number."""

import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.audits import audited
from tests.support.builders import SOURCE, create_ticket, plenty, queue_record
from tests.support.cases import cases
from tests.support.command_harness import Harness, line
from tests.support.evidence import chain_after
from tests.support.fakes import FakeDeadLetters, FakePublisher
from ticket_numbering.adapters.dynamodb_store import DynamoDBTicketStore
from ticket_numbering.allocation.allocation import Allocator
from ticket_numbering.contract.dynamodb_items import REASONS, TIMES
from ticket_numbering.contract.field_types import timestamp
from ticket_numbering.contract.messages import CreateTicket
from ticket_numbering.worker.worker import Worker
from ticketctl.cli.errors import Status
from ticketctl.commands.export import export
from ticketctl.commands.importing import import_tickets
from ticketctl.commands.sequences import erase, void

COMMANDS = {"erase": erase, "void": void}
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

    harness: Harness
    saved: str = ""
    """The name of the export of all tickets, made before the damage."""
    earlier: dict[str, list[Any]] = field(default_factory=dict)
    """The items of both tables at the restored second."""

    def begin(self) -> None:
        """Number, mark and export tickets."""
        old = [line(number, title=f"Ticket {number}") for number in (1, 2)]
        self.harness.call(import_tickets, self.harness.file(*old))
        self.send(*EARLIER)
        tables = self.harness.services.tables
        self.earlier = {name: tables.items(name) for name in ("tickets", "keys")}
        self.send(*LATER)
        for command, numbers in ((void, (*VOIDED, *BOTH)), (erase, (*ERASED, *BOTH))):
            for number in numbers:
                self.harness.call(command, f"PROJ-{number}", reason=f"it's {number}")
        path = self.harness.folder / "saved.jsonl"
        path.write_text(self.harness.call(export).out)
        self.saved = str(path)

    def send(self, *numbers: int) -> dict[int, Any]:
        """Let a new worker number requests; return the event of each that has one."""
        store = DynamoDBTicketStore(self.harness.dynamodb, "tickets", "keys")
        publisher = FakePublisher()
        worker = Worker(
            *(Allocator(store, 3, 10.0), publisher, FakeDeadLetters(), lambda _: None),
            source=SOURCE,
        )
        for number in numbers:
            worker.handle([queue_record(request(number))], plenty)
        return {
            number: json.loads(one.event.model_dump_json(exclude_none=True))
            for number, one in zip(numbers, publisher.announced, strict=True)
        }

    def lose(self, table: str, *numbers: int) -> None:
        """Delete tickets, or the records of their keys."""
        for number in numbers:
            ticket = {"project_id": {"S": "PROJ"}, "number": {"N": str(number)}}
            record = {"id": {"S": f"PROJ#{request(number).idempotency_key}"}}
            key = ticket if table == "tickets" else record
            self.harness.dynamodb.delete_item(TableName=table, Key=key)

    def restore(self, table: str) -> None:
        """Put a table in the place of today's, as it was at the restored second."""
        self.lose(table, *range(1, 13))
        self.harness.write(*self.earlier[table])

    def bring_back(self) -> None:
        """Import, and run the commands that it prints, as a shell reads them."""
        ended = self.harness.call(import_tickets, self.saved)
        for words in map(shlex.split, ended.out.splitlines()):
            if words[0] == "ticketctl":
                _, verb, key, _, reason, *_ = words
                marked = self.harness.call(COMMANDS[verb], key, reason=reason)
                assert marked.status == Status.OK

    def tickets(self) -> dict[int, dict[str, Any]]:
        """Return the tickets without the times of their marks."""
        return {
            number: {k: v for k, v in item.items() if k not in TIMES.values()}
            for number, item in self.harness.tickets().items()
        }


@pytest.fixture
def history(harness: Harness) -> History:
    history = History(harness)
    history.begin()
    return history


Damage = Callable[[History], None]


def restored(*tables: str) -> Damage:
    def damage(history: History) -> None:
        for table in tables:
            history.restore(table)

    return damage


def lost(*tables: str, numbers: Sequence[int]) -> Damage:
    def damage(history: History) -> None:
        for table in tables:
            history.lose(table, *numbers)

    return damage


def both(*damages: Damage) -> Damage:
    def damage(history: History) -> None:
        for one in damages:
            one(history)

    return damage


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
    "two-neighbours-lost": (lost(*BOTH_TABLES, numbers=(7, 8)), ()),
    "ticket-lost-with-the-next-ones-key": (
        both(lost("tickets", numbers=[7]), lost("keys", numbers=[8])),
        (),
    ),
    "last-two-lost": (lost("tickets", numbers=(11, 12)), ()),
    "last-imported-lost-with-the-next": (lost(*BOTH_TABLES, numbers=(2, 3)), (2,)),
}
"""Damage, and the numbers that are not as they were afterwards: nobody vouches."""

DAMAGES = WHOLE | {
    f"{name}-{'-and-'.join(tables)}": (
        lost(*tables, numbers=(number,)),
        (number,) if tables == BOTH_TABLES and number in {1, 2, 12} else (),
    )
    for number, name in SINGLE.items()
    for tables in (("tickets",), ("keys",), BOTH_TABLES)
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

        assert not audited(history.harness).findings
        after, repeats = history.tickets(), history.send(*range(1, 13))
        for number in changed:
            before[number] = after[number]
            events[number]["data"].pop("chain", None)
        assert after == before
        assert repeats == events
        assert history.send(13)[13]["data"]["number"] == 13
        assert not audited(history.harness).findings
        verified = history.harness.call(import_tickets, history.saved, verify=True)
        assert verified.status == Status.OK


def exported(history: History, number: int) -> dict[str, Any]:
    lines = map(json.loads, Path(history.saved).read_text().splitlines())
    [found] = [one for one in lines if one["number"] == number]
    return dict(found)


def edited(history: History, number: int, **fields: Any) -> str:
    """Return a file of one exported ticket, changed; None removes a field."""
    found = exported(history, number) | fields
    return history.harness.file({k: v for k, v in found.items() if v is not None})


def changed(number: int, **fields: Any) -> Damage:
    return lambda history: history.harness.change_ticket(number, **fields)


def reserved(number: int, chain: str = "") -> Damage:
    """Reserve the number of a lost ticket, with its own hash or another one."""

    def damage(history: History) -> None:
        own = history.harness.tickets()[number]["chain"]
        item = history.harness.seed(number).item(number)
        history.harness.write(item | {"chain": {"S": chain or own}})

    return damage


def rechained(history: History) -> None:
    history.lose("tickets", ERASED[1])
    history.harness.change_record(f"key-{ERASED[1]}", chain="v1:another")


LAST, PLAIN = LATER[-1], LATER[0]
LAST_LOST, FIRST_LOST = lost("tickets", numbers=[LAST]), lost("tickets", numbers=[1])
UNFIT = "its hash does not fit its content and the ticket before it"
UNLIKE = "differs from the record of its idempotency_key in "
NO_PLACE = "it is missing among numbers that were given here"
DESTROYED = "a lost ticket has this number; an import would destroy its hash"
OTHER_TEXT = {"title": "Another"}
SALTED = {"salt": "A" * 22}

UNSURE: dict[str, tuple[Damage, int, dict[str, Any], str]] = {
    "text-changed": (LAST_LOST, LAST, OTHER_TEXT, f"{UNLIKE}fingerprint"),
    "salt-changed": (LAST_LOST, LAST, SALTED, UNFIT),
    "hash-missing": (
        LAST_LOST,
        LAST,
        {"chain": None, "salt": None},
        "the line lacks its hash: take an export",
    ),
    "one-before-it-missing": (
        lost("tickets", numbers=[LAST - 1, LAST]),
        LAST,
        {},
        UNFIT,
    ),
    "text-of-an-erased-ticket": (
        lost("tickets", numbers=[ERASED[0]]),
        ERASED[0],
        {"status": None, "erased_at": None},
        "its text was erased since: only the erased ticket can go back",
    ),
    "imported-text-changed": (
        FIRST_LOST,
        1,
        OTHER_TEXT | {"origin": None},
        "its idempotency_key is recorded for another text",
    ),
    "origin-added": (LAST_LOST, LAST, {"origin": "elsewhere"}, UNFIT),
    "erased-with-text": (
        lost("tickets", numbers=[ERASED[1]]),
        ERASED[1],
        {"title": "Brought back"},
        "it is erased, and has text: erase it again",
    ),
    "record-of-another-hash": (rechained, ERASED[1], {}, f"{UNLIKE}chain"),
    "erased-import-and-its-text's-record": (
        FIRST_LOST,
        1,
        {"status": "erased", "title": "erased", "erased_at": "-", "erased_reason": "-"},
        f"{UNLIKE}fingerprint",
    ),
    "lost-with-another-hash": (reserved(LAST, "v1:another"), LAST, {}, DESTROYED),
    "lost-and-changed": (
        both(reserved(LAST), lost("keys", numbers=[LAST])),
        LAST,
        OTHER_TEXT,
        DESTROYED,
    ),
    "external-by-a-number-that-is-lost-too": (
        lost(*BOTH_TABLES, numbers=[1, 2]),
        1,
        {},
        NO_PLACE,
    ),
    "no-record-and-changed": (
        lost(*BOTH_TABLES, numbers=[PLAIN]),
        PLAIN,
        OTHER_TEXT,
        NO_PLACE,
    ),
    "ticket-with-more-than-is-known": (
        both(lost("keys", numbers=[ERASED[0]]), changed(ERASED[0], note="x")),
        ERASED[0],
        {},
        "gets none: it has what this ticketctl does not know",
    ),
    "ticket-undated": (
        both(lost("keys", numbers=[1]), changed(1, assigned_at=5)),
        1,
        {},
        "gets none: it has no date",
    ),
    "ticket-changed": (
        both(lost("keys", numbers=[PLAIN]), changed(PLAIN, **SALTED)),
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
        before = history.harness.tickets(), history.harness.records()
        path = edited(history, number, **fields)

        planned = history.harness.call(import_tickets, path, dry_run=True)
        ended = history.harness.call(import_tickets, path)

        assert f"PROJ-{number}: " in planned.err
        assert why in planned.err
        assert (planned.status, ended.status) == (Status.FOUND, Status.FOUND)
        assert "refused 1" in ended.out
        assert (history.harness.tickets(), history.harness.records()) == before

    def test_changed_ticket_is_left_out_when_the_next_one_goes_back(
        self, history: History
    ) -> None:
        """The next one vouches for its hash, and not for its text."""
        history.lose("tickets", 7, 8)
        history.lose("keys", 7, 8)
        lines = [exported(history, 7) | {"title": "Another"}, exported(history, 8)]

        ended = history.harness.call(import_tickets, history.harness.file(*lines))

        assert "imported 1, there already 0, refused 1" in ended.out
        assert 7 not in history.harness.given()

    @pytest.mark.parametrize("number", [LATER[0], ERASED[0]])
    def test_record_stays_when_it_is_of_another_ticket(
        self, history: History, number: int
    ) -> None:
        other = {"fingerprint": "v1:another", "chain": "v1:another"}
        history.harness.change_record(f"key-{number}", **other)
        before = history.harness.records()

        history.harness.call(import_tickets, history.saved)

        assert history.harness.records() == before

    def test_text_stays_away_when_it_is_erased_after_the_look(
        self, history: History
    ) -> None:
        harness, number = history.harness, LATER[0]
        history.lose("tickets", number)
        erase_record = partial(
            harness.change_record, f"key-{number}", fingerprint="erased:"
        )
        harness.before("transact_write_items", erase_record)

        ended = harness.call(import_tickets, edited(history, number))

        assert "its text was erased since" in ended.err
        assert number not in harness.given()

    def test_hash_counts_for_nothing_when_the_next_ticket_has_no_room_for_it(
        self, history: History
    ) -> None:
        """Whoever writes a file can compute a hash that fits the text."""
        history.lose("tickets", 2)
        history.lose("keys", 2)
        forged = exported(history, 3) | {"number": 2, "idempotency_key": "forged"}
        forged["chain"] = chain_after(forged, "")

        history.harness.call(import_tickets, history.harness.file(forged))

        assert "chain" not in history.harness.tickets()[2]

    def test_key_gets_no_record_when_another_ticket_has_it_too(
        self, history: History
    ) -> None:
        history.lose("keys", 11, 12)
        history.harness.change_ticket(12, idempotency_key="key-11")

        ended = history.harness.call(import_tickets, edited(history, 11))

        assert "PROJ-12 has the same idempotency_key; see: ticketctl audit" in ended.err
        assert "key-11" not in history.harness.records()

    def test_key_gets_no_record_when_its_time_is_over(self, history: History) -> None:
        """Its time began with its number."""
        harness, now = history.harness, datetime.now(UTC)
        harness.retention_days = 40
        lines = []
        for number, age in {13: 39, 14: 40}.items():
            date = timestamp(now - timedelta(days=age))
            harness.put(number, assigned_at=date)
            asked = {"idempotency_key": f"key-{number}", "title": f"Ticket {number}"}
            lines.append(line(number, **asked))

        ended = harness.call(import_tickets, harness.file(*lines))

        assert "without a record: 1 key, whose time is over" in ended.out
        assert "key-14" not in (records := harness.records())
        due = int((now + timedelta(days=1)).timestamp())
        assert due - 1 <= records["key-13"]["expires_at"] <= due

    def test_lost_number_is_a_ticket_again_when_its_hash_is_the_reserved_one(
        self, history: History
    ) -> None:
        """Somebody reserved it, and then found a backup."""
        before = history.tickets()
        reserved(7)(history)

        ended = history.harness.call(import_tickets, history.saved)

        assert ended.status == Status.OK
        assert history.tickets() == before

    def test_ticket_of_another_system_has_the_date_that_its_key_recorded(
        self, history: History
    ) -> None:
        """The file says none: the first import took its own time."""
        before = history.tickets()
        history.lose("tickets", 1)

        history.harness.call(
            import_tickets,
            history.harness.file(line(1, title="Ticket 1", origin="phone")),
        )

        assert history.tickets()[1]["assigned_at"] == before[1]["assigned_at"]
        assert not audited(history.harness).findings


class TestAmongSeeds:
    """A seed goes on guarding its numbers, and nothing else comes among the others."""

    def test_next_number_of_a_seed_is_blocked_when_a_ticket_takes_a_guard(
        self, history: History
    ) -> None:
        """A worker with an old read increments past a ticket, up to the guard."""
        harness = history.harness
        history.lose("tickets", *LATER)
        harness.seed(30).apply()

        harness.call(import_tickets, history.saved)

        assert harness.tickets()[13]["reserved_up_to"] == 30
        assert harness.tickets()[12]["chain"]
        assert not audited(history.harness).findings

    def test_other_ticket_gets_no_number_that_was_given_here(
        self, history: History
    ) -> None:
        """Right below a seed, where ticket and record are lost."""
        history.harness.seed(20).apply()
        history.lose("tickets", LAST)
        history.lose("keys", LAST)
        path = history.harness.file(line(LAST, idempotency_key="other"))

        planned = history.harness.call(import_tickets, path, dry_run=True)
        history.harness.call(import_tickets, path)

        assert "missing among numbers that were given here" in planned.err
        assert LAST not in history.harness.given()

    def test_key_of_another_ticket_gets_no_second_number(
        self, history: History
    ) -> None:
        history.harness.seed(20).apply()
        history.lose("keys", 7)
        again = line(15, idempotency_key="key-7", title="Ticket 7")

        ended = history.harness.call(import_tickets, history.harness.file(again))

        assert "PROJ-7 has the same idempotency_key" in ended.err
        assert "key-7" not in history.harness.records()

    def test_export_is_taken_when_a_key_was_used_again_after_its_time(
        self, history: History
    ) -> None:
        history.harness.retention_days = 40
        history.harness.change_ticket(12, idempotency_key="key-3")
        history.harness.change_ticket(3, assigned_at="2020-01-01T00:00:00.000Z")
        history.harness.change_record("key-3", number=12)
        path = history.harness.folder / "again.jsonl"
        path.write_text(history.harness.call(export).out)

        ended = history.harness.call(import_tickets, str(path), dry_run=True)

        assert "PROJ-3: " not in ended.err
        assert "without a record: 1 key, whose time is over" in ended.out


class TestMarks:
    """A mark is a promise: it comes along, by commands that can be run as printed."""

    def test_both_marks_come_along_when_a_ticket_was_voided_and_then_erased(
        self, history: History, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        elsewhere = History(Harness(tmp_path, capsys), history.saved)

        elsewhere.bring_back()

        kept = {*TIMES.values(), *REASONS.values(), "status"}
        marked, before = (
            {n: kept & item.keys() for n, item in one.harness.tickets().items()}
            for one in (elsewhere, history)
        )
        assert {"voided_reason", "erased_reason"} < before[BOTH[0]]
        assert marked == before

    def test_no_mark_is_to_be_set_when_it_is_there_or_its_ticket_erased(
        self, history: History, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """An erased ticket takes no void any more."""
        elsewhere = Harness(tmp_path, capsys)
        elsewhere.call(import_tickets, history.saved)
        for number in (*ERASED, *BOTH):
            elsewhere.call(erase, f"PROJ-{number}", reason=f"it's {number}")

        again = elsewhere.call(import_tickets, history.saved)
        here = history.harness.call(import_tickets, history.saved)

        assert "ticketctl erase" not in again.out
        assert again.out.count("ticketctl void") == len(VOIDED)
        assert "ticketctl" not in here.out
