"""The shipped seed, import, void and erase among shipped workers.

They run at any moment of histories in which everything fails, are killed at any point
and run again, by up to three operators at a time.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import cache, partial
from typing import Any, Final, NoReturn

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError

from operators.mark_monitor import ERASED
from operators.play import (
    LONGEST_PAUSE_SECONDS,
    capped_scenario,
    play,
    rivals_scenario,
)
from operators.seeded_world import Wrapper
from simulation.aws.clients import AlteredClient
from simulation.aws.lambda_service import Handler
from simulation.checks.violations import Invariant
from simulation.known_bad.adapters import Announcing
from simulation.known_bad.algorithms import ALGORITHMS
from simulation.play import Totals
from simulation.world.execution_environment import Algorithm, ExecutionEnvironment
from tests.support.builders import SALT
from ticket_numbering.contract.envelope import Envelope

SEEDS: Final = 75
BUSY_DAYS: Final = range(1, 1001, 2)

Item = Mapping[str, Any]


MET: Final = {
    1: ["jumps of a sequence", "tickets imported"],
    2: ["ConditionalCheckFailed", "voided assigned", "erased assigned"],
    10: ["TransactionConflict"],
    20: [
        *("seed: refused", "seed: None", "import: None"),  # None: it was killed.
        *(
            "another ticket has this number",
            "voided external",
            "erased external",
            "void: refused",
            "erase: refused",
        ),
    ],
    # An import that was killed is run again.
    40: ["given between the steps of a seed", "there already"],
}
"""The conditions that operators and workers meet more than once."""


def altering(**operations: Callable[..., Any]) -> Wrapper:
    """Return a maker of clients with other operations, which get the real client."""

    def alter(real: Any) -> AlteredClient:
        changed = {
            name: partial(operation, real) for name, operation in operations.items()
        }
        return AlteredClient(real, **changed)

    return alter


def first_step_alone(real: Any, **request: Any) -> Any:
    """Drop the second step of a seed."""
    return real.put_item(**request) if "reserved_after" in request["Item"] else {}


def interrupting_seeds(real: Any) -> AlteredClient:
    """Return a client that fails before the second step of a seed, at first."""
    failures = iter([True] * 6)

    def put_item(**request: Any) -> Any:
        if "reserved_after" not in request["Item"] and next(failures, False):
            give_up()
        return real.put_item(**request)

    return AlteredClient(real, put_item=put_item)


def second_step_first(real: Any, **request: Any) -> Any:
    """Reserve the number after the one that was read, and then the last."""
    item = dict(request["Item"])
    if "reserved_after" not in item:
        return {}
    following = int(item.pop("reserved_after")["N"]) + 1
    item["number"] = {"N": str(following)}
    if following < int(request["Item"]["number"]["N"]):
        real.put_item(**{**request, "Item": item})
    return real.put_item(**request)


def give_up(*_: Any, **__: Any) -> NoReturn:
    """Fail."""
    raise ConnectionClosedError(endpoint_url="dynamodb")


def import_nothing(real: Any, **request: Any) -> Any:
    """Take an import for written, and write everything else."""
    item = request["TransactItems"][0].get("Put", {}).get("Item", {})
    is_import = "imported_by" in item and "status" not in item
    return {} if is_import else real.transact_write_items(**request)


def create_ticket(real: Any, **request: Any) -> Any:
    """Mark the next ticket, there or not: without the condition."""
    del request["ConditionExpression"]
    following = int(request["Key"]["number"]["N"]) + 1
    key = request["Key"] | {"number": {"N": str(following)}}
    return real.update_item(**request | {"Key": key})


def voiding(change: str, **values: str) -> Wrapper:
    """Return a change of more attributes of a voided ticket."""

    def update(real: Any, **request: Any) -> Any:
        more = {f":{name}": {"S": value} for name, value in values.items()}
        request["UpdateExpression"] += change
        request["ExpressionAttributeValues"] = {
            **request["ExpressionAttributeValues"],
            **more,
        }
        return real.update_item(**request)

    return altering(update_item=update)


def erasing(change: Callable[[list[Any]], object]) -> Wrapper:
    """Return a change of the erasing transactions: of ticket and key record."""

    def write(real: Any, **request: Any) -> Any:
        actions = deepcopy(request["TransactItems"])
        if actions[0].get("Put", {"Item": {}})["Item"].get("status") == {"S": ERASED}:
            change(actions)
        return real.transact_write_items(TransactItems=actions)

    return altering(transact_write_items=write)


def erasing_ticket(change: Callable[[dict[str, Any]], object]) -> Wrapper:
    """Return a change of the items of erased tickets."""
    return erasing(lambda actions: change(actions[0]["Put"]["Item"]))


def blind(name: str, is_hidden: Callable[[Item], bool]) -> Algorithm:
    """Return an algorithm that increments past such external numbers."""

    def build(environment: ExecutionEnvironment) -> Handler:
        def write(**request: Any) -> Any:
            # A seed and an import find time between the read and the write.
            seconds = environment.choices.duration(0.0, LONGEST_PAUSE_SECONDS)
            environment.scheduler.sleep(seconds)
            try:
                return environment.dynamodb.transact_write_items(**request)
            except ClientError as error:
                answer: Any = error.response
                for reason in answer.get("CancellationReasons", []):
                    if is_hidden(reason.get("Item", {})):
                        reason["Item"] = dict(reason["Item"])
                        reason["Item"].pop("origin", None)
                raise

        client = AlteredClient(environment.dynamodb, transact_write_items=write)
        return replace(environment, dynamodb=client).handler()

    return Algorithm(name, build)


def first_texts(environment: ExecutionEnvironment) -> Handler:
    """Announce a number with the texts of its first announcement for ever."""
    first: dict[str, Envelope] = {}

    def change(envelopes: Sequence[Envelope]) -> Sequence[Envelope]:
        return [first.setdefault(envelope.event.id, envelope) for envelope in envelopes]

    return environment.handler(publisher=partial(Announcing, change=change))


@cache  # A fixture would be traced.
def first_histories() -> Totals:
    """Play the histories of the first seeds."""
    return play(range(1, SEEDS + 1))


class TestSeedAmongWorkers:
    """Contiguous up to the seed, and from its last number on; nothing between."""

    def test_no_promise_is_broken_when_operators_work_at_any_moment(self) -> None:
        assert first_histories().violations == []

    def test_operators_contend_with_workers_when_they_work_at_any_moment(self) -> None:
        counts = first_histories().counts

        for histories, names in MET.items():
            met = {name: counts[name] for name in names}
            assert min(met.values()) > SEEDS / histories, met


class TestConditions:
    """Only the exceptions of a promise happen."""

    def test_refusal_at_a_cap_is_contradicted_below_an_unfinished_seed_alone(
        self,
    ) -> None:
        played = play(BUSY_DAYS[:70], wrapper=interrupting_seeds, draw=capped_scenario)

        assert played.violations == []
        assert played.counts["refusals contradicted"] > 0

    @pytest.mark.parametrize(
        "name",
        [
            "a cap is refused without reading its key",
            "a cap is refused on a half-seen block",
        ],
    )
    def test_refusal_is_not_excused_by_a_seed_when_its_key_is_misread(
        self, name: str
    ) -> None:
        played = play(
            BUSY_DAYS,
            algorithm=ALGORITHMS[name],
            wrapper=interrupting_seeds,
            draw=capped_scenario,
        )

        assert played.breaks is Invariant.REFUSED_AND_NUMBERED, played

    def test_another_request_is_numbered_under_an_erased_key_alone(self) -> None:
        played = play(BUSY_DAYS[:40], draw=rivals_scenario)

        assert played.violations == []
        assert played.counts["rivals announced under erased keys"] > 0

    def test_request_under_an_erased_key_is_announced_with_its_own_texts(self) -> None:
        algorithm = Algorithm("another's texts", first_texts)

        played = play(BUSY_DAYS, algorithm=algorithm, draw=rivals_scenario)

        assert played.breaks is Invariant.ANNOUNCED_CONTENT, played


OPERATORS: Final[Sequence[tuple[Wrapper, Invariant]]] = (
    (altering(put_item=first_step_alone), Invariant.SEED_LEFT_OPEN),
    (altering(put_item=second_step_first), Invariant.SEED_LEFT_OPEN),
    (altering(put_item=give_up), Invariant.OPERATOR_STUCK),
    (altering(transact_write_items=import_nothing), Invariant.IMPORT_NOT_THERE),
    (altering(update_item=create_ticket), Invariant.MARKED_WITHOUT_TICKET),
    (voiding(" REMOVE origin"), Invariant.MARK_CHANGED),
    (voiding(", title = :title", title="changed"), Invariant.MARK_CHANGED),
    (erasing(lambda actions: actions.pop()), Invariant.ERASED_RECORD),
    (erasing_ticket(lambda item: item.pop("commitment", None)), Invariant.ERASED_TEXT),
    # With it a guess of the text can be tested.
    (erasing_ticket(lambda item: item.update(salt={"S": SALT})), Invariant.ERASED_TEXT),
    (erasing_ticket(lambda item: item.pop("chain", None)), Invariant.MARK_CHANGED),
)
"""Known-bad operators, and the invariant that each breaks first."""


class TestKnownBad:
    """Known-bad protocols are caught."""

    @pytest.mark.parametrize(("wrapper", "breaks"), OPERATORS)
    def test_operator_is_caught_when_its_protocol_is_wrong(
        self, wrapper: Wrapper, breaks: Invariant
    ) -> None:
        played = play(BUSY_DAYS, wrapper=wrapper)

        assert played.breaks is breaks, played

    @pytest.mark.parametrize(
        "algorithm",
        [
            blind("increments past a reserved number", lambda item: "status" in item),
            blind("increments past an imported ticket", lambda item: "title" in item),
        ],
        ids=lambda algorithm: algorithm.name,
    )
    def test_worker_is_caught_when_it_increments_past_an_external_number(
        self, algorithm: Algorithm
    ) -> None:
        played = play(BUSY_DAYS, algorithm=algorithm)

        assert played.breaks is Invariant.ATTEMPT, played
