"""`ticketctl restore` is the inverse of `ticketctl export`."""

import json
import shlex
from collections.abc import Callable
from copy import deepcopy
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.audits import audited
from tests.support.builders import block_of, create_ticket
from tests.support.canned_aws import client_error, failing
from tests.support.cases import cases
from tests.support.ctl_process import Ended
from tests.support.seed_items import block_items, reserved_item
from tests.support.stage import Stage, cancelled, line
from ticket_numbering.contract.dynamodb_items import EXPIRES_AT, EXTERNAL
from ticketctl.aws.retry import RetryPolicy
from ticketctl.cli.errors import Status
from ticketctl.restore.database import Database
from ticketctl.restore.reading import ExportReader, saved_file

GIVEN = [3, 4, 5, 6, 21, 22, 23]
"""Numbers that the worker gave; 1 and 2 are imported, 7 to 20 seeded, 6 is lost."""

OLD = "2019-11-21T10:00:00.000Z"


def send(stage: Stage, *numbers: int, project_id: str = "PROJ") -> dict[int, int]:
    """Let the worker number requests; return the number that each has."""
    numbered: dict[int, int] = {}
    for number in numbers:
        fields = {"project_id": project_id, "idempotency_key": f"key-{number}"}
        stage.services.queues["source"].send(
            create_ticket(**fields, title=f"Ticket {number}").model_dump_json()
        )
        stage.work()
        event = json.loads(stage.published[-1]["Message"])
        numbered[number] = event["data"]["number"]
    return numbered


@pytest.fixture
def past(stage: Stage) -> Stage:
    """Return a system with each kind of item, its export, and a stopped worker."""
    stage.call("import", stage.file(line(1, assigned_at=OLD), line(2)))
    send(stage, 3, 4, 5, 6)
    stage.call("void", "PROJ-3", "--reason", "spam")
    stage.call("erase", "PROJ-4", "--reason", "asked to")
    chain = stage.read("PROJ", 6)["chain"]
    stage.seed(20, "old ones").apply()
    lost = stage.seed(6, "lost").item(6) | {"chain": chain}
    stage.write(lost)
    send(stage, 21, 22, 23)
    send(stage, 1, 2, project_id="OPS")
    saved(stage).write_text(stage.call("export").out)
    stage.controls.mapping = "Disabled"
    return stage


def saved(stage: Stage) -> Path:
    return stage.folder / "saved.jsonl"


def tables(stage: Stage) -> dict[str, list[Any]]:
    """Return the contents of both tables, sorted."""
    return {
        name: sorted(stage.services.tables.items(name), key=_place)
        for name in ("tickets", "keys")
    }


def _place(item: Any) -> str:
    return f"{item.get('id')} {item['project_id']} {item['number']}"


def empty(stage: Stage, *names: str) -> None:
    for name in names or ("tickets", "keys"):
        for item in [*stage.services.tables.items(name)]:
            place = item.get("idempotency_key", {}).get("S") if name == "keys" else None
            stage.lose(item["project_id"]["S"], place or int(item["number"]["N"]))


def restore(stage: Stage, *options: str) -> Ended:
    return stage.call("restore", str(saved(stage)), *options)


class TestWhole:
    """A project of which the tables have nothing comes back as it was."""

    def test_both_tables_are_as_they_were_when_all_was_lost(self, past: Stage) -> None:
        before = tables(past)
        empty(past)

        planned = restore(past, "--dry-run")
        assert tables(past) == {"tickets": [], "keys": []}
        ended = restore(past)

        assert (planned.status, ended.status) == (Status.OK, Status.OK), ended.err
        assert tables(past) == before
        assert not audited(past).findings
        assert send(past, 5, 6, 23, 24) == {5: 5, 6: 6, 23: 23, 24: 24}

    def test_named_projects_alone_come_back(self, past: Stage) -> None:
        empty(past)

        ended = restore(past, "--project", "OPS")

        assert ended.status == Status.OK
        there = {item["project_id"]["S"] for item in tables(past)["tickets"]}
        assert there == {"OPS"}

    def test_key_has_no_record_when_its_ticket_has_no_date(self, past: Stage) -> None:
        past.change("PROJ", 1, assigned_at=None)
        past.lose("PROJ", "import:PROJ-1")
        before = tables(past)
        saved(past).write_text(past.call("export").out)
        empty(past)

        restore(past)

        assert tables(past) == before

    def test_key_has_no_record_when_its_ticket_does_not_have_its_hash(
        self, past: Stage
    ) -> None:
        """A record would vouch for the changed text from then on."""
        before = past.records().keys()
        rewritten(past, with_field("title", "Another"))
        empty(past)

        ended = restore(past)

        assert "it comes along: " in ended.err
        assert past.tickets()[5]["title"] == "Another"
        assert past.records().keys() == before - {"key-5"}

    def test_times_of_keys_are_those_of_their_tickets(self, past: Stage) -> None:
        """But for imported ones, whose time begins when their records are made."""
        past.controls.parameters["IdempotencyRetentionDays"] = "40"
        empty(past)

        assert restore(past).status == Status.OK

        records = past.records()
        assert all(EXPIRES_AT in records[f"key-{n}"] for n in GIVEN if n != 6)
        assert EXPIRES_AT in records["import:PROJ-1"]


CALLS = {
    f"{name}-{calls}": (name, calls)
    for name, count in {"put_item": 4, "transact_write_items": 2}.items()
    for calls in range(count)
}
"""Calls that write, and how many of them are before the kill."""


class TestInterrupted:
    """Killed at any call and run again, it puts the same back."""

    @pytest.fixture(params=[*CALLS])
    def killed(self, request: pytest.FixtureRequest, past: Stage) -> Stage:
        """Return a system whose restore was killed before a transaction."""
        empty(past)
        name, calls = CALLS[request.param]
        acts: list[Callable[[], object]] = [int] * calls
        past.before(name, *acts, failing(KeyboardInterrupt()))
        ended = restore(past)
        assert ended.status == Status.INTERRUPTED
        assert "do not start the worker" in ended.err
        return past

    @pytest.fixture
    def before(self, past: Stage) -> dict[str, list[Any]]:
        return deepcopy(tables(past))

    def test_tables_are_as_they_were_when_it_runs_again(
        self, before: dict[str, list[Any]], killed: Stage
    ) -> None:
        ended = restore(killed)

        assert ended.status == Status.OK, ended.err
        assert tables(killed) == before

    def test_no_number_is_given_again_when_a_worker_was_started(
        self, killed: Stage
    ) -> None:
        """It goes on behind the highest number, and its ticket fits."""
        there = {item["project_id"]["S"] for item in tables(killed)["tickets"]}
        given = send(killed, 99)[99] if "PROJ" in there else 24

        ended = restore(killed)

        assert given == 24, ended.err
        if "PROJ" in there:
            assert send(killed, 23, 22, 21, 5) == {23: 23, 22: 22, 21: 21, 5: 5}

    def test_worker_is_not_started_when_a_restore_was_killed(
        self, killed: Stage
    ) -> None:
        refused = killed.call("start")
        restore(killed)

        assert refused.status == Status.USAGE
        assert "a restore has not come to its end" in refused.err
        assert "a restore" not in killed.call("start").err

    def test_nothing_goes_back_when_another_item_was_written_since_the_kill(
        self, past: Stage
    ) -> None:
        """Another program wrote into the numbers that the killed restore left open."""
        empty(past)
        past.before("transact_write_items", failing(KeyboardInterrupt()))
        restore(past, "--project", "PROJ")
        past.put(5, idempotency_key="other")

        ended = restore(past, "--project", "PROJ")

        assert "nothing shows that it is of the same history" in ended.err
        assert past.given() == [5]


def number(stage: Stage, *numbers: int) -> None:
    """Write tickets as a worker does, with their records."""
    requests = [
        create_ticket(idempotency_key=f"key-{number}", title=f"Ticket {number}")
        for number in numbers
    ]
    there = stage.tickets().get(numbers[0] - 1, {})
    stage.write(
        *block_items(block_of(requests, numbers[0], previous=there.get("chain", "")))
    )


class TestBlocks:
    """A long file is restored in many transactions and stretches."""

    @pytest.fixture
    def long(self, stage: Stage) -> Stage:
        """Return a system with more tickets than a plan judges at a time."""
        number(stage, *range(1, 621))
        saved(stage).write_text(stage.call("export").out)
        stage.controls.mapping = "Disabled"
        return stage

    def test_tables_are_as_they_were_when_it_was_killed_between_blocks(
        self, long: Stage
    ) -> None:
        before = tables(long)
        empty(long)
        long.before("transact_write_items", *[int] * 4, failing(KeyboardInterrupt()))

        assert restore(long).status == Status.INTERRUPTED
        assert long.tickets()[620]["status"] == "reserved"  # It stands until the end.
        long.before("transact_write_items")
        ended = restore(long)

        assert ended.status == Status.OK, ended.err
        assert tables(long) == before

    def test_end_and_guard_of_a_seed_are_back_first_when_it_was_killed(
        self, stage: Stage
    ) -> None:
        """A guard without its end would be a finding, and a number that is open."""
        stage.call("import", stage.file(*map(line, range(1, 121))))
        send(stage, 121)
        saved(stage).write_text(stage.call("export").out)
        for lost in range(1, 121):
            stage.lose("PROJ", lost)
        stage.before("transact_write_items", int, failing(KeyboardInterrupt()))

        assert restore(stage).status == Status.INTERRUPTED

        there = stage.tickets()
        assert there[120]["reserved_up_to"] == there[1]["reserved_up_to"] == 120
        assert 60 not in there

    def test_ticket_vouches_for_the_one_before_it_when_it_came_with_another_block(
        self, long: Stage
    ) -> None:
        before = long.tickets()
        for lost in range(500, 600):
            long.lose("PROJ", lost)
            long.lose("PROJ", f"key-{lost}")
        pauses: list[int] = []
        long.on_pause = lambda: pauses.append(1)

        restore(long)

        assert long.tickets() == before
        assert not pauses  # Each block was written as it was.

    def test_other_lines_of_a_block_are_back_when_one_cannot_be(
        self, long: Stage
    ) -> None:
        before = tables(long)
        long.lose("PROJ", 300)
        long.lose("PROJ", 310)
        other = long.read("PROJ", "key-310") | {"fingerprint": {"S": "v1:other"}}
        long.before("transact_write_items", partial(long.write, other))

        ended = restore(long)

        assert "PROJ-310: it differs from the record" in ended.err
        assert 310 not in long.tickets()
        assert 300 in long.tickets()
        assert len(before["tickets"]) == len(tables(long)["tickets"]) + 1


class TestOthers:
    """Writes of others between plan and execution stay."""

    @pytest.mark.parametrize("place", [5, "key-5"], ids=["item", "record"])
    def test_restore_overwrites_nothing_when_others_write_meanwhile(
        self, past: Stage, place: int | str
    ) -> None:
        """And all other lines come back."""
        before = tables(past)
        other = past.read("PROJ", place) | {"assigned_at": {"S": OLD}}
        empty(past)
        past.before("transact_write_items", int, partial(past.write, other))

        ended = restore(past)

        assert ended.status == Status.PROBLEM
        assert "PROJ-5: it " in ended.err
        assert past.read("PROJ", place) == other
        there = tables(past)["tickets"]
        assert [item for item in before["tickets"] if item not in there] == [
            item
            for item in before["tickets"]
            if item["number"]["N"] == "5" and item["project_id"]["S"] == "PROJ"
        ]

    @pytest.mark.parametrize("calls", range(2))
    @pytest.mark.parametrize("ends", [(), (25,)], ids=["ticket", "seed"])
    def test_no_number_is_open_when_a_seed_runs_meanwhile(
        self, past: Stage, calls: int, ends: tuple[int, ...]
    ) -> None:
        """Its end is above that of the file, a ticket or a seed; its guard is below."""
        for end in ends:
            past.seed(end).apply()
        saved(past).write_text(past.call("export").out)
        empty(past)
        seed = past.seed(30)
        past.before("put_item", *[int] * calls, seed.apply)

        assert restore(past).status == Status.OK

        assert not audited(past).findings
        assert send(past, 23, 31) == {23: 23, 31: 31}


class TestWorker:
    """Where a key has no record a running worker would give a second number."""

    @pytest.mark.parametrize(
        ("lose", "why"),
        cases(
            {
                "keys": (
                    lambda stage: empty(stage, "keys"),
                    "a ticket or a key has no record",
                ),
                "last": (
                    lambda stage: stage.lose("PROJ", 23),
                    "a new request would get one of a project's last numbers",
                ),
            }
        ),
    )
    def test_nothing_is_written_when_the_worker_runs(
        self, past: Stage, lose: Callable[[Stage], object], why: str
    ) -> None:
        lose(past)
        before = tables(past)
        past.controls.mapping = "Enabled"

        ended = restore(past, "--yes")

        assert ended.status == Status.USAGE
        assert why in ended.err
        assert "ticketctl stop" in ended.err
        assert tables(past) == before
        assert restore(past, "--dry-run").status == Status.OK


class TestLineByLine:
    """Where the tables have something of a project, they vouch for each line."""

    def test_ticket_is_as_it_was_when_the_next_ones_record_is_malformed(
        self, past: Stage
    ) -> None:
        before = past.read("PROJ", 21)
        past.change("PROJ", "key-22", number="x")
        past.lose("PROJ", 21)

        ended = restore(past)

        assert "PROJ-22: its idempotency_key is taken" in ended.err
        assert past.read("PROJ", 21) == before

    def test_key_is_refused_when_its_record_names_another_number(
        self, past: Stage
    ) -> None:
        """Without tickets, the records alone show that the project is not empty."""
        empty(past, "tickets")
        past.change("PROJ", "key-5", number=99)

        ended = restore(past)

        assert "PROJ-5: its idempotency_key is that of PROJ-99" in ended.err
        assert 5 not in past.tickets()

    def test_lost_ticket_has_its_hash_again_when_its_record_has_it(
        self, past: Stage
    ) -> None:
        before = tables(past)
        past.lose("PROJ", 6)

        assert restore(past).status == Status.OK
        assert tables(past) == before

    def test_last_number_has_no_hash_when_only_the_file_has_it(
        self, past: Stage
    ) -> None:
        """And no mark of the restore is left at it."""
        chain, item = past.tickets()[23]["chain"], past.seed(23, "lost").item(23)
        past.write(item | {"chain": {"S": chain}})
        past.lose("PROJ", "key-23")
        saved(past).write_text(past.call("export").out)
        past.lose("PROJ", 23)

        restore(past)

        assert past.read("PROJ", 23) == item

    @pytest.mark.parametrize("chain", ["", f"v1:{'b' * 43}"], ids=["none", "other"])
    def test_record_of_a_lost_ticket_stays_away_when_its_hash_is_not_there(
        self, past: Stage, chain: str
    ) -> None:
        past.lose("PROJ", "key-6")
        past.change("PROJ", 6, chain=chain or None, reserved_reason="again")
        before = past.read("PROJ", 6)

        ended = restore(past)

        assert ended.status != Status.OK
        assert "key-6" not in past.records()
        assert past.read("PROJ", 6) == before

    def test_record_of_a_lost_ticket_stays_away_when_it_has_another_hash(
        self, past: Stage
    ) -> None:
        past.change("PROJ", "key-6", chain=f"v1:{'b' * 43}")
        saved(past).write_text(past.call("export").out)
        empty(past)

        ended = restore(past)

        assert "the record of key-6: PROJ-6, its number, has not its hash" in ended.err
        assert "key-6" not in past.records()

    def test_record_is_named_when_its_number_is_a_ticket_of_another_key(
        self, past: Stage
    ) -> None:
        """A repeat of its request gets another number, which a person must know."""
        before = tables(past)
        other = {"id": {"S": "PROJ#other"}, "idempotency_key": {"S": "other"}}
        past.write(past.read("PROJ", "key-22") | other)
        saved(past).write_text(past.call("export").out)
        empty(past)

        ended = restore(past)

        assert ended.status == Status.PROBLEM
        assert "the record of other" in ended.err
        assert "PROJ-22" in ended.err
        assert tables(past) == before


def rewritten(stage: Stage, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change the lines of the file."""
    lines = map(json.loads, saved(stage).read_text().splitlines())
    changed = [line for line in map(change, lines) if line is not None]
    saved(stage).write_text("".join(f"{json.dumps(line)}\n" for line in changed))


def with_field(name: str, value: Any) -> Callable[[dict[str, Any]], Any]:
    def change(line: dict[str, Any]) -> dict[str, Any]:
        return line | {name: value} if line.get("number") == 5 else line

    return change


class TestHeads:
    """Heads that were kept outside are asked before anything goes back."""

    def test_file_is_refused_when_a_head_is_of_an_external_number(
        self, past: Stage
    ) -> None:
        chain = past.tickets()[23]["chain"]
        head = {"project_id": "PROJ", "number": 1, "chain": chain}
        empty(past)

        ended = restore(past, "--heads", past.file(head))

        assert ended.status == Status.USAGE
        assert "PROJ-1: the file has another hash" in ended.err
        assert tables(past) == {"tickets": [], "keys": []}

    def test_file_is_refused_when_a_text_does_not_have_the_hash(
        self, past: Stage
    ) -> None:
        head = {"project_id": "PROJ", "number": 5, "chain": past.tickets()[5]["chain"]}
        rewritten(past, with_field("title", "Another"))
        empty(past)

        ended = restore(past, "--heads", past.file(head))

        assert "PROJ-5: its content does not have the saved hash" in ended.err
        assert tables(past) == {"tickets": [], "keys": []}

    def test_file_goes_back_when_its_heads_hold(self, past: Stage) -> None:
        """One of a lost ticket has no content; one above the file says nothing."""
        before = tables(past)
        chains = {n: past.tickets()[n]["chain"] for n in (6, 23)} | {24: "v1:-"}
        heads = [
            {"project_id": "PROJ", "number": number, "chain": chain}
            for number, chain in chains.items()
        ]
        empty(past)

        ended = restore(past, "--heads", past.file(*heads))

        assert ended.status == Status.OK, ended.err
        assert tables(past) == before


class TestErased:
    """An erased ticket stays erased."""

    @pytest.mark.parametrize("lost", [(), ("key-21",)], ids=["recorded", "not"])
    def test_text_stays_away_when_a_ticket_gets_its_hash_again(
        self, past: Stage, lost: tuple[str, ...]
    ) -> None:
        """An older file put it back as of another system; then it was erased."""
        chain = past.tickets()[21]["chain"]
        bare = {"chain": None, "salt": None, "origin": EXTERNAL}
        past.change("PROJ", 21, **bare)
        past.change("PROJ", "key-21", chain=None)
        past.call("erase", "PROJ-21", "--reason", "asked to")
        for key in lost:
            past.lose("PROJ", key)

        restore(past)

        after = past.tickets()[21]
        assert (after["title"], after.get("chain")) == ("erased", chain)
        assert "salt" not in after
        assert past.records()["key-21"]["fingerprint"] == "erased:"
        assert not audited(past).findings

    def test_imported_ticket_is_as_it_was_when_it_is_lost_after_its_erasure(
        self, past: Stage
    ) -> None:
        """It has no hash, so no commitment stays for one."""
        past.call("erase", "PROJ-1", "--reason", "asked to")
        before = past.read("PROJ", 1)
        past.lose("PROJ", 1)

        ended = restore(past)

        assert ended.status == Status.OK, ended.err
        after = past.read("PROJ", 1)
        assert after.keys() == before.keys()
        assert after["title"] == before["title"]

    def test_text_stays_away_when_the_next_ticket_starts_a_segment(
        self, stage: Stage
    ) -> None:
        """Its record says that it was erased, and it comes back without its hash."""
        number(stage, 1, 2)
        saved(stage).write_text(stage.call("export").out)
        stage.call("erase", "PROJ-2", "--reason", "asked to")
        stage.lose("PROJ", 2)
        stage.seed(2).apply()
        send(stage, 3)
        stage.controls.mapping = "Disabled"

        ended = restore(stage)

        assert stage.tickets()[2].get("title") == "erased", ended
        assert not audited(stage).findings

    def test_no_mark_is_printed_when_its_number_is_another_requests_now(
        self, past: Stage
    ) -> None:
        """A worker went on before the restore; the printed command would erase it."""
        empty(past)
        assert send(past, 101, 102, 103, 104) == {101: 1, 102: 2, 103: 3, 104: 4}

        ended = restore(past)

        assert "another history" in ended.err
        assert " erase " not in ended.out
        assert " void " not in ended.out

    def test_text_stays_away_when_the_record_of_the_file_is_erased(
        self, past: Stage
    ) -> None:
        """The export was of a table that went back to before the erasure."""
        text = past.read("PROJ", 5)
        past.call("erase", "PROJ-5", "--reason", "asked to")
        past.write(text)
        saved(past).write_text(past.call("export").out)
        past.lose("PROJ", 5)
        past.lose("PROJ", "key-5")

        ended = restore(past)

        assert ended.status == Status.OK, ended.err
        assert past.tickets()[5]["status"] == "erased"
        assert send(past, 5) == {5: 5}

    def test_record_keeps_its_end_when_its_erased_ticket_comes_back(
        self, past: Stage
    ) -> None:
        """The keys are older than the erasure."""
        past.change("PROJ", "key-4", fingerprint="v1:text", expires_at=4_000_000_000)
        past.lose("PROJ", 4)

        ended = restore(past)

        assert ended.status == Status.OK, ended.err
        record = past.records()["key-4"]
        assert record["fingerprint"] == "erased:"
        assert record["expires_at"] == 4_000_000_000

    def test_record_has_no_fingerprint_when_its_ticket_is_erased_after_the_look(
        self, past: Stage
    ) -> None:
        """A guess of the text could be tested by it."""
        past.lose("PROJ", "key-5")
        erased = {"title": "erased", "status": "erased", "salt": None}
        past.before("transact_write_items", partial(past.change, "PROJ", 5, **erased))

        restore(past)

        record = past.records().get("key-5", {"fingerprint": "erased:"})
        assert record["fingerprint"] == "erased:"


class TestGrounds:
    """The conditions of a step are unchanged, or the line is planned again."""

    def test_ticket_stays_away_when_the_next_one_vouches_no_more(
        self, past: Stage
    ) -> None:
        for place in (21, "key-21"):
            past.lose("PROJ", place)
        other = {"chain": f"v1:{'b' * 43}"}
        past.before("transact_write_items", partial(past.change, "PROJ", 22, **other))

        restore(past)

        assert "chain" not in past.tickets().get(21, {})

    def test_others_of_a_block_are_tried_again_when_a_transaction_conflicts(
        self, past: Stage
    ) -> None:
        before = tables(past)
        empty(past)
        conflict = cancelled("None", "TransactionConflict")
        past.before("transact_write_items", conflict, conflict)

        assert restore(past).status == Status.OK
        assert tables(past) == before

    def test_line_is_named_when_dynamodb_refuses_it_as_invalid(
        self, past: Stage
    ) -> None:
        past.lose("PROJ", 5)
        invalid = failing(client_error("ValidationException"))
        past.before("transact_write_items", *[invalid] * 2)

        ended = restore(past)

        assert ended.status == Status.PROBLEM
        assert "PROJ-5: DynamoDB rejects it as invalid" in ended.err
        assert 5 not in past.tickets()

    def test_restore_ends_when_aws_does_not_let_it_write(self, past: Stage) -> None:
        for lost in (5, 21):
            past.lose("PROJ", lost)
        denied = failing(client_error("AccessDeniedException"))
        past.before("transact_write_items", denied)

        ended = restore(past)

        assert ended.status == Status.CLOUD
        assert "AccessDeniedException" in ended.err
        assert not {5, 21} & past.tickets().keys()

    def test_line_backs_off_when_others_keep_writing_its_number(
        self, past: Stage
    ) -> None:
        past.lose("PROJ", 5)
        reserve = partial(past.write, reserved_item("PROJ", 5, 5))
        free = partial(past.lose, "PROJ", 5)
        attempts = RetryPolicy().attempts
        past.before("transact_write_items", reserve, *[reserve, free] * attempts)
        pauses: list[int] = []
        past.on_pause = lambda: pauses.append(5)

        ended = restore(past)

        assert ended.status == Status.PROBLEM
        assert "PROJ-5: others kept writing it: run this again" in ended.err
        assert len(pauses) == attempts - 1

    def test_file_is_refused_when_it_is_changed_meanwhile(self, past: Stage) -> None:
        before = tables(past)
        past.lose("PROJ", 5)
        change = partial(rewritten, past, with_field("title", "Another"))
        past.before("query", change)

        ended = restore(past)

        assert ended.status == Status.USAGE
        assert "it was changed meanwhile" in ended.err
        assert len(tables(past)["tickets"]) == len(before["tickets"]) - 1


class TestEnds:
    """The end is reserved first, and no number of the file goes to another request."""

    def test_nothing_goes_back_when_a_worker_took_a_number_since_the_plan(
        self, past: Stage
    ) -> None:
        """It was started in spite of all, and the lost number is announced twice."""
        for number_of in (21, 22, 23):
            past.lose("PROJ", number_of)
        past.before("put_item", lambda: send(past, 99))

        ended = restore(past)

        assert ended.status == Status.PROBLEM
        assert "PROJ: others numbered tickets meanwhile: run this again" in ended.err
        assert "refused: 3" in ended.out
        assert past.tickets()[21]["title"] == "Ticket 99"
        assert past.tickets()[22]["status"] == "reserved"

    @pytest.mark.parametrize("has_records", [True, False])
    def test_last_ticket_comes_back_without_its_hash_when_the_next_starts_a_segment(
        self, stage: Stage, *, has_records: bool
    ) -> None:
        """The sequence was seeded past the lost end, and the worker went on."""
        number(stage, *range(1, 13))
        saved(stage).write_text(stage.call("export").out)
        for lost in range(8, 13):
            stage.lose("PROJ", lost)
            if not has_records:
                stage.lose("PROJ", f"key-{lost}")
        stage.seed(12).apply()
        send(stage, 13)
        stage.controls.mapping = "Disabled"

        ended = restore(stage)

        assert ended.status == Status.OK, ended.err
        assert stage.tickets()[12]["origin"] == "elsewhere"
        assert bool(stage.tickets()[11].get("chain")) is has_records
        assert not audited(stage).findings
        assert send(stage, 8, 12, 13) == {8: 8, 12: 12, 13: 13}

    def test_hole_is_named_once_with_commands_that_let_the_rest_come_back(
        self, stage: Stage
    ) -> None:
        """The records of two keys name numbers of it, and have kept their hashes."""
        stage.controls.mapping = "Disabled"
        number(stage, *range(1, 10))
        saved(stage).write_text(stage.call("export").out)
        rewritten(
            stage,
            lambda line: None if line.get("number") in {5, 6, 7} else counted(line, 6),
        )
        for lost in range(4, 10):
            stage.lose("PROJ", lost)
        stage.lose("PROJ", "key-6")
        before = stage.records()

        ended = restore(stage)
        assert ended.err.count("the numbers above wait") == 1
        assert max(stage.tickets()) == 4
        run_printed(stage, ended.out)
        assert sorted(stage.tickets()) == [*range(1, 8)]
        again = restore(stage)

        assert again.status == Status.OK, again.err
        assert stage.records() == before
        assert stage.tickets()[7]["chain"] == before["key-7"]["chain"]
        assert not audited(stage).findings

    def test_hole_is_named_when_the_tickets_around_it_come_back_without_hashes(
        self, stage: Stage
    ) -> None:
        """And its commands keep the hash of a record that the file alone has."""
        number(stage, *range(1, 10))
        stage.lose("PROJ", 7)
        saved(stage).write_text(stage.call("export").out)
        for lost in range(5, 10):
            stage.lose("PROJ", lost)
            stage.lose("PROJ", f"key-{lost}")
        stage.controls.mapping = "Disabled"

        ended = restore(stage)
        assert "PROJ-7 to PROJ-8 are missing and not coming back" in ended.err
        assert max(stage.tickets()) == 6
        run_printed(stage, ended.out)
        again = restore(stage)

        assert again.status == Status.OK, again.err
        stage.controls.mapping = "Enabled"
        expected = {lost: lost for lost in range(1, 11)}
        assert send(stage, *expected) == expected

    def test_refused_number_at_the_end_is_given_to_no_other_request(
        self, stage: Stage
    ) -> None:
        number(stage, *range(1, 7))
        stage.lose("PROJ", 5)
        stage.lose("PROJ", "key-5")
        saved(stage).write_text(stage.call("export").out)
        for lost in (4, 6):
            stage.lose("PROJ", lost)
            stage.lose("PROJ", f"key-{lost}")
        stage.controls.mapping = "Disabled"

        ended = restore(stage)
        assert "PROJ-5 to PROJ-6 are not coming back" in ended.err
        run_printed(stage, ended.out)

        stage.controls.mapping = "Enabled"
        assert send(stage, 7, 4) == {7: 7, 4: 4}


def counted(line: dict[str, Any], items: int) -> dict[str, Any]:
    """Return a line, with the count of items if it is the last one."""
    return line | {"end": line["end"] | {"items": items}} if "end" in line else line


def run_printed(stage: Stage, out: str) -> None:
    """Run the commands that a restore printed, as a shell does."""
    for words in map(shlex.split, out.splitlines()):
        match words:
            case ["ticketctl", *rest]:
                assert stage.call(*rest).status == Status.OK
            case ["aws", "--region", _, "dynamodb", "put-item", *options]:
                given = dict(zip(options[::2], options[1::2], strict=True))
                stage.dynamodb.put_item(
                    TableName=given["--table-name"],
                    Item=json.loads(given["--item"]),
                    ConditionExpression=given["--condition-expression"],
                    ExpressionAttributeNames=json.loads(
                        given["--expression-attribute-names"]
                    ),
                )


class TestFile:
    """Nothing is written unless the file is a whole export."""

    def test_file_is_refused_when_a_line_of_it_is_missing(self, past: Stage) -> None:
        empty(past)
        rewritten(past, lambda line: None if line.get("number") == 5 else line)

        ended = restore(past)

        assert ended.status == Status.USAGE
        assert "not whole: it has" in ended.err
        assert tables(past) == {"tickets": [], "keys": []}

    def test_lines_of_a_pipe_are_read_again_from_a_copy(
        self, past: Stage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with (
            saved(past).open(encoding="utf-8") as lines,
            Database() as database,
            saved_file("-") as (file, copy),
        ):
            monkeypatch.setattr("sys.stdin", lines)
            ExportReader(database, file).read(copy, is_part=False)

            assert file.item(database, "PROJ", 5).fields == past.tickets()[5]

    def test_item_is_as_it_was_when_its_line_has_a_list_or_a_fraction(
        self, past: Stage
    ) -> None:
        """Other programs write whole numbers as fractions, too."""
        past.change("PROJ", 5, labels=["a", Decimal("1.5")])
        saved(past).write_text(past.call("export").out)
        rewritten(past, with_field("number", 5.0))
        before = tables(past)
        empty(past)

        ended = restore(past)

        assert ended.status == Status.OK, ended.err
        assert tables(past) == before

    def test_lines_come_back_in_any_order(self, past: Stage) -> None:
        before = tables(past)
        *lines, end = saved(past).read_text().splitlines()
        saved(past).write_text("\n".join([*reversed(lines), end, ""]))
        empty(past)

        assert restore(past).status == Status.OK
        assert tables(past) == before
