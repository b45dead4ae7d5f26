"""The contenders at work on the emulator: real clients, real processes."""

from collections.abc import Callable, Iterator

import pytest

from benchmarks.emulator_run import run_on_emulator
from benchmarks.measurement import Measurement
from benchmarks.workload import Workload
from ticketctl.local.emulator import running_emulator

pytestmark = pytest.mark.emulator

MESSAGES = 20
WORKERS = 2

Play = Callable[[str], Measurement]


@pytest.fixture(scope="module")
def play() -> Iterator[Play]:
    """Return what lets a contender number the messages."""
    with running_emulator() as emulator:

        def play(contender: str) -> Measurement:
            return run_on_emulator(
                emulator.endpoint_url,
                contender,
                contender,
                Workload(WORKERS),
                MESSAGES,
            )

        yield play


class TestOnTheEmulator:
    """Requests and units are counted; seconds say nothing."""

    def test_ours_numbers_all_in_blocks_when_two_work(self, play: Play) -> None:
        """Four units a ticket, and far less than a request."""
        found = play("ours")

        assert (found.tickets, found.gaps, found.duplicates) == (MESSAGES, 0, 0)
        assert (found.failed, found.timeouts, found.redelivered) == (0, 0, 0)
        assert {*found.requests} == {"Query", "TransactWriteItems", "PublishBatch"}
        assert 2 <= found.requests["PublishBatch"] <= MESSAGES
        assert found.write_units_a_ticket == 4.0
        assert found.read_units > 0
        assert found.requests_a_ticket < 1.0

    def test_textbook_numbers_one_by_one_when_two_work(self, play: Play) -> None:
        """One unit a ticket, and three requests or more."""
        found = play("textbook")

        assert (found.tickets, found.gaps, found.duplicates) == (MESSAGES, 0, 0)
        assert (found.failed, found.timeouts, found.redelivered) == (0, 0, 0)
        assert {*found.requests} == {"Query", "PutItem", "PublishBatch"}
        assert found.requests["Query"] == MESSAGES
        assert found.requests["PublishBatch"] == MESSAGES
        assert found.requests["PutItem"] >= MESSAGES
        assert found.write_units_a_ticket == 1.0
        assert found.requests_a_ticket >= 3.0
