"""PublishBatch, SendMessageBatch and ReceiveMessage: API references of SNS and SQS."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from conformance.backends import DONE, Backend, outcome_of
from conformance.case import Case
from ticket_numbering.contract.attributes import text_attribute

KIB: Final = 1024
PREFIXES: Final = {"sns": "", "sqs": "AWS.SimpleQueueService."}
CALLS: Final = {"sns": "PublishBatch", "sqs": "SendMessageBatch"}
LIMITS: Final = {"sns": 256 * KIB, "sqs": 1024 * KIB}
UNITS: Final = {"sns": "256 KiB", "sqs": "1 MiB"}
ALLOWED: Final = "\t\n\r \ud7ff\ue000\ufffd\U00010000\U0010ffff"
"""The edges of the characters that a message may hold."""

BODY: Final = '{"title": "Caf\u00e9 \U0001f469\u200d\U0001f467\\u0000",\t"n":\r\n 1.0}'
HIDDEN_SECONDS: Final = 3

Entry = dict[str, Any]


def texts(**values: str) -> Entry:
    """Return text attributes."""
    return {name: text_attribute(value) for name, value in values.items()}


ATTRIBUTES: Final = {
    "ErrorType": text_attribute("Caf\u00e9"),
    "Count": {"DataType": "Number", "StringValue": "7"},
}


def entry(text: str = "-", size: int = 0, **more: Any) -> Entry:
    """Return an entry with an event, filled up to this size."""
    content = f'{{"id":"{text}","fill":""}}'
    fill = "-" * (size - len(content))
    return {"text": content.replace('""', f'"{fill}"'), **more}


def entries(count: int) -> list[Entry]:
    """Return small entries."""
    return [entry(f"PROJ-{number}") for number in range(count)]


def send(backend: Backend, service: str, batch: Sequence[Entry]) -> Any:
    """Send a batch to the topic or to the queue; an entry has its text as `text`."""
    body = {"sns": "Message", "sqs": "MessageBody"}[service]
    named = [
        {"Id": f"id-{position}"}
        | {body if name == "text" else name: value for name, value in entry.items()}
        for position, entry in enumerate(batch)
    ]
    if service == "sns":
        return backend.sns.publish_batch(
            TopicArn=backend.topic, PublishBatchRequestEntries=named
        )
    return backend.sqs.send_message_batch(QueueUrl=backend.source, Entries=named)


def sending(service: str, batch: Sequence[Entry]) -> Callable[[Backend], str]:
    """Return the outcome of a batch call."""
    return lambda backend: outcome_of(lambda: send(backend, service, batch))


def taking(bad: Entry) -> Callable[[Backend], str]:
    """Return whether SQS takes an entry that comes with a good one.

    The reference does not say whether the call is rejected, or the entry.
    """

    def outcome(backend: Backend) -> str:
        answers: list[Any] = []
        batch = [entry("good"), entry("bad") | bad]
        outcome_of(lambda: answers.append(send(backend, "sqs", batch)))
        taken = [result["Id"] for answer in answers for result in answer["Successful"]]
        assert len(receive_all(backend)) == len(taken)
        return "taken" if "id-1" in taken else "not taken"

    return outcome


def receive_all(
    backend: Backend, url: str | None = None, hidden_seconds: int = 30
) -> list[Any]:
    """Return the messages that are visible."""
    answer = backend.sqs.receive_message(
        QueueUrl=url or backend.source,
        MaxNumberOfMessages=10,
        VisibilityTimeout=hidden_seconds,
        MessageSystemAttributeNames=["All"],
        MessageAttributeNames=["All"],
    )
    return list(answer.get("Messages", []))


def send_one(backend: Backend) -> str:
    """Send one message; return its id."""
    sent = {"text": BODY, "MessageAttributes": ATTRIBUTES, "MessageGroupId": "PROJ"}
    message_id: str = send(backend, "sqs", [sent])["Successful"][0]["MessageId"]
    return message_id


def counts(messages: list[Any]) -> list[str]:
    """Return how often each message was received."""
    return [message["Attributes"]["ApproximateReceiveCount"] for message in messages]


def contents(message: Any) -> Any:
    """Return the parts of a message that a redrive keeps."""
    system = message["Attributes"]
    return (
        *(message["Body"], message["MessageAttributes"], message["MessageId"]),
        *(system["MessageGroupId"], system["SentTimestamp"]),
    )


def hidden(backend: Backend) -> Any:
    """Receive before and after the visibility timeout; return the receive counts."""
    send_one(backend)
    first = receive_all(backend, hidden_seconds=HIDDEN_SECONDS)
    within = receive_all(backend)
    backend.wait(HIDDEN_SECONDS + 0.1)
    return [counts(seen) for seen in (first, within, receive_all(backend))]


def shown(backend: Backend) -> Any:
    """Receive before and after a message is shown again; return the receive counts."""
    send_one(backend)
    first = receive_all(backend)
    change_visibility(backend, first)
    return [counts(seen) for seen in (first, receive_all(backend))]


def change_visibility(backend: Backend, messages: list[Any]) -> list[str]:
    """Show messages at once; return the ids of the entries that failed."""
    answer = backend.sqs.change_message_visibility_batch(
        QueueUrl=backend.source,
        Entries=[
            {"Id": f"id-{place}", "VisibilityTimeout": 0, "ReceiptHandle": handle}
            for place, handle in enumerate(
                message["ReceiptHandle"] for message in messages
            )
        ],
    )
    return [entry["Id"] for entry in answer.get("Failed", [])]


def deleted(backend: Backend) -> Any:
    """Delete a message in flight; return which entries fail that show it again."""
    send_one(backend)
    messages = receive_all(backend)
    for message in messages:
        receipt = {"Id": "id", "ReceiptHandle": message["ReceiptHandle"]}
        backend.sqs.delete_message_batch(QueueUrl=backend.source, Entries=[receipt])
    return change_visibility(backend, messages)


def counted(backend: Backend) -> Any:
    """Return the counts of a queue of a message in flight and two others."""
    send_one(backend)
    receive_all(backend)
    send(backend, "sqs", entries(2))
    kinds = [f"ApproximateNumberOfMessages{kind}" for kind in ("", "NotVisible")]
    answer = backend.sqs.get_queue_attributes(
        QueueUrl=backend.source, AttributeNames=kinds
    )
    return [answer["Attributes"][kind] for kind in kinds]


def moved(backend: Backend) -> Any:
    """Receive three times; return the counts, and whether the dead letter is equal."""
    send_one(backend)
    seen = [receive_all(backend, hidden_seconds=0) for _ in range(3)]
    [dead_letter] = receive_all(backend, backend.dead)
    return (
        [counts(messages) for messages in [*seen, [dead_letter]]],
        contents(dead_letter) == contents(seen[0][0]),
    )


def _batches(service: str) -> Iterator[Case]:
    """Yield batches with a wrong id, and of sizes; names and types count, too."""
    half, call, unit = LIMITS[service] // 2, CALLS[service], UNITS[service]
    code = f"{PREFIXES[service]}BatchRequestTooLong"
    other = {"moto": DONE, "emulator": DONE}
    yield Case(
        f"{call} with a space in an id",
        sending(service, [entry(Id="a b")]),
        f"{PREFIXES[service]}InvalidBatchEntryId",
        instead=other if service == "sns" else {},
    )
    attributes = texts(name="\N{BULLET}" * KIB)
    counted = len("name") + len("String") + 3 * KIB
    batch = [entry(size=half), entry(size=half)]
    yield Case(f"{call} of {unit} in all", sending(service, batch), DONE)
    yield Case(
        f"{call} over {unit} in all",
        sending(service, [entry(size=half), entry(size=half + 1)]),
        code,
        instead=other if service == "sns" else {},
    )
    last = entry(size=half - counted + 1, MessageAttributes=attributes)
    yield Case(
        f"{call} over {unit} with its attributes alone",
        sending(service, [entry(size=half), last]),
        code,
        instead=other,
    )


def _contents() -> Iterator[Case]:
    def case(what: str, bad: Entry, **instead: str) -> Case:
        name = f"SQS entry with {what}"
        return Case(name, taking(bad), "not taken", instead=instead)

    yield case("a control character in the body", {"text": "a\x00b"}, moto="taken")
    yield case("an empty body", {"text": ""}, moto="taken")
    for what, attributes in {
        "a control character in an attribute": texts(reason="a\x00b"),
        "eleven attributes": texts(**{f"a{number}": "-" for number in range(11)}),
    }.items():
        bad = {"MessageAttributes": attributes}
        yield case(what, bad, moto="taken", emulator="taken")
    ten = texts(**{f"a{number}": ALLOWED for number in range(10)})
    allowed = {"text": ALLOWED, "MessageAttributes": ten}
    yield Case("SQS entry with every allowed character", taking(allowed), "taken")


MESSAGES: Final = (
    *(case for service in CALLS for case in _batches(service)),
    *_contents(),
    Case("ReceiveMessage, visibility timeout", hidden, [["1"], [], ["2"]]),
    Case("ChangeMessageVisibilityBatch to none", shown, [["1"], ["2"]]),
    Case("ChangeMessageVisibilityBatch of a deleted message", deleted, ["id-0"]),
    Case("GetQueueAttributes, counts", counted, ["2", "1"]),
    # ApproximateReceiveCount is counted "across all queues".
    Case(
        "redrive policy, after two receives", moved, ([["1"], ["2"], [], ["3"]], True)
    ),
)
