"""A system with the laboratory's services for the commands that write tickets."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from typing import Any

from tests.support.builders import CALLER, SOURCE, block_of
from tests.support.canned_aws import client_error, failing
from tests.support.ctl_process import Ended, exit_status
from tests.support.model_services import ModelServices
from tests.support.seed_items import Item, block_items, ticket_item
from ticket_numbering.contract.messages import CreateTicket
from ticketctl.aws.items import plain, serialized
from ticketctl.importing.judging import Judge
from ticketctl.importing.tickets import Import
from ticketctl.sequences.retry import RetryPolicy
from ticketctl.sequences.seeding import Seed


@dataclass
class Harness:
    """A system with the laboratory's tables, topic and queue."""

    folder: Path
    printed: Any = None  # pytest's, of a test without a terminal.
    topic: str = "arn:aws:sns:eu-west-1:123456789012:assignments"
    retention_days: int = 0
    number_padding: int = 0
    name: str = "numbers"
    region: str = "eu-west-1"
    limits: Mapping[str, str] = field(default_factory=dict)
    """Outputs that limit the requests."""

    services: ModelServices = field(default_factory=ModelServices)

    @property
    def dynamodb(self) -> Any:
        return self.services.dynamodb

    @property
    def outputs(self) -> Mapping[str, str]:
        return {
            "TicketsTableName": "tickets",
            "IdempotencyKeysTableName": "keys",
            "AssignmentsTopicArn": self.topic,
            "CreateTicketQueueUrl": "source",
            "DeadLetterQueueUrl": "dead",
            "EventSource": SOURCE,
            **self.limits,
        }

    def client(self, service_name: str) -> Any:
        """Return a client; STS, which the model does not have, is the harness."""
        return self if service_name == "sts" else getattr(self.services, service_name)

    @property
    def published(self) -> list[dict[str, Any]]:
        """The entries that were published."""
        entries: list[dict[str, Any]] = self.services.sns.entries
        return entries

    def get_caller_identity(self) -> dict[str, str]:
        return {"Arn": CALLER}

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
        """Write items to their tables."""
        self.dynamodb.put(*items)

    def change_ticket(self, number: int, **fields: Any) -> None:
        self.write(serialized(self.tickets()[number] | fields))

    def change_record(self, key: str, **fields: Any) -> None:
        """Change the record of a key, or delete it if nothing is given."""
        where = {"id": {"S": f"PROJ#{key}"}}
        if fields:
            self.write(serialized(self.records()[key] | fields))
        else:
            self.dynamodb.delete_item(TableName="keys", Key=where)

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

    def file(self, *tickets: int | dict[str, Any]) -> str:
        """Write a file of tickets; a number alone is a ticket of the project."""
        path = self.folder / "tickets.jsonl"
        lines = [line(one) if isinstance(one, int) else one for one in tickets]
        path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
        return str(path)

    def call(
        self, command: Callable[..., None], *arguments: str, **options: Any
    ) -> Ended:
        """Call a command, with `--yes` if it knows it."""
        agreed = {"yes": True} if "yes" in signature(command).parameters else {}
        status = exit_status(command, self, *arguments, **agreed | options)
        return Ended(status, *self.printed.readouterr())


def without_sleep(
    attempts: int = 40, sleep: Callable[[float], None] = lambda _: None
) -> RetryPolicy:
    """Return a policy that waits for nobody."""
    return RetryPolicy(attempts, sleep=sleep)


def line(number: Any = 42, **fields: Any) -> dict[str, Any]:
    return {"project_id": "PROJ", "number": number, "title": "t"} | fields


def cancelled(*reasons: str | dict[str, Any]) -> Callable[[], None]:
    """Return an act that fails as boto3 does when DynamoDB cancels a transaction.

    Args:
        reasons: The reason of each action, or its code alone.
    """
    named = [
        {"Code": reason} if isinstance(reason, str) else reason for reason in reasons
    ]
    error = client_error("TransactionCanceledException", CancellationReasons=named)
    return failing(error)
