"""What is sent of a file, under which keys, how fast, and what if SQS refuses."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from tests.support.builders import create_ticket, ticket_fields
from ticket_numbering.dynamodb_items import key_id, key_item
from ticket_numbering.dynamodb_store import serialized
from ticket_numbering.messages import CreateTicket
from ticketctl.cli.app import main
from ticketctl.cli.errors import InputError, Status
from ticketctl.commands.send import named_values
from ticketctl.send.checking import Check, Checked, Request
from ticketctl.send.delivering import Delivery
from ticketctl.send.derived_keys import DerivedKeys, checked_prefix
from ticketctl.send.request_file import Format, Line, read_lines
from ticketctl.send.sending import MAX_ATTEMPTS, Outcome, Sender
from ticketctl.send.waiting import Answer, Waiting
from ticketctl.system.rate_limiter import Pace

QUEUE_URL = "https://sqs.eu-west-1.amazonaws.com/1/create-ticket"
TABLE = "keys"


def read(tmp_path: Path, content: str | bytes, written_as: Format) -> list[Line]:
    path = tmp_path / "tickets"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_lines(str(path), written_as)


def keyless(**fields: Any) -> dict[str, Any]:
    return {"project_id": "PROJ", "title": "t"} | fields


def checked(lines: Iterable[dict[str, Any]], **choice: Any) -> Checked:
    return Check(**choice).run(Line(*line) for line in enumerate(lines, 1))


def derived(lines: Iterable[dict[str, Any]], prefix: str = "a.csv") -> list[str]:
    """Return the keys that these lines get."""
    requests = checked(lines, keys=DerivedKeys(prefix)).requests
    return [each.ticket.idempotency_key for each in requests if each.ticket]


class TestLines:
    """A bad line is told with its number, and harms no other."""

    def test_lines_keep_their_numbers_when_some_are_blank_or_bad(
        self, tmp_path: Path
    ) -> None:
        content = (
            '\ufeff{"a": "\u2028"}\r\n\n{"a"\n[1]\n{"a": "x", "a": "y"}\n{"b": "z"}'
        )

        lines = read(tmp_path, content, "jsonl")

        told = {line.number: line.problem or line.fields for line in lines}
        assert list(told) == [1, 3, 4, 5, 6]
        assert (told[1], told[6]) == ({"a": "\u2028"}, {"b": "z"})
        assert str(told[3]).startswith("body: not JSON")
        assert told[4] == "body: must be a JSON object"
        assert told[5] == "a: appears more than once"

    def test_line_is_named_when_it_is_not_utf_8(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"tickets:2: not UTF-8"):
            read(tmp_path, b'{"a": "b"}\n\xff\n', "jsonl")

    def test_row_is_a_request_when_every_kind_of_column_is_used(
        self, tmp_path: Path
    ) -> None:
        content = (
            "\ufeffproject_id,title,description,labels,attributes.room\r\n"
            'PROJ,"a, ""b""","x\ny",one; two;,7\r\n'
            ",,,,\n"
            "PROJ,c,,,\n"
        )

        first, second = read(tmp_path, content, "csv")

        assert first.fields == {
            "project_id": "PROJ",
            "title": 'a, "b"',
            "description": "x\ny",
            "labels": ["one", "two"],
            "attributes": {"room": "7"},
        }
        assert second.fields == {"project_id": "PROJ", "title": "c"}
        assert (first.number, second.number) == (3, 5)

    @pytest.mark.parametrize("row", ["a,b,c", "a"])
    def test_row_is_bad_when_it_does_not_fit_the_header(
        self, tmp_path: Path, row: str
    ) -> None:
        good, bad = read(tmp_path, f"title,reporter\nx,y\n{row}\n", "csv")

        assert good.problem is None
        assert bad.number == 3
        assert "not as many cells" in str(bad.problem)

    @pytest.mark.parametrize(
        ("content", "why"),
        [
            ("titel\nx\n", "'titel'"),
            ("title,\nx,\n", "no field ''"),
            ("attributes\n{}\n", "'attributes'"),
            ("title,title\nx,y\n", "twice"),
            ("\x1b[2J\nx\n", "no field"),
            ('title\n"He said "hi"\n', "expected"),
            ('title\n"a\nb\n', "unexpected end"),
        ],
    )
    def test_file_is_refused_when_header_or_quotes_are_wrong(
        self, tmp_path: Path, content: str, why: str
    ) -> None:
        with pytest.raises(InputError, match=why) as refused:
            read(tmp_path, content, "csv")

        assert "\x1b" not in str(refused.value)

    def test_attribute_is_split_at_its_first_sign(self) -> None:
        assert named_values(["a=b=c", "d="]) == {"a": "b=c", "d": ""}

    @pytest.mark.parametrize("given", [["novalue"], ["a=1", "a=2"]])
    def test_attribute_is_refused_when_it_is_no_pair_or_stands_twice(
        self, given: list[str]
    ) -> None:
        with pytest.raises(InputError, match="NAME=VALUE"):
            named_values(given)


class TestKeysOfAFile:
    """A second run of a file asks for nothing new."""

    def test_keys_are_the_same_when_the_file_is_read_again(self) -> None:
        """However its JSON is written, and whether or not defaults are spelled out."""
        again = [{"priority": "medium", "title": "t", "project_id": "PROJ"}]

        assert derived([keyless()]) == derived(again)

    def test_keys_stay_when_lines_are_added_removed_or_sorted(self) -> None:
        one, two, three = (keyless(title=title) for title in "abc")

        first, second = derived([one, two])

        assert derived([three, two, one])[1:] == [second, first]
        assert derived([two]) == [second]

    def test_keys_stay_when_the_program_gets_a_new_version(self) -> None:
        """Else a file that is sent again after the update would double its tickets."""
        assert derived([keyless()]) == ["a.csv-69ec28be539c5ea291bed76e-1"]

    def test_keys_differ_when_lines_are_alike(self) -> None:
        """Two such lines ask for two tickets; a third leaves the others alone."""
        twice = derived([keyless()] * 2)

        assert len({*twice}) == 2
        assert derived([keyless()] * 3)[:2] == twice

    def test_key_differs_when_line_or_file_is_another(self) -> None:
        [key] = derived([keyless()])

        assert derived([keyless(title="u")]) != [key]
        assert derived([keyless(project_id="OTHER")]) != [key]
        assert derived([keyless()], prefix="b.csv") != [key]

    @pytest.mark.parametrize("name", ["\u00e4 b\x1b.csv", "x" * 300])
    def test_keys_are_valid_and_distinct_when_names_are_strange(
        self, name: str
    ) -> None:
        [key] = derived([keyless()], prefix=name)
        [other] = derived([keyless()], prefix=name + "x")

        assert create_ticket(idempotency_key=key).idempotency_key == key
        assert key != other

    @pytest.mark.parametrize("prefix", ["", "a b", "\u00e9", "x" * 65])
    def test_prefix_is_refused_when_it_cannot_begin_a_key(self, prefix: str) -> None:
        with pytest.raises(InputError, match="--key-prefix"):
            checked_prefix(prefix)

    def test_line_without_key_is_bad_when_nothing_names_the_file(self) -> None:
        found = checked([keyless(), ticket_fields()])

        [(number, problem)] = found.problems
        assert number == 1
        assert "--key-prefix" in problem
        assert len(found.requests) == 1


class TestChecked:
    """Only what the worker would take is sent, and each key once."""

    def test_project_is_filled_in_when_a_line_names_none(self) -> None:
        line = {"title": "t", "idempotency_key": "k"}

        found = checked([line, ticket_fields("OWN")], project="PROJ")

        first, second = found.requests
        assert json.loads(first.body) == line | {"project_id": "PROJ"}
        assert (first.group, second.group) == ("PROJ", "OWN")

    def test_line_is_left_out_when_an_earlier_one_says_the_same(self) -> None:
        line = ticket_fields()

        found = checked([line, line | {"priority": "medium"}, ticket_fields()])

        assert (len(found.requests), found.repeats, found.problems) == (2, 1, [])

    def test_line_is_bad_when_its_key_is_used_for_another_ticket(self) -> None:
        """The worker would dead-letter it; another project's key is another."""
        line = ticket_fields("A", "k")

        found = checked([line, line | {"title": "u"}, line | {"project_id": "B"}, line])

        assert found.problems == [
            (2, "idempotency_key: line 1 has it, for another ticket")
        ]
        assert (len(found.requests), found.repeats) == (2, 1)

    def test_line_is_sent_as_it_is_when_nobody_checks_it(self) -> None:
        line = {"project_id": "no project", "colour": "red"}

        [request] = checked([line], unchecked=True).requests

        assert json.loads(request.body) == line
        assert request.group.isascii()


@dataclass
class Ended:
    """How a command ended that asks no system."""

    status: int
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """Return what calls the command line."""

    def call(*arguments: str) -> Ended:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        return Ended(int(ended.value.code or 0), *capsys.readouterr())

    return call


class TestRefused:
    """What cannot be sent is told before a system is even looked for."""

    @pytest.mark.parametrize(
        ("options", "problem"),
        [
            (("--project", "P", "--title", ""), "title: "),
            (("--project", "P#", "--title", "t"), "project_id: "),
            (("--project", "P", "--title", "t", "--priority", "HIGH"), "priority: "),
        ],
    )
    def test_ticket_is_refused_in_one_line_when_an_option_is_wrong(
        self, run: Callable[..., Ended], options: Sequence[str], problem: str
    ) -> None:
        ended = run("send", *options)

        assert (ended.status, ended.out) == (2, "")
        assert ended.err.startswith(f"error: {problem}")
        assert ended.err.count("\n") == 1

    @pytest.mark.parametrize("content", ["", "\n", "title\n", "titel\na\n"])
    def test_file_is_refused_in_one_line_when_it_holds_no_ticket(
        self, run: Callable[..., Ended], tmp_path: Path, content: str
    ) -> None:
        path = tmp_path / "my.csv"
        path.write_text(content)

        ended = run("send-file", str(path))

        assert ended.status == 2
        assert f"{path}: " in ended.err
        assert ended.err.count("\n") == 1

    @pytest.mark.parametrize(
        ("name", "why"),
        [("absent", "No such file or directory"), (".", "Is a directory")],
    )
    def test_file_is_refused_in_one_line_when_it_cannot_be_read(
        self, run: Callable[..., Ended], tmp_path: Path, name: str, why: str
    ) -> None:
        ended = run("send-file", str(tmp_path / name))

        assert ended.status == 2
        assert ended.err.endswith(f": cannot be read: {why}\n")

    def test_remarks_end_when_a_hundred_lines_are_bad(
        self, run: Callable[..., Ended], tmp_path: Path
    ) -> None:
        """A file of another kind does not flood the terminal."""
        path = tmp_path / "my.jsonl"
        path.write_text("nonsense\n" * 130)

        ended = run("send-file", str(path))

        assert ended.status == 2
        assert ended.err.count("body: not JSON") == 100
        assert "and 30 more" in ended.err

    def test_file_is_only_checked_when_it_is_a_dry_run(
        self, run: Callable[..., Ended], tmp_path: Path
    ) -> None:
        """With the counts as the result; status 1, for a line is bad."""
        same = json.dumps(ticket_fields())
        path = tmp_path / "my.jsonl"
        path.write_text(f"{same}\n{same}\n{{}}\n")
        command = ("send-file", str(path), "--dry-run", "--skip-invalid")

        shown, counted = run(*command), run(*command, "--json")

        assert (shown.status, counted.status) == (1, 1)
        assert shown.out == f"{path}: 1 good ticket, nothing is sent\n"
        assert "left out 1 line" in shown.err
        assert json.loads(counted.out) == {"good": 1, "bad": 1, "repeats": 1}


def requests(count: int, size: int = 1) -> list[Request]:
    """Return so many requests, with so long a description each."""
    lines = [ticket_fields(description="x" * size) for _ in range(count)]
    return checked(lines, unchecked=size > 1).requests


Reply = Callable[[list[dict[str, Any]]], dict[str, Any]]


def take_all(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Answer as SQS does when all is well."""
    return {"Successful": [{"Id": entry["Id"], "MessageId": "m"} for entry in entries]}


def refuse(*places: int, sender: bool = False) -> Reply:
    """Return an answer in which the entries at these places failed."""

    def reply(entries: list[dict[str, Any]]) -> dict[str, Any]:
        error = {"Code": "Broken", "Message": "of\nno use", "SenderFault": sender}
        failed = [entry for entry in entries if int(entry["Id"]) in places]
        others = [entry for entry in entries if entry not in failed]
        return take_all(others) | {
            "Failed": [error | {"Id": entry["Id"]} for entry in failed]
        }

    return reply


@dataclass
class Queue:
    """Takes batches as SQS does, and answers as it is told to, then well."""

    replies: list[Reply] = field(default_factory=list)
    calls: list[list[dict[str, Any]]] = field(default_factory=list)

    def send_message_batch(
        self,
        QueueUrl: str,  # noqa: N803 - boto3's names.
        Entries: list[dict[str, Any]],  # noqa: N803 - likewise.
    ) -> dict[str, Any]:
        assert QueueUrl == QUEUE_URL
        self.calls.append(Entries)
        return (self.replies.pop(0) if self.replies else take_all)(Entries)

    def bodies(self) -> list[list[str]]:
        """Return the bodies of each call."""
        return [[entry["MessageBody"] for entry in call] for call in self.calls]


@dataclass
class Clock:
    """A clock that goes when somebody sleeps."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def sent(queue: Queue, given: Sequence[Request], rate: int | None = None) -> "Sent":
    clock = Clock()
    sender = Sender(queue, QUEUE_URL, Pace(rate, clock), clock.sleep)
    return Sent([*sender.send(given)], clock.now - 1000)


@dataclass
class Sent:
    """What became of each request, and how long it took."""

    outcomes: list[Outcome]
    seconds: float

    @property
    def refused(self) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.message_id is None]


class TestNothingLostOnTheWay:
    """Every request is on the queue, or is told to be not."""

    def test_batches_hold_ten_messages_in_order_when_there_are_many(self) -> None:
        queue, given = Queue(), requests(25)

        ended = sent(queue, given)

        assert [len(call) for call in queue.calls] == [10, 10, 5]
        assert [outcome.request for outcome in ended.outcomes] == given
        assert [*chain(*queue.bodies())] == [request.body for request in given]
        assert {entry["MessageGroupId"] for entry in queue.calls[0]} == {"PROJ"}

    def test_batches_are_packed_by_bytes_when_messages_are_large(self) -> None:
        queue = Queue()

        sent(queue, requests(10, size=250_000))

        assert [len(call) for call in queue.calls] == [4, 4, 2]

    def test_entry_is_sent_again_when_sqs_failed_to_take_it(self) -> None:
        """And no other; an answer may also leave it out."""
        queue, given = Queue([refuse(1), refuse(0), lambda _: {}]), requests(3)

        ended = sent(queue, given)

        assert queue.bodies()[1:] == [[given[1].body]] * 3
        assert len(ended.outcomes) == 3
        assert not ended.refused

    def test_entry_is_given_up_at_once_when_the_fault_is_the_senders(self) -> None:
        queue, given = Queue([refuse(1, sender=True)]), requests(3)

        ended = sent(queue, given)

        assert len(queue.calls) == 1
        assert ended.refused == [Outcome(given[1], refusal="Broken of no use")]

    def test_entry_is_given_up_when_sqs_fails_every_time(self) -> None:
        queue = Queue([refuse(0)] * 99)

        ended = sent(queue, requests(1))

        assert len(queue.calls) == MAX_ATTEMPTS
        assert [outcome.refusal for outcome in ended.refused] == ["Broken of no use"]


@dataclass(frozen=True)
class OneQueue:
    """A system of which only the queue of requests is asked."""

    queue: Queue
    outputs: Mapping[str, str] = field(
        default_factory=lambda: {"CreateTicketQueueUrl": QUEUE_URL}
    )

    def client(self, _service_name: str) -> Queue:
        return self.queue


class TestDelivery:
    """Who sends is told what is on the queue, and what is not."""

    def test_status_is_3_when_sqs_does_not_take_a_message(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        delivery = Delivery(OneQueue(Queue([refuse(1, sender=True)])))

        status = delivery.run(requests(3))

        assert status == Status.CLOUD
        assert len(delivery.sent) == 2
        assert capsys.readouterr().err == "line 2: not sent: Broken of no use\n"

    def test_count_is_told_when_sqs_cannot_be_asked(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """With the way to go on."""

        def fail(_: list[dict[str, Any]]) -> dict[str, Any]:
            raise ConnectionError

        delivery = Delivery(OneQueue(Queue([take_all, fail])))

        with pytest.raises(ConnectionError):
            delivery.run(requests(30))

        told = capsys.readouterr().err
        assert told == "sent 10 of 30 messages; the same command goes on safely\n"


class TestRate:
    """At most so many messages a second."""

    @pytest.mark.parametrize("rate", [1, 3, 25, 400])
    def test_messages_take_their_time_when_a_rate_is_given(self, rate: int) -> None:
        queue = Queue()

        ended = sent(queue, requests(100), rate)

        last = len(queue.calls[-1])
        assert ended.seconds == pytest.approx((100 - last) / rate)
        assert max(map(len, queue.calls)) <= rate

    def test_messages_wait_for_nothing_when_no_rate_is_given(self) -> None:
        assert sent(Queue(), requests(100)).seconds == 0

    def test_time_that_was_not_used_is_not_made_up_for(self) -> None:
        clock = Clock()
        limiter = Pace(10, clock)
        limiter.delay(10)
        clock.sleep(60)

        assert (limiter.delay(10), limiter.delay(10)) == (0, 1)


@dataclass
class Table:
    """The table of keys; a record can be read from its time on."""

    clock: Clock
    records: dict[str, tuple[float, dict[str, Any]]] = field(default_factory=dict)
    calls: list[list[str]] = field(default_factory=list)
    leaves_out: int = 0
    """How many calls leave all keys unprocessed."""

    def put(self, ticket: CreateTicket, number: int, after: float = 0) -> None:
        """Let the worker record a number after so many seconds."""
        item = serialized(key_item(ticket, number, "2026-11-21T00:00:00.000Z", None))
        self.records[key_id(ticket.key)] = (self.clock.now + after, dict(item))

    def batch_get_item(
        self,
        RequestItems: dict[str, Any],  # noqa: N803 - boto3's name.
    ) -> dict[str, Any]:
        asked = RequestItems[TABLE]
        assert asked["ConsistentRead"]
        ids = [key["id"]["S"] for key in asked["Keys"]]
        self.calls.append(ids)
        if self.leaves_out:
            self.leaves_out -= 1
            return {"Responses": {}, "UnprocessedKeys": RequestItems}
        due = (self.records[own] for own in ids if own in self.records)
        found = [item for time, item in due if time <= self.clock.now]
        return {"Responses": {TABLE: found}, "UnprocessedKeys": {}}


class TestWaiting:
    """The number of each request is told once, and those that are missing."""

    def setup_method(self) -> None:
        self.clock = Clock()
        self.table = Table(self.clock)
        self.waiting = Waiting(self.table, TABLE, self.clock, self.clock.sleep)

    def answers(
        self, tickets: Iterable[CreateTicket], timeout: float = 60
    ) -> list[Answer]:
        self.waiting.expect(tickets)
        return [*self.waiting.answers(timeout)]

    def test_numbers_are_told_once_when_they_are_committed(self) -> None:
        first, second = create_ticket(), create_ticket()
        self.table.put(second, 1, after=3)
        self.table.put(first, 2, after=9)

        found = self.answers([first, second])

        assert [answer.ticket for answer in found] == [second, first]
        assert [answer.number for answer in found] == [1, 2]
        assert not self.waiting.missing

    def test_keys_are_read_a_hundred_at_a_time_when_there_are_many(self) -> None:
        tickets = [create_ticket() for _ in range(250)]
        for number, ticket in enumerate(tickets, 1):
            self.table.put(ticket, number)

        found = self.answers(tickets)

        assert [len(call) for call in self.table.calls] == [100, 100, 50]
        assert [answer.number for answer in found] == list(range(1, 251))

    def test_keys_are_read_again_when_dynamodb_leaves_them_unprocessed(self) -> None:
        ticket = create_ticket()
        self.table.put(ticket, 1)
        self.table.leaves_out = 3

        assert [answer.number for answer in self.answers([ticket])] == [1]

    def test_waiting_ends_when_no_new_number_comes(self) -> None:
        """Each number starts the patience again."""
        first, second, never = (create_ticket() for _ in range(3))
        self.table.put(first, 1, after=20)
        self.table.put(second, 2, after=40)

        found = self.answers([first, second, never], timeout=30)

        assert [answer.number for answer in found] == [1, 2]
        assert [*self.waiting.missing.values()] == [never]
        assert self.clock.now == pytest.approx(1000 + 40 + 30, abs=4)

    def test_number_is_not_taken_when_the_key_is_that_of_another_ticket(self) -> None:
        """The request is a dead letter; its key's number is another's."""
        other = create_ticket(title="another")
        asked = other.model_copy(update={"title": "asked for"})
        self.table.put(other, 7)

        [answer] = self.answers([asked])

        assert "PROJ-7, another ticket" in answer.problem

    def test_damaged_record_is_told_when_it_names_no_number(self) -> None:
        ticket = create_ticket()
        self.table.put(ticket, 1)
        self.table.records[key_id(ticket.key)][1].pop("number")

        [answer] = self.answers([ticket])

        assert "damaged" in answer.problem
