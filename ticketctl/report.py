"""What `make run` prints; every text that a producer chose is shown as it is."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ticketctl.local_stack import LocalStack
from ticketctl.queues import Received
from ticketctl.run import Verdict

_KEY_WIDTH = 10
_BODY_WIDTH = 60


class Report:
    """Prints a run as it happens."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def step(self, text: str) -> None:
        """Print what is being done before anything can be shown."""
        self._console.print(Text(f"... {text}", style="dim"))

    def announced(self, event: dict[str, Any], replayed: bool) -> None:  # noqa: FBT001
        """Print an announcement: number, project, title, whether a replay."""
        data = event["data"]
        line = Text.assemble(
            (f"{data['ticket_key']:<{_KEY_WIDTH}}", "bold green"),
            f" number {data['number']:<4} of project {data['project_id']:<8} ",
            data["title"],
            ("  (replay)", "yellow") if replayed else "",
        )
        self._console.print(line, soft_wrap=True)

    def dead_letters(self, letters: Iterable[Received]) -> None:
        """Print dead letters and their reasons."""
        for letter in letters:
            line = Text.assemble(
                (f"{'dead':<{_KEY_WIDTH}}", "bold red"),
                f" {letter.attributes.get('ErrorType', 'received too often')}: ",
                letter.attributes.get("ErrorMessage", ""),
                (f"\n{'':<{_KEY_WIDTH}} {shown(letter.body)}", "dim"),
            )
            self._console.print(line, soft_wrap=True)

    def verdict(self, verdict: Verdict) -> None:
        """Print what the tables say of each project, and the sum."""
        table = Table("project", "count", "first", "last", "gaps", "duplicates")
        for project in verdict.projects:
            gaps = ", ".join(f"{first}-{last}" for first, last in project.gaps)
            wrong = ", ".join({*project.duplicates, *project.mismatches})
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
            self._console.print(Text(f"unaccounted for: {shown(body)}"))
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
        self.invitation(stack)

    def invitation(self, stack: LocalStack) -> None:
        """Say how to send a message of one's own, and how to stop."""
        queue_url = stack.outputs["CreateTicketQueueUrl"]
        body = {"project_id": "MINE", "idempotency_key": "1", "title": "My ticket"}
        self._console.print(
            Text(
                f"""
The system stays up. Send a message of your own from another terminal, with the AWS CLI:

  AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test aws sqs send-message \\
    --endpoint-url {stack.endpoint_url} --region {stack.region} \\
    --queue-url {queue_url} --message-group-id MINE \\
    --message-body '{json.dumps(body)}'

or from Python, with .venv/bin/python:

  import boto3
  sqs = boto3.client("sqs", endpoint_url="{stack.endpoint_url}",
      region_name="{stack.region}",
      aws_access_key_id="test", aws_secret_access_key="test")
  sqs.send_message(QueueUrl="{queue_url}",
      MessageGroupId="MINE",
      MessageBody='{json.dumps(body)}')

Numbers and dead letters appear here as they come. Stop with Ctrl-C.
"""
            ),
            soft_wrap=True,
        )


def shown(body: str) -> str:
    """Cut a body to what fits on a line, and to what a terminal can show."""
    line = " ".join(body.split())
    visible = "".join(each if each.isprintable() else "\ufffd" for each in line)
    return visible if len(visible) <= _BODY_WIDTH else visible[:_BODY_WIDTH] + "..."
