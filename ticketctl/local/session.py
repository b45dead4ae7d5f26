"""The local system for `run` and `up`."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.text import Text

from ticketctl.aws.announcements import REFUSED, line_of, read_announcement
from ticketctl.aws.queues import Received, messages_on
from ticketctl.aws.topic import subscribe
from ticketctl.cli.output import console, print_line, spinner, stderr_console
from ticketctl.local.bridge import bridge, has_bridge
from ticketctl.local.connection_files import (
    SHELL_FILE,
    lock,
    write_function_file,
    write_local_template,
    write_shell_file,
)
from ticketctl.local.stack import LocalStack, local_stack
from ticketctl.verify.command import print_run
from ticketctl.verify.run import Run
from ticketctl.verify.sample import Messages, read_messages, sample_messages

# Each delivery at once is a process with a cold start of its own; four are enough here.
PARAMETERS: Final = {"MaximumConcurrency": "4"}
FIFO_PARAMETERS: Final = {"QueueType": "fifo", "TopicType": "fifo"}
_BY_TYPE: Final = {False: PARAMETERS, True: PARAMETERS | FIFO_PARAMETERS}

# The worker's own patience is 20 s; twice that without any news is no progress.
_PATIENCE_SECONDS: Final = 40

_INVITATION: Final = """
The system stays up. From another terminal, in this directory:

  source {shell_file}
  ticketctl send --project MINE --title "My ticket" --wait
  ticketctl --help

The AWS CLI and your own programs meet the same system there.
Numbers appear here as they come.
Stop with Ctrl-C: the tickets are gone then, for they are in memory only.
"""

_INVOCATION: Final = """
After `make build`, invoke the function in a container, on any of events/:

  make invoke EVENT=events/batch.json"""

_NO_ENGINE: Final = """
`sam local invoke` would not reach this system: there is no network `docker0`.
Start Docker, and then `make up` again.
Rootless Docker and Podman have no such network."""


@dataclass(frozen=True)
class Session:
    """Both commands, on a system that they start."""

    start: Callable[..., AbstractContextManager[LocalStack]] = local_stack
    patience: float = _PATIENCE_SECONDS
    """The seconds without any news after which `run` gives up."""

    def run(self, file: Path | None, *, fifo: bool) -> bool:
        """Number the messages, show them; return whether all is well.

        Raises:
            ToolError: The file cannot be used, or the system cannot be started.
        """
        messages = Messages(read_messages(file)) if file else sample_messages()
        with ExitStack() as running:
            # The rows of a terminal are for the messages.
            with spinner("starting") as show:
                step = show if stderr_console().is_interactive else _step
                stack = running.enter_context(self.start(_BY_TYPE[fifo], progress=step))
            run = Run(stack, subscribe(stack, "run"), _print_number)
            _step("sending the messages")
            outcome = run.follow(messages, self.patience)
            print_run(run, outcome, is_sample=not file)
        return outcome.is_clean

    def up(self, *, fifo: bool) -> None:
        """Keep the system up until Ctrl-C.

        Raises:
            ToolError: It cannot be started.
        """
        with (
            lock(),
            self.start(_BY_TYPE[fifo], progress=_step) as stack,
            bridge(stack.emulator.port),
        ):
            write_local_template()
            write_function_file(stack)
            write_shell_file(stack)
            _print_places(stack)
            _stay(Run(stack, subscribe(stack, "run"), _print))


def _print(message: Received) -> None:
    print_line(line_of(message))


def _print_number(message: Received) -> None:
    """Print all but refusals, which come at the end with their reasons."""
    announcement = read_announcement(message)
    if not (announcement and announcement.type == REFUSED):
        _print(message)


def _step(text: str) -> None:
    console().print(Text(f"... {text}", style="dim"))


def _print_places(stack: LocalStack) -> None:
    """Print the addresses, and how to invoke the function in a container."""
    places = {"endpoint": stack.endpoint_url, "region": stack.region}
    for name, value in (*sorted(stack.outputs.items()), *places.items()):
        console().print(Text(f"{name:<26} {value}"))
    console().print(Text(invocation()), soft_wrap=False)


def invocation() -> str:
    """Return how to invoke the function in a container, or why that cannot work."""
    return _INVOCATION if has_bridge() else _NO_ENGINE


def _stay(run: Run) -> None:
    """Show new messages until Ctrl-C.

    Dead letters stay, so that the commands can be tried on them.
    """
    invitation = _INVITATION.format(shell_file=os.path.relpath(SHELL_FILE))
    console().print(Text(invitation), soft_wrap=False)
    known = 0
    try:
        while True:
            run.listen(1)
            waiting = messages_on(run.stack, "DeadLetterQueueUrl")
            if waiting != known:
                known = waiting
                console().print(
                    Text(f"dead letters: {waiting}; see: ticketctl dead-letters list"),
                    style="red" if waiting else "dim",
                )
    except KeyboardInterrupt:
        _step("stopping; its tickets go with it")
