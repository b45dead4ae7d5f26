"""Faults of calls to the deployed stack have the effects of the catalogue."""

import json
import random

import pytest

from simulation.aws.faults import Fault
from tests.support.faults import DECKS, PAUSES, WRITE, Call, Met, Modelled, treated
from tests.support.proxy import Answer

DONE = Answer(200, b"done")
BODY = json.dumps({"TransactItems": [{}, {}]}).encode()
EFFECTS: dict[Met, tuple[list[str], int | None]] = {
    Fault.REFUSED: ([], None),
    Fault.KILLED_BEFORE: (["killed"], None),
    Fault.FAILED_BEFORE: ([], 500),
    Fault.THROTTLED: ([], 400),
    Modelled.CONFLICT: ([], 400),
    Modelled.CANCELLED: ([], 400),
    Modelled.IN_PROGRESS: ([], 400),
    Modelled.SLOW: (["slept", "applied"], 200),
    Fault.LATE: (["slept", "applied"], None),
    Fault.KILLED_DURING: (["killed", "slept", "applied"], None),
    Fault.KILLED_AFTER: (["applied", "killed"], None),
    Fault.FAILED_AFTER: (["applied"], 500),
    Fault.LOST: (["applied"], None),
    Fault.GARBLED: (["applied"], 200),
}
"""What happens in turn, and the status of the answer, if there is one."""


@pytest.mark.parametrize("fault", EFFECTS)
def test_call_is_applied_and_answered_as_its_fault_says_when_it_is_treated(
    fault: Met,
) -> None:
    happened: list[str] = []

    def apply(body: bytes) -> Answer:
        assert body == BODY
        happened.append("applied")
        return DONE

    def sleep(seconds: float) -> None:
        least, most = PAUSES[fault]
        assert least <= seconds <= most
        happened.append("slept")

    answer = treated(
        Call(WRITE, {}, BODY, random.Random(1)),  # noqa: S311 - no secret.
        fault,
        apply,
        kill=lambda: happened.append("killed"),
        sleep=sleep,
    )

    assert (happened, answer and answer.status) == EFFECTS[fault]


def test_every_fault_has_an_effect_when_it_is_in_a_deck() -> None:
    drawn = {fault for _, faults in DECKS.values() for fault in faults}

    assert drawn == EFFECTS.keys()
