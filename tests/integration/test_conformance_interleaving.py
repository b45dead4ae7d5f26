"""What no emulator shows: two transactions at a time, and readers in between.

These cases run on the model alone, under hand-made choices. A transaction takes a
step every ten seconds of the virtual clock, so that the times say who is when.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from simulation.aws.network import Latency
from simulation.engine.choices import Thing
from tests.integration.test_conformance_transactions import (
    put_key,
    put_ticket,
    write,
    written,
)
from tests.support.conformance import DONE, Backend, Simulation, backend_of, fate

CANCELLED = "TransactionCanceledException"
CONFLICT = "TransactionConflict"
FAILED = "ConditionalCheckFailed"
PACE = 10.0


class ByHand:
    """Nothing is left to chance; actions are taken in their order, or from the end."""

    are_exhaustive = False

    def __init__(self, step: int = 1) -> None:
        """Take the step from one action to the next: 1 or -1."""
        self._step = step

    def pick(self, _: int) -> int:
        """Take the first."""
        return 0

    def chance(self, _: float) -> bool:
        """Take what is usual."""
        return False

    def duration(self, _: float, longest: float) -> float:
        """Take as long as can be."""
        return longest

    def order(self, things: Sequence[Thing]) -> Sequence[Thing]:
        """Take them in the order of the step."""
        return things[:: self._step]


class Stage:
    """A model without delays but the steps of its transactions."""

    def __init__(self, step: int = 1) -> None:
        """Start with empty tables."""
        self.model = Simulation(ByHand(step), latency=Latency(0.0, 0.0), pace=PACE)
        inside = self.model.dynamodb.client
        self.inside = Backend("model", "", inside, None, None)
        """What those call who take part in the play."""
        self.backend = backend_of(self.model)

    def play(self, *parts: tuple[float, Callable[[], object]]) -> list[str]:
        """Start each part at its time; return how each of them ended."""
        fates = [""] * len(parts)

        def act(position: int, part: Callable[[], object]) -> None:
            fates[position] = fate(part)

        for position, (at, part) in enumerate(parts):
            self.model.spawn(partial(act, position, part), at)
        self.model.scheduler.run()
        return fates

    def write(self, *actions: Any, **more: Any) -> Callable[[], None]:
        """Return the part of one who writes a transaction."""
        return lambda: write(self.inside, *actions, **more)

    def watch(self, *times: float) -> list[list[str]]:
        """Return what will have been seen at these times."""
        seen: list[list[str]] = []
        for at in times:
            self.model.spawn(lambda: seen.append(written(self.inside)), at)
        return seen


@pytest.fixture
def stage() -> Stage:
    """Return a stage on which actions are taken in their order."""
    return Stage()


class TestConflicts:
    """API reference, "TransactionConflict"; developer guide, "Transaction conflict"."""

    def test_conflict_does_not_mean_that_somebody_wins(self, stage: Stage) -> None:
        """The loser's opponent is cancelled itself: nobody has the number."""
        write(stage.backend, put_key(stage.backend, "a"))
        ticket, known = put_ticket(stage.backend, 1), put_key(stage.backend, "a")

        fates = stage.play(
            (0, stage.write(ticket, known)),
            (5, stage.write(ticket, put_key(stage.backend, "b"))),
        )

        assert fates == [
            f"{CANCELLED} None {FAILED}",
            f"{CANCELLED} {CONFLICT} None",
        ]
        assert written(stage.backend) == ["a"]

    def test_conflict_is_told_when_the_opponent_commits(self, stage: Stage) -> None:
        """Up to the last step; a moment later the condition fails instead."""
        ticket, key = put_ticket(stage.backend, 1), put_key(stage.backend, "a")

        fates = stage.play(
            (0, stage.write(ticket, key)),
            (5, stage.write(ticket)),
            (15, stage.write(key)),
            (25, stage.write(key)),
            (35, stage.write(ticket)),
        )

        conflict, failed = f"{CANCELLED} {CONFLICT}", f"{CANCELLED} {FAILED}"
        assert fates == [DONE, conflict, conflict, conflict, failed]
        assert written(stage.backend) == ["1", "a"]

    def test_conflict_ends_both_when_they_cross(self, stage: Stage) -> None:
        """One holds what the other one wants: neither waits, both are cancelled."""
        ticket, key = put_ticket(stage.backend, 1), put_key(stage.backend, "a")

        fates = stage.play(
            (0, stage.write(ticket, key)),
            (5, stage.write(key, ticket)),
            (60, stage.write(key, ticket)),
        )

        lost = f"{CANCELLED} None {CONFLICT}"
        assert fates == [lost, lost, DONE]

    @pytest.mark.parametrize("operation", ["put_item", "update_item", "delete_item"])
    def test_conflict_refuses_a_single_write_when_a_transaction_runs(
        self, stage: Stage, operation: str
    ) -> None:
        """The code is TransactionConflictException then, and not a reason."""
        key = {"id": {"S": "a"}}
        request: dict[str, dict[str, Any]] = {
            "put_item": {"Item": key},
            "delete_item": {"Key": key},
            "update_item": {
                "Key": key,
                "UpdateExpression": "ADD #n :one",
                "ExpressionAttributeNames": {"#n": "n"},
                "ExpressionAttributeValues": {":one": {"N": "1"}},
            },
        }
        call = getattr(stage.inside.dynamodb, operation)

        fates = stage.play(
            (0, stage.write(put_key(stage.backend, "a"), put_ticket(stage.backend, 1))),
            (5, lambda: call(TableName="keys", **request[operation])),
        )

        assert fates == [DONE, "TransactionConflictException"]


class TestIsolation:
    """Developer guide, "Isolation levels for transactions": read-committed."""

    @pytest.mark.parametrize(
        ("step", "seen"),
        [
            (1, [[], ["1"], ["1", "2"], ["1", "2", "3"]]),
            (-1, [[], ["3"], ["2", "3"], ["1", "2", "3"]]),
        ],
        ids=["forward", "backward"],
    )
    def test_query_sees_the_middle_of_a_block(
        self, step: int, seen: list[list[str]]
    ) -> None:
        """A part of it, and even the last number before the first."""
        stage = Stage(step)
        block = [put_ticket(stage.backend, number) for number in (1, 2, 3)]
        watched = stage.watch(29, 31, 41, 51)

        fates = stage.play((0, stage.write(*block)))

        assert fates == [DONE]
        assert watched == seen

    def test_query_sees_nothing_of_a_block_that_is_cancelled(
        self, stage: Stage
    ) -> None:
        """Only what is committed is ever read."""
        write(stage.backend, put_key(stage.backend, "a"))
        block = [put_ticket(stage.backend, number) for number in (1, 2, 3)]
        watched = stage.watch(*range(0, 100, 7))

        fates = stage.play((0, stage.write(*block, put_key(stage.backend, "a"))))

        assert fates == [f"{CANCELLED} None None None {FAILED}"]
        assert set(map(tuple, watched)) == {("a",)}


class TestTokens:
    """TransactWriteItems API reference, "ClientRequestToken" and its errors."""

    def test_token_is_in_progress_when_the_first_call_still_runs(
        self, stage: Stage
    ) -> None:
        """And afterwards the same call is a replay."""
        actions = [put_ticket(stage.backend, 1), put_key(stage.backend, "a")]
        part = stage.write(*actions, ClientRequestToken="one")

        fates = stage.play((0, part), (15, part), (60, part))

        assert fates == [DONE, "TransactionInProgressException", DONE]
        assert written(stage.backend) == ["1", "a"]

    @pytest.mark.parametrize("number", [1, 2])
    def test_token_is_a_new_one_when_ten_minutes_have_passed(
        self, stage: Stage, number: int
    ) -> None:
        """Whether the request is the same or another: it is tried."""
        one, again = put_ticket(stage.backend, 1), put_ticket(stage.backend, number)

        fates = stage.play(
            (0, stage.write(one, ClientRequestToken="one")),
            (609, stage.write(one, ClientRequestToken="one")),
            (611, stage.write(again, ClientRequestToken="one")),
        )

        assert fates == [DONE, DONE, DONE if number == 2 else f"{CANCELLED} {FAILED}"]
