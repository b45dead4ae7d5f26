"""The work of the verify command: sends a sample, and checks the outcome."""

import math
import time
from dataclasses import replace
from secrets import token_hex
from typing import Any, Final

from rich.text import Text

from ticket_numbering.contract.attributes import ERROR_MESSAGE, ERROR_TYPE
from ticketctl.audit.report import print_projects
from ticketctl.aws.queues import RECEIVED_TOO_OFTEN
from ticketctl.aws.stack import Stack, limits_of, location_of
from ticketctl.cli.errors import InputError, Status
from ticketctl.cli.output import (
    console,
    counted,
    note_if_interrupted,
    print_json,
    print_line,
    print_note,
    sanitized,
)
from ticketctl.cli.prompts import confirm
from ticketctl.verify.outcome import Outcome
from ticketctl.verify.run import Run
from ticketctl.verify.sample import Messages, sample_messages
from ticketctl.watch.watching import temporary_queue

_PROJECT_START: Final = "VERIFY-"
"""The prefix of projects that subscribers can filter out."""

_BODY_WIDTH: Final = 60


def verify(
    stack: Stack, count: int, patience: int, *, yes: bool, as_json: bool
) -> Status:
    """Number a count of tickets in a new project, and print the outcome."""
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
    run, outcome = _verified(stack, project, count, messages, patience)
    if as_json:
        print_json({"project_id": project, **run_json(run, outcome)})
    else:
        print_times(run)
        print_run(run, outcome, is_sample=True)
        print_note(f"the tickets and key records of {project} stay in the tables")
    return Status.OK if outcome.is_clean else Status.PROBLEM


def _verified(
    stack: Stack, project: str, count: int, messages: Messages, patience: int
) -> tuple[Run, Outcome]:
    """Send one message until it is announced, then the others; check the outcome."""
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
            outcome = run.follow(replace(messages, first=others), patience)
        else:
            outcome = run.outcome()
    return run, outcome


def print_run(run: Run, outcome: Outcome, *, is_sample: bool) -> None:
    """Print bad messages, projects, the checks, and the outcome.

    A sample has bad messages on purpose; a clean one prints only their counts.
    """
    observed, is_clean = outcome.observed, outcome.is_clean
    bad = run.dead_letters.keys() | observed.announcements.refusals.keys()
    if bad:
        _print_bad(run, outcome, is_meant=is_sample and is_clean)
    print_projects([project.audit for project in observed.projects])
    for problem in (*outcome.missing, *outcome.wrong):
        print_line(sanitized(problem), "red")
    if is_clean:
        checks = "numbers 1 to n, one a key, announced as stored; bad messages answered"
        print_line(f"checked: {checks}", "dim")
    announced = observed.announcements.numbers.keys()
    numbered = [message for message in run.sent if message.key in announced]
    print_line(
        f"Verdict: {'clean' if is_clean else 'NOT CLEAN'}, "
        f"{sum(message.message_id not in bad for message in numbered)} of "
        f"{counted(len(run.sent), 'message')} got a number "
        f"({counted(len(observed.announcements.ticket_keys), 'number')}, "
        f"{run.replays} announced again)",
        "bold green" if is_clean else "bold red",
    )


def print_times(run: Run) -> None:
    """Print the times of the numbers; an emulator's do not apply to AWS."""
    if times := _times(run):
        shown = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in times.items())
        console().print(f"from sent to announced: {shown}")


def run_json(run: Run, outcome: Outcome) -> dict[str, Any]:
    """Return the result for scripts."""
    observed = outcome.observed
    return {
        "clean": outcome.is_clean,
        "missing": [*outcome.missing],
        "wrong": [*outcome.wrong],
        "sent": len(run.sent),
        "announced": len(observed.announcements.ticket_keys),
        "announced_again": run.replays,
        "seconds_to_announced": _times(run),
        "dead_letters": [
            {
                "error_type": dead_letter.attributes.get(ERROR_TYPE),
                "reason": dead_letter.attributes.get(ERROR_MESSAGE, RECEIVED_TOO_OFTEN),
            }
            for dead_letter in run.dead_letters.values()
        ],
        "refusals": [
            {
                "error_type": refused.error_type,
                "field": refused.field,
                "reason": refused.reason,
            }
            for refusals in observed.announcements.refusals.values()
            for refused in refusals
        ],
        "tickets_left_behind": {
            project.audit.project_id: len(project.tickets)
            for project in observed.projects
        },
    }


def _times(run: Run) -> dict[str, float]:
    """Return percentiles, by nearest rank, of the seconds until the announcement."""
    ordered = sorted(run.seconds)
    return {
        f"p{percent}": round(ordered[math.ceil(len(ordered) * percent / 100) - 1], 3)
        for percent in (50, 99)
        if ordered
    }


def _print_bad(run: Run, outcome: Outcome, *, is_meant: bool) -> None:
    """Print the reason of each bad message, or only a summary if they were meant."""
    letters, refusals = run.dead_letters, outcome.observed.announcements.refusals
    print_line(
        f"bad messages{', sent on purpose' * is_meant}: {len(refusals)} refused, "
        f"{counted(len(letters), 'dead letter')}, "
        f"{len(letters.keys() & refusals.keys())} of them both"
    )
    for message in run.sent:
        refused = refusals.get(message.message_id, ())
        reason = ", ".join(
            f"{refusal.error_type}: {refusal.field}" for refusal in refused
        )
        kind = "refused"
        if letter := letters.get(message.message_id):
            kind = "both" if reason else "dead letter"
            reason = letter.attributes.get(ERROR_MESSAGE, RECEIVED_TOO_OFTEN)
            if not is_meant:
                reason = f"{letter.attributes.get(ERROR_TYPE, 'no reason')}: {reason}"
        if reason:
            style = "yellow" if is_meant else "bold red"
            line = Text.assemble((f"{kind:<11}", style), f"  {sanitized(reason)}")
            print_line(line)
            if not is_meant:
                print_line(f"{'':<12} {sanitized(message.body, _BODY_WIDTH)}", "dim")
