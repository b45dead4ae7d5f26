"""Opens a file of requests, or standard input, as the lines that it holds."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, Literal

from ticketctl.cli.errors import InputError
from ticketctl.cli.output import visible
from ticketctl.send.request_lines import Line, json_lines
from ticketctl.send.request_table import table_rows

Format = Literal["jsonl", "csv"]

STANDARD_INPUT: Final = "-"


@dataclass(frozen=True)
class RequestFile:
    """A file that was named on the command line."""

    given: str
    """Its path, or `-`."""
    written_as: Format | None = None
    """How it is written; else its suffix says it."""

    @property
    def name(self) -> str:
        """What it is called in remarks."""
        return "standard input" if self.is_standard_input else visible(self.given)

    @property
    def is_standard_input(self) -> bool:
        """Whether there is no file with a name."""
        return self.given == STANDARD_INPUT

    @property
    def key_prefix(self) -> str | None:
        """Its name without its folder, which may be another one the next time."""
        return None if self.is_standard_input else Path(self.given).name

    @contextmanager
    def lines(self) -> Iterator[Iterator[Line]]:
        """Open it for a while.

        Raises:
            InputError: It cannot be read, or its header is wrong.
        """
        try:
            with self._stream() as stream:
                yield self._lines(stream)
        except OSError as error:
            message = f"{self.name}: cannot be read: {error.strerror}"
            raise InputError(message) from error

    def _stream(self) -> "nullcontext[BinaryIO] | BinaryIO":
        if self.is_standard_input:
            return nullcontext(sys.stdin.buffer)
        return Path(self.given).open("rb")

    def _lines(self, stream: BinaryIO) -> Iterator[Line]:
        suffix = Path(self.given).suffix.lower()
        written_as = self.written_as or ("csv" if suffix == ".csv" else "jsonl")
        if written_as == "csv":
            return table_rows(stream, self.name)
        return json_lines(stream)
