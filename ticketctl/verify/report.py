"""What `make run` prints; every text that a producer chose is shown as it is."""

import os
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ticketctl.audit.findings import Kind
from ticketctl.cli.output import visible
from ticketctl.local.connection_files import SHELL_FILE
from ticketctl.local.run import Verdict
from ticketctl.local.stack import LocalStack
from ticketctl.system.queues import Received
from ticketctl.watch.heard import ASSIGNED, Heard, NotAnAnnouncement
from ticketctl.watch.watching import line_of

_KEY_WIDTH = 10
_BODY_WIDTH = 60
# Of an announced number.
_SHOWN = ("ticket_key", "number", "project_id", "title")


class Report:
    """Prints a run as it happens."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._dead_letters = 0

    def step(self, text: str) -> None:
        """Print what is being done before anything can be shown."""
        self._console.print(Text(f"... {text}", style="dim"))

    def announced(self, message: Heard | NotAnAnnouncement) -> None:
        """Print what came from the topic, whatever it is."""
        match message:
            case NotAnAnnouncement(body):
                line = Text(f"not an announcement: {visible(body, _BODY_WIDTH)}")
            case Heard() if _is_number(message):
                line = _number_line(message)
            case Heard():
                line = Text(line_of(message))
        self._console.print(line, soft_wrap=True)

    def dead_letters(self, letters: Iterable[Received]) -> None:
        """Print dead letters and their reasons."""
        for letter in letters:
            line = Text.assemble(
                (f"{'dead':<{_KEY_WIDTH}}", "bold red"),
                f" {letter.attributes.get('ErrorType', 'received too often')}: ",
                letter.attributes.get("ErrorMessage", ""),
                (f"\n{'':<{_KEY_WIDTH}} {visible(letter.body, _BODY_WIDTH)}", "dim"),
            )
            self._console.print(line, soft_wrap=True)

    def verdict(self, verdict: Verdict) -> None:
        """Print what the tables say of each project, and the sum."""
        table = Table("project", "count", "first", "last", "gaps", "duplicates")
        for project in verdict.projects:
            gaps = ", ".join(f"{first}-{last}" for first, last in project.gaps)
            others = {
                f"{each.kind}: {each.idempotency_key or each.item}"
                for each in project.findings
                if each.kind is not Kind.GAP
            }
            wrong = visible(", ".join(sorted(others)))
            numbers = (len(project.numbers), project.first, project.last)
            row = [project.project_id, *map(str, numbers), gaps or "0", wrong or "0"]
            table.add_row(*map(Text, row))
        self._console.print(table)
        self._console.print(
            f"messages sent: {verdict.sent}, numbers announced: {verdict.events}, "
            f"announced again: {verdict.replays}, "
            f"dead letters: {verdict.dead_letters}, "
            f"still on the queue: {verdict.waiting}, "
            f"unaccounted for: {len(verdict.unaccounted)}",
            soft_wrap=True,
        )
        for body in verdict.unaccounted:
            self._console.print(Text(f"unaccounted for: {visible(body, _BODY_WIDTH)}"))
        for key in verdict.unannounced:
            self._console.print(Text(f"not both stored and announced: {key}"))
        clean = verdict.is_clean
        self._console.print(
            Text("Verdict: clean" if clean else "Verdict: NOT CLEAN"),
            style="bold green" if clean else "bold red",
        )

    def ready(self, stack: LocalStack, sam_config: Path) -> None:
        """Say where everything is, and how to invoke the function in a container."""
        for name, value in sorted(stack.outputs.items()):
            self._console.print(Text(f"{name:<26} {value}"), soft_wrap=True)
        self._console.print(
            Text(
                f"{'endpoint':<26} {stack.endpoint_url}\n"
                f"{'region':<26} {stack.region}\n\n"
                "After `make build`, invoke the function in a container:\n\n"
                f"  .venv-sam/bin/sam local invoke --config-file {sam_config}"
                " --event events/create-ticket.json\n"
            ),
            soft_wrap=True,
        )
        self.invitation()

    def dead_letters_waiting(self, count: int) -> None:
        """Print how many dead letters wait, when it is news."""
        if count != self._dead_letters:
            self._dead_letters = count
            self._console.print(
                Text(f"{count} dead letters wait: ticketctl dead-letters list"),
                style="red" if count else "dim",
            )

    def invitation(self) -> None:
        """Say how to go on from another terminal, and how to stop."""
        path = os.path.relpath(SHELL_FILE)
        self._console.print(
            Text(
                f"""
The system stays up. From another terminal, in this directory:

  source {path}
  ticketctl send --project MINE --title "My ticket" --wait
  ticketctl --help

The AWS CLI and your own programs meet the same system there.
Numbers appear here as they come. Stop with Ctrl-C.
"""
            ),
            soft_wrap=True,
        )


def _is_number(heard: Heard) -> bool:
    return heard.type == ASSIGNED and heard.data.keys() >= {*_SHOWN}


def _number_line(heard: Heard) -> Text:
    """Return number, project, title, and whether it is a replay."""
    key, number, project, title = (visible(str(heard.data[name])) for name in _SHOWN)
    return Text.assemble(
        (f"{key:<{_KEY_WIDTH}}", "bold green"),
        f" number {number:<4} of project {project:<8} ",
        title,
        ("  (replay)", "yellow") if heard.replayed else "",
    )
