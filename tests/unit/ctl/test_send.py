"""Sending a file: its lines, keys and rate, and refusals of SQS."""

import json
import os
import tracemalloc
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from http import HTTPStatus
from itertools import count
from pathlib import Path
from threading import Barrier, BrokenBarrierError
from typing import Any

import pytest

from operators.model_services import ModelServices
from simulation.aws.clients import AlteredClient
from simulation.aws.errors import ServiceError
from simulation.aws.messages import Message
from tests.support.builders import create_ticket, ticket_fields
from tests.support.canned_aws import client_error, failing
from tests.support.ctl_process import canned_stack
from tests.support.fakes import Clock
from tests.support.stage import Stage, cancelled, without_sleep
from ticket_numbering.contract.messages import CreateTicket
from ticketctl.aws.retry import RateLimiter
from ticketctl.aws.sender import MAX_ATTEMPTS, Request, Sender, send
from ticketctl.aws.stack import Stack
from ticketctl.cli.errors import CloudError, InputError, Status
from ticketctl.cli.output import with_progress
from ticketctl.files.json_lines import open_lines
from ticketctl.files.lines import Line, Problems
from ticketctl.send.checking import Check, DerivedKeys, keys_of
from ticketctl.send.delivering import Delivery
from ticketctl.send.spool import Spool
from ticketctl.send.waiting import Answer, wait_for_numbers


def read(tmp_path: Path, content: str | bytes) -> list[Line]:
    path = tmp_path / "tickets"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with open_lines(str(path)) as lines:
        return [*lines]


def keyless(**fields: Any) -> dict[str, Any]:
    return {"project_id": "PROJ", "title": "t"} | fields


def checked(lines: Iterable[dict[str, Any]], **choice: Any) -> list[Request]:
    """Return the requests of the good lines."""
    with Spool() as spool:
        numbered = (Line(*line) for line in enumerate(lines, 1))
        Check(**choice).run(numbered, Problems("my.jsonl"), spool)
        return [*spool]


def derived(lines: Iterable[dict[str, Any]], prefix: str = "a.csv") -> list[str]:
    requests = checked(lines, keys=DerivedKeys(prefix))
    return [request.fields["idempotency_key"] for request in requests]


class TestLines:
    """A bad line is named by its number; it harms no other."""

    def test_lines_keep_their_numbers_when_some_are_blank_or_bad(
        self, tmp_path: Path
    ) -> None:
        content = (
            '\ufeff{"a": "\u2028"}\r\n\n{"a"\n[1]\n{"a": "x", "a": "y"}\n{"b": "z"}'
        )

        lines = read(tmp_path, content)

        by_line = {line.number: line.problem or line.fields for line in lines}
        assert list(by_line) == [1, 3, 4, 5, 6]
        assert (by_line[1], by_line[6]) == ({"a": "\u2028"}, {"b": "z"})
        assert str(by_line[3]).startswith("body: not JSON")
        assert by_line[4] == "body: must be a JSON object"
        assert by_line[5] == "a: appears more than once"

    def test_file_is_refused_when_it_is_not_utf_8(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="tickets:2: not UTF-8"):
            read(tmp_path, b'{"a": "b"}\n\xff\n')


class TestKeysOfAFile:
    """A second run of a file asks for nothing new."""

    def test_keys_stay_when_the_program_gets_a_new_version(self) -> None:
        """Else a file that is sent again after the update would double its tickets."""
        assert derived([keyless()]) == ["a.csv-69ec28be539c5ea291bed76e-1"]

    def test_keys_stay_when_lines_are_added_sorted_or_written_in_another_way(
        self,
    ) -> None:
        same, two, three = (keyless(title=title) for title in "abc")
        spelled_out = {"priority": "medium", "title": "a", "project_id": "PROJ"}

        first, second = derived([same, two])

        assert derived([three, two, spelled_out])[1:] == [second, first]
        assert derived([two]) == [second]
        assert derived([same | {"max_number": 9}]) == [first]
        unset = dict.fromkeys(("idempotency_key", "priority", "labels"))
        assert derived([same | unset]) == [first]

    def test_keys_differ_when_line_serial_or_file_is_another(self) -> None:
        """Lines that are alike ask for a ticket each."""
        lines = [keyless(), keyless(), keyless(title="u"), keyless(project_id="OTHER")]
        names = ["a.csv", "b.csv", "\u00e4 b\x1b.csv", "x" * 300, "x" * 301]

        keys = [key for name in names for key in derived(lines, name)]

        assert len({*keys}) == len(lines) * len(names)
        assert all(create_ticket(idempotency_key=key) for key in keys)

    @pytest.mark.parametrize("prefix", ["", "a b", "\u00e9", "x" * 65])
    def test_prefix_is_refused_when_it_cannot_begin_a_key(self, prefix: str) -> None:
        with pytest.raises(InputError, match="--key-prefix"):
            keys_of("a.csv", prefix)

    def test_pipe_has_no_name_that_keys_could_begin_with(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Tomorrow's pipe has the same name."""
        monkeypatch.chdir(tmp_path)
        Path("-").touch()
        kept, pipe = tmp_path / "a.jsonl", tmp_path / "pipe"
        os.mkfifo(pipe)
        reader, writer = os.pipe()
        names = ["-", str(pipe), f"/dev/fd/{reader}", f"/proc/self/fd/{reader}"]

        assert [keys_of(name, None) for name in names] == [None] * len(names)
        with kept.open("w") as file:
            for name in (str(kept), f"/dev/fd/{file.fileno()}"):
                assert keys_of(name, None) == DerivedKeys("a.jsonl")
        os.close(reader)
        os.close(writer)


def test_line_is_bad_when_it_is_too_long_for_sqs() -> None:
    """Else SQS would refuse the batch, and so end the command, at every run.

    The others are sent as they are, if they are not checked.
    """
    lines = [{"title": "x" * 2**20}, {"project_id": "no id"}]

    [request] = checked(lines, unchecked=True)

    assert (request.line, json.loads(request.body)) == (2, lines[1])
    assert request.group == "-"


def requests(count: int, size: int = 1) -> list[Request]:
    lines = [ticket_fields(description="x" * size) for _ in range(count)]
    return checked(lines, unchecked=size > 1)


def services_failing(
    *places: int, status: int = HTTPStatus.INTERNAL_SERVER_ERROR
) -> Any:
    """Return services whose queue does not take these of the messages that come."""
    services, serials = ModelServices(), count()

    def fail(_: Any) -> None:
        if next(serials) in places:
            raise ServiceError("Broken", "of\nno use", status)

    services.queues["source"].on_send = fail
    return services


def stack_with(services: ModelServices, suffix: str = "") -> Stack:
    outputs = {"CreateTicketQueueUrl": f"source{suffix}"}
    return canned_stack(outputs, sqs=services.sqs)


def bodies(services: ModelServices) -> list[list[str]]:
    batches = services.sqs.batches
    return [[entry["MessageBody"] for entry in batch] for batch in batches]


def on_queue(services: ModelServices, name: str = "source") -> dict[str, str]:
    """Return the bodies of the messages on the queue, by their ids."""
    return {message.id: message.body for message in services.queues[name].arrived}


def ended(sqs: Any, given: Sequence[Request]) -> list[Request]:
    return [*Sender(sqs, "source", retry=without_sleep(MAX_ATTEMPTS)).send(given)]


class TestNothingLostOnTheWay:
    """Every request is on the queue, or is known not to be."""

    def test_batches_hold_ten_messages_in_order_when_there_are_many(self) -> None:
        services, given = ModelServices(), requests(25)

        outcomes = ended(services.sqs, given)

        assert [len(batch) for batch in services.sqs.batches] == [10, 10, 5]
        assert [(outcome.message_id, outcome.body) for outcome in outcomes] == [
            *on_queue(services).items()
        ]
        assert [outcome.line for outcome in outcomes] == [
            request.line for request in given
        ]
        assert {entry["MessageGroupId"] for entry in services.sqs.entries} == {"PROJ"}

    @pytest.mark.parametrize("suffix", ["", ".fifo"])
    def test_batches_are_on_their_way_together_unless_the_queue_is_fifo(
        self, suffix: str
    ) -> None:
        """There the messages of a project keep their order."""
        sqs, meeting = ModelServices().sqs, Barrier(2)
        meet = partial(meeting.wait, timeout=0.2 if suffix else 60)
        sqs.before["send_message_batch"] = [meet, meet]
        sender = Sender(sqs, f"source{suffix}", in_flight=8)

        if suffix:
            with pytest.raises(BrokenBarrierError):
                [*sender.send(requests(20))]
        else:
            outcomes = [*sender.send(requests(20))]
            assert [outcome.line for outcome in outcomes] == [*range(1, 21)]

    def test_outcome_is_known_before_the_next_batch_when_the_rate_is_low(self) -> None:
        sqs, clock = ModelServices().sqs, Clock()
        limiter = RateLimiter(1, clock)
        retry = without_sleep(sleep=clock.sleep)
        sender = Sender(sqs, "source", limiter, retry, in_flight=8)

        outcomes = sender.send(requests(3))

        assert next(outcomes).message_id
        assert len(sqs.batches) == 1
        assert len([*outcomes]) == 2

    def test_batches_are_packed_by_bytes_when_messages_are_large(self) -> None:
        services = ModelServices()

        outcomes = ended(services.sqs, requests(10, size=250_000))

        assert [len(batch) for batch in services.sqs.batches] == [4, 4, 2]
        assert {outcome.message_id for outcome in outcomes} == on_queue(services).keys()

    def test_entry_is_sent_again_when_sqs_failed_to_take_it(self) -> None:
        """And no other."""
        services, given = services_failing(1, 3), requests(3)

        outcomes = ended(services.sqs, given)

        assert bodies(services)[1:] == [[given[1].body]] * 2
        by_id = {outcome.message_id: outcome.body for outcome in outcomes}
        assert by_id == on_queue(services)
        assert len(by_id) == 3

    def test_entry_is_sent_again_when_the_answer_leaves_it_out(self) -> None:
        services, given = ModelServices(), requests(3)
        answers: Iterator[Any] = iter([{}])

        def send_batch(**request: Any) -> Any:
            return next(answers, services.sqs.send_message_batch(**request))

        silent = AlteredClient(services.sqs, send_message_batch=send_batch)

        outcomes = ended(silent, given)

        assert [len(batch) for batch in services.sqs.batches] == [3, 3]
        assert {outcome.message_id for outcome in outcomes} <= on_queue(services).keys()

    @pytest.mark.parametrize(
        ("status", "attempts"),
        [(HTTPStatus.BAD_REQUEST, 1), (HTTPStatus.INTERNAL_SERVER_ERROR, MAX_ATTEMPTS)],
    )
    def test_entry_is_given_up_when_sqs_never_takes_it(
        self, status: int, attempts: int
    ) -> None:
        services = services_failing(*range(99), status=status)

        [outcome] = ended(services.sqs, requests(1))

        assert len(services.sqs.batches) == attempts
        assert (outcome.message_id, outcome.problem) == ("", "Broken of no use")

    def test_repeats_differ_for_sqs_when_the_queue_is_fifo(self) -> None:
        """Else it would drop the second within five minutes."""
        services = ModelServices()

        send(stack_with(services, ".fifo"), ["{}", "{}"])

        assert [*on_queue(services, "source.fifo").values()] == ["{}", "{}"]

    def test_send_fails_when_sqs_does_not_take_a_message(self) -> None:
        with pytest.raises(CloudError, match="Broken of no use"):
            send(stack_with(services_failing(1, status=400)), ["{}", "{}"])


class TestDelivery:
    """A producer learns which messages are on the queue."""

    def test_status_is_3_when_sqs_does_not_take_a_message(
        self, stage: Stage, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Also when another one has no number."""
        stage.services = services_failing(0, status=400)

        status = Delivery(stage, timeout=0).run(requests(2))

        assert status == Status.CLOUD
        refused, _, missing = capsys.readouterr().err.splitlines()
        assert refused == "not sent: Broken of no use"
        assert "no number after 0 s" in missing

    @pytest.mark.parametrize("is_file", [False, True], ids=["send", "send-file"])
    def test_key_is_named_when_sqs_lists_its_message_nowhere(
        self, stage: Stage, *, is_file: bool
    ) -> None:
        """It may have arrived in the first attempt, for any answer of the last one."""
        busy = {"Id": "0", "Code": "Busy", "SenderFault": False}
        answers: list[dict[str, Any]] = [{}, *[{"Failed": [busy]}] * 4]
        stage.services.sqs = AlteredClient(
            stage.services.sqs, send_message_batch=lambda **_: answers.pop(0)
        )
        file = stage.folder / "my.jsonl"
        file.write_text(json.dumps(ticket_fields(idempotency_key="k-1")) + "\n")
        request = ["--project", "PROJ", "--title", "t", "--key", "k-1"]

        ended = stage.call(
            *(["send-file", str(file)] if is_file else ["send", *request])
        )

        known = (
            "line 1: it may be sent, with the idempotency key k-1"
            if is_file
            else "it may be sent; the same with --key k-1 goes on safely"
        )
        assert f"{known}\n" in ended.err
        assert "not sent" not in ended.err
        assert ended.status == Status.CLOUD

    @pytest.mark.parametrize(
        ("error", "is_named"),
        [(OSError(28, "disk"), True), (client_error("AccessDenied"), False)],
        ids=["unknown", "refused"],
    )
    def test_key_is_named_when_nobody_knows_whether_its_message_is_sent(
        self,
        stage: Stage,
        capsys: pytest.CaptureFixture[str],
        error: Exception,
        *,
        is_named: bool,
    ) -> None:
        stage.before("send_message_batch", failing(error))

        with pytest.raises(type(error)):
            Delivery(stage).run(requests(1))

        assert ("--key" in capsys.readouterr().err) is is_named

    def test_table_is_asked_now_and_then_while_a_number_is_awaited(
        self, stage: Stage
    ) -> None:
        words = ["--project", "PROJ", "--title", "t", "--wait", "--timeout", "60"]

        stage.call("send", *words)

        assert 10 < len(stage.dynamodb.requests["batch_get_item"]) < 60

    def test_memory_does_not_grow_when_the_file_is_large(self, stage: Stage) -> None:
        stage.call("send-file", stage.file(ticket_fields()))  # It keeps its imports.
        lines = (ticket_fields(description="x" * 2_000) for _ in range(1_500))
        path = stage.file(*lines)
        services = stage.services
        queue = services.queues["source"]

        def forget(_: Message) -> None:
            for kept in (queue.messages, queue.arrived, services.history.events):
                kept.clear()
            services.sqs.requests.clear()

        queue.on_arrival = forget
        tracemalloc.start()
        try:
            ended = stage.call("send-file", path)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

        assert "messages sent: 1500 of 1500\n" in ended.err
        assert peak < Path(path).stat().st_size / 4

    def test_progress_is_a_line_now_and_then_when_there_is_no_terminal(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with with_progress(iter(range(1_500)), "importing", 2_600) as items:
            assert [*items] == [*range(1_500)]

        assert capsys.readouterr().err == "importing: 1000 of 2600\n"


class TestRate:
    """The rate is never exceeded."""

    @pytest.mark.parametrize("rate", [1, 3, 25, 400])
    def test_messages_take_their_time_when_a_rate_is_given(self, rate: int) -> None:
        sqs, clock = ModelServices().sqs, Clock()

        limiter = RateLimiter(rate, clock)
        retry = without_sleep(sleep=clock.sleep)
        sender = Sender(sqs, "source", limiter, retry, in_flight=8)

        [*sender.send(requests(100))]

        last = len(sqs.batches[-1])
        assert clock.now == pytest.approx((100 - last) / rate)
        assert max(map(len, sqs.batches)) <= rate

    def test_file_is_sent_at_the_rate_of_its_option(self, stage: Stage) -> None:
        """Its first batch is a second's share, and the other has to wait."""
        stage.before("send_message_batch", failing(KeyboardInterrupt()))

        stage.call("send-file", stage.file(*[ticket_fields()] * 9), "--rate", "4")

        assert [*map(len, stage.services.sqs.batches)] == [4]

    def test_time_that_was_not_used_is_not_made_up_for(self) -> None:
        clock = Clock()
        limiter = RateLimiter(10, clock)
        limiter.delay(10)
        clock.sleep(60)

        assert (limiter.delay(10), limiter.delay(10)) == (0, 1)
        assert RateLimiter(None, clock).delay(1000) == 0


class TestWaiting:
    """Each request has one answer: its number, or why it has none."""

    @pytest.fixture(autouse=True)
    def system(self, stage: Stage) -> None:
        self.clock, self.stage = Clock(), stage
        self.coming: list[tuple[float, CreateTicket, int]] = []
        """Numbers that the worker gives at their times."""

    def sleep(self, seconds: float) -> None:
        self.clock.sleep(seconds)
        while self.coming and self.coming[0][0] <= self.clock.now:
            _, ticket, number = self.coming.pop(0)
            self.stage.give(ticket, number)

    def answers(
        self, tickets: Iterable[CreateTicket], timeout: float = 60
    ) -> list[Answer]:
        waiting = wait_for_numbers(self.stage, tickets, timeout, self.clock, self.sleep)
        return [*waiting]

    def test_waiting_ends_when_no_new_number_comes(self) -> None:
        """Each number starts the timeout again."""
        first, second, never = (create_ticket() for _ in range(3))
        self.coming = [(20, first, 1), (40, second, 2)]

        *answers, last = self.answers([first, second, never], timeout=30)

        assert [answer.number for answer in answers] == [1, 2]
        assert last.ticket == never
        assert last.problem.startswith("no number after 30 seconds; see: ")
        assert self.clock.now == pytest.approx(40 + 30, abs=4)

    def test_request_is_refused_when_its_cap_is_reached_and_its_key_is_free(
        self,
    ) -> None:
        """At once, and no other: not a lower number, an open end or another project."""
        full, open_end = create_ticket(max_number=2), create_ticket()
        higher, other = create_ticket(max_number=3), create_ticket("B", max_number=2)
        self.stage.put(1, 2)
        self.stage.give(create_ticket("B"))

        refused, *later = self.answers([full, open_end, higher, other], timeout=5)

        assert refused.ticket == full
        assert "the numbers have reached max_number 2" in refused.problem
        assert [answer.ticket for answer in later] == [open_end, higher, other]
        assert all("no number after 5 s" in answer.problem for answer in later)

    def test_highest_cap_counts_when_a_request_is_sent_with_several(self) -> None:
        low = create_ticket(max_number=1)
        high = low.model_copy(update={"max_number": 5})
        self.stage.put(1, 2)
        self.coming = [(2, low, 3)]

        [answer] = self.answers([low, high, low])

        assert answer.number == 3

    def test_number_is_found_when_it_is_committed_while_the_table_is_read(self) -> None:
        """The cap is reached by the request's own number."""
        ticket = create_ticket(max_number=2)
        self.stage.put(1, 2)
        committed = partial(self.stage.give, ticket, 2)
        self.stage.before("transact_get_items", committed)

        [answer] = self.answers([ticket])

        assert (answer.number, answer.problem) == (2, "")

    def test_refusal_comes_later_when_the_key_is_held(self) -> None:
        ticket = create_ticket(max_number=2)
        self.stage.put(1, 2)
        self.stage.before("transact_get_items", *[cancelled()] * 2)

        [answer] = self.answers([ticket])

        assert "refused: " in answer.problem
        assert len(self.stage.dynamodb.requests["transact_get_items"]) == 3
