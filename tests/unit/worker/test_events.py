"""The files below `events/`: what each of them does to the function, and their form."""

import hashlib
import json
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from simulation.aws.lambda_service import Context
from tests.support.fakes import FakeDeadLetters, FakePublisher, FakeTicketStore
from ticket_numbering.allocation import Allocator
from ticket_numbering.errors import (
    IdempotencyMismatchError,
    InvalidMessageError,
    PoisonMessageError,
    TicketTooLargeError,
)
from ticket_numbering.handler import build_handler
from ticket_numbering.worker import Worker
from tools import events

FILES = sorted(events.DIRECTORY.iterdir())


@dataclass(frozen=True)
class Expected:
    """What an event comes to on empty tables."""

    numbers: Mapping[str, list[int]] = field(default_factory=dict)
    letter: tuple[type[PoisonMessageError], str] | None = None
    """The dead letter's error, and the field that its reason names."""


def invalid(name: str) -> Expected:
    """Expect a dead letter and no number."""
    return Expected(letter=(InvalidMessageError, name))


EXPECTED = {
    "create-ticket.json": Expected({"PROJ": [1]}),
    "redelivery.json": Expected({"PROJ": [1]}),
    "batch.json": Expected({"WEB": [1, 2, 3, 4], "API": [1, 2, 3], "DOCS": [1, 2]}),
    "poison-reused-key.json": Expected(
        {"PROJ": [1]}, (IdempotencyMismatchError, "idempotency_key")
    ),
    "poison-too-large.json": Expected(letter=(TicketTooLargeError, "body")),
    "poison-not-json.json": invalid("body"),
    "poison-not-an-object.json": invalid("body"),
    "poison-byte-order-mark.json": invalid("body"),
    "poison-deep-nesting.json": invalid("body"),
    "poison-missing-field.json": invalid("title"),
    "poison-unknown-field.json": invalid("assignee"),
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


def distinct_keys(records: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the keys of each project's requests, in the order of the records."""
    keys: dict[str, list[str]] = {}
    for record in records:
        request = json.loads(record["body"])
        mine = keys.setdefault(request["project_id"], [])
        if request["idempotency_key"] not in mine:
            mine.append(request["idempotency_key"])
    return keys


class Function:
    """The function over fakes."""

    def __init__(self) -> None:
        self.store = FakeTicketStore()
        self.publisher = FakePublisher()
        self.dead_letters = FakeDeadLetters()
        allocator = Allocator(self.store, 25, 10.0)
        self.invoke = build_handler(
            Worker(allocator, self.publisher, self.dead_letters)
        )

    def __call__(self, event: dict[str, Any]) -> Any:
        """Invoke the function."""
        return self.invoke(event, Context())

    def numbers(self) -> dict[str, list[int]]:
        """Return the numbers of every project that has tickets."""
        tickets = self.store.tickets
        return {project: self.store.numbers(project) for project in tickets}

    def dead_bodies(self) -> dict[str, bytes]:
        """Return the dead letters' bodies, by message id."""
        return {
            letter.record.message_id: (letter.record.body or "").encode()
            for letter in self.dead_letters.letters
        }


@pytest.fixture
def function() -> Function:
    """Return the function over empty tables."""
    return Function()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
class TestEveryFile:
    """A file does to the function what the table says; one without an entry fails."""

    def test_event_is_answered_with_no_failure(
        self, function: Function, path: Path
    ) -> None:
        assert function(read(path.name)) == {"batchItemFailures": []}

    def test_event_gets_and_announces_its_numbers(
        self, function: Function, path: Path
    ) -> None:
        function(read(path.name))

        numbers = EXPECTED[path.name].numbers
        keys = {f"{project}-{n}" for project, each in numbers.items() for n in each}
        assert function.numbers() == numbers
        assert sorted(function.publisher.ids) == sorted(keys)

    def test_event_is_dead_lettered_with_a_reason_that_names_the_field(
        self, function: Function, path: Path
    ) -> None:
        function(read(path.name))

        expected = EXPECTED[path.name].letter
        found = [
            (type(letter.error), str(letter.error).partition(": ")[0])
            for letter in function.dead_letters.letters
        ]
        assert found == ([expected] if expected else [])

    def test_event_keeps_its_body_when_dead_lettered(
        self, function: Function, path: Path
    ) -> None:
        event = read(path.name)
        last = event["Records"][-1]

        function(event)

        letter = {last["messageId"]: last["body"].encode()}
        assert function.dead_bodies() == (letter if EXPECTED[path.name].letter else {})

    def test_records_have_the_members_that_sqs_delivers(self, path: Path) -> None:
        for record in read(path.name)["Records"]:
            attributes = record["attributes"]
            assert [name for name in record if isinstance(record[name], str)] == [
                "messageId",
                "receiptHandle",
                "body",
                "md5OfBody",
                "eventSource",
                "eventSourceARN",
                "awsRegion",
            ]
            assert record["messageAttributes"] == {}
            assert set(attributes) - {"MessageGroupId"} == {
                "ApproximateReceiveCount",
                "SentTimestamp",
                "SenderId",
                "ApproximateFirstReceiveTimestamp",
            }
            assert all(isinstance(value, str) for value in attributes.values())

    def test_records_have_true_ids_and_checksums(self, path: Path) -> None:
        """Ids are random UUIDs, each its own; `md5OfBody` is the body's."""
        records = read(path.name)["Records"]
        ids = {record["messageId"] for record in records}

        assert len(ids) == len(records)
        assert {uuid.UUID(each).version for each in ids} == {4}
        for record in records:
            md5 = hashlib.md5(record["body"].encode(), usedforsecurity=False)
            assert record["md5OfBody"] == md5.hexdigest()

    def test_requests_carry_their_project_as_group(self, path: Path) -> None:
        for record in read(path.name)["Records"]:
            group = record["attributes"].get("MessageGroupId")
            numbered = bool(EXPECTED[path.name].numbers)
            project = json.loads(record["body"])["project_id"] if numbered else None
            assert group == project


class TestRedelivery:
    """`redelivery.json` is `create-ticket.json`, delivered again."""

    def test_redelivery_looks_up_first(self, function: Function) -> None:
        """What came before may have its number: a read comes before a write."""
        function(read("redelivery.json"))

        assert function.store.calls == ["recorded", "last_number", "write_block"]

    def test_redelivery_replays_the_number(self, function: Function) -> None:
        function(read("create-ticket.json"))
        function.store.calls.clear()

        function(read("redelivery.json"))

        announced = function.publisher.announced
        assert function.store.calls == ["recorded"]
        assert function.numbers() == {"PROJ": [1]}
        assert announced[0].event == announced[1].event
        assert [each.replayed for each in announced] == [False, True]

    def test_redelivery_differs_from_the_first_in_receipt_and_count_alone(self) -> None:
        [first] = read("create-ticket.json")["Records"]
        [second] = read("redelivery.json")["Records"]

        differing = {name for name in first if first[name] != second[name]}
        counted = second["attributes"] | {"ApproximateReceiveCount": "1"}
        assert differing == {"receiptHandle", "attributes"}
        assert second["attributes"]["ApproximateReceiveCount"] == "2"
        assert counted == first["attributes"]


class TestBatch:
    """`batch.json` has what makes a batch hard."""

    def test_batch_numbers_each_project_in_the_order_sent(
        self, function: Function
    ) -> None:
        """A message that overtook another does not get the lower number."""
        event = read("batch.json")
        by_time = sorted(
            event["Records"], key=lambda each: int(each["attributes"]["SentTimestamp"])
        )

        function(event)

        numbered = {
            project: function.store.keys_in_order(project)
            for project in ("WEB", "API", "DOCS")
        }
        assert numbered == distinct_keys(by_time)
        assert numbered != distinct_keys(event["Records"])

    def test_batch_repeats_one_request(self, function: Function) -> None:
        event = read("batch.json")

        function(event)

        bodies = [record["body"] for record in event["Records"]]
        assert len(set(bodies)) == 9
        assert len(function.publisher.ids) == 9


class TestFreshEvents:
    """Tables that know the checked-in requests do not know these."""

    def test_events_have_new_ids_and_keys_when_fresh(self, tmp_path: Path) -> None:
        events.main([str(tmp_path)])

        first, fresh, again = (
            json.loads((directory / f"{name}.json").read_bytes())["Records"][0]
            for directory, name in (
                (events.DIRECTORY, "create-ticket"),
                (tmp_path, "create-ticket"),
                (tmp_path, "redelivery"),
            )
        )
        known_key, fresh_key = (
            json.loads(record["body"])["idempotency_key"] for record in (first, fresh)
        )
        assert {path.name for path in tmp_path.iterdir()} == EXPECTED.keys()
        assert fresh["messageId"] != first["messageId"]
        assert fresh_key != known_key
        assert (again["messageId"], again["body"]) == (
            fresh["messageId"],
            fresh["body"],
        )
        assert fresh["md5OfBody"] != first["md5OfBody"]
