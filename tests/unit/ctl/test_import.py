"""`ticketctl import` writes a ticket with its key, once, or not at all."""

import json
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.support.builders import CALLER, create_ticket
from tests.support.canned_aws import client_error, failing
from tests.support.cases import plain_id
from tests.support.command_harness import Harness, cancelled, line
from tests.support.ctl_process import command_context
from tests.support.markdown_commands import ROOT, Shown, commands
from tests.support.seed_items import Item
from ticket_numbering.contract.dynamodb_items import key_item
from ticketctl.aws.items import plain, serialized
from ticketctl.cli.errors import BusyError, InputError, Status
from ticketctl.commands import app, sequences
from ticketctl.commands.importing import import_tickets
from ticketctl.files.request_file import MOST_PROBLEMS, json_lines
from ticketctl.importing.existing import Existing
from ticketctl.importing.judging import Known
from ticketctl.importing.lines import Defaults, check_lines

SAMPLES = ROOT / "tests" / "support" / "samples"

NOW = "2026-11-21T06:30:00.123Z"
JIRAS = "%d/%b/%y %I:%M %p"
RESERVED_LINE: Any = {
    "project_id": "PROJ",
    "number": 9,
    "status": "reserved",
    "reserved_at": NOW,
    "reserved_by": CALLER,
    "reserved_reason": "import",
    "chain": "v1:c",
}


def read(
    *lines: Any, project: str | None = None, date_format: str | None = None
) -> tuple[list[Existing], list[tuple[int, str]]]:
    """Read lines as a file holds them: the tickets, and the problems."""
    texts = [one if isinstance(one, str) else json.dumps(one) for one in lines]
    tickets: list[Existing] = []
    wrong: list[tuple[int, str]] = []
    for found in check_lines(json_lines(texts), Defaults(NOW, project, date_format)):
        if isinstance(found, Existing):
            tickets.append(found)
        elif isinstance(found, tuple):
            wrong.append(found)
    return tickets, wrong


class TestReading:
    """A file is read whole, and every bad line is named."""

    @pytest.mark.parametrize(
        ("bad", "start"),
        [
            *[
                (line(number), "number: ")
                for number in (None, "1", True, 0, 1.5, 10**15 + 1, 10**400)
            ],
            *[
                (line(assigned_at=time), "assigned_at: ")
                for time in (
                    *(None, 1, "", "2019-05-04", "2019-05-04T10:00:00"),
                    *("2019-13-04T10:00:00Z", "0001-01-01T00:00:00+14:00"),
                )
            ],
            (line(title="two\nlines"), "title: "),
            (line(color="red"), "color: "),
            (line(project_id="\u00e9#"), "project_id: "),
            (line(project_id=7), "project_id: "),
            ({"key": "PROJ", "title": "t"}, "key: "),
            ({"key": 7, "title": "t"}, "key: "),
            ({"key": "PROJ-8", "number": 8, "title": "t"}, "key: "),
            ({"key": "PROJ-8", "project_id": "PROJ", "title": "t"}, "key: "),
            ("[]", "body: "),
            ("{", "body: "),
            ('{"number": 1, "number": 2}', "number: "),
            (line(status="open"), "status: must be one of reserved, voided, erased"),
            (line(status=["voided"]), "status: must be one of"),
            (line(status="voided", voided_at=NOW), "status: voided, without its time"),
            ({"project_id": "PROJ"}, "number: "),
            (RESERVED_LINE | {"number": 0}, "number: "),
            (RESERVED_LINE | {"project_id": "#"}, "project_id: "),
        ],
        ids=plain_id,
    )
    def test_line_is_bad_when_it_is_no_ticket(self, bad: Any, start: str) -> None:
        [_], [(number, why)] = read(line(7), bad)

        assert number == 2
        assert why.startswith(start)

    def test_number_is_exact_and_names_the_key_when_there_is_none(self) -> None:
        [ticket], _ = read(line(10**15))

        assert (ticket.number, ticket.assigned_at) == (10**15, NOW)
        assert ticket.idempotency_key == f"import:PROJ-{10**15}"

    @pytest.mark.parametrize(
        ("given", "form", "stored"),
        [
            ("2019-05-04t10:00:00.5z", None, "2019-05-04T10:00:00.500Z"),
            ("2019-05-04T10:00:00.123456789+02:00", None, "2019-05-04T08:00:00.123Z"),
            ("22/Nov/26 10:00 AM", JIRAS, "2026-11-22T10:00:00.000Z"),
            ("22/Nov/26 10:00 AM +0200", f"{JIRAS} %z", "2026-11-22T08:00:00.000Z"),
        ],
    )
    def test_time_is_stored_as_the_worker_writes_it(
        self, given: str, form: str | None, stored: str
    ) -> None:
        """A form without an offset is of UTC."""
        [ticket], _ = read(line(assigned_at=given), date_format=form)

        assert ticket.assigned_at == stored

    def test_line_is_bad_when_its_time_has_another_form_than_is_given(self) -> None:
        _, wrong = read(line(assigned_at="2026-11-22T10:00:00Z"), date_format=JIRAS)

        assert wrong == [(1, f"assigned_at: not a time of the form {JIRAS}")]

    def test_key_stands_for_project_and_number(self) -> None:
        [ticket], _ = read({"key": "A-1-42", "title": "t"}, project="PROJ")

        assert (ticket.project_id, ticket.number) == ("A-1", 42)

    def test_line_is_bad_when_number_or_key_stands_twice(self) -> None:
        """In one project; the first line is named, also one that reserves a number."""
        _, wrong = read(
            line(1, idempotency_key="a"),
            line(1, idempotency_key="b"),
            line(2, idempotency_key="a"),
            line(1, idempotency_key="a", project_id="OTHER"),
            RESERVED_LINE,
            line(9),
        )

        assert wrong == [
            (2, "number: line 1 has it, too"),
            (3, "idempotency_key: line 1 has it, too"),
            (6, "number: line 5 has it, too"),
        ]

    def test_project_is_for_those_that_name_none(self) -> None:
        without = {"number": 1, "title": "t"}

        reserved = {"number": 1, "status": "reserved"}

        tickets, wrong = read(
            without, line(2, project_id="OTHER"), reserved, project="PROJ"
        )

        assert [ticket.ticket_key for ticket in tickets] == ["PROJ-1", "OTHER-2"]
        assert wrong == [(3, "number: line 1 has it, too")]


EXPORTED: Any = {
    "idempotency_key": "k",
    "assigned_at": NOW,
    "salt": "s",
    "chain": "v1:c",
    "origin": "elsewhere",
    "imported_by": CALLER,
    "reserved_up_to": 9,
    "reserved_after": 2,
}
VOIDED: Any = {
    "status": "voided",
    "voided_at": NOW,
    "voided_by": CALLER,
    "voided_reason": "it's [spam]",
}
ERASED: Any = {
    "status": "erased",
    "title": "erased",
    "commitment": "c",
    "erased_at": NOW,
    "erased_by": CALLER,
    "erased_reason": "asked to",
}


class TestExports:
    """The lines of an export are taken as they are, but for what a table adds."""

    @pytest.mark.parametrize("marks", [{}, VOIDED], ids=["plain", "voided"])
    def test_exported_ticket_is_the_same_request_under_the_same_key(
        self, marks: dict[str, str]
    ) -> None:
        [ticket], wrong = read(line(7, labels=["a"]) | EXPORTED | marks)

        assert wrong == []
        assert ticket.request == create_ticket(
            idempotency_key="k", title="t", labels=["a"]
        )
        assert (ticket.number, ticket.assigned_at) == (7, NOW)

    @pytest.mark.parametrize("name", ["unheard_of", "expires_at", "fingerprint"])
    def test_attribute_is_refused_when_no_export_has_it(self, name: str) -> None:
        """A misspelt field must not be lost in silence."""
        _, wrong = read(line(7) | EXPORTED | {name: "x"})

        assert wrong == [(1, f"{name}: Extra inputs are not permitted")]

    def test_reserved_numbers_are_used_and_counted_and_marks_can_be_set_again(
        self, harness: Harness
    ) -> None:
        """The next number follows the highest, which is no ticket's."""
        path = harness.file(
            line(1) | VOIDED, line(2) | ERASED, 3, RESERVED_LINE | {"number": 4}
        )

        planned = harness.call(import_tickets, path, dry_run=True)
        ended = harness.call(import_tickets, path)

        left_out = (
            "skipped: 1 reserved number, which count as used\n"
            "without text: 1 erased ticket; the keys are known\n"
            "not imported: 2 marks; to set them again:\n"
            """ticketctl void PROJ-1 --reason 'it'"'"'s [spam]' --yes\n"""
            "ticketctl erase PROJ-2 --reason 'asked to' --yes\n"
        )
        assert planned.out.endswith(left_out)
        assert "PROJ: 3 tickets up to 4;" in planned.out
        counts = "imported 3, there already 0, refused 0; not announced\n"
        assert ended.out == counts + left_out
        assert harness.given() == [1, 2, 3]
        harness.put(5)
        assert harness.call(import_tickets, path).status == Status.OK

    def test_request_of_an_erased_ticket_gets_no_second_number(
        self, harness: Harness
    ) -> None:
        """Its key is known at once, and trusted by itself once it is erased again."""
        path = harness.file(line(1, idempotency_key="k") | ERASED)

        harness.call(import_tickets, path)
        known = harness.records()["k"]["number"]
        harness.call(sequences.erase, "PROJ-1", reason="asked to")

        assert known == 1
        assert harness.records()["k"]["fingerprint"] == "erased:"
        assert "there already 1" in harness.call(import_tickets, path).out

    def test_text_that_a_restore_brought_back_is_no_reason_to_refuse_its_erasure(
        self, harness: Harness
    ) -> None:
        """The printed command erases it again."""
        harness.put(1)
        path = harness.file(line(1, idempotency_key="key-1") | ERASED)
        other = harness.file(line(1, idempotency_key="other") | ERASED)

        refused = harness.call(import_tickets, other)
        harness.file(line(1, idempotency_key="key-1") | ERASED)
        ended = harness.call(import_tickets, path)

        assert "refused 1" in refused.out
        assert "there already 1, records written 1, refused 0" in ended.out
        assert "ticketctl erase PROJ-1 --reason 'asked to'" in ended.out

    def test_parts_of_a_file_are_imported_one_after_the_other(
        self, harness: Harness
    ) -> None:
        harness.put(1, 2)
        workers = [
            line(number, idempotency_key=f"key-{number}", title=f"Ticket {number}")
            for number in (1, 2)
        ]
        for part in ([*workers, 3], [RESERVED_LINE | {"number": 4}], [5, 6]):
            assert harness.call(import_tickets, harness.file(*part)).status == Status.OK

        assert harness.given() == [1, 2, 3, 5, 6]
        assert max(harness.tickets()) == 6

    def test_sequence_goes_on_when_all_numbers_are_reserved(
        self, harness: Harness
    ) -> None:
        ended = harness.call(import_tickets, harness.file(RESERVED_LINE))
        planned = harness.call(
            import_tickets, harness.file(RESERVED_LINE), dry_run=True
        )

        assert "skipped: 1 reserved number" in ended.out
        assert max(harness.tickets()) == 9
        assert "there already" not in planned.out

    def test_reason_drives_no_terminal_when_it_is_shown(self, harness: Harness) -> None:
        path = harness.file(line(1) | VOIDED | {"voided_reason": "\x1b[2J"})

        ended = harness.call(import_tickets, path)

        assert ended.out.endswith("ticketctl void PROJ-1 --reason ... --yes\n")


def shown_imports() -> list[Shown]:
    """Return the commands of the page that read other systems' exports."""
    page = (ROOT / "docs" / "seeding.md").read_text()
    shown = [one for one in commands("ticketctl", page) if one.is_in_block]
    return [one for one in shown if one.words[0] == "import"]


def call_as_shown(harness: Harness, shown: Shown) -> None:
    """Call a command of the page on the sample of its file's name."""
    name, file, *options = shown.words
    groups: Any = typer.main.get_command(app)
    words = [str(SAMPLES / file), *options, "--yes"]
    context = groups.commands[name].make_context(
        name, words, parent=command_context(harness)
    )
    with context:
        context.command.invoke(context)


class TestOtherSystems:
    """The commands of the page read exports as these systems write them."""

    def test_exports_are_tickets_when_the_commands_of_the_page_read_them(
        self, harness: Harness
    ) -> None:
        """Of Jira, Linear and GitHub: cells of several lines, two columns of labels."""
        for shown in shown_imports():
            call_as_shown(harness, shown)

        stored = [*map(plain, harness.services.tables.items("tickets"))]
        found = {item["idempotency_key"]: item for item in stored if "title" in item}
        jira, linear, github = (
            found[f"import:{key}"] for key in ("SHOP-2", "ENG-12", "WEB-7")
        )
        assert len(found) == 6
        assert (jira["title"], jira["reporter"]) == ("Pay by card", "Ada Lovelace")
        assert jira["description"].endswith('\r\nSee the design, then "ship" it.')
        assert jira["labels"] == ["payment", "card"]
        assert jira["attributes"] == {"priority": "Highest"}
        assert jira["assigned_at"] == "2024-03-12T09:41:00.000Z"
        assert linear["labels"] == ["Bug", "Web"]
        assert linear["assigned_at"] == "2024-05-14T08:53:33.000Z"
        assert github["labels"] == ["bug", "good first issue"]

    @pytest.mark.parametrize(
        ("pairs", "why"),
        [
            (["Titel=title"], "no column 'Titel'"),
            (["Title"], "not COLUMN=FIELD: 'Title'"),
            (["Title=titel"], "the fields are .* key, "),
            (["Title=title", "ID=title"], "names title twice"),
            ([], "or give --map 'ID=FIELD'"),
        ],
    )
    def test_file_is_refused_when_the_mapping_does_not_fit(
        self, harness: Harness, pairs: list[str], why: str
    ) -> None:
        with pytest.raises(InputError, match=why):
            harness.call(import_tickets, str(SAMPLES / "linear.csv"), columns=pairs)

    def test_mapping_is_refused_when_the_file_is_no_csv(self, harness: Harness) -> None:
        with pytest.raises(InputError, match="--map is for CSV"):
            harness.call(import_tickets, harness.file(1), columns=["a=title"])


class TestLimits:
    """An import opens no sequence that the worker would not continue."""

    def test_nothing_is_written_when_the_stack_does_not_allow_a_ticket(
        self, harness: Harness
    ) -> None:
        harness.limits = {"AllowedProjects": "WEB|INV-.*"}
        path = harness.file(line(1, project_id="INV-2026"), 1)

        with pytest.raises(InputError, match="bad lines: 1; nothing was imported"):
            harness.call(import_tickets, path)

        said = harness.printed.readouterr().err
        assert f"{path}:2: project_id: PROJ does not match" in said
        assert harness.tickets() == {}


def existing(number: int = 42, **fields: Any) -> Existing:
    return Existing(1, number, create_ticket(**fields), NOW)


def write(harness: Harness, ticket: Existing, **retry: Any) -> str:
    return harness.importer(**retry).write(Known(ticket))


def record_of(ticket: Existing) -> Item:
    return serialized(key_item(ticket.request.key, ticket.assignment, None))


class TestImport:
    """A ticket is written with its key, or not at all."""

    def test_tickets_are_written_once_when_the_import_is_run_again(
        self, harness: Harness
    ) -> None:
        """After an interruption it goes on; the second run changes nothing.

        It reads the tickets that are there in pages.
        """
        calls, states = [], []
        for numbers_of_file in ([1, 2, 3, 20], range(1, 21), range(1, 21)):
            path = harness.file(*numbers_of_file)
            harness.dynamodb.requests.clear()
            calls.append(harness.call(import_tickets, path).out)
            states.append(harness.tickets())

        first, second, third = states
        assert calls == [
            "imported 4, there already 0, refused 0; not announced\n",
            "imported 16, there already 4, refused 0; not announced\n",
            "imported 0, there already 20, refused 0; not announced\n",
        ]
        assert {number: second[number] for number in first} == first
        assert third == second
        assert harness.given() == [*range(1, 21)]
        assert {item["origin"] for item in second.values()} == {"elsewhere"}
        assert {item["imported_by"] for item in second.values()} == {CALLER}
        assert harness.recorded() == [*range(1, 21)]
        assert len(harness.dynamodb.requests["query"]) < 20

    def test_file_is_read_in_the_named_format_when_its_name_says_another(
        self, harness: Harness, tmp_path: Path
    ) -> None:
        path = tmp_path / "tickets.jsonl"
        path.write_text("project_id,number,title\nPROJ,3,t\n")

        ended = harness.call(import_tickets, str(path), file_format="csv")

        assert ended.out == "imported 1, there already 0, refused 0; not announced\n"

    def test_own_tickets_are_there_already_when_they_are_imported(
        self, harness: Harness
    ) -> None:
        """With all that the worker, an import and a mark add to the request."""
        request = create_ticket(description="a text")
        harness.give(request, 1)
        harness.call(import_tickets, harness.file(2))
        for key in ("PROJ-1", "PROJ-2"):
            harness.call(sequences.void, key, reason="spam")
        path = harness.file(request.content() | {"number": 1}, 2)

        ended = harness.call(import_tickets, path)

        assert "imported 0, there already 2, refused 0" in ended.out

    def test_each_project_is_seeded_when_a_file_has_several(
        self, harness: Harness
    ) -> None:
        path = harness.file(
            1, 4, line(2, project_id="OTHER"), line(9, project_id="THIRD")
        )

        ended = harness.call(import_tickets, path)

        assert "imported 4, there already 0, refused 0" in ended.out

    @pytest.mark.parametrize("days", [0, 40])
    def test_key_expires_when_the_system_keeps_keys_for_a_time(
        self, harness: Harness, days: int
    ) -> None:
        """From the import on: an old ticket's key would be gone at once otherwise."""
        harness.retention_days = days

        harness.call(
            import_tickets, harness.file(line(assigned_at="2001-01-01T00:00Z"))
        )

        [record] = harness.records().values()
        now = datetime.now(UTC).timestamp()
        due = now + timedelta(days=days).total_seconds()
        assert ("expires_at" in record) == bool(days)
        assert abs(int(record.get("expires_at", now)) - due) < 60

    def test_others_are_imported_when_a_number_or_a_key_is_taken(
        self, harness: Harness
    ) -> None:
        harness.put(1)
        record = record_of(existing(1, idempotency_key="taken"))
        harness.write(record)

        path = harness.file(1, line(3, idempotency_key="taken"), 4)
        said = harness.call(import_tickets, path)

        assert said.status == Status.FOUND
        assert f"{path}:1: PROJ-1: another ticket has this number" in said.err
        assert f"{path}:2: PROJ-3: its idempotency_key is that of PROJ-1" in said.err
        assert "imported 1, there already 0, refused 2; not announced" in said.out
        assert harness.given() == [1, 4]

    def test_import_finishes_its_seed_when_it_was_killed_in_between(
        self, harness: Harness
    ) -> None:
        """Workers give no number of the file any more; given ones are named."""
        harness.put(1)
        harness.interrupt_seed(99, after=1)
        harness.put(2)

        ended = harness.call(import_tickets, harness.file(50, 99))

        assert "PROJ-2 was given by workers meanwhile" in ended.err
        assert harness.given() == [1, 2, 50, 99]
        assert sorted(harness.tickets()) == [1, 2, 3, 50, 99]

    def test_import_finishes_the_seed_when_it_ends_above_the_file(
        self, harness: Harness
    ) -> None:
        harness.put(1)
        harness.interrupt_seed(99, after=1)

        harness.call(import_tickets, harness.file(50))

        reserved = harness.tickets()[2]
        assert (reserved["status"], reserved["reserved_up_to"]) == ("reserved", 99)
        assert (reserved["reserved_by"], reserved["reserved_reason"]) == (
            CALLER,
            "import",
        )

    @pytest.mark.parametrize("number", [2, 3, 5, 6, 7, 9, 11])
    def test_ticket_is_refused_when_a_worker_has_or_may_take_its_number(
        self, harness: Harness, number: int
    ) -> None:
        """Among tickets, behind them, and behind a seed's end before an open seed."""
        harness.put(1, 4)
        harness.interrupt_seed(6, after=4)
        harness.interrupt_seed(9, after=6)
        harness.put(10, origin="elsewhere")
        harness.put(12)
        before = harness.tickets()

        result = write(harness, existing(number))

        assert "missing among numbers that were given here" in result
        assert harness.tickets() == before
        assert harness.recorded() == []

    def test_ticket_in_a_seeds_place_says_what_the_seed_said(
        self, harness: Harness
    ) -> None:
        """So that a seed that is run again does not take it for another's."""
        harness.call(import_tickets, harness.file(1, 30))

        assert harness.call(sequences.seed, "PROJ", last=30).status == Status.OK
        tickets = harness.tickets()
        assert [tickets[number]["reserved_up_to"] for number in (1, 30)] == [30, 30]
        assert sorted(tickets) == [1, 30] == harness.given()

    def test_ticket_stays_when_it_was_written_after_the_look(
        self, harness: Harness
    ) -> None:
        """The number was reserved, and is a ticket's by now."""
        harness.seed(5).apply()
        harness.before("transact_write_items", lambda: harness.put(5, title="Theirs"))
        harness.dynamodb.requests["query"].clear()

        result = write(harness, existing(5))

        assert result == "another ticket has this number"
        assert {query["Limit"] for query in harness.dynamodb.requests["query"]} == {
            1,
            2,
        }
        assert harness.tickets()[5]["title"] == "Theirs"

    def test_hash_of_a_lost_ticket_stays_when_its_number_is_imported(
        self, harness: Harness
    ) -> None:
        """Also when the hash was put there after the look."""
        harness.call(import_tickets, harness.file(1, 9))
        lose = partial(harness.seed(5).item, 5)
        lost = lose() | {"chain": {"S": "v1:abc"}}
        harness.write(lose())
        late = partial(harness.dynamodb.put_item, TableName="tickets", Item=lost)
        harness.before("transact_write_items", late)

        path = harness.file(5)
        ended = harness.call(import_tickets, path)
        planned = harness.call(import_tickets, path, dry_run=True)

        assert f"{path}:1: PROJ-5: a lost ticket has this number" in ended.err
        assert planned.out.endswith("there already 0, missing 0, refused 1\n")
        assert harness.tickets()[5]["chain"] == "v1:abc"

    def test_ticket_is_retried_when_others_are_in_the_way(
        self, harness: Harness
    ) -> None:
        """A conflict or a throttle says nothing about the ticket.

        Nor do no reasons, and a failed key that shows no record.
        """
        harness.seed(42).apply()
        conflict = cancelled("TransactionConflict", "None")
        throttled = cancelled("None", "ThrottlingError")
        unreasoned = failing(client_error("TransactionCanceledException"))
        hidden: list[dict[str, Any]] = [{}, {"Item": {}}, {"Item": None}]
        taken = [
            cancelled("None", {"Code": "ConditionalCheckFailed"} | record)
            for record in hidden
        ]
        harness.before(
            "transact_write_items", conflict, throttled, cancelled(), unreasoned, *taken
        )

        assert write(harness, existing()) == "written"
        harness.before("transact_write_items", *[conflict] * 3)
        with pytest.raises(BusyError, match="3 times in a row; run it again"):
            write(harness, existing(1), attempts=3)

    @pytest.mark.parametrize(
        ("damage", "why"),
        [
            ({"fingerprint": {"S": "v1:another"}}, "is recorded for another text"),
            ({"fingerprint": {"S": "odd"}}, "is malformed; see: ticketctl audit"),
        ],
        ids=["another", "malformed"],
    )
    def test_ticket_is_refused_when_its_key_is_damaged(
        self, harness: Harness, damage: dict[str, Any], why: str
    ) -> None:
        harness.seed(42).apply()
        ticket = existing()
        harness.write(record_of(ticket) | damage)

        assert why in write(harness, ticket)
        assert harness.given() == []

    def test_import_says_to_run_it_again_when_interrupted(
        self, harness: Harness
    ) -> None:
        """Ctrl-C ends it soon, and the written tickets stay."""
        harness.before(
            "transact_write_items", *[lambda: None] * 9, failing(KeyboardInterrupt())
        )

        with pytest.raises(KeyboardInterrupt):
            harness.call(import_tickets, harness.file(*range(1, 300)))

        assert "run it again, and it goes on" in harness.printed.readouterr().err
        assert 9 <= len(harness.given()) < 100

    def test_file_is_refused_when_it_is_empty(self, harness: Harness) -> None:
        with pytest.raises(InputError, match="holds no ticket"):
            harness.call(import_tickets, harness.file())

    def test_first_problems_are_named_when_a_file_has_many(
        self, harness: Harness
    ) -> None:
        """Nothing is written for them."""
        path = harness.file(1, *[line(0)] * (MOST_PROBLEMS + 5))

        with pytest.raises(InputError, match=f"bad lines: {MOST_PROBLEMS + 5}"):
            harness.call(import_tickets, path)

        *named, last = harness.printed.readouterr().err.splitlines()
        assert len(named) == MOST_PROBLEMS
        assert last == "and 5 more"
        assert harness.tickets() == {}

    def test_tickets_are_listed_when_a_file_is_verified(self, harness: Harness) -> None:
        """The missing and the different, whatever is allowed; nothing is written."""
        harness.call(import_tickets, harness.file(1, 2, 9))
        before = harness.tickets()
        harness.limits = {"AllowedProjects": "OTHER"}
        path = harness.file(1, line(2, title="Changed"), 5, 9)

        incomplete = harness.call(import_tickets, path, verify=True)
        complete = harness.call(import_tickets, harness.file(1, 2, 9), verify=True)

        assert incomplete.out == (
            "line 2: PROJ-2: the ticket of this number and idempotency_key says "
            "something else\n"
            "line 3: PROJ-5: missing\n"
            "PROJ: there already 2, missing 1, refused 1\n"
        )
        assert complete.out == "PROJ: there already 3, missing 0, refused 0\n"
        assert (incomplete.status, complete.status) == (Status.FOUND, Status.OK)
        assert harness.tickets() == before

    def test_plan_is_printed_when_it_is_a_dry_run(self, harness: Harness) -> None:
        harness.put(1)
        path = harness.file(10**15, line(7, project_id="OTHER"))

        ended = harness.call(import_tickets, path, dry_run=True, yes=False)

        assert ended.out == (
            f"PROJ: 1 ticket up to {10**15}; the last number is 1, "
            f"the next will be {10**15 + 1}\n"
            "OTHER: 1 ticket up to 7; the last number is none yet, "
            "the next will be 8\n"
            "PROJ: there already 0, missing 1, refused 0\n"
            "OTHER: there already 0, missing 1, refused 0\n"
        )
        assert sorted(harness.tickets()) == [1]

    @pytest.mark.parametrize("number", [5, 9])
    def test_plan_says_that_the_next_number_stays_when_the_file_ends_below_it(
        self, harness: Harness, number: int
    ) -> None:
        harness.put(9)

        ended = harness.call(import_tickets, harness.file(number, 1), dry_run=True)

        assert f"to {number}; the last number is 9, the next stays 10\n" in ended.out

    def test_dry_run_counts_all_when_they_fill_several_pages(
        self, harness: Harness
    ) -> None:
        harness.put(*range(1, 61), *range(71, 111), 130)

        ended = harness.call(import_tickets, harness.file(*range(1, 132)), dry_run=True)

        assert ended.out.endswith("there already 0, missing 1, refused 130\n")

    def test_dry_run_counts_as_the_import_does_when_numbers_are_taken(
        self, harness: Harness
    ) -> None:
        harness.call(import_tickets, harness.file(1, 2, 3, 9))
        harness.call(sequences.erase, "PROJ-2", reason="asked to")
        path = harness.file(9, 5, line(3, title="Changed"), 2, 1)

        planned = harness.call(import_tickets, path, dry_run=True)
        ended = harness.call(import_tickets, path)

        assert planned.out.endswith("there already 3, missing 1, refused 1\n")
        assert "imported 1, there already 3, refused 1" in ended.out
