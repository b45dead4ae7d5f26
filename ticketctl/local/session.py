"""The local system, started for a run or to stay: what `run` and `up` do."""

import sys
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from ticketctl.local.artifact import ROOT
from ticketctl.local.bridge import bridge
from ticketctl.local.connection_files import write_sam_files, write_shell_file
from ticketctl.local.message_file import read_messages
from ticketctl.local.report import Report
from ticketctl.local.run import Watch, run_messages, start_watch
from ticketctl.local.sample import sample_messages
from ticketctl.local.stack import local_stack
from ticketctl.system.queues import messages_on

# Each delivery at once is a process with a cold start of its own; four are enough here.
PARAMETERS = {"MaximumConcurrency": "4"}
FIFO_PARAMETERS = {"QueueType": "fifo", "TopicType": "fifo"}


def run(file: Path | None, *, fifo: bool) -> bool:
    """Start the system, number the messages, show them; tell whether all is well.

    Raises:
        ToolError: The file cannot be used, or the system cannot be started.
    """
    report = Report(Console(highlight=False))
    bodies = sample_messages() if file is None else read_messages(file)
    with local_stack(_parameters(fifo=fifo), progress=report.step) as stack:
        watch = start_watch(stack, report.announced)
        report.step(f"sending {len(bodies)} messages")
        verdict = run_messages(watch, bodies)
        report.dead_letters(watch.dead_letters)
        report.verdict(verdict)
        if sys.stdin.isatty() and sys.stdout.isatty():
            write_shell_file(stack)
            report.invitation()
            _stay(watch, report)
    return verdict.is_clean


def up(*, fifo: bool) -> None:
    """Start the system and keep it up until Ctrl-C.

    Raises:
        ToolError: It cannot be started.
    """
    report = Report(Console(highlight=False))
    with (
        local_stack(_parameters(fifo=fifo), progress=report.step) as stack,
        bridge(stack.emulator.port),
    ):
        config_file = write_sam_files(stack)
        write_shell_file(stack)
        report.ready(stack, config_file.relative_to(ROOT))
        _stay(start_watch(stack, report.announced), report)


def _parameters(*, fifo: bool) -> Mapping[str, str]:
    return PARAMETERS | (FIFO_PARAMETERS if fifo else {})


def _stay(watch: Watch, report: Report) -> None:
    """Go on showing what comes, until somebody presses Ctrl-C.

    Dead letters stay where they are: they are for whoever tries the commands.
    """
    try:
        while True:
            watch.listen(wait_seconds=1)
            report.dead_letters_waiting(messages_on(watch.stack, "DeadLetterQueueUrl"))
    except KeyboardInterrupt:
        report.step("stopping")
