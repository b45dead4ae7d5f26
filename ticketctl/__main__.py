"""The command line: `ticketctl`, or `python -m ticketctl`."""

import io
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from ticketctl.aws.aws_errors import explained
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
    # A character that the output's encoding does not have is spelled.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        app(arguments, prog_name="ticketctl")
    except ToolError as error:
        _fail(str(error), error.status)
    except (BotoCoreError, ClientError, ResponseParserError) as error:
        _fail(str(explained(error)), Status.CLOUD)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        _fail(f"{where}{error.strerror or error}", Status.USAGE)


def _fail(line: str, status: Status) -> NoReturn:
    print(f"error: {line}", file=sys.stderr)  # noqa: T201 - the one line it takes.
    sys.exit(status)


if __name__ == "__main__":
    main()
