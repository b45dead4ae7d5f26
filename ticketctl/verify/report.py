"""Prints a run and its verdict; a text that a producer chose cannot fake a screen."""

import math
from collections.abc import Iterable
from typing import Any, Final

from rich.text import Text

from ticket_numbering.contract.envelope import ERROR_MESSAGE, ERROR_TYPE
from ticket_numbering.contract.events import RefusedRequest
from ticketctl.audit.report import print_projects
from ticketctl.aws.queues import RECEIVED_TOO_OFTEN, Received
from ticketctl.cli.output import console, visible
from ticketctl.verify.run import Run
from ticketctl.verify.verdict import Verdict

_BODY_WIDTH: Final = 60


def print_run(run: Run, verdict: Verdict) -> None:
    """Print refused messages, projects, counts, and the verdict."""
    observed, refused = verdict.observed, verdict.observed.announcements.refusals
    for message in run.sent:
        if dead_letter := run.dead_letters.get(message.message_id):
            _print_refused("dead letter", _reason(dead_letter), message.body)
        elif refusals := refused.get(message.message_id):
            _print_refused("refused", _reasons(refusals), message.body)
    print_projects(project.audit for project in observed.projects)
    both = refused.keys() & run.dead_letters.keys()
    console().print(
        f"messages sent: {len(run.sent)}, numbers announced: "
        f"{len(observed.announcements.ticket_keys)}, announced again: {run.replays}, "
        f"refusals: {len(refused)}, dead letters: {len(run.dead_letters)}, "
        f"both: {len(both)}"
    )
    for problem in (*verdict.missing, *verdict.wrong):
        console().print(Text(visible(problem), style="red"))
    if verdict.is_clean:
        console().print("Verdict: clean", style="bold green")
    else:
        console().print("Verdict: NOT CLEAN", style="bold red")


def print_times(run: Run) -> None:
    """Print how long the numbers took; an emulator's times say nothing of AWS."""
    if times := _times(run):
        shown = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in times.items())
        console().print(f"from sent to announced: {shown}")


def run_json(run: Run, verdict: Verdict) -> dict[str, Any]:
    """Return the result for scripts."""
    observed = verdict.observed
    return {
        "clean": verdict.is_clean,
        "missing": [*verdict.missing],
        "wrong": [*verdict.wrong],
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
            {"error_type": refused.error_type, "field": refused.field}
            for refusals in observed.announcements.refusals.values()
            for refused in refusals
        ],
        "tickets_left_behind": {
            project.project_id: len(project.tickets) for project in observed.projects
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


def _reason(dead_letter: Received) -> str:
    error_type = dead_letter.attributes.get(ERROR_TYPE, "no reason")
    reason = dead_letter.attributes.get(ERROR_MESSAGE, RECEIVED_TOO_OFTEN)
    return f"{error_type}: {reason}"


def _reasons(refusals: Iterable[RefusedRequest]) -> str:
    return ", ".join(f"{refused.error_type}: {refused.field}" for refused in refusals)


def _print_refused(outcome: str, reason: str, body: str) -> None:
    line = Text.assemble(
        (f"{outcome:<11}", "bold red"),
        f"  {visible(reason)}\n",
        (f"{'':<12} {visible(body, _BODY_WIDTH)}", "dim"),
    )
    console().print(line)
