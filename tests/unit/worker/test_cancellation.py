"""The next step after a cancelled block, as a table: no store, no clock, no chance."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import pytest

from tests.support.builders import ASSIGNED_AT, block_of, create_tickets
from tests.support.cases import cases
from ticket_numbering.allocation.cancellation import IMMEDIATE_RETRIES, next_step
from ticket_numbering.allocation.store import Reason, Slot
from ticket_numbering.contract.errors import (
    DamagedKeyRecordError,
    SequenceContentionError,
    StoreThrottledError,
    StoreUnavailableError,
)
from ticket_numbering.contract.head import Head
from ticket_numbering.contract.messages import Assignment

REQUESTS = create_tickets(3)
HEAD = Head(4, ASSIGNED_AT, "v1:before")
BLOCK = replace(block_of(REQUESTS, 5), head=HEAD)
FREE = Slot()
ONE, OTHER = (
    Head(5, ASSIGNED_AT, "v1:one"),
    Head(6, ASSIGNED_AT, "v1:other"),
)
TAKEN = Slot(ticket=Reason.CONDITION_FAILED, taken_by=ONE)
NEXT_TAKEN = replace(TAKEN, taken_by=OTHER)
EXTERNAL = replace(TAKEN, taken_by=None)
HELD = Slot(ticket=Reason.CONFLICT)
KEY_HELD = Slot(key=Reason.CONFLICT)
THROTTLED = Slot(ticket=Reason.THROTTLED)
UNKNOWN = Slot(key=Reason.UNKNOWN)
INVALID = Slot(ticket=Reason.INVALID)
INVALID_KEY = Slot(key=Reason.INVALID)
RECORDED = Assignment(2, "v1:abc", "2026-01-01T00:00:00.000Z")
REPLAY = Slot(key=Reason.CONDITION_FAILED, recorded=RECORDED)
REPLAY_ABOVE = replace(REPLAY, recorded=replace(RECORDED, number=99))
TAKEN_REPLAY = Slot(
    Reason.CONDITION_FAILED, Reason.CONDITION_FAILED, RECORDED, taken_by=OTHER
)
DAMAGE = DamagedKeyRecordError("damaged")
DAMAGED = Slot(key=Reason.CONDITION_FAILED, recorded=DAMAGE)
INVALID_REPLAY = Slot(Reason.INVALID, Reason.CONDITION_FAILED, RECORDED)


SPLIT = "a smaller block after the same head"
COLLIDED, CONFLICTED, BOTH = {"collided"}, {"conflicted"}, {"collided", "conflicted"}
CONTENTION = SequenceContentionError("others kept holding the next number")
THROTTLING = StoreThrottledError("DynamoDB throttled the project's writes")
FAILURE = StoreUnavailableError("a transaction was cancelled without a reason")
TAKEN_AGAIN = SequenceContentionError("others kept taking the next number")


@pytest.mark.parametrize(
    ("slots", "action", "flags"),
    cases(
        {
            "first-taken": ((TAKEN, FREE, FREE), ONE, COLLIDED),
            "run-taken": ((TAKEN, NEXT_TAKEN, FREE), OTHER, COLLIDED),
            "run-with-replay": ((TAKEN, TAKEN_REPLAY, FREE), OTHER, COLLIDED),
            "all-taken": ((TAKEN, TAKEN, TAKEN), None, COLLIDED),
            "taken-behind-a-free-one": ((FREE, TAKEN, FREE), None, COLLIDED),
            "external-first": ((EXTERNAL, FREE, FREE), None, COLLIDED),
            "external-later": ((TAKEN, FREE, EXTERNAL), None, COLLIDED),
            "held": ((HELD, FREE, FREE), CONTENTION, CONFLICTED),
            "key-held": ((FREE, FREE, KEY_HELD), CONTENTION, CONFLICTED),
            "taken-then-held": ((TAKEN, HELD, FREE), CONTENTION, BOTH),
            "held-and-replay": ((REPLAY, HELD, FREE), CONTENTION, CONFLICTED),
            "throttled": ((THROTTLED, FREE, FREE), THROTTLING, set()),
            "throttled-and-held": ((HELD, THROTTLED, FREE), THROTTLING, CONFLICTED),
            "throttled-and-taken": ((TAKEN, THROTTLED, FREE), THROTTLING, COLLIDED),
            "unknown": ((FREE, UNKNOWN, FREE), FAILURE, set()),
            "taken-and-unknown": ((TAKEN, UNKNOWN, FREE), FAILURE, COLLIDED),
            "no-reason": ((FREE, FREE, FREE), FAILURE, set()),
            "replay": ((FREE, REPLAY, FREE), HEAD, set()),
            # Its number may be an imported one, behind a gap.
            "replay-above": ((FREE, REPLAY_ABOVE, FREE), HEAD, set()),
            "invalid": ((FREE, INVALID, FREE), SPLIT, set()),
            "invalid-key": ((FREE, INVALID_KEY, FREE), SPLIT, set()),
            "invalid-and-held": ((HELD, INVALID, FREE), SPLIT, CONFLICTED),
            "invalid-and-taken": ((TAKEN, INVALID, FREE), SPLIT, COLLIDED),
            "invalid-replay": ((FREE, INVALID_REPLAY, FREE), HEAD, set()),
        }
    ),
)
def test_next_step_is_what_the_reasons_prove(
    slots: tuple[Slot, ...], action: object, flags: set[str]
) -> None:
    """The number moves only past committed ones; else only a read decides."""
    step = next_step(BLOCK, slots, IMMEDIATE_RETRIES)

    # Errors are compared by their class and text.
    assert repr(SPLIT if step.splits else step.error or step.head) == repr(action)
    assert step.head == HEAD or not step.splits
    assert not (step.head and step.error)
    assert flags == {name for name in ("collided", "conflicted") if getattr(step, name)}
    # Workers that increment in step would collide on every number.
    again = next_step(BLOCK, slots, IMMEDIATE_RETRIES + 1)
    waits = flags == COLLIDED and not (step.answers or step.splits or step.error)
    expected = (None, TAKEN_AGAIN) if waits else (step.head, step.error)
    assert repr((again.head, again.error)) == repr(expected)


def slots_of(number: int) -> Iterator[Slot]:
    """Yield each combination of reasons that DynamoDB can give for one request."""
    failed = Reason.CONDITION_FAILED
    other = [reason for reason in Reason if reason is not failed]
    tickets = [*((reason, None) for reason in Reason), (failed, Head(number))]
    keys = [*((reason, None) for reason in other), (failed, RECORDED), (failed, DAMAGE)]
    for (ticket, taken_by), (key, recorded) in product(tickets, keys):
        yield Slot(ticket, key, recorded, taken_by)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_next_step_tries_only_behind_a_worker_s_ticket_seen_committed(
    length: int,
) -> None:
    """Fact 2 about the code of `docs/proof.md`, by every combination of reasons."""
    block = replace(BLOCK, tickets=BLOCK.tickets[:length])
    numbers = range(block.first_number, block.first_number + length)

    for slots in product(*map(slots_of, numbers)):
        head = next_step(block, slots, 1).head

        shown = [slot.taken_by for slot in slots if slot.is_taken]
        assert head is None or head is block.head or head in shown, slots


def test_next_step_guesses_nothing_when_a_slot_is_missing() -> None:
    with pytest.raises(ValueError, match="shorter"):
        next_step(BLOCK, (TAKEN, FREE), 1)


def test_answers_are_those_of_the_recorded_keys() -> None:
    step = next_step(BLOCK, (REPLAY, TAKEN, DAMAGED), 1)

    assert step.answers == {REQUESTS[0].key: RECORDED, REQUESTS[2].key: DAMAGE}
