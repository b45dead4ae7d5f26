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
from tools import events

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


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
class TestEveryFile:
    """Each file has the outcome of the table; one without an entry fails."""

    def test_event_gets_its_numbers_or_is_dead_lettered(self, path: Path) -> None:
        numbers, poison = EXPECTED[path.name]
        event, function = read(path.name), WorkerOnFakes()

        response = build_handler(function.worker())(event, Context())

        keys = {f"{project}-{n}" for project in numbers for n in numbers[project]}
        assert response == {"batchItemFailures": []}
        assert {name: function.store.numbers(name) for name in numbers} == numbers
        assert function.store.tickets.keys() == numbers.keys()
        announced = {
            event_id
            for event_id in function.publisher.ids
            if "refused/" not in event_id
        }
        assert announced == keys
        assert len(function.dead_letters.sent) == bool(poison)
        last = event["Records"][-1]
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


def test_events_have_new_ids_and_keys_when_fresh() -> None:
    """Tables that know the checked-in requests do not know these."""
    texts = events.fresh_events()

    [known] = read("create-ticket.json")["Records"]
    [fresh], [again] = (
        json.loads(texts[f"{name}.json"])["Records"]
        for name in ("create-ticket", "redelivery")
    )
    assert texts.keys() == EXPECTED.keys()
    assert fresh["messageId"] != known["messageId"]
    keys = {json.loads(record["body"])["idempotency_key"] for record in (known, fresh)}
    assert len(keys) == 2
    assert fresh["md5OfBody"] != known["md5OfBody"]
    assert (again["messageId"], again["body"]) == (fresh["messageId"], fresh["body"])
