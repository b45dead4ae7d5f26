"""The work of the convert command: converts a foreign file."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ticketctl.cli.arguments import checked_project
from ticketctl.cli.output import counted, note_if_interrupted, print_note
from ticketctl.convert.columns import mapped
from ticketctl.convert.convert import Conversion, Rules, check_end, open_rows
from ticketctl.convert.times import check_form, zone_of
from ticketctl.files.lines import Problems
from ticketctl.files.whole_file import so_far, writing


@dataclass(frozen=True)
class Choices:
    """The options of a conversion."""

    columns: Sequence[str] = ()
    """Pairs of `COLUMN=FIELD`."""
    project: str | None = None
    encoding: str | None = None
    date_format: str | None = None
    time_zone: str | None = None
    fit: bool = False
    save: Path | None = None


def convert(file: str, choices: Choices) -> None:
    """Convert a file, or standard input."""
    save = choices.save
    if choices.project is not None:
        checked_project(choices.project)
    if choices.date_format:
        check_form(choices.date_format)
    zone = zone_of(choices.time_zone) if choices.time_zone else None
    problems, count = Problems(file), 0
    rules = Rules(choices.project, choices.date_format, zone, choices.fit)
    conversion = Conversion(rules, problems)
    fields, changes = mapped(choices.columns), conversion.changes
    with (
        writing(save) as write,
        note_if_interrupted(
            lambda: so_far(save, counted(count, "line")) if count else ""
        ),
        open_rows(file, fields, choices.encoding, changes) as rows,
    ):
        for line in conversion.lines(rows):
            write(line)
            count += 1
        check_end(count, problems)
    for change in changes.notes():
        print_note(change)
    print_note(f"converted {counted(count, 'line')}{f' to {save}' if save else ''}")
