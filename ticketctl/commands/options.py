"""The arguments and options that commands of several modules share."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object, for scripts.")
]
JsonLines = Annotated[
    bool, typer.Option("--json", help="Print one JSON object a line, for scripts.")
]
Project = Annotated[str, typer.Argument(metavar="PROJECT", help="The project's id.")]
TicketKey = Annotated[
    str, typer.Argument(metavar="TICKET", help="A ticket key, such as PROJ-42.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")]

File = Annotated[
    str, typer.Argument(metavar="FILE", help="JSON lines; - is standard input.")
]
Save = Annotated[
    Path | None,
    typer.Option(
        metavar="NEW", help="A new file for the lines; it is complete or absent."
    ),
]

Rate = Annotated[int | None, typer.Option(min=1, help="Maximum read units a second.")]
TicketsTable = Annotated[
    str | None, typer.Option(help="Another table of tickets, such as a restored one.")
]
KeysTable = Annotated[
    str | None, typer.Option(help="Another table of keys, with that of tickets.")
]


def completed_by(words: Collection[str]) -> Callable[[str], list[str]]:
    """Return a function that completes the start of a word."""
    return lambda incomplete: [word for word in words if word.startswith(incomplete)]
