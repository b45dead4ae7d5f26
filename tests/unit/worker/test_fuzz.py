"""Whatever a record holds, it ends numbered, dead-lettered with a reason, or reported.

The real handler, worker and adapters over a store in memory, and over SQS and SNS as
strict as AWS. `FUZZ_EXAMPLES=20000 pytest tests/unit/worker/test_fuzz.py` tries more.
"""

import base64
import io
import json
import logging
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import nullcontext, redirect_stdout, suppress
from dataclasses import dataclass, field, replace
from itertools import chain, product
from types import SimpleNamespace
from typing import Any, Final

import pytest
from botocore.exceptions import ClientError, ParamValidationError, ReadTimeoutError
from botocore.validate import ParamValidator
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy
from jsonschema import Draft202012Validator

from simulation.aws.lambda_service import Context
from tests.support.builders import sqs_event
from tests.support.canned_aws import aws_client
from tests.support.cases import cases
from tests.support.fakes import FakeTicketStore, FakeTime, Fault
from tests.support.fuzzing import (
    BATCHES,
    BODY_LIMIT,
    BOUNDS,
    CLEAR,
    LARGE_BATCHES,
    NAME_WORDS,
    NAMES,
    ODD_VALUES,
    SQS_LIMIT,
    THEIRS,
    VALUE_WORDS,
    Batch,
    Envelope,
    Weather,
    batch_of,
    bounded,
    crowded,
    message,
    rendered,
)
from ticket_numbering import errors
from ticket_numbering.allocation import Allocator
from ticket_numbering.dynamodb_items import key_item, ticket_item
from ticket_numbering.dynamodb_store import serialized
from ticket_numbering.errors import StoreUnavailableError
from ticket_numbering.handler import build_handler
from ticket_numbering.messages import CreateTicket
from ticket_numbering.observability import logger
from ticket_numbering.ports import Block, Cancelled, Reason, Slot
from ticket_numbering.sns_publisher import SNSPublisher
from ticket_numbering.sqs_dead_letters import SQSDeadLetters
from ticket_numbering.worker import Worker
from tools import contracts

SLOWNESS: Final = (HealthCheck.too_slow, HealthCheck.data_too_large)
"""A slow machine is no failure."""

STRANGE: Final = (*"\"\\{}[]:, 0/'\x00\n\x7f\u2028\ufeff\ud800\u00e9", "null")
EXAMPLES: Final = int(os.environ.get("FUZZ_EXAMPLES", "400"))
"""With these about 22,000 records; each example is a batch or two of some thirty."""

# hypothesis takes up to 300 seconds to make a failure small.
pytestmark = pytest.mark.timeout(600 + EXAMPLES)

CONTRACT: Final[dict[str, Any]] = json.loads(
    (contracts.DIRECTORY / "schemas/create-ticket.schema.json").read_bytes()
)
SCHEMA: Final = Draft202012Validator(CONTRACT)
DEFAULTS: Final = {
    name: member.get("default") for name, member in CONTRACT["properties"].items()
}
POISON: Final = {
    "InvalidMessageError",
    "IdempotencyMismatchError",
    "TicketTooLargeError",
}
FORESEEN: Final = {
    name for name, error in vars(errors).items() if isinstance(error, type)
}

# SendMessageBatch and PublishBatch API references; "message metadata" and "message
# quotas" of the SQS developer guide; SNS's rules are the same.
UNACCEPTABLE: Final = re.compile(
    "[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)
ENTRY_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,80}")
GROUP_ID: Final = re.compile(r"[!-~]{1,128}")
ATTRIBUTE_NAME: Final = re.compile(
    r"(?!(?i:aws|amazon)\.)(?!\.)(?!.*\.\.)[A-Za-z0-9_.-]{1,256}(?<!\.)"
)
ATTRIBUTE_TYPE: Final = re.compile(r"(String|Number|Binary)(\..+)?")
DECIMAL: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")
ATTRIBUTES: Final = "MessageAttributes"
MAX_ENTRIES: Final = 10
MAX_ATTRIBUTES: Final = 10
SNS_LIMIT: Final = 256 * 1024

MAX_ITEM_BYTES: Final = 400 * 1024
"""DynamoDB quotas, "Item size"."""

MAX_REASON: Final = 1000
REASON_ROOM: Final = 150
"""Bytes that the shortest reason takes beside a body, with its attributes' names."""

UUID: Final = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
OURS: Final = {"ErrorType", "ErrorMessage", "SourceMessageId", "SentTimestamp"}
INNARDS: Final = re.compile(
    r'Traceback|File "|\.py\b|site-packages|ticket_numbering|pydantic|Error\b'
    r"|<\S+ object|\b0x[0-9a-f]{4,}"
)
"""What a stack trace or a careless `repr` would leave in a reason."""


def entry_size(body: str, attributes: Mapping[str, Mapping[str, Any]]) -> int:
    """Count the bytes of a message as SQS and SNS do."""
    parts: list[str | bytes] = [body, *attributes]
    for attribute in attributes.values():
        parts += attribute.values()
    return sum(
        len(part if isinstance(part, bytes) else part.encode(errors="surrogatepass"))
        for part in parts
    )


def attribute_fault(name: str, attribute: Mapping[str, Any]) -> bool:
    """Tell whether the services refuse an attribute."""
    kind = attribute.get("DataType") or ""
    text, blob = attribute.get("StringValue"), attribute.get("BinaryValue")
    value = blob if kind.startswith("Binary") else text
    return not (
        ATTRIBUTE_NAME.fullmatch(name)
        and ATTRIBUTE_TYPE.fullmatch(kind)
        and len(kind) <= 256
        and value
        and (text is None or not UNACCEPTABLE.search(text))
        and (not kind.startswith("Number") or DECIMAL.fullmatch(text or ""))
    )


def entry_fault(entry: Mapping[str, Any], *, fifo: bool = False) -> str | None:
    """Return the code with which the services refuse an entry, if they do."""
    body = entry.get("MessageBody", entry.get("Message"))
    attributes = entry[ATTRIBUTES]
    group = entry.get("MessageGroupId")
    if not isinstance(body, str) or not body:
        return "MissingParameter"
    if UNACCEPTABLE.search(body):
        return "InvalidMessageContents"
    if len(attributes) > MAX_ATTRIBUTES or any(
        attribute_fault(*each) for each in attributes.items()
    ):
        return "InvalidParameterValue"
    once = entry.get("MessageDeduplicationId")
    given = [once, group] if fifo else [group] if group is not None else []
    if (once is not None and not fifo) or not all(
        GROUP_ID.fullmatch(each or "") for each in given
    ):
        return "InvalidParameterValue"
    return None


def refusal(code: str, status: int = 400) -> ClientError:
    """Return the error of a call that is refused as a whole."""
    return ClientError(
        {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}},  # type: ignore[typeddict-item]
        "Batch",
    )


@dataclass
class StrictService:
    """A batch call that validates as AWS does, and keeps what it takes."""

    operation: Any
    max_bytes: int
    weather: Weather
    faults: list[str]
    fifo: bool = False
    taken: list[dict[str, Any]] = field(default_factory=list)

    def __call__(self, **parameters: Any) -> dict[str, Any]:
        """Answer a call."""
        self._check_shape(parameters)
        [entries] = [each for each in parameters.values() if isinstance(each, list)]
        self._check_call(entries)
        fault = self.faults.pop(0) if self.faults else ""
        if fault in {"throttled", "denied"}:
            raise refusal(fault, 429 if fault == "throttled" else 403)
        failed = "InternalError" if fault == "failed" else None
        refused = {
            entry["Id"]: code
            for entry in entries
            if (code := failed or entry_fault(entry, fifo=self.fifo))
        }
        if refused and self.weather.refuses_whole_calls:
            raise refusal(next(iter(refused.values())))
        self._take([entry for entry in entries if entry["Id"] not in refused])
        if fault == "lost":
            raise ReadTimeoutError(endpoint_url="")
        return {
            "Successful": [{"Id": e["Id"]} for e in entries if e["Id"] not in refused],
            "Failed": [
                {"Id": each, "Code": code, "SenderFault": True}
                for each, code in refused.items()
            ],
        }

    def _check_shape(self, parameters: Mapping[str, Any]) -> None:
        """Validate as botocore does before it sends."""
        found = ParamValidator().validate(parameters, self.operation.input_shape)
        if found.has_errors():
            raise ParamValidationError(report=found.generate_report())

    def _check_call(self, entries: Sequence[Mapping[str, Any]]) -> None:
        ids = [entry["Id"] for entry in entries]
        size = sum(
            entry_size(each.get("MessageBody", each.get("Message")), each[ATTRIBUTES])
            for each in entries
        )
        faults = {
            "TooManyEntriesInBatchRequest": not 1 <= len(ids) <= MAX_ENTRIES,
            "BatchEntryIdsNotDistinct": len(set(ids)) < len(ids),
            "InvalidBatchEntryId": not all(map(ENTRY_ID.fullmatch, ids)),
            "BatchRequestTooLong": size > self.max_bytes,
        }
        for code, is_wrong in faults.items():
            if is_wrong:
                raise refusal(code)

    def _take(self, entries: Sequence[dict[str, Any]]) -> None:
        """Keep the entries; a FIFO queue drops what it has seen."""
        seen = {each.get("MessageDeduplicationId") for each in self.taken}
        self.taken += [
            each
            for each in entries
            if not self.fifo or each["MessageDeduplicationId"] not in seen
        ]


class Inline(Executor):
    """Runs the projects one after the other, so that a failure can be repeated."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Run at once."""
        done: Future[Any] = Future()
        done.set_result(fn(*args, **kwargs))
        return done


@dataclass
class System:
    """The function over the store and the services, and what it said."""

    weather: Weather
    fifo: bool
    log: io.StringIO
    store: FakeTicketStore = field(default_factory=FakeTicketStore)
    time: FakeTime = field(default_factory=FakeTime)

    def __post_init__(self) -> None:
        """Wire it up."""
        self.store.faults = [self._fault(name) for name in self.weather.store]
        self.time.left = self.weather.seconds_left
        self.queue = self._service("sqs", "SendMessageBatch", SQS_LIMIT)
        self.topic = self._service("sns", "PublishBatch", SNS_LIMIT)
        queue: Any = SimpleNamespace(send_message_batch=self.queue)
        topic: Any = SimpleNamespace(publish_batch=self.topic)
        suffix = ".fifo" if self.fifo else ""
        worker = Worker(
            Allocator(
                self.store,
                25,
                10.0,
                jitter=lambda _, high: high,
            ),
            SNSPublisher(topic, f"arn:aws:sns:eu-west-1:1234:assignments{suffix}"),
            SQSDeadLetters(
                queue, f"https://sqs.eu-west-1.amazonaws.com/1/dead{suffix}"
            ),
            sleep=self.time.sleep,
            pool=lambda _: Inline(),
        )
        self._invoke = build_handler(worker)

    def deliver(self, records: Sequence[dict[str, Any]]) -> Any:
        """Invoke the function, with an empty log."""
        self.log.seek(0)
        self.log.truncate()
        context = Context(lambda: int(self.time.left * 1000))
        with redirect_stdout(io.StringIO()):
            return self._invoke(sqs_event(*records), context)

    def clear_up(self) -> None:
        """Let nothing go wrong any more, in a new invocation."""
        self.weather = CLEAR
        self.time.left = self.weather.seconds_left
        for faults in (self.store.faults, self.queue.faults, self.topic.faults):
            faults.clear()

    def announced(self) -> dict[str, Any]:
        """Return the data of the events that the topic took, by ticket key."""
        told: dict[str, Any] = {}
        for each in self.topic.taken:
            event = json.loads(each["Message"])
            assert told.setdefault(event["id"], event["data"]) == event["data"]
        return told

    def letters(self, message_id: str) -> list[dict[str, Any]]:
        """Return what the dead-letter queue took of a message."""
        return [
            each
            for each in self.queue.taken
            if each[ATTRIBUTES]["SourceMessageId"]["StringValue"] == message_id
        ]

    def _service(self, name: str, operation: str, limit: int) -> StrictService:
        faults = self.weather.sqs if name == "sqs" else self.weather.sns
        return StrictService(
            OPERATIONS[operation], limit, self.weather, list(faults), fifo=self.fifo
        )

    def _fault(self, name: str) -> Fault:
        def act(block: Block) -> Cancelled | None:
            reasons = {"conflict": Reason.CONFLICT, "throttled": Reason.THROTTLED}
            if name in reasons:
                return Cancelled([Slot(reasons[name])] * len(block.requests))
            if name == "lost":
                self.store.put(block)
            if name:
                raise StoreUnavailableError
            return None

        return act


OPERATIONS: Final = {
    operation: aws_client(service).meta.service_model.operation_model(operation)
    for service, operation in (("sqs", "SendMessageBatch"), ("sns", "PublishBatch"))
}


def item_size(value: Mapping[str, Any]) -> int:
    """Count the bytes of an attribute value as DynamoDB does."""
    [(kind, content)] = value.items()
    match kind:
        case "S":
            return len(content.encode())
        case "N":
            return len(content) // 2 + 2
        case "L":
            return 3 + sum(item_size(each) + 1 for each in content)
        case "M":
            return 3 + sum(
                len(name.encode()) + item_size(each) + 1
                for name, each in content.items()
            )
    return 1


def mapping(record: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a member that may be missing, or anything."""
    content = record.get(name)
    return content if isinstance(content, dict) else {}


def as_sent(record: Mapping[str, Any], *, fifo: bool) -> dict[str, Any] | None:
    """Return the message that SQS took of a producer, if it can have taken it."""
    attributes = mapping(record, "attributes")
    entry = {"MessageBody": record.get("body")}
    if "MessageGroupId" in attributes:
        entry["MessageGroupId"] = attributes["MessageGroupId"]
    if fifo:
        entry["MessageDeduplicationId"] = record["messageId"]
    theirs = {}
    for name, delivered in mapping(record, "messageAttributes").items():
        if not isinstance(delivered, dict):
            return None
        theirs[name] = {"DataType": delivered.get("dataType")}
        if isinstance(delivered.get("stringValue"), str):
            theirs[name]["StringValue"] = delivered["stringValue"]
        if isinstance(delivered.get("binaryValue"), str):
            with suppress(ValueError):
                blob = base64.b64decode(delivered["binaryValue"])
                theirs[name]["BinaryValue"] = blob
    return entry | {"MessageAttributes": theirs}


def is_deliverable(record: Mapping[str, Any], *, fifo: bool) -> bool:
    """Tell whether the dead-letter queue must take the record with a reason."""
    entry = as_sent(record, fifo=fifo)
    return (
        entry is not None
        and entry_fault(entry, fifo=fifo) is None
        and UUID.fullmatch(record["messageId"]) is not None
        and entry_size(entry["MessageBody"], {}) <= SQS_LIMIT - REASON_ROOM
    )


def unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object, or refuse to."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError
    return dict(pairs)


def texts(value: Any) -> Iterator[str]:
    """Return every text of a JSON value, names included."""
    if isinstance(value, dict):
        yield from texts([*value, *value.values()])
    elif isinstance(value, list):
        yield from chain.from_iterable(map(texts, value))
    elif isinstance(value, str):
        yield value


def is_plainly_valid(body: str) -> bool:
    """Tell whether nobody could doubt a body: plain ASCII without an escape."""
    if not body.isascii() or not body.isprintable() or "\\" in body:
        return False
    try:
        fields = json.loads(body, object_pairs_hook=unique)
    except (ValueError, RecursionError):
        return False
    if not SCHEMA.is_valid(fields):
        return False
    lines = [fields["title"], fields.get("reporter") or "x", *fields.get("labels", [])]
    return all(each.strip() for each in [*lines, *fields.get("attributes", {})])


class Trial:
    """One invocation, held against what it may do."""

    def __init__(self, system: System, records: Sequence[dict[str, Any]]) -> None:
        """Deliver the records."""
        self.system, self.records = system, records
        self.response = system.deliver(records)
        self.said = system.log.getvalue()
        self.lines = [json.loads(line) for line in self.said.splitlines()]
        self.announced = system.announced()
        self.failed = {
            each["itemIdentifier"] for each in self.response["batchItemFailures"]
        }

    def check(self, *, rough: bool) -> None:
        """Check everything; rough is whether anything ever went wrong."""
        self._check_response()
        self._check_log()
        self._check_tables()
        self._check_announcements(rough=rough)
        failed_groups = set()
        for record, line in zip(self.records, self.lines, strict=True):
            attributes = mapping(record, "attributes")
            group = attributes.get("MessageGroupId")
            held = "SequenceNumber" in attributes and group in failed_groups
            match line["outcome"]:
                case "transient":
                    assert held or self._may_fail(record), (record, line)
                    # Poison that cannot be sent holds nobody back.
                    if line["error_type"] != "DeadLetterError":
                        failed_groups.add(group)
                case "poison":
                    assert not held
                    self._check_letters(record, line, rough=rough)
                case _:
                    assert not held
                    self._check_number(record, line)

    def _check_response(self) -> None:
        """The response names the failed records of this batch, and is never empty."""
        assert set(self.response) == {"batchItemFailures"}
        assert self.failed == {
            each["message_id"] for each in self.lines if each["outcome"] == "transient"
        }

    def _check_log(self) -> None:
        """One line a record, no bug's stack trace, no word of the producer."""
        ids = [each["message_id"] for each in self.lines]
        assert ids == [each["messageId"] for each in self.records]
        assert VALUE_WORDS not in self.said
        assert NAME_WORDS not in self.said
        for line in self.lines:
            assert "exception" not in line, line["exception"]
            assert line.get("error_type") in {None, *FORESEEN}

    def _check_tables(self) -> None:
        """Numbers have no gap, and every item fits."""
        for project, tickets in self.system.store.tickets.items():
            assert sorted(tickets) == list(range(1, len(tickets) + 1)), project
            for number, ticket in tickets.items():
                for item in (
                    ticket_item(ticket, number, "now"),
                    key_item(ticket, number, "now", expires_at=None),
                ):
                    assert item_size({"M": serialized(item)}) <= MAX_ITEM_BYTES

    def _check_announcements(self, *, rough: bool) -> None:
        """What is announced is committed, and nothing is committed in silence."""
        tickets = self.system.store.tickets
        committed = {f"{each}-{number}" for each in tickets for number in tickets[each]}
        told = {each["ticket_key"] for each in self.lines if "ticket_key" in each}
        assert self.announced.keys() | told <= committed
        assert self.system.weather.is_rough or committed == self.announced.keys()
        assert rough or committed == told

    def _may_fail(self, record: Mapping[str, Any]) -> bool:
        """Only what SQS cannot have delivered, or bad weather, is an excuse."""
        system = self.system
        return system.weather.is_rough or not is_deliverable(record, fifo=system.fifo)

    def _check_number(self, record: Mapping[str, Any], line: Mapping[str, Any]) -> None:
        """The number is committed and announced, for a ticket that says the same."""
        project, _, number = line["ticket_key"].rpartition("-")
        ticket = self.system.store.tickets[project][int(number)]
        fields = json.loads(record["body"], object_pairs_hook=unique)
        event, stored = self.announced[line["ticket_key"]], ticket.model_dump()
        assert SCHEMA.is_valid(fields)
        assert not any(map(UNACCEPTABLE.search, texts(fields)))
        assert entry_size(record["body"], {}) <= BODY_LIMIT
        assert {name: stored[name] for name in fields} == fields
        assert self.system.store.keys[ticket.key].number == int(number)
        assert {name: stored.get(name, event[name]) for name in event} == event
        assert event["number"] == int(number)
        assert self.system.letters(record["messageId"]) == []

    def _check_letters(
        self, record: Mapping[str, Any], line: Mapping[str, Any], *, rough: bool
    ) -> None:
        """The letter is the message, with a reason that a person can read."""
        body, theirs = record["body"], mapping(record, "messageAttributes")
        letters = self.system.letters(record["messageId"])
        assert letters
        assert rough or len(letters) == 1
        for letter in letters:
            attributes = letter[ATTRIBUTES]
            kind = attributes["ErrorType"]["StringValue"]
            assert (letter["MessageBody"] == body) is True
            assert kind == line["error_type"]
            assert set(attributes) <= OURS | set(theirs)
            assert line["field"] in {"body", *CreateTicket.model_fields}
            check_reason(attributes["ErrorMessage"]["StringValue"], body)
        assert kind in POISON
        assert kind != "IdempotencyMismatchError" or self._is_mismatch(body)
        assert kind != "InvalidMessageError" or not is_plainly_valid(body)
        assert (kind == "TicketTooLargeError") == (entry_size(body, {}) > BODY_LIMIT)

    def _is_mismatch(self, body: str) -> bool:
        """Tell whether the key's ticket says something else than the body."""
        asked: dict[str, Any] = DEFAULTS | json.loads(body)
        tickets = self.system.store.tickets[asked["project_id"]].values()
        key = asked["idempotency_key"]
        [stored] = [each for each in tickets if each.idempotency_key == key]
        return stored.model_dump() != asked


def check_reason(reason: str, body: str) -> None:
    """A reason is text for people: short, clean, without innards or their values."""
    innards = INNARDS.search(reason)
    assert 0 < len(reason) <= MAX_REASON
    assert not UNACCEPTABLE.search(reason)
    assert innards is None or innards[0] in body
    if VALUE_WORDS in reason:  # A mutant can make a name of a value.
        assert re.search(VALUE_WORDS + '[^"]*"\\s*:', body)


SECOND_DELIVERY: Final = {"ApproximateReceiveCount": "2"}


@dataclass
class Laboratory:
    """Tries batches, and counts them."""

    log: io.StringIO
    tried: Counter[str] = field(default_factory=Counter)

    def try_out(self, batch: Batch) -> Trial:
        """Deliver a batch; what had to come again comes again in clear weather."""
        rough = batch.weather.is_rough
        system = System(batch.weather, batch.fifo, self.log)
        trial = self._deliver(system, batch.records, rough=rough)
        if rough:
            system.clear_up()
            again = trial.failed | batch.neighbours
            records = [
                {**each, "attributes": mapping(each, "attributes") | SECOND_DELIVERY}
                for each in batch.records
                if each["messageId"] in again
            ]
            trial = self._deliver(system, records, rough=rough)
        fates = {each["message_id"]: each["outcome"] for each in trial.lines}
        assert {fates[each] for each in batch.neighbours} <= {"assigned", "replayed"}
        return trial

    def _deliver(
        self, system: System, records: Sequence[dict[str, Any]], *, rough: bool
    ) -> Trial:
        trial = Trial(system, records)
        trial.check(rough=rough)
        self.tried.update(each["outcome"] for each in trial.lines)
        self.tried.update({"records": len(records), "batches": 1})
        return trial


@pytest.fixture(scope="module")
def total(pytestconfig: pytest.Config) -> Iterator[Counter[str]]:
    """Return a count over all tests, which is told in the end."""
    total: Counter[str] = Counter()
    yield total
    counts = ", ".join(f"{number:,} {what}" for what, number in total.most_common())
    capture = pytestconfig.pluginmanager.get_plugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture else nullcontext():
        pytestconfig.get_terminal_writer().line(f" fuzzed: {counts}")


@pytest.fixture
def laboratory(
    monkeypatch: pytest.MonkeyPatch, total: Counter[str]
) -> Iterator[Laboratory]:
    """Return a laboratory with the function's log."""
    log = io.StringIO()
    monkeypatch.setattr(logger.registered_handler, "stream", log)
    # pytest keeps every record of the root logger until the test ends.
    monkeypatch.setattr(logging.getLogger(logger.service), "propagate", False)
    laboratory = Laboratory(log)
    yield laboratory
    total.update(laboratory.tried)


def try_examples(
    laboratory: Laboratory,
    batches: SearchStrategy[Batch],
    count: int,
    phases: Collection[Phase] = tuple(Phase),
) -> None:
    """Try so many of the batches."""

    @settings(max_examples=count, phases=phases, suppress_health_check=SLOWNESS)
    @given(batches)
    def try_out(batch: Batch) -> None:
        laboratory.try_out(batch)

    try_out()


def damaged(whole: str) -> Iterator[str]:
    """Return the text with each of its places damaged in every way."""
    for place in range(len(whole)):
        before, after = whole[:place], whole[place + 1 :]
        yield before
        yield before + after
        for character in STRANGE:
            yield before + character + after
            yield before + character + whole[place:]


def try_all(laboratory: Laboratory, bodies: Sequence[str]) -> None:
    """Try each of the bodies, in batches that no queue delivers larger."""
    for start in range(0, len(bodies), 50):
        laboratory.try_out(batch_of(bodies[start : start + 50]))
    assert laboratory.tried["records"] > len(bodies)


class TestAnyInput:
    """No record harms its neighbours, and each has one fate, with a reason."""

    def test_batch_ends_well_when_anything_comes(self, laboratory: Laboratory) -> None:
        """Any body in any envelope, on both kinds of queue, in any weather."""
        try_examples(laboratory, BATCHES, EXAMPLES)

        assert laboratory.tried["records"] > 25 * EXAMPLES

    def test_batch_ends_well_when_bodies_are_large(
        self, laboratory: Laboratory
    ) -> None:
        """Sizes around the limits of a body, of a message and of a call."""
        examples = max(50, EXAMPLES // 20)

        # What is large takes too long to make small.
        phases = set(Phase) - {Phase.shrink}
        try_examples(laboratory, LARGE_BATCHES, examples, phases)

        assert laboratory.tried["records"] > 4 * examples


class TestEveryInput:
    """What can be counted is tried without a gap."""

    def test_batch_ends_well_when_a_message_is_damaged_anywhere(
        self, laboratory: Laboratory
    ) -> None:
        """Broken off, cut, and a strange character at each of its places."""
        others = {
            "description": '"a\\nb"',
            "priority": '"high"',
            "reporter": '"Ada"',
            "attributes": '{"room": "\\u00e9"}',
        }
        whole = rendered(message("PROJ", 1, list(others.items())))

        try_all(laboratory, [*damaged(whole)])

    def test_batch_ends_well_when_any_field_holds_any_value(
        self, laboratory: Laboratory
    ) -> None:
        """Every JSON type, number and character in every field, known or not."""
        every = enumerate(product(NAMES, ODD_VALUES))

        try_all(
            laboratory,
            [rendered(message("PROJ", number, [pair])) for number, pair in every],
        )

    @pytest.mark.parametrize("filling", ["x", "\u00e9"])
    def test_letter_is_sent_while_the_shortest_reason_fits(
        self, laboratory: Laboratory, filling: str
    ) -> None:
        """From no room for a whole reason to room for all their attributes."""
        for short in range(REASON_ROOM, 2 * REASON_ROOM, 7):
            bodies = crowded(1, short, filling)
            laboratory.try_out(batch_of(bodies, [Envelope({}, THEIRS[: short % 4])]))

        assert laboratory.tried["transient"] == 0

    @pytest.mark.parametrize("name", BOUNDS)
    def test_record_is_numbered_up_to_the_bound_of_a_field(
        self, laboratory: Laboratory, name: str
    ) -> None:
        """One character more, and the letter's reason is about that field."""
        pairs = [bounded(name, "x", past) for past in (-1, 0, 1)]
        bodies = [
            rendered(message("EDGE", number, [pair]))
            for number, pair in enumerate(pairs)
        ]

        trial = laboratory.try_out(batch_of(bodies))

        told = zip(trial.records, trial.lines, strict=True)
        lines = {record["body"]: line for record, line in told}
        assert [lines[body]["outcome"] for body in bodies] == [
            *("assigned", "assigned", "poison")
        ]
        assert lines[bodies[-1]]["field"] == name


class TestEventsMadeByHand:
    """What only an event made by hand can hold loses nothing."""

    @pytest.mark.filterwarnings("ignore:No application metrics:UserWarning")
    def test_invocation_fails_before_it_begins_when_a_record_has_no_id(
        self, laboratory: Laboratory
    ) -> None:
        """Nobody could report it: SQS keeps the whole batch."""
        batch = batch_of(["{"], [Envelope({}, missing=["messageId"])])
        system = System(batch.weather, batch.fifo, laboratory.log)

        with pytest.raises(KeyError, match="messageId"):
            system.deliver(batch.records)

        assert not system.store.tickets
        assert not system.queue.taken

    @pytest.mark.parametrize(
        "members",
        cases(
            {
                "number-as-body": {"body": 5},
                "list-as-body": {"body": ["{"]},
                "object-as-body": {"body": {"title": "x"}},
                "list-of-theirs": {"messageAttributes": ["x"]},
                "surrogate-as-name": {"messageAttributes": {"\ud800": THEIRS[0][1]}},
                "number-as-group": {"attributes": {"MessageGroupId": 5}},
                "list-of-attributes": {"attributes": ["x"]},
            }
        ),
    )
    def test_neighbours_are_unharmed_when_a_member_is_of_another_type(
        self, laboratory: Laboratory, members: dict[str, Any]
    ) -> None:
        """Another letter lies in the queue, another ticket has its number."""
        batch = batch_of(["{", "["])
        first, odd, *others = batch.records

        laboratory.try_out(replace(batch, records=[first, odd | members, *others]))
