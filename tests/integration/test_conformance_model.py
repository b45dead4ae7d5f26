"""Effects without an emulator: conflicts, half-seen blocks, throttling, failures.

These cases run on the model alone, most under hand-made choices. A transaction takes a
step every ten seconds of the virtual clock, so the times say which call is where.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import pytest

from conformance.backends import DONE, Backend, model_backend, model_inside, outcome_of
from conformance.case import CANCELLED, FAILED
from conformance.messages import entries, send
from conformance.single_items import batch_get
from conformance.transactions import put_key, put_ticket, write, written
from operators.model_services import InTurn, ModelServices
from simulation.aws.faults import BATCHES, Fault
from simulation.aws.latency import Latency
from simulation.engine.choices import Choices, Thing

CONFLICT: Final = "TransactionConflict"
PACE: Final = 10.0
TICKET: Final = put_ticket(1)
KEY: Final = put_key("a")
OTHER_KEY: Final = put_key("b")
SEEDS: Final = pytest.mark.parametrize("seed", range(8))
THROTTLED: Final = "ThrottlingException"
AT_ONCE: Final = Latency(0.0, 0.0)


class ByHand(Choices):
    """Leaves nothing to chance: actions are taken in their order, or from the end."""

    def __init__(self, step: int = 1) -> None:
        """Take the step from one action to the next: 1 or -1."""
        super().__init__(seed=0)
        self._step = step

    def pick(self, _: int) -> int:
        """Return the first."""
        return 0

    def chance(self, _: float) -> bool:
        """Return the usual choice."""
        return False

    def duration(self, _: float, longest: float) -> float:
        """Return the longest."""
        return longest

    def order(self, things: Sequence[Thing]) -> Sequence[Thing]:
        """Return them in the order of the step."""
        return things[:: self._step]


class Stage:
    """A model without delays but the steps of its transactions."""

    def __init__(self, step: int = 1) -> None:
        """Start with empty tables."""
        self.model = ModelServices(ByHand(step), latency=AT_ONCE, pace=PACE)
        self.inside = model_inside(self.model)
        """For calls in tasks of the scheduler."""
        self.backend = model_backend(self.model)

    def play(self, *parts: tuple[float, Callable[[], object]]) -> list[str]:
        """Start each part at its time; return their outcomes."""
        outcomes = [""] * len(parts)

        def act(position: int, part: Callable[[], object]) -> None:
            outcomes[position] = outcome_of(part)

        for position, (at, part) in enumerate(parts):
            self.model.spawn(partial(act, position, part), at)
        self.model.scheduler.run()
        return outcomes

    def writing(self, *actions: Any, **more: Any) -> Callable[[], None]:
        """Return a part that writes a transaction."""
        return lambda: write(self.inside, *actions, **more)

    def reads(self, *times: float) -> list[list[str]]:
        """Return the list to which readers add at these times."""
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

    def test_conflict_leaves_the_number_free_when_its_opponent_is_cancelled(
        self, stage: Stage
    ) -> None:
        write(stage.backend, KEY)

        outcomes = stage.play(
            (0, stage.writing(TICKET, KEY)), (5, stage.writing(TICKET, OTHER_KEY))
        )

        assert outcomes == [
            f"{CANCELLED} None {FAILED}",
            f"{CANCELLED} {CONFLICT} None",
        ]
        assert written(stage.backend) == ["a"]

    def test_conflict_becomes_a_failed_condition_when_its_opponent_is_done(
        self, stage: Stage
    ) -> None:
        outcomes = stage.play(
            (0, stage.writing(TICKET, KEY)),
            (5, stage.writing(TICKET)),
            (15, stage.writing(KEY)),
            (25, stage.writing(KEY)),
            (35, stage.writing(TICKET)),
        )

        conflict, failed = f"{CANCELLED} {CONFLICT}", f"{CANCELLED} {FAILED}"
        assert outcomes == [DONE, conflict, conflict, conflict, failed]
        assert written(stage.backend) == ["1", "a"]

    def test_transactional_read_is_refused_until_the_transaction_is_written(
        self, stage: Stage
    ) -> None:
        """A query shows the ticket at 25, and its key is not there before 30."""
        item = {"TableName": "keys", "Key": {"id": {"S": "a"}}}
        seen = stage.reads(25)

        def read() -> None:
            answer = stage.inside.dynamodb.transact_get_items(
                TransactItems=[{"Get": item}]
            )
            assert answer["Responses"][0]["Item"]["id"] == {"S": "a"}

        outcomes = stage.play((0, stage.writing(TICKET, KEY)), (25, read), (35, read))

        assert seen == [["1"]]
        assert outcomes == [DONE, f"{CANCELLED} {CONFLICT}", DONE]

    def test_conflict_cancels_both_when_they_cross(self, stage: Stage) -> None:
        outcomes = stage.play(
            (0, stage.writing(TICKET, KEY)),
            (5, stage.writing(KEY, TICKET)),
            (60, stage.writing(KEY, TICKET)),
        )

        lost = f"{CANCELLED} None {CONFLICT}"
        assert outcomes == [lost, lost, DONE]

    @pytest.mark.parametrize("operation", ["put_item", "update_item", "delete_item"])
    def test_conflict_refuses_a_single_write_when_a_transaction_runs(
        self, stage: Stage, operation: str
    ) -> None:
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

        outcomes = stage.play(
            (0, stage.writing(KEY, TICKET)),
            (5, lambda: call(TableName="keys", **request[operation])),
        )

        assert outcomes == [DONE, "TransactionConflictException"]


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
    def test_query_sees_a_part_of_a_block_when_it_is_decided(
        self, step: int, seen: list[list[str]]
    ) -> None:
        stage = Stage(step)
        reads = stage.reads(29, 31, 41, 51)

        outcomes = stage.play((0, stage.writing(*map(put_ticket, (1, 2, 3)))))

        assert outcomes == [DONE]
        assert reads == seen

    def test_query_sees_nothing_of_a_block_when_it_is_cancelled(
        self, stage: Stage
    ) -> None:
        write(stage.backend, KEY)
        reads = stage.reads(*range(0, 100, 7))

        outcomes = stage.play((0, stage.writing(*map(put_ticket, (1, 2, 3)), KEY)))

        assert outcomes == [f"{CANCELLED} None None None {FAILED}"]
        assert set(map(tuple, reads)) == {("a",)}


class TestTokens:
    """TransactWriteItems API reference, "ClientRequestToken" and its errors."""

    def test_token_is_in_progress_when_the_first_call_still_runs(
        self, stage: Stage
    ) -> None:
        part = stage.writing(TICKET, KEY, ClientRequestToken="one")

        outcomes = stage.play((0, part), (15, part), (60, part))

        assert outcomes == [DONE, "TransactionInProgressException", DONE]
        assert written(stage.backend) == ["1", "a"]

    @pytest.mark.parametrize(
        ("number", "outcome"), [(1, f"{CANCELLED} {FAILED}"), (2, DONE)]
    )
    def test_token_is_forgotten_when_ten_minutes_have_passed(
        self, stage: Stage, number: int, outcome: str
    ) -> None:
        part = stage.writing(TICKET, ClientRequestToken="one")
        late = stage.writing(put_ticket(number), ClientRequestToken="one")

        assert stage.play((0, part), (609, part), (611, late)) == [DONE, DONE, outcome]


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

        items, left = answer["Responses"]["keys"], answer["UnprocessedKeys"]["keys"]
        assert left["ConsistentRead"]
        assert sorted(key["id"]["S"] for key in [*items, *left["Keys"]]) == names
        assert left["Keys"]
