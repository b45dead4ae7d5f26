"""The command line: `python -m ticketctl run`, and `up`."""

import signal
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from ticketctl.artifact import ROOT
from ticketctl.bridge import bridge
from ticketctl.errors import ToolError
from ticketctl.local_stack import local_stack
from ticketctl.message_file import read_messages
from ticketctl.report import Report
from ticketctl.run import Watch, run_messages, start_watch
from ticketctl.sam_files import CONFIG_FILE, write_sam_files
from ticketctl.sample import sample_messages

# Each delivery at once is a process with a cold start of its own; four are enough here.
PARAMETERS = {"MaximumConcurrency": "4"}
FIFO_PARAMETERS = {"QueueType": "fifo", "TopicType": "fifo"}

Fifo = Annotated[
    bool, typer.Option("--fifo", help="FIFO queues and a FIFO topic: numbers in order.")
]

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.callback()
def ticketctl() -> None:
    """Run and watch the ticket numbering system."""


@app.command()
def run(
    file: Annotated[
        Path | None, typer.Argument(help="Your own messages: a JSON object a line.")
    ] = None,
    *,
    fifo: Fifo = False,
) -> None:
    """Start the whole system on this machine, send messages, show their numbers.

    Ends with status 0 only if every message is accounted for and no sequence has a
    gap or a duplicate.
    """
    report = Report(Console(highlight=False))
    try:
        bodies = sample_messages() if file is None else read_messages(file)
        clean = _run(report, bodies, _parameters(fifo=fifo))
    except ToolError as error:
        _fail(error)
    raise typer.Exit(0 if clean else 1)


@app.command()
def bench(
    *,
    contender: Annotated[
        list[str] | None, typer.Option(help="Measure it alone; can be repeated.")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Measure every combination: hours.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the figures for scripts.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Where the tables and the plots go.")
    ] = None,
) -> None:
    """Measure the worker beside four other ways to number tickets.

    What was measured by the same code is not measured again, so an interrupted run
    goes on where it was. Ends with status 0 whether or not the targets are met.
    """
    # Loaded only here, for the other commands need neither the model nor the plots.
    session = import_module("ticketctl.bench.session")
    wishes = session.Wishes(contender or (), full, as_json, out)
    try:
        status = session.bench(wishes)
    except ToolError as error:
        _fail(error)
    raise typer.Exit(status)


@app.command()
def up(*, fifo: Fifo = False) -> None:
    """Start the whole system and keep it up, for `sam local invoke` too."""
    report = Report(Console(highlight=False))
    # A service manager's or a script's way of saying Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with (
            local_stack(_parameters(fifo=fifo), progress=report.step) as stack,
            bridge(stack.emulator.port),
        ):
            write_sam_files(stack)
            report.ready(stack, CONFIG_FILE.relative_to(ROOT))
            _stay(start_watch(stack, report.announced), report)
    except ToolError as error:
        _fail(error)


def _fail(error: ToolError) -> NoReturn:
    print(f"error: {error}", file=sys.stderr)  # noqa: T201 - the one line it takes.
    raise typer.Exit(2) from error


def _parameters(*, fifo: bool) -> dict[str, str]:
    return PARAMETERS | (FIFO_PARAMETERS if fifo else {})


def _run(report: Report, bodies: list[str], parameters: dict[str, str]) -> bool:
    with local_stack(parameters, progress=report.step) as stack:
        watch = start_watch(stack, report.announced)
        report.step(f"sending {len(bodies)} messages")
        verdict = run_messages(watch, bodies)
        report.dead_letters(watch.dead_letters)
        report.verdict(verdict)
        if sys.stdin.isatty() and sys.stdout.isatty():
            report.invitation(stack)
            _stay(watch, report)
    return verdict.is_clean


def _stay(watch: Watch, report: Report) -> None:
    """Go on showing what comes, until somebody presses Ctrl-C."""
    try:
        while True:
            watch.dead_letters.clear()
            watch.look(wait_seconds=1)
            report.dead_letters(watch.dead_letters)
    except KeyboardInterrupt:
        report.step("stopping")


if __name__ == "__main__":
    app(prog_name="ticketctl")
