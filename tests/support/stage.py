"""The stage of a test of the command line: a stack on the laboratory's model."""

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pytest

from operators.model_services import InTurn, ModelServices
from simulation.aws.clients import AlteredClient
from simulation.aws.items import Address, Item
from simulation.aws.messages import EPOCH_SECONDS, record_of
from simulation.aws.queues import Queue
from simulation.aws.tables import KEYS, TICKETS, address_of
from tests.support.builders import CALLER, SOURCE, block_of, plenty, ticket_fields
from tests.support.canned_aws import client_error, failing
from tests.support.controls import Controls
from tests.support.ctl_process import WIDTH, Ctl, Ended, command_of
from tests.support.seed_items import block_items, ticket_item
from ticket_numbering.adapters.dynamodb_store import DynamoDBTicketStore
from ticket_numbering.adapters.sns_publisher import SNSPublisher
from ticket_numbering.adapters.sqs_dead_letters import SQSDeadLetters
from ticket_numbering.allocation.allocation import Allocator
from ticket_numbering.contract.attributes import text_attribute
from ticket_numbering.contract.messages import CreateTicket
from ticket_numbering.worker.events import Events
from ticket_numbering.worker.results import Retry
from ticket_numbering.worker.sqs_record import SQSRecord
from ticket_numbering.worker.worker import Worker
from ticketctl import PROGRAM
from ticketctl.aws.items import plain, serialized
from ticketctl.aws.outputs import NEEDED_OUTPUTS
from ticketctl.aws.retry import RetryPolicy
from ticketctl.dead_letters.dead_letter import DeadLetter
from ticketctl.importing.judging import Judge
from ticketctl.importing.writing import Import
from ticketctl.sequences.seeding import Seed

PAST_SECONDS: Final = (2 * 24 + 3) * 3600
"""How long ago the stage was set: two days and three hours."""

_ARN: Final = "arn:aws:{}:eu-west-1:123456789012:{}"


class Stage:
    """A stack of empty tables, queues and a topic, to which boto3 can be led."""

    name = "numbers"
    region = "eu-west-1"
    program = PROGRAM

    def __init__(self, folder: Path) -> None:
        """Set the stage; files go into the folder."""
        self.folder = folder
        self.faults = dict[str, list[Any]]()
        """Of the next calls, by operation."""
        self.services = ModelServices(faults=InTurn(self.faults))
        self.services.wait(max(0, time.time() - PAST_SECONDS - EPOCH_SECONDS))
        self.on_pause: Callable[[], object] = lambda: None
        """Happens whenever a command waits."""
        self.has_worker = False
        """Whether the worker numbers at once all that is sent."""
        outputs = dict.fromkeys(NEEDED_OUTPUTS, "none") | {
            "TicketsTableName": "tickets",
            "IdempotencyKeysTableName": "keys",
            "AssignmentsTopicArn": _ARN.format("sns", "assignments"),
            "CreateTicketQueueUrl": "source",
            "CreateTicketQueueArn": _ARN.format("sqs", "source"),
            "DeadLetterQueueUrl": "dead",
            "DeadLetterQueueArn": _ARN.format("sqs", "dead"),
            "EventSource": SOURCE,
            "WorkerFunctionName": "worker",
        }
        parameters = {"IdempotencyRetentionDays": "0", "NumberPadding": "0"}
        self.controls = Controls(outputs, parameters, now=self._now)

    def _now(self) -> datetime:
        seconds = EPOCH_SECONDS + self.services.scheduler.now
        return datetime.fromtimestamp(seconds, UTC)

    @property
    def dynamodb(self) -> Any:
        return self.services.dynamodb

    @property
    def outputs(self) -> dict[str, str]:
        return self.controls.outputs

    @property
    def retention_days(self) -> int:
        return int(self.controls.parameters["IdempotencyRetentionDays"])

    def client(self, service_name: str, **_: Any) -> Any:
        """Return a client of the model, or of the stack's controls."""
        modelled: Any = getattr(self.services, service_name, None)
        client = self.controls.client(service_name, modelled)
        if service_name in {"dynamodb", "sns"} and client is modelled:
            return AlteredClient(client, **self._settings(service_name))
        if service_name == "sqs" and self.has_worker:
            return AlteredClient(
                client,
                send_message=self._sent(modelled.send_message),
                send_message_batch=self._sent(modelled.send_message_batch),
            )
        return client

    def _settings(self, service_name: str) -> dict[str, Any]:
        """Return the operations on settings; an audit asks for a table's key, too."""
        settings = self.controls.settings(service_name)
        if "describe_table" in settings:
            of_controls, of_model = settings["describe_table"], self.dynamodb

            def describe_table(**request: Any) -> Any:
                setting = of_controls(**request)["Table"]
                return {"Table": of_model.describe_table(**request)["Table"] | setting}

            settings["describe_table"] = describe_table
        return settings

    def lead(self, patch: pytest.MonkeyPatch) -> None:
        """Lead boto3 here, and let no time pass but that of the services."""
        patch.setattr("boto3.Session", lambda **_: self)
        patch.setattr("time.sleep", self._pause)
        patch.setattr("time.monotonic", lambda: self.services.scheduler.now)

    def _pause(self, seconds: float) -> None:
        if seconds:  # Else the model would draw, and a transcript change.
            self.services.wait(seconds)
            self.on_pause()

    def call(self, *words: str) -> Ended:
        """Call a command as a script does, with `--yes` if it knows it."""
        knows = any(parameter.name == "yes" for parameter in command_of(words).params)
        with pytest.MonkeyPatch.context() as patch:
            self.lead(patch)
            return Ctl({"COLUMNS": WIDTH, "TICKETCTL_STACK": None})(
                *words, *["--yes"] * knows
            )

    def work(self) -> None:
        """Let the worker process the queue."""
        services = self.services
        store = DynamoDBTicketStore(services.dynamodb, "tickets", "keys")
        worker = Worker(
            Allocator(store, 3, 10.0),
            SNSPublisher(services.sns, self.outputs["AssignmentsTopicArn"]),
            SQSDeadLetters(services.sqs, "dead"),
            events=Events(self.outputs["EventSource"]),
        )
        queue = services.queues["source"]
        while records := [record_of(message) for message in queue.receive(10)]:
            report = worker.handle([*map(SQSRecord.of, records)], plenty)
            for result in report.results:
                if not isinstance(result, Retry):
                    queue.messages.pop(result.record.message_id, None)

    def _sent(self, send: Any) -> Any:
        """Return a client that sends messages and lets the worker number them."""

        def send_and_number(**request: Any) -> Any:
            answer = send(**request)
            self.work()
            return answer

        return send_and_number

    @property
    def published(self) -> list[dict[str, Any]]:
        """The entries that were published."""
        entries: list[dict[str, Any]] = self.services.sns.entries
        return entries

    def seed(self, last: int, reason: str = "", **retry: Any) -> Seed:
        return Seed(self, "PROJ", last, CALLER, reason, without_sleep(**retry))

    def importer(self, **retry: Any) -> Import:
        return Import(self, Judge(CALLER), without_sleep(**retry))

    def tickets(self) -> dict[int, dict[str, Any]]:
        items = map(plain, self.services.tables.items("tickets"))
        return {int(item["number"]): item for item in items}

    def give(self, request: CreateTicket, number: int = 1, previous: str = "") -> None:
        """Write a chained ticket and the record of its key, as a worker does."""
        self.write(*block_items(block_of([request], number, previous=previous)))

    def write(self, *items: Item) -> None:
        """Write items to their tables, past the clients: there may be thousands."""
        for item in items:
            self.services.tables.write(address_of(item), item)

    def read(self, project_id: str, place: int | str) -> Any:
        """Return the item of a number or of a key's record, which can be changed."""
        return self.services.tables.read(_address(project_id, place))

    def change(self, project_id: str, place: int | str, **fields: Any) -> None:
        """Change fields of a ticket or of a key's record; None removes one."""
        item = {**self.read(project_id, place)}
        for name, value in fields.items():
            item.pop(name, None)
            if value is not None:
                item |= serialized({name: value})
        self.write(item)

    def lose(self, project_id: str, place: int | str) -> None:
        """Lose a ticket, or a key's record."""
        self.services.tables.write(_address(project_id, place), None)

    def records(self) -> dict[str, dict[str, Any]]:
        """Return the records by their idempotency keys."""
        items = map(plain, self.services.tables.items("keys"))
        return {item["idempotency_key"]: item for item in items}

    def recorded(self) -> list[int]:
        """Return the numbers that the records of keys name."""
        return sorted(int(item["number"]) for item in self.records().values())

    def given(self) -> list[int]:
        """Return the numbers that have a ticket, not only a reservation."""
        tickets = self.tickets().items()
        return sorted(n for n, item in tickets if item.get("status") != "reserved")

    def put(self, *numbers: int, **fields: str) -> None:
        """Write tickets as a worker does."""
        for number in numbers:
            self.write(ticket_item("PROJ", number, f"key-{number}", **fields))

    def interrupt_seed(self, last: int, after: int) -> None:
        """Leave the tables as a seed does that is killed after its first step."""
        self.write(self.seed(last).item(last, reserved_after=after))

    def before(self, operation: str, *acts: Callable[[], object]) -> None:
        """Let something happen before the next calls of an operation."""
        for client in (self.dynamodb, self.services.sns, self.services.sqs):
            client.before[operation] = [*acts]

    @property
    def dead(self) -> Queue:
        return self.services.queues["dead"]

    def bury(self, *dead_letters: DeadLetter) -> list[str]:
        """Put dead letters into their queue; return the ids that SQS gives them."""
        return [
            self.dead.send(dead_letter.body, dead_letter.attributes).id
            for dead_letter in dead_letters
        ]

    @property
    def left(self) -> list[str]:
        """The bodies of the dead letters."""
        return [message.body for message in self.dead.messages.values()]

    @property
    def sent(self) -> list[str]:
        """The bodies on the create-ticket queue, in the order of their arrival."""
        return [message.body for message in self.services.queues["source"].arrived]

    @property
    def hidden(self) -> list[str]:
        """The ids of the dead letters that a consumer holds."""
        now = self.services.scheduler.now
        messages = self.dead.messages.items()
        return [
            message_id for message_id, message in messages if message.visible_at > now
        ]

    def hold(self, *starts: str, seconds: float = 3600.0) -> None:
        """Let another consumer hold dead letters whose ids begin so."""
        for message_id, message in self.dead.messages.items():
            if message_id.startswith(starts):
                message.visible_at = self.services.scheduler.now + seconds

    def file(self, *tickets: int | dict[str, Any]) -> str:
        """Write a file of tickets; a number alone is a ticket of the project."""
        path = self.folder / "tickets.jsonl"
        lines = [
            line(ticket) if isinstance(ticket, int) else ticket for ticket in tickets
        ]
        path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
        return str(path)


def _address(project_id: str, place: int | str) -> Address:
    if isinstance(place, int):
        return Address(TICKETS, (project_id, Decimal(place)))
    return Address(KEYS, (f"{project_id}#{place}",))


def without_sleep(
    attempts: int = 40, sleep: Callable[[float], None] = lambda _: None
) -> RetryPolicy:
    """Return a policy that does not wait."""
    return RetryPolicy(attempts, sleep=sleep)


def dead_letter(
    project_id: str = "PROJ", body: str = "", **attributes: str
) -> DeadLetter:
    return DeadLetter(
        "00000001-0000-4000-8000-000000000000",
        body or json.dumps(ticket_fields(project_id)),
        {name: text_attribute(value) for name, value in attributes.items()},
    )


def dead_letters(count_of: int) -> list[DeadLetter]:
    return [dead_letter() for _ in range(count_of)]


def line(number: Any = 42, **fields: Any) -> dict[str, Any]:
    return {"project_id": "PROJ", "number": number, "title": "t"} | fields


def cancelled(*reasons: str | dict[str, Any]) -> Callable[[], None]:
    """Return an act that fails as boto3 does when DynamoDB cancels a transaction.

    Each action has a reason, or its code alone.
    """
    named = [
        {"Code": reason} if isinstance(reason, str) else reason for reason in reasons
    ]
    error = client_error("TransactionCanceledException", CancellationReasons=named)
    return failing(error)
