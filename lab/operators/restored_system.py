"""A system whose tables go back in time, and whose operator restores its exports."""

import io
import json
import shlex
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from operators.model_services import ModelServices
from operators.restored_monitor import RestoreMonitor
from operators.stack import CALLER, PROJECT, SimulatedStack, imported
from simulation.aws.items import Address, Item
from simulation.aws.messages import record_of
from simulation.aws.tables import KEYS, TICKETS, address_of
from simulation.checks.violations import Invariant, broken
from simulation.engine.choices import Choices, one_of
from simulation.world.execution_environment import SALT, SETTINGS
from ticket_numbering.adapters.dynamodb_store import DynamoDBTicketStore
from ticket_numbering.adapters.sns_publisher import SNSPublisher
from ticket_numbering.adapters.sqs_dead_letters import SQSDeadLetters
from ticket_numbering.allocation.allocation import Allocator
from ticket_numbering.contract.messages import CreateTicket
from ticket_numbering.worker.events import Events
from ticket_numbering.worker.sqs_record import SQSRecord
from ticket_numbering.worker.worker import Worker
from ticketctl.audit.audit import audit_tables
from ticketctl.audit.heads import KeptHead
from ticketctl.audit.reading import AuditPlan
from ticketctl.aws.items import plain, serialized, timestamp_now
from ticketctl.aws.retry import RetryPolicy
from ticketctl.aws.table_reader import TableReader
from ticketctl.aws.tickets import find_ticket
from ticketctl.cli.errors import InputError
from ticketctl.export.command import Export
from ticketctl.importing.judging import Judge
from ticketctl.importing.writing import Import
from ticketctl.ledger.database import AuditDatabase
from ticketctl.ledger.findings import Finding
from ticketctl.ledger.item import MARKS
from ticketctl.restore import command
from ticketctl.restore.command import commands
from ticketctl.restore.database import Database
from ticketctl.restore.reading import ExportReader, read_tables, saved_file
from ticketctl.restore.restoring import Restore
from ticketctl.restore.steps import Terms
from ticketctl.sequences.marking import Marking
from ticketctl.sequences.seeding import Seed

TABLES: Final = (TICKETS, KEYS)
WRITES: Final = ("put_item", "transact_write_items")
VERBS: Final = {verb: status for status, verb in MARKS.items()}

Moment = dict[str, list[Item]]
"""The contents of each table."""


class Interrupted:
    """A restore's client: something happens between two of its calls."""

    def __init__(self, system: "RestoredSystem") -> None:
        """Interrupt the restores of a system."""
        self.system = system

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        call = getattr(self.system.services.dynamodb, operation)

        def watched(**request: Any) -> Any:
            self.system.next_call()
            monitor = self.system.monitor
            monitor.is_restoring = True
            try:
                answer = call(**request)
            finally:
                monitor.is_restoring = False
            self.system.written += operation in WRITES
            return answer

        return watched


@dataclass
class Ended:
    """The output of a restore."""

    refusals: str = ""
    commands: list[str] = field(default_factory=list)
    is_refused: bool = False
    """Whether it refused to begin, for the worker runs."""
    is_file_refused: bool = False
    """Whether it refused the file."""


class RestoredSystem:
    """Empty tables, a worker, and an operator; each call happens at once."""

    def __init__(self, choices: Choices, folder: Path) -> None:
        """Begin with empty tables."""
        self.services = ModelServices(choices)
        self.folder = folder
        self.monitor = RestoreMonitor(self.services.tables)
        self.services.tables.on_decision = self.monitor.decided
        self.stack = SimulatedStack(self.services.dynamodb)
        self.interrupted = SimulatedStack(Interrupted(self))
        self.retry = RetryPolicy(sleep=self.services.wait)
        self.retention_days = one_of(choices, (0, 60))
        self.days_ago = 0
        """How long ago requests are numbered."""
        self.acts: list[Callable[[], object]] = []
        """The events before the next calls of a restore, one for each call."""
        self.written = 0
        """The count of a restore's writes."""
        self.said = ""
        """The notes of a restore before its start."""

    def next_call(self) -> None:
        """Run the next event before a call of a restore."""
        if self.acts:
            self.acts.pop(0)()

    def moment(self) -> Moment:
        """Return a copy of the tables."""
        tables = self.services.tables
        return deepcopy({name: [*tables.items(name)] for name in TABLES})

    def go_back(self, table: str, items: list[Item]) -> None:
        """Restore the contents of a table."""
        for item in [*self.services.tables.items(table)]:
            self.lose(item)
        for item in items:
            self.services.tables.write(address_of(item), item)

    def lose(self, item: Item) -> None:
        """Lose an item."""
        self.services.tables.write(address_of(item), None)

    def lose_for_good(self, number: int) -> None:
        """Lose a ticket, and reserve its number with its hash, as the page says."""
        fields = {
            "project_id": PROJECT,
            "number": number,
            "status": "reserved",
            "origin": "external",
            "reserved_up_to": number,
            "chain": self.tickets()[number]["chain"],
        }
        item = serialized(fields)
        self.services.tables.write(address_of(item), item)

    def change(self, number: int, key: str) -> None:
        """Change the text of a ticket, and lose the record of its key."""
        item = serialized({**self.tickets()[number], "title": "Changed"})
        self.services.tables.write(address_of(item), item)
        self.services.tables.write(Address(KEYS, (f"{PROJECT}#{key}",)), None)

    def tickets(self) -> dict[int, dict[str, Any]]:
        """Return the items of the project by their numbers."""
        items = map(plain, self.services.tables.items(TICKETS))
        return {int(item["number"]): item for item in items}

    def records(self) -> dict[str, int]:
        """Return the numbers that the records of keys name."""
        items = map(plain, self.services.tables.items(KEYS))
        return {item["idempotency_key"]: int(item["number"]) for item in items}

    def now(self) -> datetime:
        """Return the worker's time."""
        return datetime.now(UTC) - timedelta(days=self.days_ago)

    def ask(self, key: str) -> int | None:
        """Let the worker number a request; return its number, None if it gets none."""
        title = "past" if key.startswith("import-") else f"Of {key}"
        request = CreateTicket(project_id=PROJECT, idempotency_key=key, title=title)
        days = self.retention_days
        store = DynamoDBTicketStore(self.services.dynamodb, TICKETS, KEYS, days)
        worker = Worker(
            Allocator(store, 3, 10.0, now=self.now, salt=lambda: SALT),
            SNSPublisher(self.services.sns, "topic"),
            SQSDeadLetters(self.services.sqs, "dead"),
            events=Events(SETTINGS.event_source),
        )
        queue, entries = self.services.queues["source"], self.services.sns.entries
        before = len(entries)
        queue.send(request.model_dump_json())
        records = [SQSRecord.of(record_of(message)) for message in queue.receive(10)]
        worker.handle(records, lambda: 60.0)
        queue.messages.clear()
        for entry in self.services.sns.entries[before:]:
            data = json.loads(entry["Message"])["data"]
            if data.get("idempotency_key") == key and "number" in data:
                return int(data["number"])
        return None

    def seed(self, last: int) -> None:
        """Seed the project."""
        Seed(self.stack, PROJECT, last, CALLER, retry=self.retry).apply()

    def import_(self, *numbers: int) -> None:
        """Import tickets of another system."""
        target = Import(self.stack, Judge(CALLER, self.retention_days), self.retry)
        for _ in imported(target, "past", numbers):
            pass

    def mark(self, number: int, status: str, reason: str = "so") -> None:
        """Void or erase a ticket."""
        ticket = find_ticket(self.stack, PROJECT, number)
        Marking(self.stack, status, reason, CALLER, self.retry).apply(ticket)

    def export(self, name: str) -> Path:
        """Write an export; return its file."""
        path = self.folder / name
        with AuditDatabase({}) as numbers:
            lines = [*Export(self._reader(), numbers).lines()]
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        return path

    def _reader(self) -> TableReader:
        reader = TableReader.of(self.stack)
        reader.sleep = self.services.wait
        return reader

    def findings(self) -> list[Finding]:
        """Audit the tables."""
        return audit_tables(
            self._reader(), AuditPlan(retention_days=self.retention_days)
        ).findings

    def restore(
        self, path: Path, *, is_part: bool = False, heads: Sequence[KeptHead] = ()
    ) -> Ended:
        """Restore a file, and return its output."""
        ended, said = Ended(), io.StringIO()
        with (
            redirect_stderr(said),
            Database() as database,
            saved_file(str(path)) as (saved, copy),
        ):
            try:
                ExportReader(database, saved).read(copy, is_part=is_part)
            except InputError:
                ended.is_file_refused = True
            if ended.is_file_refused or any(command.failing_heads(database, heads)):
                ended.is_file_refused = True
                return ended
            read_tables(self._reader(), database, lambda _: None)
            terms = Terms(CALLER, self.retention_days, timestamp_now())
            stack: Any = self.interrupted
            restore = Restore(stack, database, saved, terms, is_part=is_part)
            self.written = 0
            restore.plan()
            self.said = said.getvalue()
            try:
                with restore.stopped():
                    if not restore.is_empty:
                        restore.run()
            except InputError:
                ended.is_refused = True
            ended.commands = [*commands(restore)]
        ended.refusals = said.getvalue()
        return ended

    def run(self, command: str) -> None:
        """Run a command that a restore printed."""
        program, *words = shlex.split(command)
        if words[:1] == ["--stack"]:
            words = words[2:]
        match program, *words:
            case "ticketctl", "seed", _, "--last", last, "--yes":
                self.seed(int(last))
            case "ticketctl", verb, ticket, "--reason", reason, "--yes":
                self.mark(int(ticket.rpartition("-")[2]), VERBS[verb], reason)
            case "aws", "--region", _, "dynamodb", "put-item", *options:
                given = dict(zip(options[::2], options[1::2], strict=True))
                self.services.dynamodb.put_item(
                    TableName=given["--table-name"],
                    Item=json.loads(given["--item"]),
                    ConditionExpression=given["--condition-expression"],
                    ExpressionAttributeNames=json.loads(
                        given["--expression-attribute-names"]
                    ),
                )
            case _:
                broken(Invariant.OPERATOR_STUCK, f"it printed {command}")
