"""Faults of calls to the deployed stack have the effects of the catalogue."""

import pytest

from simulation.aws.faults import Fault
from tests.support.proxy import QUICK, SLOW, Answer, treated
from ticket_numbering.adapters.batch_api import READ_TIMEOUT_SECONDS

EFFECTS: dict[Fault, tuple[list[str], int | None]] = {
    Fault.REFUSED: ([], None),
    Fault.FAILED_BEFORE: ([], 500),
    Fault.KILLED_BEFORE: (["killed"], None),
    Fault.LATE: (["slept", "applied"], None),
    Fault.KILLED_DURING: (["killed", "slept", "applied"], None),
    Fault.LOST: (["applied"], None),
    Fault.GARBLED: (["applied"], 200),
    Fault.FAILED_AFTER: (["applied"], 500),
    Fault.KILLED_AFTER: (["applied", "killed"], None),
}
"""The events in their order, and the status of the answer, if there is one."""


@pytest.mark.parametrize("fault", [*QUICK, *SLOW])
def test_call_is_applied_and_answered_as_its_fault_says_when_it_is_treated(
    fault: Fault,
) -> None:
    happened: list[str] = []

    def apply() -> Answer:
        happened.append("applied")
        return Answer(200, b"done")

    def sleep(seconds: float) -> None:
        assert seconds >= READ_TIMEOUT_SECONDS
        happened.append("slept")

    answer = treated(fault, apply, lambda: happened.append("killed"), sleep)

    assert (happened, answer and answer.status) == EFFECTS[fault]
