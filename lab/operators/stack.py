"""A stack on the model, and the import into it of another system's tickets."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, ClassVar, Final

from simulation.aws.tables import KEYS, TICKETS
from simulation.world.execution_environment import SETTINGS
from ticket_numbering.contract.messages import CreateTicket
from ticketctl import PROGRAM
from ticketctl.importing.lines import ExternalTicket
from ticketctl.importing.planning import judge_all
from ticketctl.importing.writing import Import, ends
from ticketctl.sequences.seeding import Seeded

PROJECT: Final = "P0"  # Every scenario has it.
CALLER: Final = "arn:aws:sts::123456789012:assumed-role/operators/ann"
FUNCTION: Final = "arn:aws:lambda:eu-west-1:123456789012:function:worker"
STAMP: Final = "2019-05-04T10:00:00.000Z"
LONG_AGO: Final = datetime(2020, 1, 1, tzinfo=UTC)


@dataclass
class SimulatedStack:
    """The parts of a stack that an operator's commands need."""

    name: ClassVar[str] = "simulated"
    program: ClassVar[str] = PROGRAM
    region: ClassVar[str] = "eu-west-1"
    outputs: ClassVar[Mapping[str, str]] = {
        "TicketsTableName": TICKETS,
        "IdempotencyKeysTableName": KEYS,
        "EventSource": SETTINGS.event_source,
        "WorkerFunctionName": "worker",
    }
    dynamodb: Any
    is_running: bool = False
    """Whether the worker runs, as Lambda says."""

    def client(self, service_name: str) -> Any:
        """Return the client; Lambda has a mapping, and nothing is on its way."""
        mapping = {
            "UUID": "mapping",
            "State": "Enabled" if self.is_running else "Disabled",
            "FunctionArn": FUNCTION,
            "LastModified": LONG_AGO,
        }
        pages = SimpleNamespace(paginate=lambda: [{"EventSourceMappings": [mapping]}])
        of_lambda = SimpleNamespace(
            get_paginator=lambda _: pages,
            get_function_configuration=lambda **_: {"Timeout": 30},
            tag_resource=lambda **_: None,
            untag_resource=lambda **_: None,
        )
        return {"dynamodb": self.dynamodb, "lambda": of_lambda}[service_name]


def imported(
    target: Import,
    name: str,
    numbers: Sequence[int],
    see: Callable[[Seeded], object] = lambda _: None,
) -> Iterator[tuple[int, str]]:
    """Import tickets of another system; see each seed, yield the fates of numbers."""
    tickets = [external(name, number) for number in numbers]
    judged = [*judge_all(target.stack, target.judge, tickets)]
    for project, end in sorted(ends(judged)):
        if seeded := target.seed(project, end):
            see(seeded)
    due = [planned.ticket for planned in judged if planned.is_due]
    rest = [planned for planned in judged if not planned.is_due]
    for planned in [*rest, *target.judged(due)]:
        yield planned.ticket.number, target.write(planned)


def external(name: str, number: int) -> ExternalTicket:
    """Return a ticket of another system."""
    key = f"import-{name}-{number}".replace(" ", "-")
    request = CreateTicket(project_id=PROJECT, idempotency_key=key, title=name)
    return ExternalTicket(1, number, request, STAMP, is_dated=True)
