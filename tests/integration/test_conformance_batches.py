"""PublishBatch and SendMessageBatch, as their API references document them."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.cases import cases
from tests.support.conformance import DONE, Backend, OnEveryBackend, fate

KIB = 1024
PREFIXES = {"sns": "", "sqs": "AWS.SimpleQueueService."}
LIMITS = {"sns": 256 * KIB, "sqs": 1024 * KIB}
SERVICES = pytest.mark.parametrize("service", ["sns", "sqs"])

Entry = dict[str, Any]
Texts = dict[str, str]


def texts(**values: str) -> Entry:
    """Return text attributes."""
    return {
        name: {"DataType": "String", "StringValue": value}
        for name, value in values.items()
    }


def send(backend: Backend, service: str, entries: Sequence[Entry]) -> Any:
    """Send a batch to the topic or to the queue; an entry has its text as `text`."""
    body = {"sns": "Message", "sqs": "MessageBody"}[service]
    named = [
        {"Id": f"id-{position}"}
        | {body if name == "text" else name: value for name, value in entry.items()}
        for position, entry in enumerate(entries)
    ]
    if service == "sns":
        return backend.sns.publish_batch(
            TopicArn=backend.topic, PublishBatchRequestEntries=named
        )
    return backend.sqs.send_message_batch(QueueUrl=backend.source, Entries=named)


def message(size: int = 0, event_id: str = "PROJ-1") -> str:
    """Return an event, filled up to so many bytes."""
    content = f'{{"id":"{event_id}","fill":"-"}}'
    return content.replace('-"}', "-" * (1 + size - len(content)) + '"}')


def entries(count: int) -> list[Entry]:
    """Return small entries."""
    return [{"text": message(event_id=f"PROJ-{each}")} for each in range(count)]


def in_the_queue(backend: Backend) -> int:
    """Return how many messages are there to receive."""
    seen = backend.sqs.receive_message(
        QueueUrl=backend.source, MaxNumberOfMessages=10, VisibilityTimeout=30
    )
    return len(seen.get("Messages", []))


class TestAnswers(OnEveryBackend):
    """The result of each entry is reported by its id."""

    @SERVICES
    @pytest.mark.parametrize("count", [1, 10])
    def test_batch_call_names_every_entry_when_all_are_taken(
        self, backend: Backend, service: str, count: int
    ) -> None:
        """Each has a message id of its own, and no other entry failed."""
        answer = send(backend, service, entries(count))

        taken = {each["Id"]: each["MessageId"] for each in answer["Successful"]}
        assert sorted(taken) == sorted(f"id-{each}" for each in range(count))
        assert len(set(taken.values())) == count
        assert not answer.get("Failed")

    @SERVICES
    def test_batch_call_is_done_when_it_is_as_long_as_can_be(
        self, backend: Backend, service: str
    ) -> None:
        """The limit is one of the sum, to the byte."""
        half = LIMITS[service] // 2

        call = [{"text": message(half)}, {"text": message(half)}]

        assert fate(lambda: send(backend, service, call)) == backend.expected(DONE)


def too_long(limit: int) -> dict[str, list[Entry]]:
    """Return batches that are too long by one byte."""
    attribute = texts(name="\N{BULLET}" * KIB)
    counted = len("name") + len("String") + 3 * KIB
    return {
        "sum": [{"text": message(limit // 2)}, {"text": message(limit // 2 + 1)}],
        "attributes": [
            {"text": message(limit // 2)},
            {
                "text": message(limit // 2 - counted + 1),
                "MessageAttributes": attribute,
            },
        ],
    }


class TestRefusals(OnEveryBackend):
    """Some calls are refused as a whole."""

    @SERVICES
    @pytest.mark.parametrize(
        ("batch", "documented"),
        cases(
            {
                "many": (entries(11), "TooManyEntriesInBatchRequest"),
                "none": ([], "EmptyBatchRequest"),
                "twice": (
                    [entry | {"Id": "same"} for entry in entries(2)],
                    "BatchEntryIdsNotDistinct",
                ),
                "id": ([entries(1)[0] | {"Id": "a b"}], "InvalidBatchEntryId"),
                "longid": ([entries(1)[0] | {"Id": "i" * 81}], "InvalidBatchEntryId"),
            }
        ),
    )
    def test_batch_call_is_refused_when_it_breaks_a_rule(
        self, backend: Backend, service: str, batch: list[Entry], documented: str
    ) -> None:
        """Up to ten entries, at least one, with ids that differ and are well-formed."""
        seen = fate(lambda: send(backend, service, batch))

        assert seen == backend.expected(PREFIXES[service] + documented)
        assert seen == DONE or in_the_queue(backend) == 0

    @SERVICES
    @pytest.mark.parametrize("which", ["sum", "attributes"])
    def test_batch_call_is_refused_when_it_is_too_long(
        self, backend: Backend, service: str, which: str
    ) -> None:
        """Names, types and values of attributes count in bytes, like the bodies."""
        batch = too_long(LIMITS[service])[which]

        seen = fate(lambda: send(backend, service, batch))

        assert seen == backend.expected(PREFIXES[service] + "BatchRequestTooLong")


CHARACTERS = "\t\n\r \ud7ff\ue000\ufffd\U00010000\U0010ffff"


class TestContents(OnEveryBackend):
    """SendMessage API reference, "MessageBody" and "MessageAttributes"; SQS quotas."""

    @pytest.mark.parametrize(
        "bad",
        cases(
            {
                "control": {"text": "a\x00b"},
                "surrogate": {"text": "a\ud800b"},
                "nocharacter": {"text": "a\uffffb"},
                "empty": {"text": ""},
                "attribute": {"MessageAttributes": texts(reason="a\x00b")},
                "noattribute": {"MessageAttributes": texts(reason="")},
                "eleven": {
                    "MessageAttributes": texts(**{f"a{i}": "-" for i in range(11)})
                },
            }
        ),
    )
    def test_send_message_batch_does_not_take_what_no_message_may_hold(
        self, backend: Backend, bad: Entry
    ) -> None:
        """The reference does not say whether the call is refused, or the entry."""
        batch = [{"text": "good"}, {"text": "bad"} | bad]
        taken: list[str] = []

        def call() -> None:
            answer = send(backend, "sqs", batch)
            taken.extend(each["Id"] for each in answer.get("Successful", []))

        seen = fate(call)

        is_broken = seen == UnicodeEncodeError.__name__
        outcome = "taken" if "id-1" in taken else seen if is_broken else "not taken"
        assert outcome == backend.expected("not taken")
        assert is_broken or in_the_queue(backend) == len(taken)

    def test_send_message_batch_takes_every_allowed_character(
        self, backend: Backend
    ) -> None:
        """Up to the edges of what is allowed, in ten attributes, too."""
        attributes = texts(**{f"a{each}": CHARACTERS for each in range(10)})
        batch = [{"text": CHARACTERS, "MessageAttributes": attributes}]

        answer = send(backend, "sqs", batch)

        assert len(answer["Successful"]) == 1
