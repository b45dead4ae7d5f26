"""`ticketctl run` on services of the laboratory."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import typer

from simulation.aws.messages import Message
from tests.support.builders import announcement, create_ticket
from tests.support.ctl_process import canned_stack
from tests.support.model_services import ModelServices
from ticket_numbering.contract.envelope import text_attribute
from ticketctl.cli.errors import Status
from ticketctl.commands import app
from ticketctl.commands.local import run
from ticketctl.local.session import Session

OUTPUTS = {
    "AssignmentsTopicArn": "arn:aws:sns:x:1:t",
    "CreateTicketQueueUrl": "source",
    "DeadLetterQueueUrl": "dead",
    "IdempotencyKeysTableName": "keys",
    "TicketsTableName": "tickets",
}
POISON = ['{"title":"one"}', '{"title":"two"}']


def run_on(services: ModelServices, path: Path, **options: Any) -> tuple[int, Any]:
    """Run the command on a file of poison; return its status and the parameters."""
    path.write_text("\n".join(POISON), encoding="utf-8")
    started: list[Mapping[str, str]] = []

    @contextmanager
    def start(
        parameters: Mapping[str, str], *, progress: Callable[[str], None]
    ) -> Iterator[Any]:
        started.append(parameters)
        progress("starting")
        clients = {name: getattr(services, name) for name in ("dynamodb", "sns", "sqs")}
        yield canned_stack(OUTPUTS, **clients)

    session = Session(start, patience=0)
    context = typer.Context(typer.main.get_command(app), obj=session)
    with pytest.raises(typer.Exit) as ended:
        run(context, path, **options)
    [parameters] = started
    return ended.value.exit_code, parameters


@pytest.mark.parametrize(
    ("is_answered", "status"), [(True, Status.OK), (False, Status.FOUND)]
)
def test_run_ends_with_status_0_when_every_message_of_its_file_is_accounted_for(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    *,
    is_answered: bool,
    status: Status,
) -> None:
    services = ModelServices()

    def answer(message: Message) -> None:
        reason = {"SourceMessageId": message.id, "ErrorType": "InvalidMessageError"}
        attributes = {name: text_attribute(value) for name, value in reason.items()}
        services.queues["dead"].send(message.body, attributes)

    if is_answered:
        services.queues["source"].on_arrival = answer

    ended, _ = run_on(services, tmp_path / "my.jsonl")

    assert [one.body for one in services.queues["source"].arrived] == POISON
    assert ended == status
    assert ("Verdict: clean" in capsys.readouterr().out) == is_answered


def test_run_shows_a_title_as_it_is_when_it_looks_like_markup(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    services = ModelServices()
    title = "Log in [red]page[/]"

    def announce(_: Message) -> None:
        entry = announcement(create_ticket(title=title)).entry(fifo=False)
        services.queues["run"].send(entry["Message"], entry["MessageAttributes"])

    services.queues["source"].on_arrival = announce

    run_on(services, tmp_path / "my.jsonl")

    assert title in capsys.readouterr().out


@pytest.mark.parametrize("fifo", [True, False])
def test_run_starts_a_system_of_the_type_that_is_asked_for(
    tmp_path: Path, *, fifo: bool
) -> None:
    _, parameters = run_on(ModelServices(), tmp_path / "my.jsonl", fifo=fifo)

    types = {parameters.get(name) for name in ("QueueType", "TopicType")}
    assert types == ({"fifo"} if fifo else {None})
