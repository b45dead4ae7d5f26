"""Reads requests for tickets from JSONL, one line after the other."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

from ticket_numbering.errors import InvalidMessageError
from ticket_numbering.json_body import json_object
from ticketctl.system.contract import Fields

# A body of 256 KiB can be written with escapes of six bytes a character.
MAX_LINE_BYTES: Final = 2 * 1024 * 1024
_MARK: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Line:
    """What a line asks for, or why it cannot be read."""

    number: int
    """Of the file's line where it starts; the first is 1."""
    fields: Fields
    problem: str | None = None


def json_lines(stream: BinaryIO) -> Iterator[Line]:
    """Read a JSON object a line; blank lines ask for nothing."""
    for number, raw in enumerate(_raw_lines(stream), 1):
        content = raw.removeprefix(_MARK) if number == 1 else raw
        if content.strip():
            yield _line(number, content)


def _line(number: int, content: bytes) -> Line:
    if len(content.rstrip(b"\r\n")) > MAX_LINE_BYTES:
        problem = f"body: more than {MAX_LINE_BYTES} bytes in one line"
        return Line(number, {}, problem)
    try:
        return Line(number, json_object(content.decode()))
    except UnicodeDecodeError:
        return Line(number, {}, "body: not UTF-8")
    except InvalidMessageError as error:
        return Line(number, {}, str(error))


def _raw_lines(stream: BinaryIO) -> Iterator[bytes]:
    """Cut a line that is too long, so that a file without line breaks fits."""
    while raw := stream.readline(MAX_LINE_BYTES + 1):
        ended = raw
        while ended and not ended.endswith(b"\n") and len(raw) > MAX_LINE_BYTES:
            ended = stream.readline(MAX_LINE_BYTES)
        yield raw
