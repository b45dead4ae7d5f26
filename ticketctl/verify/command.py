"""Sends a sample through a stack and judges the outcome, as its command asks."""

import time
from dataclasses import replace
from secrets import token_hex
from typing import Final

from ticketctl.aws.stack import Stack, limits_of, location_of
from ticketctl.cli.errors import InputError, Status
from ticketctl.cli.output import counted, note_if_interrupted, print_json, print_note
from ticketctl.cli.prompts import confirm
from ticketctl.verify.outcome import Outcome
from ticketctl.verify.report import print_run, print_times, run_json
from ticketctl.verify.run import Run
from ticketctl.verify.sample import Messages, sample_messages
from ticketctl.watch.watching import temporary_queue

_PROJECT_START: Final = "VERIFY-"
"""Of the projects that subscribers can leave out."""


def verify(
    stack: Stack, count: int, patience: int, *, yes: bool, as_json: bool
) -> Status:
    """Number a count of tickets in a new project, and print the verdict."""
    started = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    project = f"{_PROJECT_START}{started}-{token_hex(2)}"
    messages = sample_messages(count, [project])
    if refusal := next(messages.refusals(limits_of(stack)), None):
        raise InputError(f"the stack would refuse the sample: {refusal}")
    confirm(
        f"{location_of(stack)}\n{counted(count, 'ticket')} will be numbered, announced "
        f"to every subscriber, and kept for ever, as project {project}. Go on?",
        yes=yes,
    )
    run, verdict = _verified(stack, project, count, messages, patience)
    if as_json:
        print_json({"project_id": project, **run_json(run, verdict)})
    else:
        print_times(run)
        print_run(run, verdict, is_sample=True)
        print_note(f"the tickets and key records of {project} stay in the tables")
    return Status.OK if verdict.is_clean else Status.PROBLEM


def _verified(
    stack: Stack, project: str, count: int, messages: Messages, patience: int
) -> tuple[Run, Outcome]:
    """Send one message until it is announced, then the others; follow them."""
    first, *others = messages.first
    strays = (
        f"dead letters of {project} may come to the dead-letter "
        "queue, one of another project and one that is not JSON too; see: "
        "ticketctl dead-letters list"
    )
    with temporary_queue(stack) as queue_url, note_if_interrupted(strays):
        run = Run(stack, queue_url)
        print_note("sending a ticket again and again until it is announced")
        if run.probe(first, patience):
            tickets = counted(count, "ticket")
            print_note(f"sending {tickets} of {project}, and requests to refuse")
            verdict = run.follow(replace(messages, first=others), patience)
        else:
            verdict = run.verdict()
    return run, verdict
