"""The next step after a cancelled block, as a table: no store, no clock, no chance."""

import pytest

from tests.support.builders import create_tickets
from tests.support.cases import cases
from ticket_numbering.allocation.block import Block
from ticket_numbering.allocation.cancellation import next_step
from ticket_numbering.allocation.store import Reason, Slot
from ticket_numbering.contract.errors import (
    DamagedKeyRecordError,
    SequenceContentionError,
    StoreThrottledError,
    StoreUnavailableError,
    TransientError,
)
from ticket_numbering.contract.messages import Assignment

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
INVALID_KEY = Slot(key=Reason.INVALID)
RECORDED = Assignment(2, "v1:abc", "2026-01-01T00:00:00.000Z")
REPLAY = Slot(key=Reason.CONDITION_FAILED, recorded=RECORDED)
TAKEN_REPLAY = Slot(Reason.CONDITION_FAILED, Reason.CONDITION_FAILED, RECORDED)
DAMAGE = DamagedKeyRecordError("damaged")
DAMAGED = Slot(key=Reason.CONDITION_FAILED, recorded=DAMAGE)
INVALID_REPLAY = Slot(Reason.INVALID, Reason.CONDITION_FAILED, RECORDED)


COLLIDED, CONFLICTED, BOTH = {"collided"}, {"conflicted"}, {"collided", "conflicted"}
SPLIT = {"must_split"}
CONTENTION = SequenceContentionError
THROTTLING = StoreThrottledError
FAILURE = StoreUnavailableError


@pytest.mark.parametrize(
    ("slots", "number", "flags", "obstacle"),
    cases(
        {
            "first-taken": ((TAKEN, FREE, FREE), 6, COLLIDED, None),
            "run-taken": ((TAKEN, TAKEN, FREE), 7, COLLIDED, None),
            "run-with-replay": ((TAKEN, TAKEN_REPLAY, FREE), 7, COLLIDED, None),
            "all-taken": ((TAKEN, TAKEN, TAKEN), None, COLLIDED, None),
            "taken-behind-a-free-one": ((FREE, TAKEN, FREE), None, COLLIDED, None),
            "elsewhere-first": ((ELSEWHERE, FREE, FREE), None, COLLIDED, None),
            "elsewhere-later": ((TAKEN, FREE, ELSEWHERE), None, COLLIDED, None),
            "held": ((HELD, FREE, FREE), None, CONFLICTED, CONTENTION),
            "key-held": ((FREE, FREE, KEY_HELD), None, CONFLICTED, CONTENTION),
            "taken-then-held": ((TAKEN, HELD, FREE), None, BOTH, CONTENTION),
            "held-and-replay": ((REPLAY, HELD, FREE), None, CONFLICTED, CONTENTION),
            "throttled": ((THROTTLED, FREE, FREE), None, set(), THROTTLING),
            "throttled-and-held": (
                (HELD, THROTTLED, FREE),
                None,
                CONFLICTED,
                THROTTLING,
            ),
            "throttled-and-taken": (
                (TAKEN, THROTTLED, FREE),
                None,
                COLLIDED,
                THROTTLING,
            ),
            "unknown": ((FREE, UNKNOWN, FREE), None, set(), FAILURE),
            "taken-and-unknown": ((TAKEN, UNKNOWN, FREE), None, COLLIDED, FAILURE),
            "no-reason": ((FREE, FREE, FREE), None, set(), FAILURE),
            "replay": ((FREE, REPLAY, FREE), 5, set(), None),
            "invalid": ((FREE, INVALID, FREE), 5, SPLIT, None),
            "invalid-key": ((FREE, INVALID_KEY, FREE), 5, SPLIT, None),
            "invalid-and-held": ((HELD, INVALID, FREE), 5, SPLIT | CONFLICTED, None),
            "invalid-replay": ((FREE, INVALID_REPLAY, FREE), 5, set(), None),
        }
    ),
)
def test_next_step_is_what_the_reasons_prove(
    slots: tuple[Slot, ...],
    number: int | None,
    flags: set[str],
    obstacle: type[TransientError] | None,
) -> None:
    """The number moves only past committed ones; else only a read decides."""
    step = next_step(BLOCK, slots)

    assert step.number == number
    assert flags == {
        name for name in ("collided", "conflicted", "must_split") if getattr(step, name)
    }
    assert type(step.obstacle) is (obstacle or type(None))


def test_next_step_guesses_nothing_when_a_slot_is_missing() -> None:
    with pytest.raises(ValueError, match="shorter"):
        next_step(BLOCK, (TAKEN, FREE))


def test_answers_are_those_of_the_recorded_keys() -> None:
    step = next_step(BLOCK, (REPLAY, TAKEN, DAMAGED))

    assert step.answers == {REQUESTS[0].key: RECORDED, REQUESTS[2].key: DAMAGE}
