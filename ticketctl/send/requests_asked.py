"""The requests that a command line asks for: one from options, or those of a file."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import Any, Final
from uuid import uuid4

from ticketctl.cli.errors import InputError
from ticketctl.send.derived_keys import DerivedKeys, checked_prefix
from ticketctl.send.preparing import Preparation, Prepared
from ticketctl.send.request_file import RequestFile
from ticketctl.send.request_lines import Line
from ticketctl.send.send_report import counted, progress, remark, tell_bad_lines
from ticketctl.system.contract import Fields

_MAX_IN_MEMORY: Final = 8 * 1024 * 1024


@dataclass(frozen=True)
class Choice:
    """How to read a file."""

    project: str | None = None
    """Of lines that name none."""
    key_prefix: str | None = None
    """For lines without a key; else the file's name."""
    from_line: int = 1
    skip_invalid: bool = False
    unchecked: bool = False


@contextmanager
def one_request(fields: Fields) -> Iterator[Prepared]:
    """Check one request; without a key it gets a new one.

    Raises:
        InputError: It is not valid.
    """
    own_key = {"idempotency_key": str(uuid4())}
    with SpooledTemporaryFile(_MAX_IN_MEMORY) as spool:
        prepared = Preparation().prepare([Line(1, own_key | fields)], spool)
        for _, problem in prepared.told:
            raise InputError(problem)
        yield prepared


@contextmanager
def requests_of(file: RequestFile, choice: Choice) -> Iterator[Prepared]:
    """Check a file, and tell what is wrong with it.

    Raises:
        InputError: The prefix of keys cannot be one.
        InputError: The file cannot be read, holds nothing, or has bad lines that
            are not to be skipped.
    """
    prefix = file.key_prefix
    if choice.key_prefix is not None:
        prefix = checked_prefix(choice.key_prefix)
    keys = None if prefix is None else DerivedKeys(prefix)
    preparation = Preparation(choice.project, keys, choice.from_line, choice.unchecked)
    with SpooledTemporaryFile(_MAX_IN_MEMORY) as spool:
        try:
            with file.lines() as lines, progress("checking", None) as step:
                prepared = preparation.prepare(_stepping(lines, step), spool)
        except KeyboardInterrupt:
            remark("nothing was sent")
            raise
        tell_bad_lines(file.name, prepared)
        _refuse(file, choice, prepared)
        yield prepared


def _refuse(file: RequestFile, choice: Choice, prepared: Prepared) -> None:
    if not (prepared.good or prepared.bad or prepared.repeats):
        where = f" from line {choice.from_line} on" if choice.from_line > 1 else ""
        message = f"{file.name}: holds no ticket{where}"
        raise InputError(message)
    if prepared.bad and not choice.skip_invalid:
        message = (
            f"{file.name}: {counted(prepared.bad, 'bad line')}, so nothing is sent; "
            "mend the file, or send the rest with --skip-invalid"
        )
        raise InputError(message)


def named_values(given: Sequence[str]) -> dict[str, str]:
    """Read `NAME=VALUE`.

    Raises:
        InputError: One is not so, or a name stands twice.
    """
    values: dict[str, str] = {}
    for each in given:
        name, separator, value = each.partition("=")
        if not separator:
            message = "--attribute: give NAME=VALUE"
            raise InputError(message)
        if name in values:
            message = "--attribute: a name stands twice"
            raise InputError(message)
        values[name] = value
    return values


def _stepping(lines: Iterator[Line], step: Any) -> Iterator[Line]:
    for line in lines:
        step()
        yield line
