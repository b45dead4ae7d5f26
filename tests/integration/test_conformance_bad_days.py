"""What no emulator shows: throttling, stale reads, reasons that are not told.

These cases run on the model alone.
"""

from functools import partial
from typing import Any

import pytest

from simulation.aws.network import Latency
from simulation.engine.choices import RandomChoices
from tests.integration.test_conformance_interleaving import CANCELLED, FAILED, ByHand
from tests.integration.test_conformance_transactions import (
    put_key,
    put_ticket,
    write,
    written,
)
from tests.support.conformance import DONE, Backend, Simulation, backend_of, fate

SEEDS = pytest.mark.parametrize("seed", range(8))
THROTTLED = {"ThrottlingException", "ProvisionedThroughputExceededException"}
AT_ONCE = Latency(0.0, 0.0)


class TestThroughput:
    """Developer guide: a partition takes 1,000 write units a second."""

    @pytest.fixture
    def model(self) -> Simulation:
        """Return a model in which calls take no time."""
        return Simulation(ByHand(), latency=AT_ONCE, pace=0.0)

    def put(self, backend: Backend, number: int, **more: Any) -> str:
        """Put a ticket of a hundred write units into one partition."""
        action = put_ticket(backend, number)["Put"]
        text = {"text": {"S": "x" * (100 * 1024 - 100)}}
        request = action | {"Item": action["Item"] | text} | more
        return fate(lambda: backend.dynamodb.put_item(**request))

    def test_partition_throttles_when_a_thousand_units_are_used(
        self, model: Simulation
    ) -> None:
        """It takes ten such items, and more only as time passes."""
        backend = backend_of(model)

        first = [self.put(backend, number) for number in range(1, 12)]
        model.wait(0.1)
        later = [self.put(backend, number) for number in (11, 12)]

        assert first[:10] == [DONE] * 10
        assert later[0] == DONE
        assert {first[10], later[1]} <= THROTTLED

    def test_partition_throttles_when_the_units_went_into_failures(
        self, model: Simulation
    ) -> None:
        """A write whose condition fails uses units all the same."""
        backend = backend_of(model)
        self.put(backend, 1)

        seen = [self.put(backend, 1) for _ in range(10)]

        assert seen[:9] == ["ConditionalCheckFailedException"] * 9
        assert seen[9] in THROTTLED

    def test_partition_throttles_alone(self, model: Simulation) -> None:
        """Another partition of the table takes what this one cannot."""
        backend = backend_of(model)
        for number in range(1, 11):
            self.put(backend, number)
        other = {"project_id": {"S": "OTHER"}, "number": {"N": "1"}}

        assert self.put(backend, 11) in THROTTLED
        assert self.put(backend, 11, Item=other) == DONE

    def test_transaction_is_cancelled_when_a_partition_throttles(
        self, model: Simulation
    ) -> None:
        """Each action costs two units, a failed transaction's too."""
        backend = backend_of(model)
        write(backend, put_key(backend, "a"))
        blocks = [
            [put_ticket(backend, 100 * block + each) for each in range(100)]
            for block in range(5)
        ]
        for block in blocks:
            actions = [*block[:99], put_key(backend, "a")]
            reasons = " ".join(["None"] * 99)
            cancelled = f"{CANCELLED} {reasons} {FAILED}"
            assert fate(partial(write, backend, *actions)) == cancelled

        six = [put_ticket(backend, number) for number in range(1, 7)]
        seen = fate(lambda: write(backend, *six))

        assert seen == f"{CANCELLED} {'None ' * 5}ThrottlingError"
        assert written(backend) == ["a"]


class TestReadConsistency:
    """Developer guide, "Read consistency"."""

    @pytest.mark.parametrize("operation", ["get_item", "query", "batch_get_item"])
    @pytest.mark.parametrize("consistent", [True, False])
    def test_read_is_stale_when_it_is_not_consistent(
        self,
        operation: str,
        consistent: bool,  # noqa: FBT001 - a parameter of the test.
    ) -> None:
        """By default it may miss a write that is done, and for a moment only."""
        model = Simulation(ByHand(), latency=AT_ONCE)
        backend = backend_of(model)
        model.wait(60)
        write(backend, put_ticket(backend, 1), put_key(backend, "a"))

        at_once = self.sees(backend, operation, consistent=consistent)
        model.wait(60)
        later = self.sees(backend, operation, consistent=consistent)

        assert (at_once, later) == (consistent, True)

    def sees(self, backend: Backend, operation: str, *, consistent: bool) -> bool:
        """Tell whether a read finds what was written."""
        more = {"ConsistentRead": True} if consistent else {}
        key = {"id": {"S": "a"}}
        if operation == "get_item":
            return "Item" in backend.dynamodb.get_item(
                TableName="keys", Key=key, **more
            )
        if operation == "batch_get_item":
            wanted = {"keys": {"Keys": [key], **more}}
            answer = backend.dynamodb.batch_get_item(RequestItems=wanted)
            return bool(answer["Responses"]["keys"])
        answer = backend.dynamodb.query(
            TableName="tickets",
            KeyConditionExpression="project_id = :project",
            ExpressionAttributeValues={":project": {"S": "PROJ"}},
            **more,
        )
        return bool(answer["Items"])


class TestSilence:
    """Nobody says that every reason is told: at least one is, and none is wrong."""

    @SEEDS
    def test_reasons_are_some_of_them_when_the_service_stops_early(
        self, seed: int
    ) -> None:
        """What is not told looks innocent; the positions stay."""
        backend = backend_of(Simulation(RandomChoices(seed), partial_reasons=1.0))
        actions = [put_ticket(backend, 1), put_ticket(backend, 2)]
        write(backend, *actions, put_key(backend, "a"))

        seen = fate(
            lambda: write(
                backend, put_key(backend, "b"), *actions, put_key(backend, "a")
            )
        )

        code, innocent, *others = seen.split()
        assert (code, innocent) == (CANCELLED, "None")
        assert set(others) == {FAILED, "None"}
