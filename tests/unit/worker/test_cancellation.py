"""The next step after a cancelled block, as a table: no store, no clock, no chance."""

import pytest

from tests.support.builders import create_tickets
from tests.support.cases import cases
from ticket_numbering.cancellation import NextStep, next_step
from ticket_numbering.errors import (
    DamagedKeyRecordError,
    SequenceContentionError,
    StoreThrottledError,
    StoreUnavailableError,
)
from ticket_numbering.messages import Assignment
from ticket_numbering.ports import Block, Reason, Slot

REQUESTS = create_tickets(3)
BLOCK = Block("PROJ", 5, "2026-11-21T12:00:00.000Z", REQUESTS)
FREE = Slot()
TAKEN = Slot(ticket=Reason.CONDITION_FAILED)
ELSEWHERE = Slot(ticket=Reason.CONDITION_FAILED, is_elsewhere=True)
HELD = Slot(ticket=Reason.CONFLICT)
KEY_HELD = Slot(key=Reason.CONFLICT)
THROTTLED = Slot(ticket=Reason.THROTTLED)
UNKNOWN = Slot(key=Reason.UNKNOWN)
INVALID = Slot(ticket=Reason.INVALID)
RECORDED = Assignment(2, "v1:abc", "2026-01-01T00:00:00.000Z")
REPLAY = Slot(key=Reason.CONDITION_FAILED, recorded=RECORDED)
TAKEN_REPLAY = Slot(Reason.CONDITION_FAILED, Reason.CONDITION_FAILED, RECORDED)
DAMAGE = DamagedKeyRecordError("damaged")
DAMAGED = Slot(key=Reason.CONDITION_FAILED, recorded=DAMAGE)
INVALID_REPLAY = Slot(Reason.INVALID, Reason.CONDITION_FAILED, RECORDED)


def step(*slots: Slot) -> NextStep:
    """Return the next step for a block of three that was cancelled for these."""
    return next_step(BLOCK, slots)


class TestNumber:
    """The number moves only past what is committed; else only a read tells."""

    @pytest.mark.parametrize(
        ("slots", "number"),
        cases(
            {
                "first-taken": ((TAKEN, FREE, FREE), 6),
                "run-taken": ((TAKEN, TAKEN, FREE), 7),
                "run-with-replay": ((TAKEN, TAKEN_REPLAY, FREE), 7),
                "all-taken": ((TAKEN, TAKEN, TAKEN), None),
                "taken-behind-a-free-one": ((FREE, TAKEN, FREE), None),
                "elsewhere-first": ((ELSEWHERE, FREE, FREE), None),
                "elsewhere-behind-the-run": ((TAKEN, FREE, ELSEWHERE), None),
                "held": ((HELD, FREE, FREE), None),
                "taken-then-held": ((TAKEN, HELD, FREE), None),
                "key-held": ((FREE, KEY_HELD, FREE), None),
                "throttled": ((THROTTLED, FREE, FREE), None),
                "unknown": ((FREE, UNKNOWN, FREE), None),
                "no-reason": ((FREE, FREE, FREE), None),
                "replay-only": ((FREE, REPLAY, FREE), 5),
                "invalid-only": ((FREE, INVALID, FREE), 5),
            }
        ),
    )
    def test_number_is_what_the_reasons_prove(
        self, slots: tuple[Slot, ...], number: int | None
    ) -> None:
        assert step(*slots).number == number


class TestAnswers:
    """What a key records is the answer of its own request."""

    def test_answers_are_those_of_the_recorded_keys(self) -> None:
        found = step(REPLAY, TAKEN, DAMAGED).answers

        assert found == {REQUESTS[0].key: RECORDED, REQUESTS[2].key: DAMAGE}

    def test_answers_are_empty_when_no_key_is_recorded(self) -> None:
        assert step(TAKEN, HELD, FREE).answers == {}


class TestObstacle:
    """Somebody who is only trying is waited for; what is committed is not."""

    @pytest.mark.parametrize(
        ("slots", "obstacle"),
        cases(
            {
                "held": ((HELD, FREE, FREE), SequenceContentionError),
                "key-held": ((FREE, FREE, KEY_HELD), SequenceContentionError),
                "held-beside-replay": ((REPLAY, HELD, FREE), SequenceContentionError),
                "throttled-and-held": ((HELD, THROTTLED, FREE), StoreThrottledError),
                "unknown": ((TAKEN, UNKNOWN, FREE), StoreUnavailableError),
                "no-reason": ((FREE, FREE, FREE), StoreUnavailableError),
                "taken": ((TAKEN, FREE, FREE), type(None)),
                "replay": ((FREE, REPLAY, FREE), type(None)),
                "invalid": ((HELD, INVALID, FREE), type(None)),
            }
        ),
    )
    def test_obstacle_is_who_is_in_the_way(
        self, slots: tuple[Slot, ...], obstacle: type
    ) -> None:
        assert type(step(*slots).obstacle) is obstacle

    def test_conflict_is_no_collision(self) -> None:
        found = step(HELD, FREE, FREE)

        assert (found.conflicted, found.collided) == (True, False)


class TestSplit:
    """A block with an item that DynamoDB refuses is tried in parts."""

    def test_block_is_split_when_a_request_cannot_be_written(self) -> None:
        assert step(FREE, INVALID, FREE).must_split

    def test_block_is_not_split_when_the_refused_request_is_a_replay(self) -> None:
        """What is recorded needs no write."""
        assert not step(FREE, INVALID_REPLAY, FREE).must_split
