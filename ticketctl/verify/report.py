"""Prints a run and its verdict; a text that a producer chose cannot fake a screen."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ticketctl.audit.findings import Kind
from ticketctl.cli.output import visible
from ticketctl.system.queues import Received
from ticketctl.verify.run import Run
from ticketctl.verify.verdict import Project, Verdict

_BODY_WIDTH: Final = 60


def print_run(console: Console, run: Run, verdict: Verdict) -> None:
    """Print dead letters, projects, counts, and the verdict."""
    observed = verdict.observed
    for dead_letter in run.dead_letters.values():
        _print_dead_letter(console, dead_letter)
    console.print(_table(observed.projects))
    console.print(
        f"messages sent: {len(run.sent)}, numbers announced: "
        f"{len(observed.announced_keys)}, announced again: {run.replays}, "
        f"dead letters: {len(run.dead_letters)}",
        soft_wrap=True,
    )
    for problem in (*verdict.missing, *verdict.wrong):
        console.print(Text(visible(problem), style="red"), soft_wrap=True)
    if verdict.is_clean:
        console.print("Verdict: clean", style="bold green")
    else:
        console.print("Verdict: NOT CLEAN", style="bold red")


def print_times(console: Console, run: Run) -> None:
    """Print how long the numbers took; an emulator's times say nothing of AWS."""
    if times := _times(run):
        shown = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in times.items())
        console.print(f"from sent to announced: {shown}")


def as_json(run: Run, verdict: Verdict) -> dict[str, Any]:
    """Return the result for scripts."""
    observed = verdict.observed
    return {
        "clean": verdict.is_clean,
        "missing": [*verdict.missing],
        "wrong": [*verdict.wrong],
        "sent": len(run.sent),
        "announced": len(observed.announced_keys),
        "announced_again": run.replays,
        "seconds_to_announced": _times(run),
        "dead_letters": [
            {
                "error_type": dead_letter.attributes.get("ErrorType"),
                "reason": _reason(dead_letter),
            }
            for dead_letter in run.dead_letters.values()
        ],
        "tickets_left_behind": {
            project.project_id: len(project.tickets) for project in observed.projects
        },
    }


def percentile(seconds: Sequence[float], percent: int) -> float:
    """Return the nearest rank; there is at least one value."""
    return sorted(seconds)[math.ceil(len(seconds) * percent / 100) - 1]


def _times(run: Run) -> dict[str, float]:
    """Return percentiles of the seconds from sending to the announcement."""
    if not run.seconds:
        return {}
    percents = (50, 99)
    return {f"p{one}": round(percentile(run.seconds, one), 3) for one in percents}


def _reason(dead_letter: Received) -> str:
    return dead_letter.attributes.get("ErrorMessage", "received too often")


def _print_dead_letter(console: Console, dead_letter: Received) -> None:
    error_type = dead_letter.attributes.get("ErrorType", "no reason")
    line = Text.assemble(
        ("dead letter", "bold red"),
        f"  {error_type}: {visible(_reason(dead_letter))}\n",
        (f"{'':<12} {visible(dead_letter.body, _BODY_WIDTH)}", "dim"),
    )
    console.print(line, soft_wrap=True)


def _table(projects: Iterable[Project]) -> Table:
    table = Table("project", "count", "first", "last", "gaps", "duplicates")
    for project in projects:
        numbers = sorted(project.tickets) or [0]
        kinds = [finding.kind for finding in project.audit.findings]
        counts = (len(project.tickets), numbers[0], numbers[-1])
        bad = (kinds.count(Kind.GAP), kinds.count(Kind.DUPLICATE))
        table.add_row(project.project_id, *map(str, (*counts, *bad)))
    return table
