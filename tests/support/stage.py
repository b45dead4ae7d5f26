"""The stage of a transcript: a stack on the laboratory's model, and steps on it."""

import json
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

from simulation.aws.clients import AlteredClient
from simulation.aws.faults import Fault
from simulation.aws.messages import EPOCH_SECONDS, record_of
from tests.support.builders import CALLER, create_ticket, plenty, ticket_fields
from tests.support.canned_aws import aws_client, failing
from tests.support.command_harness import Harness
from tests.support.model_services import InTurn, ModelServices
from ticket_numbering.adapters.dynamodb_store import DynamoDBTicketStore
from ticket_numbering.adapters.sns_publisher import SNSPublisher
from ticket_numbering.adapters.sqs_dead_letters import SQSDeadLetters
from ticket_numbering.allocation.allocation import Allocator
from ticket_numbering.contract.envelope import text_attribute
from ticket_numbering.worker.results import Retry
from ticket_numbering.worker.sqs_record import SQSRecord
from ticket_numbering.worker.worker import Worker
from ticketctl.aws.items import plain, serialized
from ticketctl.aws.outputs import NEEDED_OUTPUTS

PAST_SECONDS: Final = (2 * 24 + 3) * 3600
"""How long ago the stage was set: two days and three hours."""

_SHORT: Final = re.compile(r"([\w.-]+)/(\S+)")


class Stage:
    """A stack of empty tables, queues and a topic; each public method is a step.

    A step's arguments are texts; it may return lines to show.
    """

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        """Set the stage, and lead boto3 to it."""
        self.typed: list[str] = []
        """What a person will type, line by line."""
        self._faults: dict[str, list[Fault | None]] = {}
        services = ModelServices(faults=InTurn(self._faults))
        services.wait(max(0, time.time() - PAST_SECONDS - EPOCH_SECONDS))
        self._harness = Harness(folder, services=services)
        self._folder, self._patch = folder, patch
        self._outputs = dict.fromkeys(NEEDED_OUTPUTS, "none") | {
            **self._harness.outputs
        }
        self._parameters = {"IdempotencyRetentionDays": "0", "NumberPadding": "0"}
        self._answers: dict[str, Any] = {"GetCallerIdentity": {"Arn": CALLER}}
        self._refusals: dict[str, str] = {}
        self._file, self._has_worker = "", False
        patch.setattr("boto3.Session", lambda **_: self)

    # What boto3 is asked for.

    def client(self, service: str, **_: Any) -> Any:
        """Return the model's client; one that gives the stage's answers, if none is."""
        modelled = getattr(self._harness.services, service, None)
        if modelled is not None:
            modelled.meta = aws_client(service).meta
            if service == "sqs" and self._has_worker:
                return AlteredClient(
                    modelled,
                    send_message_batch=self._sent(modelled.send_message_batch),
                )
            return modelled
        client = aws_client(service)
        client.meta.events.register("before-call", self._answer)
        return client

    def _answer(self, model: Any, **_: Any) -> Any:
        if model.name == "DescribeStacks":
            return SimpleNamespace(status_code=200), {"Stacks": [self._stack()]}
        if answer := self._answers.get(model.name):
            return SimpleNamespace(status_code=200), answer
        code = self._refusals.get(model.name, "AccessDenied")
        return SimpleNamespace(status_code=403), {"Error": {"Code": code}}

    def _stack(self) -> dict[str, Any]:
        return {
            "StackName": self._harness.name,
            "StackStatus": "UPDATE_COMPLETE",
            "Outputs": _pairs("Output", self._outputs),
            "Parameters": _pairs("Parameter", self._parameters),
        }

    # Steps.

    def file(self, name: str) -> None:
        """Begin a file, whose lines follow."""
        self._file = name
        (self._folder / name).write_text("", encoding="utf-8")

    def write(self, line: str, *, is_last: bool) -> None:
        """Add a line to the file; the last has no end, as many editors leave it."""
        with (self._folder / self._file).open("a", encoding="utf-8") as file:
            file.write(_unescaped(line) + "\n" * (not is_last))

    def types(self, *lines: str) -> None:
        """Let a person answer the questions that come; `^C` is Ctrl-C."""
        self.typed += lines

    def passes(self, hours: str) -> None:
        """Let hours pass on the queues."""
        self._harness.services.wait(float(hours) * 3600)

    def output(self, name: str, value: str) -> None:
        """Give the stack another output."""
        self._outputs[name] = value

    def parameter(self, name: str, value: str) -> None:
        """Give the stack another parameter."""
        self._parameters[name] = value

    def fails(self, operation: str, *faults: str) -> None:
        """Let the next calls of an operation of SQS, SNS or DynamoDB meet faults.

        They are members of `Fault`; `-` is none.
        """
        found = [None if name == "-" else Fault[name] for name in faults]
        self._faults.setdefault(operation, []).extend(found)

    def interrupts(self, operation: str, after: str = "0") -> None:
        """Let a person press Ctrl-C at a call of an operation, after some others."""
        first = [lambda: None] * int(after)
        self._harness.before(operation, *first, failing(KeyboardInterrupt()))

    def ticket(self, project_id: str, key: str, *fields: str) -> None:
        """Let the worker number a request; `name=value` is a further field."""
        text = dict(field.split("=", 1) for field in fields)
        request = create_ticket(project_id, key, **text)
        last = self._last(project_id)
        number, chain = int(last.get("number", 0)), last.get("chain", "")
        self._harness.give(request, number + 1, chain)

    def item(self, *fields: str) -> None:
        """Put an item past the worker; a field whose value is digits is a number."""
        self._harness.write(serialized(_values(fields)))

    def loses(self, project_id: str, number: str) -> None:
        """Lose a ticket."""
        where = {"project_id": {"S": project_id}, "number": {"N": number}}
        self._harness.dynamodb.delete_item(TableName="tickets", Key=where)

    def loses_key(self, project_id: str, key: str) -> None:
        """Lose the record of an idempotency key."""
        where = {"id": {"S": f"{project_id}#{key}"}}
        self._harness.dynamodb.delete_item(TableName="keys", Key=where)

    def dead(self, body: str, *attributes: str) -> None:
        """Put a dead letter; `PROJECT/key` is the body of a short request."""
        if match := _SHORT.fullmatch(body):
            body = json.dumps(ticket_fields(*match.groups(), title="t"))
        pairs = (one.partition("=") for one in attributes)
        self._harness.services.queues["dead"].send(
            _unescaped(body),
            {name: text_attribute(_unescaped(text)) for name, _, text in pairs},
        )

    def holds(self, *ids: str) -> None:
        """Let another consumer hold dead letters for an hour."""
        services = self._harness.services
        for message_id in ids:
            until = services.scheduler.now + 3600
            services.queues["dead"].messages[message_id].visible_at = until

    def worker(self) -> None:
        """Let the worker number whatever is sent from now on."""
        self._has_worker = True

    def meanwhile(self, body: str, *pairs: str) -> None:
        """Let a message come when a command looks at a queue; steps do so in turn.

        `PROJECT/key name=value` is a request, which the worker numbers and announces;
        any other body is published as it is, with attributes.
        """
        services, values = self._harness.services, _values(pairs)
        short = _SHORT.fullmatch(body)

        def come() -> None:
            if short:
                request = ticket_fields(*short.groups(), **values)
                services.queues["source"].send(json.dumps(request))
                self._number()
                return
            attributes = {name: text_attribute(values[name]) for name in values}
            for endpoint in services.subscriptions.values():
                name = endpoint.rpartition(":")[2]
                services.queues[name].send(_unescaped(body), attributes)

        services.sqs.before.setdefault("receive_message", []).append(come)

    # What is there afterwards.

    def queues(self) -> Iterator[str]:
        """Show what lies on the source queue and in the dead-letter queue."""
        for name in ("source", "dead"):
            for message in self._harness.services.queues[name].messages.values():
                yield f"{name}: {message.body}"

    def tickets(self) -> Iterator[str]:
        """Show the tickets' items."""
        for item in self._harness.services.tables.items("tickets"):
            yield json.dumps(plain(item), default=str, ensure_ascii=False)

    def published(self) -> Iterator[str]:
        """Show the events that were published."""
        for entry in self._harness.services.sns.entries:
            yield entry["Message"]

    def _last(self, project_id: str) -> dict[str, Any]:
        items = map(plain, self._harness.services.tables.items("tickets"))
        own = [item for item in items if item["project_id"] == project_id]
        return max(own, key=lambda item: item["number"], default={})

    def _sent(self, send: Any) -> Any:
        """Return what sends messages, and lets the worker number them."""

        def send_and_number(**request: Any) -> Any:
            answer = send(**request)
            self._number()
            return answer

        return send_and_number

    def _number(self) -> None:
        services = self._harness.services
        store = DynamoDBTicketStore(services.dynamodb, "tickets", "keys")
        worker = Worker(
            Allocator(store, 3, 10.0),
            SNSPublisher(services.sns, self._outputs["AssignmentsTopicArn"]),
            SQSDeadLetters(services.sqs, "dead"),
            source=self._outputs["EventSource"],
        )
        queue = services.queues["source"]
        while records := [record_of(message) for message in queue.receive(10)]:
            report = worker.handle([*map(SQSRecord.of, records)], plenty)
            for result in report.results:
                if not isinstance(result, Retry):
                    queue.messages.pop(result.record.message_id, None)


def _pairs(kind: str, values: dict[str, str]) -> list[dict[str, str]]:
    return [
        {f"{kind}Key": name, f"{kind}Value": value} for name, value in values.items()
    ]


def _values(fields: Sequence[str]) -> dict[str, Any]:
    pairs = (_unescaped(field).split("=", 1) for field in fields)
    return {name: int(v) if v.isdecimal() else v for name, v in pairs}


def _unescaped(text: str) -> str:
    return re.sub(r"\\x(..)", lambda found: chr(int(found[1], 16)), text)
