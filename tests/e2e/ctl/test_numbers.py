"""Sequences that go on from elsewhere, and tickets that should not have been."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import System
from tests.support.builders import create_ticket, ticket_fields
from tests.support.ctl_process import Ctl
from ticketctl.cli.errors import InputError, NotThereError, Status
from ticketctl.sequences.import_lines import Existing
from ticketctl.sequences.importing import Import
from ticketctl.sequences.seeding import Seed
from ticketctl.sequences.ticket_voided import TicketVoided
from ticketctl.sequences.voiding import void
from ticketctl.system.items import plain
from ticketctl.system.queues import Received

pytestmark = pytest.mark.emulator

STAMP = "2019-05-04T10:00:00.000Z"


@dataclass
class Sequence:
    """A project of the test's own, in the tables as they are."""

    system: System
    project: str

    def tickets(self) -> dict[int, dict[str, Any]]:
        """Return the project's items by number, as they are stored."""
        items = self._items("TicketsTableName", "project_id = :project")
        return {int(item["number"]["N"]): plain(item) for item in items}

    def given(self) -> list[int]:
        """Return the numbers that have a ticket, not only a reservation."""
        tickets = self.tickets().items()
        return sorted(n for n, item in tickets if item.get("status") != "reserved")

    def number(self, count: int, **fields: Any) -> list[dict[str, Any]]:
        """Send messages and wait until each has its number; return them."""
        messages = [ticket_fields(self.project, **fields) for _ in range(count)]
        self.system.send(*messages)
        keys = {message["idempotency_key"] for message in messages}
        self.system.wait_for(lambda: keys <= self.announced_keys())
        return messages

    def announced_keys(self) -> set[str]:
        """Return the keys of the announcements that came."""
        events = self.system.events(self.project)
        return {event["data"]["idempotency_key"] for event in events}

    def numbers_announced(self) -> list[int]:
        """Return the announced numbers, ascending."""
        return sorted(
            event["data"]["number"] for event in self.system.events(self.project)
        )

    def put(self, number: int, **fields: str) -> None:
        """Plant an item."""
        item = {"project_id": {"S": self.project}, "number": {"N": str(number)}}
        item |= {name: {"S": text} for name, text in fields.items()}
        dynamodb = self.system.stack.client("dynamodb")
        table = self.system.stack.outputs["TicketsTableName"]
        dynamodb.put_item(TableName=table, Item=item)

    def interrupt_seed(self, last: int, after: int) -> None:
        """Leave the tables as a seed does that is killed after its first step."""
        stack = self.system.stack
        item = Seed(stack, self.project, last).item(last, reserved_after=after)
        table = stack.outputs["TicketsTableName"]
        stack.client("dynamodb").put_item(TableName=table, Item=item)

    def clear(self) -> None:
        """Remove what other tests would take for a fault."""
        self.system.settle()
        for output, names in (
            ("TicketsTableName", ("project_id", "number")),
            ("IdempotencyKeysTableName", ("id",)),
        ):
            table = self.system.stack.outputs[output]
            for item in self._items(output, "project_id = :project", scan=True):
                key = {name: item[name] for name in names}
                self.system.stack.client("dynamodb").delete_item(
                    TableName=table, Key=key
                )

    def _items(
        self, output: str, condition: str, *, scan: bool = False
    ) -> list[dict[str, Any]]:
        operation = "scan" if scan else "query"
        kind = "FilterExpression" if scan else "KeyConditionExpression"
        pages = self.system.stack.client("dynamodb").get_paginator(operation)
        request = {
            "TableName": self.system.stack.outputs[output],
            "ConsistentRead": True,
            kind: condition,
            "ExpressionAttributeValues": {":project": {"S": self.project}},
        }
        return [item for page in pages.paginate(**request) for item in page["Items"]]


@pytest.fixture
def sequence(system: System, project: str) -> Iterator[Sequence]:
    """Return a sequence of its own, gone afterwards."""
    sequence = Sequence(system, project)
    yield sequence
    sequence.clear()


def existing(project: str, number: float, **fields: Any) -> dict[str, Any]:
    """Return a line of an import."""
    return {"project_id": project, "number": number, "title": f"Old {number}"} | fields


@pytest.fixture
def lines(tmp_path: Path) -> Any:
    """Return what writes a file of lines."""

    def write(*tickets: dict[str, Any] | str) -> str:
        path = tmp_path / "tickets.jsonl"
        texts = [
            ticket if isinstance(ticket, str) else json.dumps(ticket)
            for ticket in tickets
        ]
        path.write_text("\n".join(texts) + "\n", encoding="utf-8")
        return str(path)

    return write


class TestSeed:
    """A sequence goes on after the last number used elsewhere."""

    def test_worker_goes_on_after_it_when_the_project_has_tickets(
        self, ctl: Ctl, sequence: Sequence
    ) -> None:
        """Contiguous before and after, and the reason beside what is reserved."""
        sequence.number(2)

        why = ("--reason", "moved from Jira")
        ended = ctl("seed", sequence.project, "--last", "500", "--yes", *why)
        sequence.number(1)

        assert ended.status == Status.OK
        assert "goes on with 501" in ended.out
        assert sequence.numbers_announced() == [1, 2, 501]
        assert sequence.given() == [1, 2, 501]
        top = sequence.tickets()[500]
        assert (top["status"], top["origin"]) == ("reserved", "elsewhere")
        assert top["reserved_reason"] == "moved from Jira"

    @pytest.mark.parametrize(
        ("tickets", "last", "reserved"),
        [(0, 1, [1]), (0, 100, [1, 100]), (1, 2, [2]), (2, 100, [3, 100])],
    )
    def test_seed_reserves_the_last_number_and_the_one_after_the_tickets(
        self,
        ctl: Ctl,
        sequence: Sequence,
        tickets: int,
        last: int,
        reserved: list[int],
    ) -> None:
        """Two items, whatever lies between; one where nothing does."""
        for number in range(1, tickets + 1):
            sequence.put(number, title="ours")

        ended = ctl("seed", sequence.project, "--last", str(last), "--yes")

        assert ended.status == Status.OK
        assert sequence.given() == [*range(1, tickets + 1)]
        assert sorted(sequence.tickets()) == [*range(1, tickets + 1), *reserved]

    def test_seed_is_refused_when_the_project_is_past_it(
        self, ctl: Ctl, sequence: Sequence
    ) -> None:
        sequence.number(3)

        for last in ("2", "3"):
            ended = ctl("seed", sequence.project, "--last", last, "--yes")

            assert ended.status == Status.USAGE
            assert "has numbers up to 3 already" in ended.err
        assert sorted(sequence.tickets()) == [1, 2, 3]

    def test_seed_is_refused_when_its_number_was_only_skipped(
        self, ctl: Ctl, sequence: Sequence, lines: Any
    ) -> None:
        """Also where a ticket was imported at the number after the sequence."""
        ctl("seed", sequence.project, "--last", "1234", "--yes")

        for last in ("1", "99", "1"):
            ended = ctl("seed", sequence.project, "--last", last, "--yes")
            ctl("import", lines(existing(sequence.project, 1)), "--yes")

            assert ended.status == Status.USAGE
            assert "has numbers up to 1234 already" in ended.err
        assert sequence.given() == [1]

    def test_seed_says_so_when_it_was_done_already(
        self, ctl: Ctl, sequence: Sequence
    ) -> None:
        """The answer to the first may have been lost; workers may have gone on."""
        command = ("seed", sequence.project, "--last", "300", "--yes")
        ctl(*command)
        before = sequence.tickets()

        again = ctl(*command)
        sequence.number(1)
        and_again = ctl(*command)

        assert (again.status, and_again.status) == (Status.OK, Status.OK)
        assert "was seeded already up to 300, and goes on with 301" in again.out
        assert "was seeded already up to 300, and goes on with 302" in and_again.out
        assert sorted(sequence.tickets()) == [*sorted(before), 301]

    def test_seed_goes_on_when_it_was_killed_before_it_was_done(
        self, ctl: Ctl, sequence: Sequence
    ) -> None:
        """What workers gave since is told, and they give no more of it."""
        sequence.put(1, title="before")
        sequence.interrupt_seed(300, after=1)
        sequence.put(2, title="since")
        sequence.put(301, title="behind")
        audited = ctl("audit", "--project", sequence.project)

        ended = ctl("seed", sequence.project, "--last", "300", "--yes")

        assert f"ticketctl seed {sequence.project} --last 300" in audited.out
        assert ended.status == Status.FOUND
        assert ended.err.endswith(f"being seeded: {sequence.project}-2\n")
        assert sorted(sequence.tickets()) == [1, 2, 3, 300, 301]

    def test_sequence_has_no_hole_when_it_is_seeded_while_being_numbered(
        self, ctl: Ctl, sequence: Sequence
    ) -> None:
        """Contiguous up to where it began, contiguous after, nothing within."""
        messages = [ticket_fields(sequence.project) for _ in range(100)]
        keys = {message["idempotency_key"] for message in messages}
        sequence.system.send(*messages[:60])
        sequence.system.wait_for(sequence.announced_keys)

        ended = ctl("seed", sequence.project, "--last", "9000", "--yes")
        sequence.system.send(*messages[60:])
        sequence.system.wait_for(lambda: keys <= sequence.announced_keys())

        assert ended.status == Status.OK
        given = sequence.given()
        before = [number for number in given if number < 9000]
        after = [number for number in given if number > 9000]
        assert before == [*range(1, len(before) + 1)]
        assert after == [*range(9001, 9001 + len(after))]
        assert len(given) == 100
        assert before
        assert len(after) >= 40
        assert ctl("audit", "--project", sequence.project).status == Status.OK


class TestImport:
    """Tickets keep the numbers that they have elsewhere."""

    def test_worker_goes_on_and_knows_the_keys_when_tickets_were_imported(
        self, ctl: Ctl, sequence: Sequence, lines: Any
    ) -> None:
        """The next number, and a replay of an imported request."""
        project = sequence.project
        fields = {"priority": "high", "labels": ["a", "b"], "attributes": {"k": "v"}}
        first = existing(project, 7, idempotency_key="old-7", **fields)
        dated = existing(project, 9, assigned_at="2019-05-04T12:00:00+02:00")

        ended = ctl("import", lines(first, dated), "--yes")
        replay = {name: first[name] for name in first if name != "number"}
        sequence.system.send(replay)
        [new] = sequence.number(1)
        sequence.system.wait_for(lambda: "old-7" in sequence.announced_keys())

        assert ended.status == Status.OK
        assert "imported 2, there already 0, refused 0; not announced" in ended.out
        numbers = {
            each["data"]["idempotency_key"]: each["data"]["number"]
            for each in sequence.system.events(project)
        }
        assert numbers == {"old-7": 7, new["idempotency_key"]: 10}
        tickets = sequence.tickets()
        assert sequence.given() == [7, 9, 10]
        assert sorted(tickets) == [1, 7, 9, 10]
        assert tickets[9]["assigned_at"] == STAMP
        assert tickets[9]["idempotency_key"] == f"import:{project}-9"
        assert {tickets[n].get("origin") for n in (7, 9)} == {"elsewhere"}
        assert "origin" not in tickets[10]
        assert ctl("audit", "--project", project).status == Status.OK

    def test_import_counts_what_is_there_when_run_again(
        self, ctl: Ctl, sequence: Sequence, lines: Any
    ) -> None:
        """After an interruption it goes on; the second run changes nothing."""
        tickets = [existing(sequence.project, number) for number in range(1, 21)]
        ctl("import", lines(*tickets[:5], existing(sequence.project, 20)), "--yes")
        before = sequence.tickets()

        second = ctl("import", lines(*tickets), "--yes")
        after = sequence.tickets()
        third = ctl("import", lines(*tickets), "--yes")

        assert "imported 14, there already 6, refused 0" in second.out
        assert "imported 0, there already 20, refused 0" in third.out
        assert (second.status, third.status) == (Status.OK, Status.OK)
        assert {number: after[number] for number in (1, 5, 20)} == {
            number: before[number] for number in (1, 5, 20)
        }
        assert sequence.given() == [*range(1, 21)]
        assert sequence.tickets() == after

    def test_others_are_imported_when_a_number_or_a_key_is_taken(
        self, ctl: Ctl, sequence: Sequence, lines: Any
    ) -> None:
        project = sequence.project
        [given] = sequence.number(1)

        ended = ctl(
            "import",
            lines(
                existing(project, 1),
                existing(project, 3, idempotency_key=given["idempotency_key"]),
                existing(project, 4),
            ),
            "--yes",
        )

        assert ended.status == Status.FOUND
        assert f"line 1: {project}-1: another ticket has this number" in ended.err
        assert f"line 2: {project}-3: its idempotency_key is that of {project}-1" in (
            ended.err
        )
        assert "imported 1, there already 0, refused 2" in ended.out
        assert sequence.given() == [1, 4]

    def test_import_finishes_its_seed_when_it_was_killed_in_between(
        self, ctl: Ctl, sequence: Sequence, lines: Any
    ) -> None:
        """Nobody gives a number of the file any more; what was given is told."""
        sequence.put(1, title="before")
        sequence.interrupt_seed(99, after=1)
        sequence.put(2, title="since")

        file = lines(existing(sequence.project, 50), existing(sequence.project, 99))
        ended = ctl("import", file, "--yes")

        assert ended.status == Status.OK
        assert f"{sequence.project}-2 was given by workers meanwhile" in ended.err
        assert sequence.given() == [1, 2, 50, 99]
        assert sorted(sequence.tickets()) == [1, 2, 3, 50, 99]

    def test_ticket_is_refused_when_a_worker_may_still_take_its_number(
        self, ctl: Ctl, sequence: Sequence, lines: Any
    ) -> None:
        """Behind tickets, or a seed's end, and before a seed that is unfinished."""
        sequence.put(1, title="ours")
        sequence.interrupt_seed(4, after=1)
        sequence.interrupt_seed(9, after=4)
        sequence.put(10, title="ours")
        numbers = [existing(sequence.project, number) for number in (3, 4, 7, 10)]

        ended = ctl("import", lines(*numbers), "--yes")

        assert ended.status == Status.FOUND
        assert "imported 0, there already 0, refused 4" in ended.out
        assert sorted(sequence.tickets()) == [1, 4, 9, 10]

    def test_ticket_in_a_seeds_place_says_what_the_seed_said(
        self, ctl: Ctl, sequence: Sequence, lines: Any
    ) -> None:
        """So that a seed that is run again does not take it for another's."""
        tickets = [existing(sequence.project, number) for number in (1, 30)]
        ctl("import", lines(*tickets), "--yes")

        again = ctl("seed", sequence.project, "--last", "30", "--yes")
        refused = ctl("seed", sequence.project, "--last", "1", "--yes")

        stored = sequence.tickets()
        assert [stored[number]["reserved_up_to"] for number in (1, 30)] == [30, 30]
        assert (again.status, refused.status) == (Status.OK, Status.USAGE)
        assert sorted(stored) == [1, 30] == sequence.given()
        assert ctl("audit", "--project", sequence.project).status == Status.OK

    def test_nothing_is_written_when_a_line_is_bad(
        self, ctl: Ctl, sequence: Sequence, lines: Any
    ) -> None:
        project = sequence.project
        file = lines(existing(project, 1), existing(project, 0), "not JSON")

        ended = ctl("import", file)

        assert ended.status == Status.USAGE
        assert f"{file}:2: number: " in ended.err
        assert f"{file}:3: body: " in ended.err
        assert "2 bad lines; nothing was imported" in ended.err
        assert sequence.tickets() == {}

    def test_nothing_is_written_when_only_tried(
        self, ctl: Ctl, sequence: Sequence
    ) -> None:
        """It says what would be done; the ticket comes from standard input."""
        line = json.dumps({"number": 8, "title": "Old 8"})

        ended = ctl(
            "import", "-", "--dry-run", "--project", sequence.project, typed=line
        )

        assert ended.status == Status.OK
        assert ended.out == (
            f"{sequence.project}: 1 tickets up to 8; "
            "the last number is none yet, the next will be 9\n"
        )
        assert sequence.tickets() == {}

    def test_import_is_refused_when_there_is_no_ticket(
        self, ctl: Ctl, lines: Any
    ) -> None:
        missing = ctl("import", "/nowhere/tickets.jsonl")
        empty = ctl("import", lines(""))

        assert (missing.status, empty.status) == (Status.USAGE, Status.USAGE)
        assert "holds no ticket" in empty.err


@dataclass
class Overtaken:
    """A stack whose next write comes just after somebody else's."""

    sequence: Sequence
    write_first: Callable[[], None]
    happened: bool = False

    @property
    def outputs(self) -> Mapping[str, str]:
        """The real ones."""
        return self.sequence.system.stack.outputs

    def client(self, service_name: str) -> Any:
        """Return itself, for DynamoDB's client."""
        assert service_name == "dynamodb"
        return self

    def __getattr__(self, name: str) -> Any:
        """Do what else a client can."""
        return getattr(self.sequence.system.stack.client("dynamodb"), name)

    def transact_write_items(self, **request: Any) -> Any:
        """Let the other be first, once."""
        return self._write("transact_write_items", request)

    def put_item(self, **request: Any) -> Any:
        """Let the other be first, once."""
        return self._write("put_item", request)

    def _write(self, operation: str, request: Mapping[str, Any]) -> Any:
        if not self.happened:
            self.happened = True
            self.write_first()
        dynamodb = self.sequence.system.stack.client("dynamodb")
        return getattr(dynamodb, operation)(**request)


class TestOthersAreFaster:
    """What was looked at may be gone at the moment of the write."""

    def test_ticket_stays_when_it_was_written_after_the_look(
        self, sequence: Sequence
    ) -> None:
        """The number was reserved, and is a ticket's by now."""
        Seed(sequence.system.stack, sequence.project, 5).plant()
        stack = Overtaken(sequence, lambda: sequence.put(5, title="Theirs"))
        request = create_ticket(sequence.project)

        outcome = Import(stack).write(Existing(1, 5, request, STAMP))

        assert outcome == "another ticket has this number"
        assert sequence.tickets()[5]["title"] == "Theirs"

    def test_seed_goes_on_from_the_ticket_that_came_in_between(
        self, sequence: Sequence
    ) -> None:
        """It tells the ticket, and reserves what follows."""
        stack = Overtaken(sequence, lambda: sequence.put(1, title="Theirs"))

        seeded = Seed(stack, sequence.project, 4).plant()

        assert seeded.given_within == (1,)
        assert sorted(sequence.tickets()) == [1, 2, 4]
        assert sequence.given() == [1]

    def test_seed_is_refused_when_its_number_is_given_in_between(
        self, sequence: Sequence
    ) -> None:
        stack = Overtaken(sequence, lambda: sequence.put(3, title="Theirs"))

        with pytest.raises(InputError, match="has numbers up to 3 already"):
            Seed(stack, sequence.project, 3).plant()

        assert sequence.given() == [3] == sorted(sequence.tickets())

    def test_no_item_is_made_when_the_ticket_to_void_is_not_there(
        self, sequence: Sequence
    ) -> None:
        """An update makes what it does not find, unless it is told not to."""
        with pytest.raises(NotThereError):
            void(sequence.system.stack, sequence.project, 1, "spam")

        assert sequence.tickets() == {}


class TestVoid:
    """A ticket that should not have been keeps its number, and that is announced."""

    def test_ticket_is_marked_and_announced_when_voided(
        self, ctl: Ctl, sequence: Sequence
    ) -> None:
        """With a type of its own, and what subscribers filter by."""
        [message] = sequence.number(1, priority="urgent")
        key = f"{sequence.project}-1"

        ended = ctl("void", key, "--reason", "duplicate", "--yes")

        [heard] = self.wait_for_voided(sequence, 1)
        event = TicketVoided.model_validate_json(heard.body)
        assert ended.status == Status.OK
        assert (event.id, event.subject) == (f"{key}/voided", key)
        assert event.data.reason == "duplicate"
        assert event.data.idempotency_key == message["idempotency_key"]
        assert heard.attributes == {
            "event_type": "ticket-numbering.TicketVoided.v1",
            "project_id": sequence.project,
            "priority": "urgent",
            "replayed": "false",
        }
        ticket = sequence.tickets()[1]
        assert ticket["status"] == "voided"
        assert ticket["voided_reason"] == "duplicate"
        assert ticket["voided_at"] == event.data.voided_at
        assert ticket["title"] == message["title"]

    def test_voiding_is_announced_again_when_run_again(
        self, ctl: Ctl, sequence: Sequence
    ) -> None:
        """The first run may have died in between: the same event, as a repeat."""
        sequence.number(1)
        command = ("void", f"{sequence.project}-1", "--reason", "twice", "--yes")
        ctl(*command)

        again = ctl(*command)

        first, second = self.wait_for_voided(sequence, 2)
        assert again.status == Status.OK
        assert first.body == second.body
        assert sorted(each.attributes["replayed"] for each in (first, second)) == [
            "false",
            "true",
        ]

    def test_recorded_reason_stands_when_another_is_given(
        self, ctl: Ctl, sequence: Sequence
    ) -> None:
        sequence.number(1)
        key = f"{sequence.project}-1"
        ctl("void", key, "--reason", "spam", "--yes")

        ended = ctl("void", key, "--reason", "other", "--yes")

        assert ended.status == Status.USAGE
        assert "for another reason: spam" in ended.err
        assert sequence.tickets()[1]["voided_reason"] == "spam"
        assert len(self.wait_for_voided(sequence, 1)) == 1

    def test_next_number_follows_when_the_last_ticket_is_voided(
        self, ctl: Ctl, sequence: Sequence
    ) -> None:
        sequence.number(1)
        ctl("void", f"{sequence.project}-1", "--reason", "spam", "--yes")

        sequence.number(1)

        assert sequence.given() == [1, 2]
        assert ctl("audit", "--project", sequence.project).status == Status.OK

    def test_voiding_is_refused_when_the_number_is_only_reserved(
        self, ctl: Ctl, sequence: Sequence
    ) -> None:
        ctl("seed", sequence.project, "--last", "2", "--yes")

        ended = ctl("void", f"{sequence.project}-2", "--reason", "spam", "--yes")

        assert ended.status == Status.USAGE
        assert "only reserved" in ended.err

    @staticmethod
    def wait_for_voided(sequence: Sequence, count: int) -> list[Received]:
        """Wait for announcements of voided tickets."""

        def voided() -> list[Received]:
            return [
                each
                for each in sequence.system.announced
                if each.attributes["project_id"] == sequence.project
                and each.attributes["event_type"].endswith("TicketVoided.v1")
            ]

        sequence.system.wait_for(lambda: len(voided()) >= count)
        return voided()


class TestBadInput:
    """Status 2, and nothing is written."""

    def test_nothing_is_written_when_nobody_can_be_asked(
        self, ctl: Ctl, sequence: Sequence, lines: Any
    ) -> None:
        sequence.number(1)
        before = sequence.tickets()

        for command in (
            ("seed", sequence.project, "--last", "5"),
            ("import", lines(existing(sequence.project, 10**15))),
            ("void", f"{sequence.project}-1", "--reason", "spam"),
        ):
            ended = ctl(*command)

            assert ended.status == Status.USAGE
            assert "--yes" in ended.err
        assert sequence.tickets() == before

    @pytest.mark.parametrize(
        "command",
        [
            ("seed", "PROJ#1", "--last", "5"),
            ("seed", "PROJ", "--last", "0"),
            ("seed", "PROJ", "--last", str(10**15 + 1)),
            ("seed", "PROJ", "--last", "5", "--reason", "two\nlines"),
            ("void", "PROJ", "--reason", "spam"),
            ("void", "PROJ-1", "--reason", " "),
        ],
    )
    def test_command_is_refused_when_an_argument_is_wrong(
        self, ctl: Ctl, command: tuple[str, ...]
    ) -> None:
        assert ctl(*command, "--yes").status == Status.USAGE
