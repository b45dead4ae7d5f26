"""`python -m conformance`: the table of differences, or the facts asked of AWS."""

import json
import signal
import sys
from pathlib import Path
from typing import Annotated, Final

import typer
from botocore.exceptions import BotoCoreError, ClientError

from conformance.aws import checked, client, plan, table_names, temporary_tables
from conformance.gradual import contradictions, update
from conformance.suite import markdown
from ticketctl.aws.aws_errors import explained
from ticketctl.aws.queues import messages_on
from ticketctl.aws.stack import find_stack, location_of
from ticketctl.cli.errors import InputError, Status, ToolError
from ticketctl.cli.output import print_note
from ticketctl.cli.prompts import confirm

QUEUES: Final = ("CreateTicketQueueUrl", "DeadLetterQueueUrl")

app = typer.Typer(add_completion=False, help=__doc__)


@app.command()
def differences() -> None:
    """Print the cases in which a backend differs from AWS, for docs/proof.md."""
    sys.stdout.write(markdown() + "\n")


@app.command()
def aws(
    *,
    report: Annotated[Path, typer.Option(help="Write the report here.")],
    batches: Annotated[
        int, typer.Option(min=1, help="The batches of each contending worker.")
    ] = 50,
    stack: Annotated[
        str | None, typer.Option(help="The end-to-end tests will use this stack, too.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Ask AWS for the facts of the proof on two new tables, and delete them.

    Ends with status 0 if nothing contradicts the proof, else with 1.
    """
    dynamodb, names = client(), table_names()
    print_note(plan(dynamodb, names, batches))
    if stack:
        print_note(_plan_of_tests(stack))
    confirm("Go on?", yes=yes)
    with temporary_tables(dynamodb, names) as backend:
        outcomes = checked(backend, batches)
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(json.dumps(outcomes, indent=1) + "\n", encoding="utf-8")
    for line in outcomes["contradicted"]:
        print_note(f"contradicts docs/proof.md: {line}")
    print_note(f"report: {report}")
    raise typer.Exit(Status.PROBLEM if outcomes["contradicted"] else Status.OK)


@app.command()
def gradual(
    *,
    stack: Annotated[str, typer.Option(help="A stack for trials on AWS.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Update a gradually deployed stack once, and watch its alias and its alarm.

    Ends with status 0 if nothing contradicts the template's order, else with 1.
    """
    location = find_stack(stack, None, None)
    confirm(
        f"{location_of(location)} gets a new version of the same build, which has a "
        "tenth of the batches for half an hour; it takes about 40 minutes. Go on?",
        yes=yes,
    )
    contradicted = [*contradictions(update(location))]
    for line in contradicted:
        print_note(f"contradicts template.yaml: {line}")
    raise typer.Exit(Status.PROBLEM if contradicted else Status.OK)


def _plan_of_tests(name: str) -> str:
    """Return the effects of the end-to-end tests on a stack.

    Raises:
        InputError: It has messages, so it is in use.
    """
    stack = find_stack(name, None, None)
    for queue in QUEUES:
        if count := messages_on(stack, queue):
            raise InputError(
                f"{location_of(stack)} is in use: {queue} has {count} messages; "
                "deploy a stack for trials (docs/install.md), and delete it afterwards"
            )
    return (
        f"then sends up to 5,000 messages to the stack {location_of(stack)}, stops and "
        "throttles its worker meanwhile, and leaves the tickets there: for a stack for "
        "trials alone; takes about 10 minutes, and costs less than $0.30"
    )


if __name__ == "__main__":
    # Both end the run as Ctrl-C does, so that the tables go.
    for kind in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(kind, signal.default_int_handler)
    try:
        app()
    except ToolError as error:
        sys.exit(f"error: {error}")
    except (BotoCoreError, ClientError) as error:
        sys.exit(f"error: {explained(error)}")
