"""The commands that send tickets."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Final

import typer

from ticketctl.cli.app import TICKETS, Json, app, examples, stack_of
from ticketctl.cli.errors import InputError, Status
from ticketctl.cli.output import console, print_json_line
from ticketctl.send.delivering import Delivery, deliver
from ticketctl.send.preparing import Prepared
from ticketctl.send.request_file import Format, RequestFile
from ticketctl.send.requests_asked import (
    Choice,
    named_values,
    one_request,
    requests_of,
)
from ticketctl.send.send_report import Report, counted
from ticketctl.system.contract import Fields

_ONE: Final = "One ticket"
_FILE: Final = "A file of tickets"
_SENDING: Final = "Sending"


@app.command(
    "send",
    rich_help_panel=TICKETS,
    epilog=examples(
        'ticketctl send --project WEB --title "Login page flickers" --wait',
        "ticketctl send tickets.jsonl --dry-run",
        "ticketctl send tickets.csv --project WEB --rate 100",
        'export-tickets | ticketctl send - --key-prefix "nightly-$(date +%F)"',
    ),
)
def send(  # noqa: PLR0913 - one parameter for each option.
    ctx: typer.Context,
    file: Annotated[
        str | None,
        typer.Argument(help="A file of tickets, JSONL or CSV; - is standard input."),
    ] = None,
    *,
    project: Annotated[
        str | None,
        typer.Option(help="The project; in a file, of lines that name none."),
    ] = None,
    title: Annotated[
        str | None, typer.Option(help="What it is about.", rich_help_panel=_ONE)
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            help="The idempotency key: the same one never gets a second number. "
            "Without it a new one is made, and printed.",
            rich_help_panel=_ONE,
        ),
    ] = None,
    description: Annotated[
        str | None, typer.Option(help="More about it.", rich_help_panel=_ONE)
    ] = None,
    priority: Annotated[
        str | None,
        typer.Option(help="low, medium, high or urgent.", rich_help_panel=_ONE),
    ] = None,
    reporter: Annotated[
        str | None, typer.Option(help="Who reports it.", rich_help_panel=_ONE)
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(help="A label; can be repeated.", rich_help_panel=_ONE),
    ] = None,
    attribute: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="An attribute; can be repeated.",
            rich_help_panel=_ONE,
        ),
    ] = None,
    written_as: Annotated[
        Format | None,
        typer.Option(
            "--format",
            help="How the file is written; else its suffix says it. Standard input is "
            "jsonl.",
            rich_help_panel=_FILE,
        ),
    ] = None,
    key_prefix: Annotated[
        str | None,
        typer.Option(
            help="What the keys of lines without a key begin with, and are made from; "
            "else the file's name, so that files of one name share keys.",
            rich_help_panel=_FILE,
        ),
    ] = None,
    from_line: Annotated[
        int,
        typer.Option(
            min=1,
            help="Leave out the lines before this one.",
            rich_help_panel=_FILE,
        ),
    ] = 1,
    skip_invalid: Annotated[
        bool,
        typer.Option(
            "--skip-invalid",
            help="Send the good lines of a file that has bad ones; ends with status 1. "
            "CSV with broken quotes is refused all the same.",
            rich_help_panel=_FILE,
        ),
    ] = False,
    unchecked: Annotated[
        bool,
        typer.Option(
            "--unchecked",
            help="Send what is no valid request too, as a producer with a bug would; "
            "it ends as a dead letter.",
            rich_help_panel=_FILE,
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Check everything, send nothing.",
            rich_help_panel=_SENDING,
        ),
    ] = False,
    rate: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            help="At most so many messages a second.",
            rich_help_panel=_SENDING,
        ),
    ] = None,
    wait: Annotated[
        bool,
        typer.Option(
            "--wait",
            help="Wait for the numbers, and print each; ends with status 1 if some do "
            "not come.",
            rich_help_panel=_SENDING,
        ),
    ] = False,
    timeout: Annotated[
        float,
        typer.Option(
            min=1,
            help="How many seconds without news --wait takes.",
            rich_help_panel=_SENDING,
        ),
    ] = 60,
    as_json: Json = False,
) -> None:
    """Ask for tickets: for one that the options describe, or for those of a file.

    JSONL is a JSON object a line, CSV has a header of field names; there, an empty cell
    is an absent field, labels are separated by ; and attributes are columns named
    attributes.NAME. Everything is checked before anything is sent, and a bad line stops
    the whole file.

    A line without an idempotency_key gets one that is made from the file's name and
    from what the line says. So the same file can be sent again, after Ctrl-C or with
    lines added: what was sent before keeps its number, and nothing is created twice. A
    line that was changed since asks for another ticket. Another file of the same name
    shares its keys, in whatever folder: an export of each night needs a --key-prefix of
    its own, or keys in its lines, else a line that was there before is no new ticket.

    With --json it prints a JSON document a line: for each message, or with --wait for
    each number.
    """
    stack = stack_of(ctx)
    own = _given(
        title=title,
        idempotency_key=key,
        description=description,
        priority=priority,
        reporter=reporter,
        labels=label,
        attributes=named_values(attribute or ()),
    )
    choice = Choice(project, key_prefix, from_line, skip_invalid, unchecked)
    if not (math.isfinite(rate or 0) and math.isfinite(timeout)):
        message = "--rate and --timeout: give a number"
        raise InputError(message)
    delivery = Delivery(rate, wait, timeout)
    with _requests(file, written_as, own, choice) as (name, prepared):
        if dry_run:
            _tell_checked(prepared, name, as_json=as_json)
            status = Status.OK
        else:
            report = Report(name, prepared.good, as_json, wait, prepared.key_prefix)
            status = deliver(stack, prepared, report, delivery)
    skipped = Status.FOUND if prepared.bad else Status.OK
    raise typer.Exit(status or skipped)


@contextmanager
def _requests(
    file: str | None, written_as: Format | None, own: Fields, choice: Choice
) -> Iterator[tuple[str, Prepared]]:
    """Check what is asked for; the name is empty for a ticket that options describe."""
    if file is not None:
        if own:
            message = f"{_option(own)} is for one ticket; a FILE has its own"
            raise InputError(message)
        source = RequestFile(file, written_as)
        with requests_of(source, choice) as prepared:
            yield source.name, prepared
        return
    if written_as or choice != Choice(choice.project):
        message = (
            "--format, --key-prefix, --from-line, --skip-invalid and --unchecked "
            "need a FILE"
        )
        raise InputError(message)
    own |= _given(project_id=choice.project)
    if not {"project_id", "title"} <= own.keys():
        message = "give --project and --title, or a FILE of tickets"
        raise InputError(message)
    with one_request(own) as prepared:
        yield "", prepared


def _given(**fields: Any) -> Fields:
    return {name: value for name, value in fields.items() if value not in (None, {})}


def _option(own: Fields) -> str:
    names = {"idempotency_key": "key", "labels": "label", "attributes": "attribute"}
    first = next(iter(own))
    return f"--{names.get(first, first)}"


def _tell_checked(prepared: Prepared, name: str, *, as_json: bool) -> None:
    if as_json:
        counts = {"good": prepared.good, "bad": prepared.bad}
        print_json_line(counts | {"repeats": prepared.repeats})
        return
    where = f"{name}: " if name else ""
    line = f"{where}{counted(prepared.good, 'good ticket')}, nothing is sent"
    console().print(line, markup=False)
