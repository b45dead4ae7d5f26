"""The command line, called as a person would, on the deployed system."""

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import boto3
import pytest
import typer
from botocore.stub import Stubber
from typer.testing import CliRunner

import ticketctl
from ticketctl.__main__ import main
from ticketctl.aws.stack import Stack
from ticketctl.commands import app

WIDTH = "200"

# A command loads its modules late, and they would keep a clock that a test has set.
for module in walk_packages(ticketctl.__path__, "ticketctl."):
    if ".local" not in module.name:
        import_module(module.name)


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    status: int
    out: str
    """Its result on standard output."""
    err: str
    """Its notes."""

    @property
    def json(self) -> Any:
        """The result, where it is one JSON document."""
        return json.loads(self.out)

    @property
    def json_lines(self) -> list[Any]:
        """The result, where it is a JSON document a line."""
        return [json.loads(line) for line in self.out.splitlines()]


@dataclass(frozen=True)
class Ctl:
    """Calls commands with an environment of their own."""

    environment: Mapping[str, str | None]

    @property
    def process_environment(self) -> dict[str, str]:
        """The whole environment of a process that meets the same system."""
        variables = {**os.environ, **self.environment}
        return {name: value for name, value in variables.items() if value is not None}

    def __call__(self, *arguments: str, typed: str = "", **environment: str) -> Ended:
        """Call a command, with its standard input and further variables."""
        variables = {**self.environment, **environment}
        with CliRunner().isolation(typed, variables) as (out, err, _):
            with pytest.raises(SystemExit) as ended:
                main(arguments)
            sys.stdout.flush()
            sys.stderr.flush()
            status = int(ended.value.code or 0)
            return Ended(status, out.getvalue().decode(), err.getvalue().decode())


def context_of(system: Any) -> typer.Context:
    """Return the context of a command that is called as a function."""
    return typer.Context(command_of(()), obj=lambda _: system)


def canned_stack(outputs: Mapping[str, str], **clients: Any) -> Stack:
    """Return a stack with these outputs, and clients or their stubs by service."""
    for name, stub in clients.items():
        if isinstance(stub, Stubber):
            stub.activate()
            clients[name] = stub.client
    return Stack("numbers", "eu-west-1", outputs, {}, boto3.Session(), clients)


def registered(group: Any = None, *words: str) -> Iterator[tuple[str, ...]]:
    """Yield the words of every command, those of groups too."""
    for name, command in (group or _command_line()).commands.items():
        if hasattr(command, "commands"):
            yield from registered(command, *words, name)
        else:
            yield (*words, name)


def command_of(words: Sequence[str]) -> Any:
    """Return the command with whose words a line begins."""
    command = _command_line()
    for word in words:
        command = getattr(command, "commands", {}).get(word, command)
    return command


@cache
def _command_line() -> Any:
    return typer.main.get_command(app)
