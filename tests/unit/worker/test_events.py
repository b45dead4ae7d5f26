"""The files below `events/`: the outcome of each, and their form."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from simulation.aws.lambda_service import Context
from tests.support.builders import sqs_record
from tests.support.worker_on_fakes import WorkerOnFakes
from ticket_numbering.contract.errors import (
    IdempotencyMismatchError,
    InvalidMessageError,
    PoisonMessageError,
    TicketTooLargeError,
)
from ticket_numbering.worker.handler import build_handler
from tools import events, generated

FILES = sorted(events.DIRECTORY.iterdir())


Outcome = tuple[dict[str, list[int]], tuple[type[PoisonMessageError], str] | None]
"""The numbers on empty tables; the dead letter's error, and the field it names."""

INVALID = {
    "not-json": "body",
    "not-an-object": "body",
    "byte-order-mark": "body",
    "deep-nesting": "body",
    "missing-field": "title",
    "unknown-field": "no_such_field",
    "wrong-type": "title",
    "empty-title": "title",
    "too-long-title": "title",
    "lone-surrogate": "title",
    "duplicate-name": "title",
    "bad-project-id": "project_id",
    "nul-character": "description",
    "not-a-number": "attributes.weight",
    "huge-integer": "attributes.weight",
}
EXPECTED: dict[str, Outcome] = {
    "create-ticket.json": ({"PROJ": [1]}, None),
    "redelivery.json": ({"PROJ": [1]}, None),
    "batch.json": ({"WEB": [1, 2, 3, 4], "API": [1, 2, 3], "DOCS": [1, 2]}, None),
    "poison-reused-key.json": (
        {"PROJ": [1]},
        (IdempotencyMismatchError, "idempotency_key"),
    ),
    "poison-too-large.json": ({}, (TicketTooLargeError, "body")),
} | {
    f"poison-{name}.json": ({}, (InvalidMessageError, INVALID[name]))
    for name in INVALID
}


def read(name: str) -> dict[str, Any]:
    """Return an event of the folder."""
    event: dict[str, Any] = json.loads((events.DIRECTORY / name).read_bytes())
    return event


class Function(WorkerOnFakes):
    """The function over empty tables."""

    def __call__(self, name: str) -> Any:
        """Invoke the function with an event of the folder."""
        return build_handler(self.worker())(read(name), Context())

    def numbers(self) -> dict[str, list[int]]:
        """Return the numbers of every project that has tickets."""
        tickets = self.store.tickets
        return {project: self.store.numbers(project) for project in tickets}


@pytest.fixture
def function() -> Function:
    """Return the function over empty tables."""
    return Function()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
class TestEveryFile:
    """Each file has the outcome of the table; one without an entry fails."""

    def test_event_gets_its_numbers_or_is_dead_lettered(
        self, function: Function, path: Path
    ) -> None:
        numbers, poison = EXPECTED[path.name]
        last = read(path.name)["Records"][-1]

        response = function(path.name)

        keys = {f"{project}-{n}" for project in numbers for n in numbers[project]}
        assert response == {"batchItemFailures": []}
        assert function.numbers() == numbers
        announced = {one for one in function.publisher.ids if "refused/" not in one}
        assert announced == keys
        assert len(function.dead_letters.sent) == bool(poison)
        for dead_letter in function.dead_letters.sent:
            name = str(dead_letter.error).partition(": ")[0]
            assert (type(dead_letter.error), name) == poison
            assert dead_letter.record.message_id == last["messageId"]
            assert dead_letter.record.body == last["body"]

    def test_records_have_the_form_that_sqs_delivers(self, path: Path) -> None:
        """Each id is its own; `md5OfBody` is the body's."""
        records = read(path.name)["Records"]
        for record in records:
            attributes = record["attributes"]
            assert record.keys() == sqs_record().keys()
            assert attributes.keys() - {"MessageGroupId"} == (
                sqs_record()["attributes"].keys()
            )
            assert all(isinstance(value, str) for value in attributes.values())
            md5 = hashlib.md5(record["body"].encode(), usedforsecurity=False)
            assert record["md5OfBody"] == md5.hexdigest()

        assert len({record["messageId"] for record in records}) == len(records)


def test_events_have_new_ids_and_keys_when_fresh(tmp_path: Path) -> None:
    """Tables that know the checked-in requests do not know these."""
    generated.write(events.fresh_events(), tmp_path)

    [known] = read("create-ticket.json")["Records"]
    [fresh], [again] = (
        json.loads((tmp_path / f"{name}.json").read_bytes())["Records"]
        for name in ("create-ticket", "redelivery")
    )
    assert {path.name for path in tmp_path.iterdir()} == EXPECTED.keys()
    assert fresh["messageId"] != known["messageId"]
    keys = {json.loads(one["body"])["idempotency_key"] for one in (known, fresh)}
    assert len(keys) == 2
    assert fresh["md5OfBody"] != known["md5OfBody"]
    assert (again["messageId"], again["body"]) == (fresh["messageId"], fresh["body"])
