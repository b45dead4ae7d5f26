"""Throttling, stale reads, missing reasons and partial failures, on the model alone."""

from functools import partial
from typing import Any, Final

import pytest

from simulation.aws.faults import BATCHES, Fault
from simulation.aws.latency import Latency
from simulation.engine.choices import Choices
from tests.integration.test_conformance_interleaving import ByHand
from tests.support.backends import DONE, Backend, model_backend, outcome_of
from tests.support.conformance.case import CANCELLED, FAILED
from tests.support.conformance.messages import entries, send
from tests.support.conformance.single_items import batch_get
from tests.support.conformance.transactions import (
    put_key,
    put_ticket,
    write,
    written,
)
from tests.support.model_services import InTurn, ModelServices

SEEDS: Final = pytest.mark.parametrize("seed", range(8))
THROTTLED: Final = "ThrottlingException"
AT_ONCE: Final = Latency(0.0, 0.0)


class TestThroughput:
    """Developer guide: a partition takes 1,000 write units a second."""

    @pytest.fixture
    def backend(self) -> Backend:
        """Return a model in which calls take no time."""
        return model_backend(ModelServices(ByHand(), latency=AT_ONCE, pace=0.0))

    def put(self, backend: Backend, number: int, **more: Any) -> str:
        """Put a ticket of a hundred write units into one partition."""
        request = put_ticket(number)["Put"]
        text = {"text": {"S": "x" * (100 * 1024 - 100)}}
        request |= {"Item": request["Item"] | text} | more
        return outcome_of(lambda: backend.dynamodb.put_item(**request))

    def test_partition_throttles_alone_when_a_thousand_units_are_used(
        self, backend: Backend
    ) -> None:
        other = {"project_id": {"S": "OTHER"}, "number": {"N": "1"}}

        at_once = [self.put(backend, number) for number in range(1, 12)]
        elsewhere = self.put(backend, 11, Item=other)
        backend.wait(0.1)
        later = [self.put(backend, number) for number in (11, 12)]

        assert at_once == [DONE] * 10 + [THROTTLED]
        assert elsewhere == DONE
        assert later == [DONE, THROTTLED]

    def test_partition_throttles_when_the_units_went_into_failed_conditions(
        self, backend: Backend
    ) -> None:
        seen = [self.put(backend, 1) for _ in range(11)]

        assert seen == [DONE, *["ConditionalCheckFailedException"] * 9, THROTTLED]

    def test_transaction_is_cancelled_when_a_partition_throttles(
        self, backend: Backend
    ) -> None:
        """Each action costs two units, that of a cancelled transaction too."""
        write(backend, put_key("a"))
        for block in range(5):
            numbers = range(100 * block, 100 * block + 99)
            actions = [*map(put_ticket, numbers), put_key("a")]
            assert outcome_of(partial(write, backend, *actions)) == (
                f"{CANCELLED} {'None ' * 99}{FAILED}"
            )

        seen = outcome_of(lambda: write(backend, *map(put_ticket, range(1, 7))))

        assert seen == f"{CANCELLED} {'None ' * 5}ThrottlingError"
        assert written(backend) == ["a"]


class TestReadConsistency:
    """Developer guide, "Read consistency"."""

    @pytest.mark.parametrize("operation", ["get_item", "query", "batch_get_item"])
    @pytest.mark.parametrize("consistent", [True, False])
    def test_read_is_stale_for_a_moment_when_it_is_not_consistent(
        self, operation: str, *, consistent: bool
    ) -> None:
        backend = model_backend(ModelServices(ByHand(), latency=AT_ONCE))
        backend.wait(60)
        write(backend, put_ticket(1), put_key("a"))

        at_once = self.sees(backend, operation, consistent=consistent)
        backend.wait(60)
        later = self.sees(backend, operation, consistent=consistent)

        assert (at_once, later) == (consistent, True)

    def sees(self, backend: Backend, operation: str, *, consistent: bool) -> bool:
        """Return whether a read finds the write."""
        more = {"ConsistentRead": True} if consistent else {}
        key = {"id": {"S": "a"}}
        requests: dict[str, dict[str, Any]] = {
            "get_item": {"TableName": "keys", "Key": key, **more},
            "batch_get_item": {"RequestItems": {"keys": {"Keys": [key], **more}}},
            "query": {
                "TableName": "tickets",
                "KeyConditionExpression": "project_id = :project",
                "ExpressionAttributeValues": {":project": {"S": "PROJ"}},
                **more,
            },
        }
        answer = getattr(backend.dynamodb, operation)(**requests[operation])
        tables = answer.get("Responses", {})
        return bool(answer.get("Item") or answer.get("Items") or tables.get("keys"))


@SEEDS
def test_reasons_are_only_some_when_the_service_stops_early(seed: int) -> None:
    """AWS does not promise to report each; the others look innocent."""
    backend = model_backend(ModelServices(Choices(seed), partial_reasons=1.0))
    actions = [put_ticket(1), put_ticket(2), put_key("a")]
    write(backend, *actions)

    seen = outcome_of(lambda: write(backend, put_key("b"), *actions))

    code, innocent, *others = seen.split()
    assert (code, innocent) == (CANCELLED, "None")
    assert set(others) == {FAILED, "None"}


@SEEDS
class TestPartialFailures:
    """Batch calls answer 200 and name the failed entries."""

    @pytest.fixture
    def model(self, seed: int) -> ModelServices:
        """Return a model whose first batch calls fail in part."""
        faults = InTurn({call: [Fault.PARTIAL] for call in BATCHES})
        return ModelServices(Choices(seed), faults)

    @pytest.mark.parametrize("service", ["sns", "sqs"])
    def test_batch_call_names_each_entry_once_when_some_fail(
        self, model: ModelServices, service: str
    ) -> None:
        answer = send(model_backend(model), service, entries(10))

        results = [*answer["Successful"], *answer["Failed"]]
        ids = [result["Id"] for result in results]
        assert sorted(ids) == [f"id-{number}" for number in range(10)]
        assert answer["Failed"]
        for failed in answer["Failed"]:
            assert failed.keys() >= {"Id", "Code", "SenderFault"}

    def test_batch_get_item_names_the_keys_when_it_has_not_processed_them(
        self, model: ModelServices
    ) -> None:
        backend = model_backend(model)
        names = [f"key-{number}" for number in range(10)]
        write(backend, *map(put_key, names))

        answer = batch_get(backend, names)

        found, left = answer["Responses"]["keys"], answer["UnprocessedKeys"]["keys"]
        assert left["ConsistentRead"]
        assert sorted(key["id"]["S"] for key in [*found, *left["Keys"]]) == names
        assert left["Keys"]
