"""The command line: `ticketctl`, or `python -m ticketctl`."""

import io
import os
import signal
import sqlite3
import sys
from collections.abc import Sequence
from typing import NoReturn

from ticketctl.cli.errors import Status, ToolError
from ticketctl.commands import app


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; an expected failure ends with one line and a status.

    Typer itself ends it for Ctrl-C (130) and for a reader that has enough, `| head`.
    """
    # An ignored signal stays ignored, as `nohup` wants it.
    for kind in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(kind) == signal.SIG_DFL:
            signal.signal(kind, signal.default_int_handler)
    is_read = sys.stdout is not None
    _prepare_streams()
    try:
        app(arguments, prog_name="ticketctl")
    except SystemExit as end:
        # As when the reader of a pipe has gone.
        sys.exit(end.code or (Status.OK if is_read else Status.PROBLEM))
    except ToolError as error:
        _fail(str(error), error.status)
    except sqlite3.Error as error:
        hint = "SQLITE_TMPDIR names another folder"
        _fail(f"a temporary file of SQLite: {error}; {hint}", Status.USAGE)
    except Exception as error:
        from ticketctl.aws import aws_errors as aws  # Not for an option's mistake.

        if isinstance(error, aws.AWS_ERRORS):
            _fail(str(aws.explained(error)), Status.CLOUD)
        # Also in the middle of a run, when they are refreshed.
        if aws.is_of_credentials(error):
            _fail(str(aws.without_credentials(error)), Status.CLOUD)
        if not isinstance(error, OSError):
            raise
        where = f"{error.filename}: " if error.filename else ""
        _fail(f"{where}{error.strerror or error}", Status.USAGE)


def _prepare_streams() -> None:
    """Open closed streams, and let all take every character."""
    # A service may be started with a closed stream, for which Python has None.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nothing = open(os.devnull, mode, encoding="utf-8")  # noqa: PTH123, SIM115
            setattr(sys, name, nothing)
    # A character that the output's encoding does not have is spelled.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _fail(line: str, status: Status) -> NoReturn:
    print(f"error: {line}", file=sys.stderr)  # noqa: T201 - the one line it takes.
    sys.exit(status)


if __name__ == "__main__":
    main()
