"""The lines of a file of requests, and the problems of bad ones."""

import re
from dataclasses import dataclass
from typing import Any, Final

from ticket_numbering.contract.values import MAX_NUMBER
from ticketctl.aws.request_fields import Fields
from ticketctl.cli.errors import InputError
from ticketctl.cli.output import print_note, sanitized

STANDARD_INPUT: Final = "-"

NUMBERS: Final = {"max_number", "number"}
"""Fields that hold a whole number, which a file may have as a text."""

_WHOLE: Final = re.compile(rf"0*([0-9]{{1,{len(str(MAX_NUMBER))}}})(?:\.0)?")
_NAME_WIDTH: Final = 64

MOST_PROBLEMS: Final = 20
"""Bad lines that are named; the others are counted, so that a screen shows all."""


@dataclass(frozen=True)
class Line:
    """The fields of a line, or the reason why it cannot be read."""

    number: int
    """The first is 1; of a CSV row of several lines, the first one's."""
    fields: Fields
    problem: str | None = None


@dataclass
class Problems:
    """Prints the first problems of a file's lines, and counts all."""

    file: str
    number: int = 0

    def add(self, line: int, why: str) -> None:
        """Add a problem."""
        self.number += 1
        if self.number <= MOST_PROBLEMS:
            print_note(f"{shown_name(self.file)}:{line}: {sanitized(why)}")

    def end(self, consequence: str = "") -> None:
        """Print how many were not named, and the consequence, if there is one.

        Raises:
            InputError: There is one, and the file has a problem.
        """
        if self.number > MOST_PROBLEMS:
            print_note(f"and {self.number - MOST_PROBLEMS} more")
        if self.number and consequence:
            name = shown_name(self.file)
            raise InputError(f"{name}: bad lines: {self.number}{consequence}")


def shown_name(path: str) -> str:
    """Return a file's name for notes."""
    return "standard input" if path == STANDARD_INPUT else sanitized(path)


def quoted(value: Any) -> str:
    """Return a value or a name of a file for a note."""
    return sanitized(repr(value), _NAME_WIDTH)


def whole(value: Any) -> Any:
    """Return the number of a text of digits, also of `007` and `12.0`; else the value.

    Spreadsheets write a column of numbers with an empty cell as 12.0.
    """
    match = _WHOLE.fullmatch(value) if isinstance(value, str) else None
    return int(match[1]) if match else value
