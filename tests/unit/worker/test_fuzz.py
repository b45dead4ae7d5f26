"""Every record ends numbered, dead-lettered with a reason, or reported.

The real handler, worker and adapters over a store in memory, and over the laboratory's
SQS and SNS. `FUZZ_EXAMPLES=20000 pytest tests/unit/worker/test_fuzz.py` tries more.
"""

import io
import json
import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

from operators.model_services import InTurn, ModelServices
from simulation.aws.errors import ServiceError
from simulation.aws.lambda_service import Context
from simulation.scenarios import requests
from tests.support.builders import SOURCE, sqs_event
from tests.support.fakes import FakeTicketStore, FakeTime, answer_lost, held, unanswered
from tests.support.fuzzing import (
    BODIES,
    BODY_LIMIT,
    FAULTS,
    LARGE_BODIES,
    NAME_WORDS,
    NO_FAULTS,
    SQS_LIMIT,
    VALUE_WORDS,
    Faults,
    batches,
)
from ticket_numbering.adapters.sns_publisher import SNSPublisher
from ticket_numbering.adapters.sqs_dead_letters import SQSDeadLetters
from ticket_numbering.allocation.allocation import Allocator
from ticket_numbering.contract import errors
from ticket_numbering.contract.dynamodb_items import key_id
from ticket_numbering.contract.messages import CreateTicket
from ticket_numbering.worker.events import Events
from ticket_numbering.worker.handler import build_handler
from ticket_numbering.worker.observability import logger
from ticket_numbering.worker.worker import Worker

EXAMPLES: Final = int(os.environ.get("FUZZ_EXAMPLES", "50"))

pytestmark = pytest.mark.timeout(1200 + 10 * EXAMPLES)

SCHEMA: Final = requests.validator(requests.SCHEMA)
# SendMessageBatch and PublishBatch API references.
UNACCEPTABLE: Final = re.compile(
    "[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)
MAX_REASON: Final = 1000
REASON_ROOM: Final = 150
"""Bytes that the shortest reason takes, with its attributes' names."""

FORESEEN: Final = {None, *vars(errors)}
INNARDS: Final = re.compile(r"Traceback|site-packages|pydantic|Error\b|<\S+ object")
"""Traces of a stack trace or a careless `repr` in a reason."""


def size_of(body: str) -> int:
    """Return the bytes of a body."""
    return len(body.encode(errors="surrogatepass"))


def is_acceptable(text: str) -> bool:
    """Tell whether SQS and SNS take a text."""
    return bool(text) and not UNACCEPTABLE.search(text)


class System:
    """The function over the store and the services, and its log."""

    def __init__(self, faults: Faults, *, fifo: bool, log: io.StringIO) -> None:
        self.fifo, self.log = fifo, log
        self.call_faults = {
            "publish_batch": [*faults.sns],
            "send_message_batch": [*faults.sqs],
        }
        self.aws = ModelServices(faults=InTurn(self.call_faults))
        self.store, self.time = FakeTicketStore(), FakeTime(left=faults.seconds_left)
        acts = {
            "": lambda _: None,
            "held": held,
            "unanswered": unanswered,
            "lost": answer_lost(self.store),
        }
        self.store.faults = [acts[name] for name in faults.store]
        suffix = ".fifo" if fifo else ""
        self.queue = self.aws.queues[f"dead{suffix}"]
        worker = Worker(
            Allocator(self.store, 25, 10.0),
            SNSPublisher(self.aws.sns, f"arn:aws:sns:eu-west-1:1234:topic{suffix}"),
            SQSDeadLetters(self.aws.sqs, self.queue.name),
            sleep=self.time.sleep,
            # One project after the other, so that a failure can be repeated.
            pool=lambda _: ThreadPoolExecutor(1),
            events=Events(SOURCE),
        )
        self._handle = build_handler(worker)

    def deliver(self, records: Sequence[dict[str, Any]], faults: Faults) -> set[str]:
        """Invoke the function, check its promises, and return the failures."""
        self.log.seek(0)
        self.log.truncate()
        context = Context(lambda: int(self.time.left * 1000))
        with redirect_stdout(io.StringIO()):
            response = self._handle(sqs_event(*records), context)
        lines = [json.loads(line) for line in self.log.getvalue().splitlines()]
        failed = {name["itemIdentifier"] for name in response["batchItemFailures"]}
        self._check_log(records, lines, failed)
        self._check_calls()
        self._check_tables(faults)
        failed_groups = set()
        for record, line in zip(records, lines, strict=True):
            group = record["attributes"].get("MessageGroupId")
            is_transient = line["outcome"] == "transient"
            assert is_transient or not self.fifo or group not in failed_groups
            if line["outcome"] == "poison":
                self._check_dead_letter(record, line)
            if line["outcome"] in {"poison", "refused"}:
                self._check_refusal(record, line)
            elif not is_transient:
                self._check_ticket(record, line)
            elif "refused_as" not in line:
                failed_groups.add(group)
            if is_transient and faults == NO_FAULTS:
                assert line["error_type"] == "DeadLetterError"
                assert not is_deliverable(record["body"])
        return failed

    def _check_log(
        self,
        records: Sequence[dict[str, Any]],
        lines: Sequence[dict[str, Any]],
        failed: set[str],
    ) -> None:
        """One line a record, no bug's stack trace, no word of the producer."""
        ids = [line["message_id"] for line in lines]
        assert ids == [record["messageId"] for record in records]
        assert VALUE_WORDS not in self.log.getvalue()
        assert NAME_WORDS not in self.log.getvalue()
        for line in lines:
            assert "exception" not in line, line["exception"]
            assert line.get("error_type") in FORESEEN
            assert (line["outcome"] == "transient") == (line["message_id"] in failed)

    def _check_calls(self) -> None:
        """No call was refused as a whole, and SNS and its subscribers take the rest."""
        answers = [detail for *_, detail in self.aws.history.events]
        assert not [answer for answer in answers if isinstance(answer, ServiceError)]
        for entry in self.aws.sns.entries:
            attributes = entry["MessageAttributes"].values()
            texts = [entry["Message"], *(value["StringValue"] for value in attributes)]
            assert len(attributes) <= 10
            assert all(map(is_acceptable, texts))
            assert ("MessageDeduplicationId" in entry) == self.fifo

    @property
    def _events(self) -> list[Any]:
        published = self.aws.topic.published.values()
        return [json.loads(message) for messages in published for message in messages]

    def _check_tables(self, faults: Faults) -> None:
        """Numbers have no gap, and all that is announced is committed."""
        committed = set()
        for project in self.store.tickets:
            numbers = self.store.numbers(project)
            assert numbers == list(range(1, len(numbers) + 1)), project
            committed |= {f"{project}-{number}" for number in numbers}
        announced = {event["id"] for event in self._events if "number" in event["data"]}
        assert announced <= committed
        assert faults != NO_FAULTS or announced == committed

    def _check_ticket(self, record: Mapping[str, Any], line: Mapping[str, Any]) -> None:
        """The number is committed and announced, for a ticket that says the same."""
        project, _, number = line["ticket_key"].rpartition("-")
        ticket = self.store.tickets[project][int(number)]
        fields = json.loads(record["body"], object_pairs_hook=unique)
        assert SCHEMA.is_valid(fields)
        # The cap is no part of the ticket: a repeat may have another. Null is absent.
        no_content = {"max_number", *(name for name in fields if fields[name] is None)}
        fields = {name: fields[name] for name in fields.keys() - no_content}
        assert {name: ticket.model_dump()[name] for name in fields} == fields
        assert self.store.keys[key_id(ticket.key)].number == int(number)
        assert line["ticket_key"] in self.aws.topic.published

    def _check_refusal(
        self, record: Mapping[str, Any], line: Mapping[str, Any]
    ) -> None:
        """It is announced if the body names project and key, and in no other words."""
        refusal = f"refused/{record['messageId']}/{line['error_type']}/{line['field']}"
        data = [event["data"] for event in self._events if event["id"] == refusal]
        key = CreateTicket.key_of(record["body"])
        assert bool(data) is (key is not None)
        for member in data:
            assert (member["project_id"], member["idempotency_key"]) == key
            assert VALUE_WORDS not in json.dumps(member)

    def _check_dead_letter(
        self, record: Mapping[str, Any], line: Mapping[str, Any]
    ) -> None:
        """It is the message, with a reason that a person can read."""
        kind, body = line["error_type"], record["body"]
        dead_letters = [
            message
            for message in self.queue.arrived
            if message.attributes["SourceMessageId"]["StringValue"]
            == record["messageId"]
        ]
        assert dead_letters
        for dead_letter in dead_letters:
            attributes = dead_letter.attributes
            reason = attributes["ErrorMessage"]["StringValue"]
            innards = INNARDS.search(reason)
            assert (dead_letter.body == body) is True
            assert attributes["ErrorType"]["StringValue"] == kind
            assert 0 < len(reason) <= MAX_REASON
            assert innards is None or innards[0] in body
            # A piece can make a name of a value.
            if VALUE_WORDS in reason:
                assert re.search(VALUE_WORDS + r'[^"]*"\s*:', body)
        assert (kind == "TicketTooLargeError") == (size_of(body) > BODY_LIMIT)


def is_deliverable(body: str) -> bool:
    """Tell whether SQS can have delivered the body, with room for a reason."""
    return is_acceptable(body) and size_of(body) <= SQS_LIMIT - REASON_ROOM


def unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object, or refuse to."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError
    return dict(pairs)


@pytest.fixture(scope="module")
def log() -> Iterator[io.StringIO]:
    """Return the function's log."""
    log = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logger.registered_handler, "stream", log)
        # pytest keeps every record of the root logger until the test ends.
        patch.setattr(logging.getLogger(logger.service), "propagate", False)
        yield log


@pytest.mark.parametrize(
    ("bodies", "examples"), [(BODIES, EXAMPLES), (LARGE_BODIES, EXAMPLES // 4)]
)
def test_batch_ends_well_whatever_comes(
    log: io.StringIO, bodies: SearchStrategy[str], examples: int
) -> None:
    """Records that failed by a fault are delivered again without one."""
    # To make a large failure small takes minutes.
    phases = set(Phase) - ({Phase.shrink} if bodies is LARGE_BODIES else set())

    @settings(
        max_examples=examples, phases=phases, suppress_health_check=list(HealthCheck)
    )
    @given(batches(bodies), FAULTS)
    def deliver(records: list[dict[str, Any]], faults: Faults) -> None:
        fifo = "SequenceNumber" in records[0]["attributes"]
        system = System(faults, fifo=fifo, log=log)
        failed = system.deliver(records, faults)
        if faults != NO_FAULTS:
            for coming in system.call_faults.values():
                coming.clear()
            system.store.faults.clear()
            system.time.left = NO_FAULTS.seconds_left
            again = [record for record in records if record["messageId"] in failed]
            for record in again:
                record["attributes"]["ApproximateReceiveCount"] = "2"
            failed = system.deliver(again, faults) if again else set()
        assert not failed & {records[0]["messageId"], records[-1]["messageId"]}

    deliver()
