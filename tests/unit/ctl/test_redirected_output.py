"""A person at a terminal sends a command's output into a file or a pipe."""

import json
import os
import pty
import sys
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, Final

import pytest
import typer

from tests.support.builders import CALLER, create_ticket, ticket_fields
from tests.support.canned_aws import aws_client
from tests.support.command_harness import Harness
from ticket_numbering.contract.envelope import text_attribute
from ticketctl.__main__ import main
from ticketctl.aws.outputs import NEEDED_OUTPUTS
from ticketctl.commands import app

ALL: Final = vars(typer.main.get_command(app))["commands"]

ELSEWHERE: Final = {"run", "up"}
"""They start a system of their own: the end-to-end tests run them."""

COMMANDS: Final = {
    "announce": ("--project PROJ --from 1", "announced: TicketNumberAssigned 2"),
    "audit": ("", "PROJ"),
    "dead-letters delete": ("dead-1", "dead letters deleted: 1"),
    "dead-letters edit": (
        "dead-1 --body {folder}/other.json",
        '"body": "not JSON"',
    ),
    "dead-letters list": ("", "InvalidMessageError"),
    "dead-letters redrive": ("dead-1", "dead letters redriven: 1"),
    "dead-letters show": ("dead-1", "not JSON"),
    "env": ("", "TICKETS_TABLE_NAME"),
    "erase": ("PROJ-1 --reason asked", "PROJ-1 is erased"),
    "export": ("", '"title": "Ticket k-2"'),
    "find": ("PROJ k-1", "Ticket k-1"),
    "import": ("{folder}/tickets.jsonl", "imported 1"),
    "list": ("PROJ", "Ticket k-1"),
    "sample": ("3", "idempotency_key"),
    "seed": ("PROJ --last 99", "PROJ is seeded up to 99"),
    "send": ("--project PROJ --title t --key k-1", "sent with the idempotency key k-1"),
    "send-file": ("{folder}/requests.jsonl --wait", "PROJ-2  k-2  Ticket k-2"),
    "show": ("PROJ-1", "Ticket k-1"),
    "status": ("", "dead letters"),
    "verify": ("--count 1 --timeout 1", "VERIFY-"),
    "void": ("PROJ-1 --reason spam", "PROJ-1 is voided"),
    "watch": ("--count 1", "not an announcement: hello"),
}
"""The arguments of each, and a part of what it prints."""


def registered(commands: Any, *group: str) -> Iterator[str]:
    """Yield the names of all commands, those of groups too."""
    for name, command in commands.items():
        within = getattr(command, "commands", None)
        if within is None:
            yield " ".join([*group, name])
        else:
            yield from registered(within, name)


class Session:
    """A session of boto3 that leads to the laboratory, with hardly a right beside."""

    def __init__(self, harness: Harness) -> None:
        self.services = harness.services
        outputs = dict.fromkeys(NEEDED_OUTPUTS, "none") | {**harness.outputs}
        parameters = {"IdempotencyRetentionDays": "0", "NumberPadding": "0"}
        stack = {
            "StackName": "numbers",
            "Outputs": pairs("Output", outputs),
            "Parameters": pairs("Parameter", parameters),
        }
        self.answers = {
            "DescribeStacks": {"Stacks": [stack]},
            "GetCallerIdentity": {"Arn": CALLER},
        }

    def client(self, service: str, **_: Any) -> Any:
        client = aws_client(service)
        client.meta.events.register("before-call", self.answer)
        modelled = getattr(self.services, service, None)
        if modelled is None:
            return client
        modelled.meta = client.meta
        return modelled

    def answer(self, model: Any, **_: Any) -> Any:
        if answer := self.answers.get(model.name):
            return SimpleNamespace(status_code=200), answer
        return SimpleNamespace(status_code=403), {"Error": {"Code": "AccessDenied"}}


def pairs(kind: str, values: dict[str, str]) -> list[dict[str, str]]:
    return [
        {f"{kind}Key": name, f"{kind}Value": value} for name, value in values.items()
    ]


class Proxy:
    """What rich's displays put into the place of standard output."""

    def __init__(self, *_: object) -> None:
        pytest.fail("standard output is replaced; use ticketctl.cli.output")


@pytest.fixture
def system(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> Harness:
    """Two tickets, a dead letter, a message for a watch, and files."""
    queues = harness.services.queues
    requests = [create_ticket("PROJ", key) for key in ("k-1", "k-2")]
    harness.give(requests[0])
    chain = harness.tickets()[1]["chain"]
    harness.give(requests[1], 2, chain)
    reason = {"ErrorType": text_attribute("InvalidMessageError")}
    queues["dead"].send("not JSON", reason)
    lines = [request.model_dump_json(exclude_defaults=True) for request in requests]
    harness.file(9)
    (harness.folder / "requests.jsonl").write_text("\n".join(lines))
    (harness.folder / "other.json").write_text(json.dumps(ticket_fields()))
    harness.services.sqs.before["receive_message"] = [
        lambda: [queues[name].send("hello") for name in queues if "-watch-" in name]
    ]
    monkeypatch.setattr("boto3.Session", lambda **_: Session(harness))
    monkeypatch.setattr("rich.live.FileProxy", Proxy)
    return harness


def on_screen(output: int, arguments: list[str]) -> str:
    """Run a command whose output leads elsewhere; return what its terminal shows."""
    person, terminal = pty.openpty()
    os.write(person, b"y\n")
    with (
        pytest.MonkeyPatch.context() as patch,
        os.fdopen(output, "w") as out,
        os.fdopen(terminal) as keyboard,
        os.fdopen(os.dup(terminal), "w") as screen,
    ):
        patch.setenv("TERM", "xterm")
        patch.setattr(sys, "stdin", keyboard)
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", screen)
        with pytest.raises(SystemExit):
            main(arguments)
    shown = b""
    with suppress(OSError):  # The terminal's end.
        while part := os.read(person, 4096):
            shown += part
    os.close(person)
    return shown.decode()


@pytest.mark.parametrize("name", sorted({*registered(ALL)} - ELSEWHERE))
@pytest.mark.parametrize("kind", ["file", "pipe"])
def test_every_line_leaves_the_terminal_when_output_is_redirected(
    kind: str, name: str, system: Harness
) -> None:
    options, expected = COMMANDS[name]
    arguments = options.format(folder=system.folder).split()
    path = system.folder / "out"
    path.touch()
    if kind == "pipe":
        end, output = os.pipe()
    else:
        end, output = os.open(path, os.O_RDONLY), os.open(path, os.O_WRONLY)

    shown = on_screen(output, [*name.split(), *arguments])

    with os.fdopen(end) as arrived:
        lines = [line.strip() for line in arrived if line.strip()]
    assert expected in "\n".join(lines)
    assert [line for line in lines if line in shown] == []
