"""The files below `events/`: the outcome of each, and their form."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
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
from tools import events

FILES = sorted(events.DIRECTORY.iterdir())


@dataclass(frozen=True)
class Expected:
    """The outcome of an event on empty tables."""

    numbers: Mapping[str, list[int]] = field(default_factory=dict)
    dead_letter: tuple[type[PoisonMessageError], str] | None = None
    """The dead letter's error, and the field that its reason names."""


def invalid(name: str) -> Expected:
    """Expect a dead letter and no number."""
    return Expected(dead_letter=(InvalidMessageError, name))


EXPECTED = {
    "create-ticket.json": Expected({"PROJ": [1]}),
    "redelivery.json": Expected({"PROJ": [1]}),
    "batch.json": Expected({"WEB": [1, 2, 3, 4], "API": [1, 2, 3], "DOCS": [1, 2]}),
    "poison-reused-key.json": Expected(
        {"PROJ": [1]}, (IdempotencyMismatchError, "idempotency_key")
    ),
    "poison-too-large.json": Expected(dead_letter=(TicketTooLargeError, "body")),
    "poison-not-json.json": invalid("body"),
    "poison-not-an-object.json": invalid("body"),
    "poison-byte-order-mark.json": invalid("body"),
    "poison-deep-nesting.json": invalid("body"),
    "poison-missing-field.json": invalid("title"),
    "poison-unknown-field.json": invalid("no_such_field"),
    "poison-wrong-type.json": invalid("title"),
    "poison-empty-title.json": invalid("title"),
    "poison-too-long-title.json": invalid("title"),
    "poison-lone-surrogate.json": invalid("title"),
    "poison-duplicate-name.json": invalid("title"),
    "poison-bad-project-id.json": invalid("project_id"),
    "poison-nul-character.json": invalid("description"),
    "poison-not-a-number.json": invalid("attributes.weight"),
    "poison-huge-integer.json": invalid("attributes.weight"),
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
        expected = EXPECTED[path.name]
        last = read(path.name)["Records"][-1]

        response = function(path.name)

        numbers = expected.numbers
        keys = {f"{project}-{n}" for project in numbers for n in numbers[project]}
        assert response == {"batchItemFailures": []}
        assert function.numbers() == numbers
        announced = {one for one in function.publisher.ids if "refused/" not in one}
        assert announced == keys
        assert len(function.dead_letters.sent) == bool(expected.dead_letter)
        for dead_letter in function.dead_letters.sent:
            name = str(dead_letter.error).partition(": ")[0]
            assert (type(dead_letter.error), name) == expected.dead_letter
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
    events.main([str(tmp_path)])

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
