"""Prints a run and its verdict; a text that a producer chose cannot fake a screen."""

from collections.abc import Iterable
from typing import Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ticketctl.cli.output import visible
from ticketctl.verify.dead_letters import DeadLetter
from ticketctl.verify.projects import Project
from ticketctl.verify.run import Run
from ticketctl.verify.verdict import Verdict, percentile
from ticketctl.watch.heard import ASSIGNED, Heard, NotAnAnnouncement
from ticketctl.watch.watching import line_of

_KEY_WIDTH: Final = 10
_BODY_WIDTH: Final = 60
_NUMBER_FIELDS: Final = ("ticket_key", "number", "project_id", "title")


def print_heard(console: Console, message: Heard | NotAnAnnouncement) -> None:
    """Print what came from the topic, whatever it is."""
    match message:
        case NotAnAnnouncement(body):
            line = Text(f"not an announcement: {visible(body, _BODY_WIDTH)}")
        case Heard(type=kind, data=data) if kind == ASSIGNED and (
            data.keys() >= {*_NUMBER_FIELDS}
        ):
            line = _number_line(message)
        case Heard():
            line = Text(line_of(message))
    console.print(line, soft_wrap=True)


def print_run(console: Console, run: Run, verdict: Verdict) -> None:
    """Print dead letters, projects, counts, and the verdict."""
    observed = run.observed()
    _print_dead_letters(console, run.dead_letters.values())
    console.print(_table(observed.projects))
    console.print(
        f"messages sent: {len(run.sent)}, numbers announced: {run.numbered}, "
        f"announced again: {run.replays}, dead letters: {len(run.dead_letters)}",
        soft_wrap=True,
    )
    for problem in (*verdict.missing, *verdict.wrong):
        console.print(Text(visible(problem), style="red"), soft_wrap=True)
    clean = verdict.is_clean
    console.print(
        Text("Verdict: clean" if clean else "Verdict: NOT CLEAN"),
        style="bold green" if clean else "bold red",
    )


def print_times(console: Console, run: Run) -> None:
    """Print how long the numbers took; an emulator's times say nothing of AWS."""
    if run.seconds:
        p50, p99 = (percentile(run.seconds, percent) for percent in (50, 99))
        console.print(f"from sent to announced: p50 {p50:.2f} s, p99 {p99:.2f} s")


def as_json(run: Run, verdict: Verdict) -> dict[str, Any]:
    """Return the result for scripts."""
    return {
        "clean": verdict.is_clean,
        "missing": [*verdict.missing],
        "wrong": [*verdict.wrong],
        "sent": len(run.sent),
        "announced": run.numbered,
        "announced_again": run.replays,
        "seconds_to_announced": {
            f"p{percent}": round(percentile(run.seconds, percent), 3)
            for percent in (50, 99)
            if run.seconds
        },
        "dead_letters": [
            {"error_type": letter.error_type, "reason": letter.reason}
            for letter in run.dead_letters.values()
        ],
        "left_behind": {
            project.project_id: {
                "tickets": len(project.tickets),
                "key_records": len(project.recorded),
            }
            for project in run.observed().projects
        },
    }


def _print_dead_letters(console: Console, letters: Iterable[DeadLetter]) -> None:
    for letter in letters:
        line = Text.assemble(
            (f"{'dead':<{_KEY_WIDTH}}", "bold red"),
            f" {letter.error_type or 'no reason'}: {visible(letter.reason)}",
            (f"\n{'':<{_KEY_WIDTH}} {visible(letter.body, _BODY_WIDTH)}", "dim"),
        )
        console.print(line, soft_wrap=True)


def _table(projects: Iterable[Project]) -> Table:
    table = Table("project", "count", "first", "last", "gaps", "duplicates")
    for project in projects:
        numbers = sorted(project.tickets) or [0]
        gaps = ", ".join(f"{first}-{last}" for first, last in project.gaps)
        repeated = visible(", ".join(project.repeated_keys))
        counts = (len(project.tickets), numbers[0], numbers[-1])
        row = [project.project_id, *map(str, counts), gaps or "0", repeated or "0"]
        table.add_row(*map(Text, row))
    return table


def _number_line(heard: Heard) -> Text:
    """Return number, project, title, and whether it is a replay."""
    key, number, project, title = (
        visible(str(heard.data[name])) for name in _NUMBER_FIELDS
    )
    return Text.assemble(
        (f"{key:<{_KEY_WIDTH}}", "bold green"),
        f" number {number:<4} of project {project:<8} ",
        title,
        ("  (replay)", "yellow") if heard.replayed else "",
    )
