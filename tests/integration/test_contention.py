"""Contending workers reveal contradictions between AWS and the proof."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final

import pytest
from botocore.exceptions import ClientError

from conformance.backends import Backend, model_backend, model_inside
from conformance.case import FAILED
from conformance.contention import Contention, Write, overtaken
from conformance.facts import contradicted, contradictions, seen_of
from induction.axioms import AXIOMS
from operators.model_services import ModelServices
from simulation.aws.clients import AlteredClient

Request = dict[str, Any]
Wrong = Callable[..., Any]
WHOLE, UNDECIDED, CONDITION, _, HIGHEST = [axiom.text for axiom in AXIOMS]


def without_records(real: Any, **request: Any) -> Any:
    """Write the tickets of a block alone."""
    tickets = request["TransactItems"][::2]
    return real.transact_write_items(**request | {"TransactItems": tickets})


def undecided(real: Any, **request: Any) -> Any:
    """Show the highest number as another request's, as if that were undecided."""
    answer = real.query(**request)
    if not request["ConsistentRead"] and answer["Items"]:
        answer["Items"][0] = answer["Items"][0] | {"idempotency_key": {"S": "other"}}
    return answer


def untrue(real: Any, **request: Any) -> Any:
    """Show items that are not there."""
    try:
        return real.transact_write_items(**request)
    except ClientError as error:
        answer: Any = error.response
        for reason in answer["CancellationReasons"]:
            if reason["Code"] == FAILED:
                reason["Item"] = reason["Item"] | {"title": {"S": "another"}}
        raise


def going_back(real: Any, **request: Any) -> Any:
    """Leave out the highest number of a long sequence now and then."""
    answer = real.query(**request)
    if request.get("ScanIndexForward") is False and len(answer["Items"]) % 2 == 0:
        answer["Items"] = answer["Items"][15:]
    return answer


LIES: Final = (
    ("transact_write_items", without_records, WHOLE),
    ("query", undecided, UNDECIDED),
    ("transact_write_items", untrue, CONDITION),
    ("query", going_back, HIGHEST),
)


@pytest.mark.parametrize(("operation", "wrong", "fact"), LIES)
def test_fact_is_contradicted_when_aws_does_otherwise(
    operation: str, wrong: Wrong, fact: str
) -> None:
    model = ModelServices()
    real = model_inside(model)
    client: Any = AlteredClient(
        real.dynamodb, **{operation: partial(wrong, real.dynamodb)}
    )

    def together(_: Backend, parts: Any) -> None:
        for part in parts:
            model.spawn(partial(part, replace(real, dynamodb=client)))
        model.scheduler.run()

    lines = contradicted(replace(model_backend(model), together=together))

    assert any(line.startswith(fact) for line in lines), lines


def test_workers_meet_what_makes_numbering_hard_when_they_contend() -> None:
    """Else they would show nothing."""
    contention = Contention(model_backend())

    contention.run(workers=4, batches=4)

    assert not any(contradictions(contention))
    for what in (
        "reason: ConditionalCheckFailed",
        "reason: TransactionConflict",
        "stale queries",
        "queries of half a block",
    ):
        assert contention.counts[what] > 0, contention.counts
    assert not any(seen.startswith("0 ") for seen in seen_of(contention))


LATER = Write(0.02, 0.06, {"2", "3"}, is_committed=True)
FIRST = Write(0.0, 0.03, {"1", "2"}, is_conflict=True)


@pytest.mark.parametrize(
    ("writes", "count"),
    [
        ([FIRST, LATER], 1),
        ([replace(FIRST, is_conflict=False), LATER], 0),
        ([FIRST, replace(LATER, is_committed=False)], 0),
        ([FIRST, replace(LATER, numbers={"3"})], 0),
        ([FIRST, replace(LATER, sent_at=0.001)], 0),
        ([FIRST, replace(LATER, sent_at=0.03)], 0),
        ([Write(-0.02, 0.01, {"1"}), FIRST, LATER], 0),
        ([Write(-0.02, 0.0, {"1"}), FIRST, LATER], 1),
    ],
    ids=[
        *("later", "no conflict", "not committed", "other numbers"),
        *("perhaps first", "after it", "a third before", "a third long before"),
    ],
)
def test_block_is_overtaken_when_a_later_one_alone_was_in_its_way(
    writes: list[Write], count: int
) -> None:
    assert overtaken(writes) == count
