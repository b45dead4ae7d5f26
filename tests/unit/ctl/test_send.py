"""What is sent of a file, under which keys, how fast, and what if SQS refuses."""

import io
import json
import threading
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.builders import ticket_fields
from tests.support.cases import cases
from ticketctl.cli.errors import InputError, Status
from ticketctl.send import delivering
from ticketctl.send.awaiting import Awaiting
from ticketctl.send.delivering import Delivery, deliver
from ticketctl.send.derived_keys import DerivedKeys
from ticketctl.send.preparing import (
    MAX_TOLD,
    Preparation,
    Prepared,
    Request,
    request_of,
)
from ticketctl.send.request_file import Format, RequestFile
from ticketctl.send.request_lines import MAX_LINE_BYTES, Line
from ticketctl.send.requests_asked import Choice, named_values, requests_of
from ticketctl.send.send_report import Report
from ticketctl.send.sending import MAX_TRIES, Outcome, Sending
from ticketctl.system.rate_limiter import Pace
from ticketctl.watch.heard import ASSIGNED, VOIDED, Heard

STANDARD = "https://sqs.eu-west-1.amazonaws.com/1/create-ticket"


def read(tmp_path: Path, content: str | bytes, written_as: Format) -> list[Line]:
    """Read a file of this content."""
    path = tmp_path / "tickets"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with RequestFile(str(path), written_as).lines() as lines:
        return list(lines)


def keyless(**fields: Any) -> dict[str, Any]:
    """Return a request that brings no key."""
    return {"project_id": "PROJ", "title": "t"} | fields


def prepare(requests: Iterable[dict[str, Any]], **choice: Any) -> Prepared:
    """Prepare these requests, a line each."""
    lines = [Line(number, fields) for number, fields in enumerate(requests, 1)]
    return Preparation(**choice).prepare(lines, io.BytesIO())


def derived(requests: Iterable[dict[str, Any]], prefix: str = "a.csv") -> list[str]:
    """Return the keys that these requests get."""
    prepared = prepare(requests, keys=DerivedKeys(prefix))
    return [each.idempotency_key for each in prepared.requests()]


class TestLines:
    """A bad line is told with its number, and harms no other."""

    def test_lines_keep_their_numbers_when_some_are_blank_or_bad(
        self, tmp_path: Path
    ) -> None:
        """As an editor counts them."""
        content = (
            b'\xef\xbb\xbf{"a": 1}\r\n\n{"a"\n\xff\n[1]\n{"a": 1, "a": 2}\n{"b": 2}'
        )

        lines = read(tmp_path, content, "jsonl")

        told = {each.number: each.problem or each.fields for each in lines}
        assert list(told) == [1, 3, 4, 5, 6, 7]
        assert (told[1], told[7]) == ({"a": 1}, {"b": 2})
        assert told[4] == "body: not UTF-8"
        assert told[5] == "body: must be a JSON object"
        assert told[6] == "a: appears more than once"

    def test_line_is_bad_when_it_does_not_end(self, tmp_path: Path) -> None:
        """It is not held in memory, and the next one is read as it should be."""
        long = b'"' + b"x" * (2 * MAX_LINE_BYTES) + b'"\n{"a": 1}\n'

        first, second = read(tmp_path, long, "jsonl")

        assert first.problem == f"body: more than {MAX_LINE_BYTES} bytes in one line"
        assert (second.number, second.fields) == (2, {"a": 1})

    def test_line_is_read_when_it_is_just_not_too_long(self, tmp_path: Path) -> None:
        """With its line break it is as long as is read at once."""
        line = json.dumps({"a": ""}).encode()
        padded = line.replace(b'""', b'"' + b"x" * (MAX_LINE_BYTES - len(line)) + b'"')

        lines = read(tmp_path, padded + b"\n" + line, "jsonl")

        assert [each.problem for each in lines] == [None, None]
        assert [each.number for each in lines] == [1, 2]


class TestTable:
    """CSV says the same as JSONL, cell by cell."""

    def test_row_is_a_request_when_every_column_is_used(self, tmp_path: Path) -> None:
        """Lists and objects come out of texts."""
        content = (
            "\ufeffproject_id,title,description,labels,attributes.room,attributes\n"
            'PROJ,"a, ""b""","x\ny",one; two;,7,"{""floor"": ""2""}"\r\n'
            "PROJ,c,,,,\n"
        )

        first, second = read(tmp_path, content, "csv")

        assert first.fields == {
            "project_id": "PROJ",
            "title": 'a, "b"',
            "description": "x\ny",
            "labels": ["one", "two"],
            "attributes": {"floor": "2", "room": "7"},
        }
        assert second.fields == {"project_id": "PROJ", "title": "c"}
        assert (first.number, second.number) == (2, 4)

    @pytest.mark.parametrize(
        ("row", "problem"),
        [
            ("a,b,c", "body: 3 cells, but the header has 2"),
            ("a", "body: 1 cells, but the header has 2"),
            ("a,{", "attributes: not JSON"),
            ("a,[1]", "attributes: must be a JSON object"),
            ("\udcff,", "body: not UTF-8"),
        ],
    )
    def test_row_is_bad_when_it_does_not_fit_the_header(
        self, tmp_path: Path, row: str, problem: str
    ) -> None:
        """With the number of its line."""
        content = f"title,attributes\n,\nx,\n{row}\n".encode(errors="surrogateescape")

        good, bad = read(tmp_path, content, "csv")

        assert good.fields == {"title": "x"}
        assert bad.number == 4
        assert str(bad.problem).startswith(problem)

    @pytest.mark.parametrize(
        "rest",
        cases(
            {
                "quote in a quoted cell": '"He said "hi"\nsecond line"\nlast\n',
                "quote that does not end": '"a\nb\nc\n',
                "endless cell": '"' + "x\n" * MAX_LINE_BYTES + '"\nlast\n',
                "endless line": "a," * MAX_LINE_BYTES + "\nlast\n",
                "endless row": '"x\n",' * MAX_LINE_BYTES + "\nlast\n",
            }
        ),
    )
    def test_file_is_refused_when_a_row_has_no_end_that_is_sure(
        self, tmp_path: Path, rest: str
    ) -> None:
        """What comes behind may be the rest of a cell, so nothing may be skipped."""
        path = tmp_path / "tickets.csv"
        path.write_text(f"title\n\nfirst\n{rest}")
        choice = Choice("PROJ", from_line=9, skip_invalid=True, unchecked=True)

        with (
            pytest.raises(InputError) as refused,
            requests_of(RequestFile(str(path)), choice),
        ):
            pass

        assert str(refused.value).startswith(f"{path}:4: not CSV from here on")

    @pytest.mark.parametrize(
        "rest",
        [
            'x, "line one\nline two, more"\ny,z\n',
            ' "x",y\n',
            ',\t "x"\n',
            '"a, ""b""\n""c", "x"\n',
            '5" disk, "x"\n',
        ],
    )
    def test_file_is_refused_when_a_blank_stands_before_a_quote(
        self, tmp_path: Path, rest: str
    ) -> None:
        """A cell of two lines would become two rows."""
        with pytest.raises(InputError) as refused:
            read(tmp_path, f"title,description\n{rest}", "csv")

        path = tmp_path / "tickets"
        assert str(refused.value).startswith(f"{path}:2: not CSV from here on")
        assert str(refused.value).endswith(": a blank before a quote")

    @pytest.mark.parametrize(
        ("row", "title", "description"),
        [
            ('5" disk,a "b" c', '5" disk', 'a "b" c'),
            ('5"" disk,"x\ny"', '5"" disk', "x\ny"),
            ('"a, ""b"""," ""c"""', 'a, "b"', ' "c"'),
            ('"""x""","""\n"""', '"x"', '"\n"'),
            ('"a\n, ""b""\r\n""c, ""\n",z', 'a\n, "b"\r\n"c, "\n', "z"),
            ('"\n ""x""\n","\n\n, ""y"""', '\n "x"\n', '\n\n, "y"'),
        ],
    )
    def test_cell_is_read_when_its_quotes_leave_no_doubt(
        self, tmp_path: Path, row: str, title: str, description: str
    ) -> None:
        """Quotes inside a cell are text, and what it quotes may look like a cell."""
        content = f"title,description\n{row}\n{row}\n"

        lines = read(tmp_path, content, "csv")

        fields = {"title": title, "description": description}
        assert [each.fields for each in lines] == [fields, fields]

    def test_row_is_read_when_it_is_just_not_too_long(self, tmp_path: Path) -> None:
        """With its line breaks; the next one may be as long."""
        row = '"' + "x\n" * (MAX_LINE_BYTES // 2 - 2) + '"\n'

        lines = read(tmp_path, f"title\n{row}{row}", "csv")

        assert [each.problem for each in lines] == [None, None]

    def test_attribute_is_bad_when_it_stands_in_two_cells(self, tmp_path: Path) -> None:
        """Nobody could say which one counts."""
        content = 'attributes,attributes.a\n"{""a"": ""1""}",2\n'

        [line] = read(tmp_path, content, "csv")

        assert line.problem == "attributes: a stands in two cells"

    @pytest.mark.parametrize(
        ("header", "problem"),
        [
            ("titel", "titel: is no field"),
            ("title,title", "title: stands twice"),
            ("title,", "a nameless column: is no field"),
            ("attributes.", "attributes.: is no field"),
            ("\x1b[2J", "[2J: is no field"),
            ('"title"x', "not CSV"),
        ],
    )
    def test_file_is_refused_when_its_header_is_wrong(
        self, tmp_path: Path, header: str, problem: str
    ) -> None:
        """Every row would be."""
        with pytest.raises(InputError) as refused:
            read(tmp_path, f"{header}\nx\n", "csv")

        assert problem in str(refused.value)
        assert f"{tmp_path / 'tickets'}:1: " in str(refused.value)
        assert "\x1b" not in str(refused.value)


class TestKeysOfAFile:
    """A second run of a file asks for nothing new."""

    def test_keys_are_the_same_when_the_file_is_read_again(self) -> None:
        """However its JSON is written, and whether or not defaults are spelled out."""
        again = [{"priority": "medium", "title": "t", "project_id": "PROJ"}]

        assert derived([keyless()]) == derived(again)

    def test_keys_stay_when_lines_are_added_removed_or_sorted(self) -> None:
        """A key follows what the line says, wherever it stands."""
        one, two, three = (keyless(title=each) for each in "abc")

        first, second = derived([one, two])

        assert derived([three, two, one])[1:] == [second, first]
        assert derived([two]) == [second]

    def test_keys_differ_when_lines_are_alike(self) -> None:
        """Two such lines ask for two tickets; a third leaves the others alone."""
        twice = derived([keyless()] * 2)

        assert len({*twice}) == 2
        assert derived([keyless()] * 3)[:2] == twice

    def test_key_differs_when_line_or_file_is_another(self) -> None:
        """An edited line is another request."""
        [key] = derived([keyless()])

        assert derived([keyless(title="u")]) != [key]
        assert derived([keyless(project_id="OTHER")]) != [key]
        assert derived([keyless()], prefix="b.csv") != [key]

    @pytest.mark.parametrize("name", ["\u00e4 b\x1b.csv", "x" * 300])
    def test_keys_are_valid_and_distinct_when_names_are_strange(
        self, name: str
    ) -> None:
        """What cannot be shown of a name still counts."""
        [key], [other] = (
            derived([keyless()], prefix=each) for each in (name, name + "x")
        )

        assert len(key) <= 128
        assert key.isascii()
        assert key != other

    def test_key_is_the_same_when_the_file_lies_elsewhere(self) -> None:
        """Its folder is no part of its name."""
        assert RequestFile("/a/t.csv").key_prefix == RequestFile("t.csv").key_prefix

    def test_prefix_is_remembered_when_a_key_was_made(self) -> None:
        """Whoever sends is to know what another file would share."""
        keys = DerivedKeys("a.csv")

        assert prepare([ticket_fields()], keys=keys).key_prefix is None
        assert prepare([ticket_fields(), keyless()], keys=keys).key_prefix == "a.csv"

    @pytest.mark.parametrize("prefix", ["", "a b", "\u00e9", "x" * 65])
    def test_prefix_is_refused_when_it_cannot_begin_a_key(self, prefix: str) -> None:
        """Before the file is read."""
        file = RequestFile("absent.jsonl")

        with (
            pytest.raises(InputError, match="--key-prefix"),
            requests_of(file, Choice(key_prefix=prefix)),
        ):
            pass

    def test_line_without_key_is_bad_when_nothing_names_the_file(self) -> None:
        """Standard input has no name to make keys from."""
        prepared = prepare([keyless(), ticket_fields()])

        [(number, problem)] = prepared.told
        assert number == 1
        assert "--key-prefix" in problem
        assert prepared.good == 1


class TestPrepared:
    """Only what the worker would take is sent, and each key once."""

    def test_project_is_filled_in_when_a_line_names_none(self) -> None:
        """And only then."""
        lines: list[dict[str, Any]] = [
            {"title": "t", "idempotency_key": "k"},
            ticket_fields("OWN"),
        ]

        first, second = prepare(lines, project="PROJ").requests()

        assert json.loads(first.body) == lines[0] | {"project_id": "PROJ"}
        assert (first.project_id, second.project_id) == ("PROJ", "OWN")

    def test_line_is_left_out_when_an_earlier_one_says_the_same(self) -> None:
        """It could only be a replay."""
        line = ticket_fields()

        prepared = prepare([line, line | {"priority": "medium"}, ticket_fields()])

        assert (prepared.good, prepared.repeats, prepared.bad) == (2, 1, 0)

    def test_line_is_bad_when_its_key_is_used_for_another_ticket(self) -> None:
        """The worker would dead-letter it; another project's key is another."""
        line = ticket_fields("A", "k")

        prepared = prepare(
            [line, line | {"title": "u"}, line | {"project_id": "B"}, line]
        )

        assert prepared.told == [
            (2, "idempotency_key: line 1 has it, for another ticket")
        ]
        assert (prepared.good, prepared.repeats) == (2, 1)

    def test_lines_are_left_out_when_they_come_before_the_first(self) -> None:
        """The keys of the others stay what they were."""
        lines = [keyless(), {"nonsense": 1}, keyless()]
        _, second = derived([keyless()] * 2)

        prepared = prepare(lines, keys=DerivedKeys("a.csv"), from_line=3)

        assert [each.idempotency_key for each in prepared.requests()] == [second]
        assert prepared.bad == 0

    def test_first_hundred_bad_lines_are_told_when_there_are_more(self) -> None:
        """All are counted."""
        prepared = prepare([{}] * (MAX_TOLD + 5))

        assert (len(prepared.told), prepared.bad) == (MAX_TOLD, MAX_TOLD + 5)

    @pytest.mark.parametrize("given", ["novalue", ""])
    def test_attribute_is_refused_when_it_has_no_value(self, given: str) -> None:
        """On the command line."""
        with pytest.raises(InputError, match="NAME=VALUE"):
            named_values([given])

    def test_attribute_is_split_at_its_first_sign(self) -> None:
        """A value may be empty, or hold the sign itself."""
        assert named_values(["a=b=c", "d="]) == {"a": "b=c", "d": ""}
        with pytest.raises(InputError, match="twice"):
            named_values(["a=1", "a=2"])


Answer = Callable[[list[dict[str, Any]]], dict[str, Any]]


def take_all(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Answer as SQS does when all is well."""
    taken = [{"Id": each["Id"], "MessageId": f"m-{each['Id']}"} for each in entries]
    return {"Successful": taken}


def refuse(*places: int, sender: bool = False) -> Answer:
    """Return an answer in which the entries at these places failed."""

    def answer(entries: list[dict[str, Any]]) -> dict[str, Any]:
        failed = {str(place) for place in places}
        error = {"Code": "Broken", "Message": "of\nno use", "SenderFault": sender}
        return {
            "Failed": [
                {"Id": each["Id"]} | error for each in entries if each["Id"] in failed
            ],
            **take_all([each for each in entries if each["Id"] not in failed]),
        }

    return answer


@dataclass
class Queue:
    """Takes batches as SQS does, and answers as it is told to, then well."""

    answers: list[Answer] = field(default_factory=list)
    calls: list[list[dict[str, Any]]] = field(default_factory=list)

    def send_message_batch(
        self,
        QueueUrl: str,  # noqa: N803 - boto3's names.
        Entries: list[dict[str, Any]],  # noqa: N803 - likewise.
    ) -> dict[str, Any]:
        """Answer."""
        assert QueueUrl.startswith(STANDARD)
        self.calls.append(Entries)
        return (self.answers.pop(0) if self.answers else take_all)(Entries)


def requests(count: int, project: str = "PROJ", size: int = 1) -> list[Request]:
    """Return so many requests."""
    text = "x" * size
    return [
        request_of(each, ticket_fields(project, description=text))
        for each in range(count)
    ]


def go_on(_seconds: float) -> bool:
    """Do not sleep, and do not stop."""
    return False


def sent(
    queue: Queue, given: Sequence[Request], url: str = STANDARD, **settings: Any
) -> list[Outcome]:
    """Send requests, and return what became of each."""
    outcomes: list[Outcome] = []
    Sending(queue, url, outcomes.append, **{"sleep": go_on} | settings).run(given)
    return outcomes


class TestNothingLostOnTheWay:
    """Every request is on the queue, or is told to be not."""

    def test_batches_are_packed_by_count(self) -> None:
        """25 are three calls, with the project as group."""
        queue, given = Queue(), requests(25)

        outcomes = sent(queue, given)

        assert sorted(len(each) for each in queue.calls) == [5, 10, 10]
        assert {each.request.line for each in outcomes} == set(range(25))
        assert all(each.message_id for each in outcomes)
        entries = [entry for call in queue.calls for entry in call]
        assert {each["MessageGroupId"] for each in entries} == {"PROJ"}
        assert {each["MessageBody"] for each in entries} == {
            each.body for each in given
        }

    def test_batches_are_packed_by_bytes(self) -> None:
        """Of all messages together; ten of these would be 2.5 MB."""
        queue = Queue()

        sent(queue, requests(10, size=250_000))

        sizes = [sum(len(each["MessageBody"]) for each in call) for call in queue.calls]
        assert len(sizes) == 3
        assert max(sizes) <= 1_048_576

    def test_entry_is_sent_again_when_sqs_failed_to_take_it(self) -> None:
        """And no other."""
        queue, given = Queue([refuse(1), refuse(0)]), requests(3)

        outcomes = sent(queue, given)

        bodies = [[each["MessageBody"] for each in call] for call in queue.calls]
        assert bodies[1:] == [[given[1].body]] * 2
        assert all(each.message_id for each in outcomes)
        assert len(outcomes) == 3

    def test_entry_is_given_up_when_the_fault_is_the_senders(self) -> None:
        """At once; its neighbours are sent."""
        queue, given = Queue([refuse(1, sender=True)]), requests(3)

        outcomes = sent(queue, given)

        [refused] = [each for each in outcomes if each.message_id is None]
        assert len(queue.calls) == 1
        assert refused == Outcome(given[1], refusal="Broken: of no use")

    def test_entry_is_given_up_when_sqs_fails_every_time(self) -> None:
        """It is told, with SQS's own word."""
        queue = Queue([refuse(0)] * 99)

        [outcome] = sent(queue, requests(1))

        assert len(queue.calls) == MAX_TRIES
        assert outcome.message_id is None
        assert "Broken" in outcome.refusal

    def test_entry_is_sent_again_when_the_answer_leaves_it_out(self) -> None:
        """Nobody said that it was taken."""
        queue = Queue([lambda _: {}])

        [outcome] = sent(queue, requests(1))

        assert len(queue.calls) == 2
        assert outcome.message_id

    def test_outcomes_on_the_way_are_told_when_somebody_interrupts(self) -> None:
        """Ctrl-C in the middle: what was taken is counted, and nothing more is sent."""
        queue, outcomes = Queue(), list[Outcome]()

        def endless() -> Iterable[Request]:
            yield from requests(25)
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            Sending(queue, STANDARD, outcomes.append).run(endless())

        assert len(outcomes) == sum(map(len, queue.calls)) == 20

    def test_nothing_more_is_sent_when_somebody_stops(self) -> None:
        """In the pause before the third batch."""
        queue, pauses = Queue(), iter([False, False, True])

        outcomes = sent(queue, requests(99), sleep=lambda _: next(pauses))

        assert len(outcomes) == sum(map(len, queue.calls)) == 20

    def test_outcomes_on_the_way_are_told_when_a_call_fails(self) -> None:
        """The error is not swallowed either."""

        def fail(_: list[dict[str, Any]]) -> dict[str, Any]:
            raise ConnectionError

        queue, outcomes = Queue([take_all, fail]), list[Outcome]()

        with pytest.raises(ConnectionError):
            Sending(queue, STANDARD, outcomes.append).run(requests(30))

        assert len(outcomes) == 10 * (len(queue.calls) - 1)

    def test_outcomes_are_counted_when_nobody_reads_them_any_more(self) -> None:
        """As `| head -1` does: each print fails, and what SQS took is told."""
        queue, outcomes = Queue(), list[Outcome]()

        def tell(outcome: Outcome) -> None:
            outcomes.append(outcome)
            raise BrokenPipeError

        with pytest.raises(BrokenPipeError):
            Sending(queue, STANDARD, tell).run(requests(600))

        assert len(outcomes) == sum(map(len, queue.calls)) < 600


class TestOrder:
    """On a FIFO queue the order of the file is the order of the numbers."""

    def test_batches_are_sent_one_after_the_other_on_a_fifo_queue(self) -> None:
        """A batch is tried to its end before the next."""
        overtaken = threading.Event()

        def slow(entries: list[dict[str, Any]]) -> dict[str, Any]:
            assert not overtaken.wait(0.05)
            return refuse(9)(entries)

        def next_one(entries: list[dict[str, Any]]) -> dict[str, Any]:
            overtaken.set()
            return take_all(entries)

        queue, given = Queue([slow, next_one]), requests(30)

        outcomes = sent(queue, given, f"{STANDARD}.fifo")

        bodies = [each["MessageBody"] for call in queue.calls for each in call]
        assert bodies[:9] == [each.body for each in given[:9]]
        assert bodies[10:] == [each.body for each in given[9:]]
        assert len(outcomes) == 30

    @pytest.mark.parametrize("deliver_repeats", [False, True])
    def test_repeats_are_let_through_when_somebody_waits_for_them(
        self, *, deliver_repeats: bool
    ) -> None:
        """What SQS drops as a repeat is not announced again."""
        queue = Queue()

        sent(queue, requests(2), f"{STANDARD}.fifo", deliver_repeats=deliver_repeats)

        ids = [each.get("MessageDeduplicationId") for each in queue.calls[0]]
        assert len(set(ids) - {None}) == (2 if deliver_repeats else 0)


@dataclass
class Clock:
    """A clock that goes when somebody sleeps."""

    now: float = 1000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now

    def sleep(self, seconds: float) -> bool:
        """Let time go by; nobody stops."""
        self.now += seconds
        return False


class TestPace:
    """At most so many messages a second."""

    @pytest.mark.parametrize("rate", [0.5, 1, 3, 25, 400])
    def test_messages_take_their_time_when_a_rate_is_given(self, rate: float) -> None:
        """The last of 100 goes when the 99 before had their share."""
        clock, queue, given = Clock(), Queue(), requests(100)

        sent(queue, given, pace=Pace(rate, clock), sleep=clock.sleep)

        # Batches are on their way side by side: the last need not arrive last.
        [last] = [
            len(call)
            for call in queue.calls
            if call[-1]["MessageBody"] == given[-1].body
        ]
        assert clock.now - 1000 == pytest.approx((100 - last) / rate)
        assert max(map(len, queue.calls)) <= max(1, rate)

    def test_messages_wait_for_nothing_when_no_rate_is_given(self) -> None:
        """Not even a moment."""
        clock = Clock()

        sent(Queue(), requests(100), pace=Pace(None, clock), sleep=clock.sleep)

        assert clock.now == 1000

    def test_time_that_was_not_used_is_not_made_up_for(self) -> None:
        """After a pause no burst follows."""
        clock = Clock()
        pace = Pace(10, clock)
        pace.delay(10)
        clock.now += 60

        assert (pace.delay(10), pace.delay(10)) == (0, 1)


@dataclass
class Listener:
    """Hears what it is given, one after the other."""

    clock: Clock
    news: list[Heard]

    def poll(self, wait_seconds: int) -> list[Heard]:
        """Wait a second, or longer in vain."""
        if self.news:
            self.clock.sleep(1)
            return [self.news.pop(0)]
        self.clock.sleep(wait_seconds)
        return []


def number_of(request: Request, kind: str = ASSIGNED) -> Heard:
    """Return the announcement of a request's number."""
    project, key = request.identity
    data = {"project_id": project, "idempotency_key": key, "title": "t"}
    return Heard({"id": f"{project}-1", "type": kind, "data": data}, replayed=False)


@dataclass(frozen=True)
class OneQueue:
    """A system of which only the queue of requests is asked."""

    name: str = "tickets"
    outputs: Mapping[str, str] = field(
        default_factory=lambda: {"CreateTicketQueueUrl": STANDARD}
    )

    def client(self, _service_name: str) -> Queue:
        """Return the client of SQS."""
        return Queue()


class TestWaiting:
    """The number of each request is told once, and those that are missing."""

    def awaiting(self, news: list[Heard]) -> tuple[Awaiting, list[Heard], Clock]:
        """Return who waits, what was told, and the clock."""
        clock, told = Clock(), list[Heard]()
        return Awaiting(Listener(clock, news), told.append, clock), told, clock

    def test_numbers_are_told_once_when_they_are_announced_twice(self) -> None:
        """Those of others are not."""
        first, second, other = requests(3)
        news = [number_of(each) for each in (other, first, first, second)]
        awaiting, told, _ = self.awaiting(news)
        awaiting.expect([first, second])

        assert awaiting.until_all(60)
        assert told == [number_of(first), number_of(second)]

    def test_waiting_ends_when_no_news_come(self) -> None:
        """Others' news, and news of other kinds, are none."""
        first, second, other = requests(3)
        news = [number_of(first), number_of(second, VOIDED), *[number_of(other)] * 99]
        awaiting, _, clock = self.awaiting(news)
        awaiting.expect([first, second])

        assert not awaiting.until_all(30)
        assert awaiting.missing == {second.identity}
        assert clock.now == pytest.approx(1031, abs=1)

    def test_waiting_goes_on_while_news_come(self) -> None:
        """A hundred numbers may take longer than one."""
        given = requests(100)
        awaiting, told, _ = self.awaiting([number_of(each) for each in given])
        awaiting.expect(given)

        assert awaiting.until_all(10)
        assert len(told) == 100

    def test_glances_leave_sending_alone_when_there_are_many(self) -> None:
        """One a second is enough to hear of everything in time."""
        given = requests(5)
        awaiting, told, _ = self.awaiting([number_of(each) for each in given])
        awaiting.expect(given)

        awaiting.glance()
        awaiting.glance()

        assert len(told) == 1

    def test_glance_is_the_last_when_it_fails(self) -> None:
        """The rest of what was sent is counted without another call for each."""
        clock, [request] = Clock(), requests(1)

        def fail(_: Heard) -> None:
            raise BrokenPipeError

        listener = Listener(clock, [number_of(request), number_of(request)])
        awaiting = Awaiting(listener, fail, clock)
        awaiting.expect([request])
        with pytest.raises(BrokenPipeError):
            awaiting.glance()
        clock.sleep(60)

        awaiting.glance()

        assert len(listener.news) == 1

    def test_projects_of_the_file_are_listened_to_when_sending_waits(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Not all that others get numbers for meanwhile."""
        prepared = prepare([ticket_fields("A"), ticket_fields("B")])
        news = [number_of(each) for each in prepared.requests()]
        heard_of: list[Collection[str] | None] = []

        @contextmanager
        def listening(
            _: object, projects: Collection[str] | None = None
        ) -> Iterator[Listener]:
            heard_of.append(projects)
            yield Listener(Clock(), news)

        monkeypatch.setattr(delivering, "listening", listening)
        report = Report("a.jsonl", prepared.good, as_json=False, wait=True)

        status = deliver(OneQueue(), prepared, report, Delivery(wait=True))

        assert (status, heard_of) == (Status.OK, [{"A", "B"}])

    def test_request_that_was_not_sent_is_not_waited_for(self) -> None:
        """Its number cannot come."""
        first, second = requests(2)
        awaiting, _, _ = self.awaiting([number_of(first)])
        awaiting.expect([first, second])
        awaiting.give_up(second)

        assert awaiting.until_all(1)
