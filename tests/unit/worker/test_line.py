"""The line: when a worker writes, and for how long it waits at most."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest

from operators.model_services import ModelServices
from simulation.aws.tables import LINES
from tests.support.builders import create_tickets
from tests.support.canned_aws import Reply, Wire, aws_client, error_reply
from tests.support.fakes import everywhere, held, unanswered
from tests.support.line import (
    BATCH_SECONDS,
    WRITE_SECONDS,
    FailingLine,
    FakeLine,
    Warm,
)
from ticket_numbering.adapters.dynamodb_line import EXPIRES_AFTER_SECONDS, DynamoDBLine
from ticket_numbering.allocation.block import MAX_BLOCK_REQUESTS, Block
from ticket_numbering.allocation.line import MAX_PROJECTS, Line
from ticket_numbering.allocation.place import LineStore, Place, View
from ticket_numbering.allocation.store import BlockInvalid, Reason
from ticket_numbering.contract.errors import StoreRefusedError, StoreUnavailableError

FIRST_NUMBER_SECONDS = 2.0


def fill(environment: Warm, count_of: int) -> None:
    """Let others commit this number of tickets."""
    for _ in range(count_of // MAX_BLOCK_REQUESTS):
        environment.tickets.fill(MAX_BLOCK_REQUESTS)


def _refused(block: Block) -> BlockInvalid:
    return BlockInvalid(f"{len(block.requests)} are too many")


@dataclass
class Lying(FakeLine):
    """Gives the place that a function returns."""

    turn: Callable[[int], int] = lambda head: head

    def take(self, project_id: str, head: int, count: int) -> Place:
        """Return the place."""
        del project_id
        turn = self.turn(head)
        return Place(turn, turn + count, 0)

    def give_up(self, project_id: str, given_up: int, count: int) -> int:
        """Deny it."""
        del project_id, count
        return given_up


class TestBoundOfTheWait:
    """The first number comes soon, and each batch is done, for any answer of a line."""

    @pytest.mark.parametrize("dead", [10, 700, 1_000, 100_000])
    def test_first_number_comes_soon_when_nobody_comes_to_the_places_in_front(
        self, dead: int
    ) -> None:
        environment = Warm(FakeLine(upto=dead))
        batches = [environment.start() for _ in range(3)]

        seconds = [environment.finish(batch) for batch in batches]

        assert seconds[0] < FIRST_NUMBER_SECONDS
        assert environment.tickets.numbers() == [*range(1, 31)]
        # One success has passed all of them.
        assert max(seconds[1:]) < 0.1

    def test_number_comes_soon_when_those_in_front_stop_coming(self) -> None:
        """Slow blocks, so that a worker far behind sleeps as long as it may."""
        environment = Warm(FakeLine(upto=5_000))
        environment.line.block = 0.051
        environment.line.jitter = lambda _, most: most
        stopped, tickets = 3.0, environment.tickets

        def number() -> None:
            """Let the others write a block each 0.066 seconds, up to then."""
            blocks = int(min(environment.time.now, stopped) / 0.066)
            while len(tickets.numbers()) < 10 * blocks:
                tickets.fill(10)

        tickets.on_read = number

        seconds = environment.finish(environment.start())

        assert 0 < seconds - stopped < FIRST_NUMBER_SECONDS

    def test_batches_are_numbered_when_the_line_is_far_behind(self) -> None:
        environment = Warm(FakeLine(upto=5))
        fill(environment, 1_000)

        seconds = environment.finish(environment.start())

        assert environment.tickets.numbers()[-1] == 1_010
        assert seconds < 0.1

    @pytest.mark.parametrize(
        "turn",
        [
            lambda head: head,
            lambda head: head + 100_000,
            lambda head: head - 500,
            lambda head: head * 37 % 300 + head - 100,
        ],
        ids=["the head", "far ahead", "far behind", "any"],
    )
    def test_batches_are_numbered_when_the_line_lies(
        self, turn: Callable[[int], int]
    ) -> None:
        environment = Warm(Lying(turn=turn))
        fill(environment, 1_000)

        seconds = [environment.finish(environment.start()) for _ in range(20)]

        assert environment.tickets.numbers()[-1] == 1_200
        assert max(seconds) < FIRST_NUMBER_SECONDS

    @pytest.mark.parametrize("turn", [lambda head: head, lambda head: head - 50])
    def test_line_is_left_when_its_places_are_wrong_again_and_again(
        self, turn: Callable[[int], int]
    ) -> None:
        """Attempts in line would use up those of the block."""
        environment = Warm(Lying(turn=turn))
        environment.tickets.faults = [held] * 25
        batch = environment.start()

        seconds = environment.finish(batch)

        assert not batch.pending
        # It backs off: in line all attempts would take a second.
        assert seconds > FIRST_NUMBER_SECONDS

    def test_batch_writes_when_only_one_who_is_not_in_line_moves_the_head(self) -> None:
        """It knows of no contention, and is as slow as one worker is alone."""
        line = FakeLine(upto=10_000)
        environment = Warm(line)

        def another_writes() -> None:
            due = 10 * int(environment.time.now / WRITE_SECONDS / 2.5)
            while len(environment.tickets.numbers()) < due:
                environment.tickets.fill(10)

        environment.tickets.on_read = another_writes

        seconds = environment.finish(environment.start())

        assert seconds < BATCH_SECONDS / 6
        assert line.upto == len(environment.tickets.numbers())

    def test_line_is_left_when_those_in_front_do_not_come_twice(self) -> None:
        environment = Warm(Lying(turn=lambda head: head + 100_000))

        def another_writes() -> None:
            environment.tickets.fill(1)

        environment.tickets.on_read = another_writes
        for _ in range(2):
            environment.finish(environment.start())

        assert not environment.line.is_open(environment.start())

    def test_project_is_nobody_elses_when_only_waits_say_so(self) -> None:
        """Else the line would never end while batches come."""
        environment = Warm(FakeLine(upto=100_000))

        while environment.time.now < 10:
            environment.finish(environment.start())
            environment.time.now += 0.2

        assert not environment.line.is_open(environment.start())

    def test_batch_writes_when_half_of_its_time_is_over(self) -> None:
        """The head moves as it should, but far ahead others wait."""
        environment = Warm(FakeLine(upto=20_000))

        def others_write() -> None:
            due = environment.time.now / 0.034 * 10
            while len(environment.tickets.numbers()) < due:
                environment.tickets.fill(10)

        environment.tickets.on_read = others_write
        batch = environment.start()

        seconds = environment.finish(batch)

        assert not batch.pending
        assert 0.9 < seconds / ((BATCH_SECONDS - 10) / 2) < 1.1


class TestFailures:
    """Without the line its workers back off alone."""

    @pytest.mark.parametrize(
        ("error", "calls"), [(StoreRefusedError, 1), (StoreUnavailableError, 2)]
    )
    def test_line_is_closed_for_a_while_when_it_fails(
        self, error: type[Exception], calls: int
    ) -> None:
        failing = FailingLine(error=error)
        environment = Warm(failing, line_seconds=0.3)
        batches = [environment.start() for _ in range(5)]

        seconds = [environment.finish(batch) for batch in batches]

        assert not any(batch.pending for batch in batches)
        assert len(failing.calls) == calls
        assert sum(batch.wait.failures for batch in batches) == calls
        assert max(seconds) < 0.5

    def test_line_is_asked_again_when_ten_seconds_are_over(self) -> None:
        failing = FailingLine(error=StoreRefusedError)
        environment = Warm(failing)
        environment.finish(environment.start())
        environment.time.now += 10
        environment.line.contended("PROJ")

        environment.finish(environment.start())

        assert len(failing.calls) == 2

    def test_batch_is_numbered_when_the_table_is_deleted_while_it_waits(self) -> None:
        """As a rollback to a release without the line does."""
        model = ModelServices()
        line = DynamoDBLine(model.dynamodb, LINES)
        line.take("PROJ", 0, 1_000)
        environment = Warm(line)
        batch = environment.start()
        assert environment.allocator.advance(batch, lambda: BATCH_SECONDS)
        environment.line.store = DynamoDBLine(model.dynamodb, "no-such-table")

        seconds = environment.finish(batch)

        assert environment.tickets.numbers() == [*range(1, 11)]
        assert seconds < FIRST_NUMBER_SECONDS
        assert batch.wait.failures

    def test_batch_is_numbered_when_the_head_cannot_be_read_in_line(self) -> None:
        line = FakeLine(upto=20)
        environment = Warm(line)
        environment.tickets.read_errors = [KeyError("a bug")]
        batch = environment.start()

        environment.finish(batch)

        assert not batch.pending
        assert line.upto == 20


class TestWaiting:
    """Who is in front writes first."""

    def test_line_is_not_asked_when_nobody_else_writes(self) -> None:
        line = FakeLine()
        environment = Warm(line)
        environment.line.views.clear()

        environment.finish(environment.start())

        assert line.calls == []
        assert environment.tickets.calls == ["head", "write_block"]

    def test_requests_queue_when_a_write_meets_a_conflict(self) -> None:
        line = FakeLine()
        environment = Warm(line)
        environment.line.views.clear()
        environment.tickets.faults = [held]

        environment.finish(environment.start())

        assert line.calls == ["take PROJ 0 10"]

    def test_block_waits_until_those_in_front_have_written(self) -> None:
        environment = Warm(FakeLine(upto=30))
        others = iter([0, 10, 10, 0, 10])

        def others_write() -> None:
            environment.tickets.fill(next(others, 0))

        environment.tickets.on_read = others_write
        batch = environment.start()

        environment.finish(batch)

        assert [block.first_number for block in environment.tickets.blocks] == [31]
        assert batch.wait.seconds > 0

    def test_head_is_read_a_few_times_when_those_in_front_have_a_ticket_each(
        self,
    ) -> None:
        line = FakeLine()
        environment = Warm(line)
        *earlier, last = create_tickets(21)
        for request in earlier:
            environment.finish(environment.allocator.start("PROJ", [request]))
        began, numbers = environment.time.now, environment.tickets.numbers
        line.upto = in_front = len(earlier) + 8

        def others_write() -> None:
            blocks = int((environment.time.now - began) / WRITE_SECONDS)
            due = min(in_front, len(earlier) + blocks)
            environment.tickets.fill(due - len(numbers()))

        environment.tickets.on_read = others_write
        environment.tickets.calls.clear()

        environment.finish(environment.allocator.start("PROJ", [last]))

        assert numbers() == [*range(1, in_front + 2)]
        assert environment.tickets.calls.count("head") <= 8

    def test_block_writes_at_once_when_others_have_taken_a_part_of_its_numbers(
        self,
    ) -> None:
        line = FakeLine()
        environment = Warm(line)

        def another_writes() -> None:
            environment.tickets.fill(0 if environment.tickets.numbers() else 3)

        environment.tickets.on_read = another_writes

        environment.finish(environment.start())

        assert line.calls == ["take PROJ 0 10"]
        assert environment.tickets.numbers() == [*range(1, 14)]

    def test_place_is_corrected_when_others_have_given_up_numbers(self) -> None:
        """It waits no second time for those whom another has passed."""
        line = FakeLine(upto=1_000)
        environment = Warm(line)
        batch = environment.start()
        reads = count()

        def another_passes() -> None:
            if next(reads) == 1:
                environment.tickets.fill(10)
                line.upto, line.given_up = line.upto - 990, 990

        environment.tickets.on_read = another_passes

        seconds = environment.finish(batch)

        # It takes over the correction: it gives up no number of them a second time.
        assert line.calls == ["take PROJ 0 10", "give_up PROJ 0"]
        assert environment.tickets.numbers() == [*range(1, 21)]
        assert seconds < FIRST_NUMBER_SECONDS

    def test_no_project_queues_any_more_when_there_is_one_too_many(self) -> None:
        line = Line(
            FakeLine(), views={f"P{n}": View() for n in range(MAX_PROJECTS - 1)}
        )

        for _ in range(2):
            line.contended("the last one")
            assert len(line.views) == MAX_PROJECTS
        line.contended("one too many")

        assert [*line.views] == ["one too many"]


class TestGivingBack:
    """Unused numbers of a block are given back, so that no worker waits for them."""

    def test_numbers_are_given_back_when_requests_turn_out_to_be_replays(self) -> None:
        line = FakeLine()
        environment = Warm(line)
        requests = create_tickets(10)
        environment.finish(environment.allocator.start("PROJ", requests[:4]))
        assert line.upto == 4

        environment.finish(environment.allocator.start("PROJ", requests))

        assert environment.tickets.numbers() == [*range(1, 11)]
        assert line.upto == 10

    def test_keys_are_looked_up_first_when_requests_were_sent_again_lately(
        self,
    ) -> None:
        line = FakeLine()
        environment = Warm(line)
        requests = create_tickets(10)
        environment.finish(environment.allocator.start("PROJ", requests[:4]))
        environment.finish(environment.allocator.start("PROJ", requests[:5]))
        line.calls.clear()

        environment.finish(environment.allocator.start("PROJ", requests))

        assert line.calls == ["take PROJ 5 5"]

    def test_place_is_given_back_when_all_requests_are_replays(self) -> None:
        line = FakeLine()
        environment = Warm(line)
        requests = create_tickets(10)
        environment.finish(environment.allocator.start("PROJ", requests))

        environment.finish(environment.allocator.start("PROJ", requests))

        assert line.upto == 10

    def test_place_is_kept_when_dynamodb_refuses_the_block_as_a_whole(self) -> None:
        line = FakeLine()
        environment = Warm(line)
        environment.tickets.faults = [_refused]

        environment.finish(environment.start())

        assert line.calls == ["take PROJ 0 10"]
        assert environment.tickets.numbers() == [*range(1, 11)]

    def test_passed_numbers_are_given_up_when_the_block_was_halved(self) -> None:
        line = FakeLine(upto=1_000)
        environment = Warm(line)
        environment.tickets.faults = [_refused]

        environment.finish(environment.start())

        assert len(environment.tickets.blocks) > 1
        assert line.upto == 10

    def test_no_number_is_asked_for_when_requests_have_reached_their_caps(self) -> None:
        line = FakeLine()
        environment = Warm(line)
        environment.tickets.fill(5)
        environment.finish(environment.start(1))
        line.calls.clear()
        requests = [
            request.model_copy(update={"max_number": 3 if place else None})
            for place, request in enumerate(create_tickets(4))
        ]

        environment.finish(environment.allocator.start("PROJ", requests))

        assert line.calls == ["take PROJ 6 1"]

    def test_place_is_given_back_when_dynamodb_throttles_the_block(self) -> None:
        """At once, and for the rest of the batch: a wait in line uses units, too."""
        line = FakeLine()
        environment = Warm(line)
        environment.tickets.faults = [everywhere(ticket=Reason.THROTTLED)]
        batch = environment.start()

        assert environment.allocator.advance(batch, lambda: BATCH_SECONDS)
        assert line.upto == line.given_up - 10 == 0

        environment.finish(batch)

        assert line.calls == ["take PROJ 0 10", "give_up PROJ 10"]

    def test_place_is_given_back_when_the_time_is_over(self) -> None:
        line = FakeLine()
        environment = Warm(line)
        environment.tickets.faults = [unanswered] * 100
        batch = environment.start()

        environment.finish(batch)

        assert batch.pending
        assert line.upto == 0


class TestAdapter:
    """The requests of the adapter, and its failures."""

    def test_adapter_counts_as_the_fake_does(self) -> None:
        model, now = ModelServices(), 1_700_000_000
        stores: list[LineStore] = [
            FakeLine(),
            DynamoDBLine(model.dynamodb, LINES, lambda: now),
        ]

        fake, real = (
            [
                store.take("PROJ", 7, 10),
                store.take("PROJ", 7, 5),
                store.give_up("PROJ", 0, 3),
                store.give_up("PROJ", 0, 3),
                store.give_up("PROJ", 3, 0),
                store.take("PROJ", 7, 1),
                store.take("PROJ", 500, 2),
                store.take("PROJ", 7, 2),
            ]
            for store in stores
        )

        assert real == fake
        assert real[1] == Place(17, 22, 0)
        assert real[-1] == Place(502, 504, 3)
        [item] = model.tables.items(LINES)
        assert item["expires_at"] == {"N": str(now + EXPIRES_AFTER_SECONDS)}

    def test_line_begins_anew_when_its_item_is_gone(self) -> None:
        model = ModelServices()
        line = DynamoDBLine(model.dynamodb, LINES)
        line.take("PROJ", 7, 10)
        key = {"project_id": {"S": "PROJ"}}
        model.dynamodb.delete_item(TableName=LINES, Key=key)

        assert line.give_up("PROJ", 0, 5) == 0
        assert line.take("PROJ", 7, 10) == Place(7, 17, 0)

    @pytest.mark.parametrize(
        ("reply", "error"),
        [
            (error_reply("AccessDeniedException"), StoreRefusedError),
            (error_reply("ResourceNotFoundException"), StoreRefusedError),
            (error_reply("ThrottlingException"), StoreUnavailableError),
            (error_reply("SomethingNewException"), StoreUnavailableError),
            (Reply({"Attributes": {"upto": {"S": "x"}}}), StoreUnavailableError),
            (Reply({}), StoreUnavailableError),
        ],
    )
    def test_every_failure_is_one_of_the_line(
        self, reply: Any, error: type[Exception]
    ) -> None:
        """The worker goes on without it: no failure is a bug of a batch."""
        client = aws_client("dynamodb")
        Wire(client, [reply])
        line = DynamoDBLine(client, "lines")

        with pytest.raises(error):
            line.take("PROJ", 7, 10)
