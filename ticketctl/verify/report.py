"""Prints a run and its verdict; a text that a producer chose cannot fake a screen."""

import math
from collections.abc import Iterable
from typing import Any, Final

from rich.text import Text

from ticket_numbering.contract.envelope import ERROR_MESSAGE, ERROR_TYPE
from ticket_numbering.contract.events import RefusedRequest
from ticketctl.audit.report import print_projects
from ticketctl.aws.queues import RECEIVED_TOO_OFTEN, Received
from ticketctl.cli.output import console, counted, visible
from ticketctl.verify.run import Run
from ticketctl.verify.verdict import Verdict

_BODY_WIDTH: Final = 60


def print_run(run: Run, verdict: Verdict, *, is_sample: bool) -> None:
    """Print bad messages, projects, what was checked, and the verdict.

    The bad ones of a sample were meant to be, unless something is wrong.
    """
    observed = verdict.observed
    bad = run.dead_letters.keys() | observed.announcements.refusals.keys()
    if bad:
        _print_bad_messages(run, verdict, is_meant=is_sample and verdict.is_clean)
    print_projects([project.audit for project in observed.projects])
    for problem in (*verdict.missing, *verdict.wrong):
        console().print(Text(visible(problem), style="red"))
    announced = observed.announcements.numbers.keys()
    told = [message for message in run.sent if message.key in announced]
    numbered = sum(message.message_id not in bad for message in told)
    if verdict.is_clean:
        what = "numbers 1 to n, one a key, announced as stored; bad messages answered"
        console().print(f"checked: {what}", style="dim")
    said, colour = ("clean", "green") if verdict.is_clean else ("NOT CLEAN", "red")
    console().print(
        f"Verdict: {said}, {numbered} of {counted(len(run.sent), 'message')} got a "
        f"number ({counted(len(observed.announcements.ticket_keys), 'number')}, "
        f"{run.replays} announced again)",
        style=f"bold {colour}",
    )


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


def _print_bad_messages(run: Run, verdict: Verdict, *, is_meant: bool) -> None:
    letters, refusals = run.dead_letters, verdict.observed.announcements.refusals
    console().print(
        f"bad messages{', sent on purpose' * is_meant}: "
        f"{len(refusals)} refused, {counted(len(letters), 'dead letter')}, "
        f"{len(letters.keys() & refusals.keys())} of them both"
    )
    for message in run.sent:
        letter = letters.get(message.message_id)
        refused = refusals.get(message.message_id, set())
        if letter or refused:
            _print_bad(letter, refused, "" if is_meant else message.body)


def _print_bad(
    letter: Received | None, refusals: Iterable[RefusedRequest], body: str
) -> None:
    """Print why a message got no number; with its body, if that is given, and the type.

    Without it, a row is enough.
    """
    reason = ", ".join(f"{refused.error_type}: {refused.field}" for refused in refusals)
    outcome = "both" if letter and reason else "dead letter" if letter else "refused"
    if letter:
        reason = letter.attributes.get(ERROR_MESSAGE, RECEIVED_TOO_OFTEN)
        if body:
            reason = f"{letter.attributes.get(ERROR_TYPE, 'no reason')}: {reason}"
    style = "bold red" if body else "yellow"
    line = Text.assemble((f"{outcome:<11}", style), f"  {visible(reason)}")
    if body:
        line.append(f"\n{'':<12} {visible(body, _BODY_WIDTH)}", "dim")
    console().print(line)
