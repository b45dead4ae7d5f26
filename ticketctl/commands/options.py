"""The arguments and options that commands of several modules share."""

from collections.abc import Callable, Collection
from typing import Annotated, Final

import typer

from ticketctl.files import Format

MAX_NUMBER: Final = 10**15
"""The contract's; its import takes longer than all of `--version`."""

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
Project = Annotated[str, typer.Argument(metavar="PROJECT", help="The project's id.")]
TicketKey = Annotated[
    str, typer.Argument(metavar="TICKET", help="A ticket key, such as PROJ-42.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")]

File = Annotated[
    str, typer.Argument(metavar="FILE", help="JSONL or CSV; - is standard input.")
]
FileFormat = Annotated[
    Format | None,
    typer.Option("--format", help="File format; default: by suffix, else jsonl."),
]
Encoding = Annotated[
    str | None,
    typer.Option(help="Of the file, such as cp1252 or utf-16; default: UTF-8."),
]

Rate = Annotated[int | None, typer.Option(min=1, help="Read units a second, at most.")]
TicketsTable = Annotated[
    str | None, typer.Option(help="Another table of tickets: a restored one, say.")
]
KeysTable = Annotated[
    str | None, typer.Option(help="Another table of keys, with that of tickets.")
]


def completed_by(words: Collection[str]) -> Callable[[str], list[str]]:
    """Return what completes the beginning of a word on Tab."""
    return lambda incomplete: [one for one in words if one.startswith(incomplete)]
