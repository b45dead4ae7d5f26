"""`ticketctl run` on services of the laboratory."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
import typer

from simulation.aws.messages import Message
from tests.support.builders import announcement, create_ticket
from tests.support.ctl_process import command_of
from tests.support.stage import Stage
from ticket_numbering.contract.attributes import text_attribute
from ticketctl.cli.errors import Status
from ticketctl.commands.local import run
from ticketctl.local.session import Session

POISON = ['{"title":"one"}', '{"title":"two"}']


def run_on(stage: Stage, **options: Any) -> tuple[int, Any]:
    """Run the command on a file of poison; return its status and the parameters."""
    path = stage.folder / "my.jsonl"
    path.write_text("\n".join(POISON), encoding="utf-8")
    started: list[Mapping[str, str]] = []

    @contextmanager
    def start(
        parameters: Mapping[str, str], *, progress: Callable[[str], None]
    ) -> Iterator[Any]:
        started.append(parameters)
        progress("starting")
        yield stage

    session = Session(start, patience=0)
    context = typer.Context(command_of(()), obj=session)
    with pytest.raises(typer.Exit) as ended:
        run(context, path, **options)
    [parameters] = started
    return ended.value.exit_code, parameters


@pytest.mark.parametrize(
    ("is_answered", "status"), [(True, Status.OK), (False, Status.PROBLEM)]
)
def test_run_ends_with_status_0_when_every_message_of_its_file_is_accounted_for(
    stage: Stage,
    capsys: pytest.CaptureFixture[str],
    *,
    is_answered: bool,
    status: Status,
) -> None:
    queues = stage.services.queues

    def answer(message: Message) -> None:
        reason = {"SourceMessageId": message.id, "ErrorType": "InvalidMessageError"}
        attributes = {name: text_attribute(value) for name, value in reason.items()}
        queues["dead"].send(message.body, attributes)

    if is_answered:
        queues["source"].on_arrival = answer

    ended, _ = run_on(stage)

    assert [message.body for message in queues["source"].arrived] == POISON
    assert ended == status
    out = capsys.readouterr().out
    said = "clean" if is_answered else "NOT CLEAN"
    assert f"Verdict: {said}, 0 of 2 messages got a number (0 numbers, " in out
    assert "on purpose" not in out
    assert all(body in out for body in POISON)


def test_run_shows_a_title_as_it_is_and_refusals_at_the_end_when_they_are_announced(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    queues, title = stage.services.queues, "Log in [red]page[/]"

    def announce(_: Message) -> None:
        entry = announcement(create_ticket(title=title)).entry(fifo=False)
        queues["run"].send(entry["Message"], entry["MessageAttributes"])
        queues["run"].send('{"id": "e", "type": "ticket-numbering.TicketRefused.v1"}')

    queues["source"].on_arrival = announce

    run_on(stage)

    out = capsys.readouterr().out
    assert title in out
    assert "refused" not in out


@pytest.mark.parametrize("fifo", [True, False])
def test_run_starts_a_system_of_the_type_that_is_asked_for(
    stage: Stage, *, fifo: bool
) -> None:
    _, parameters = run_on(stage, fifo=fifo)

    types = {parameters.get(name) for name in ("QueueType", "TopicType")}
    assert types == ({"fifo"} if fifo else {None})
