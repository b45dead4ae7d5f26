"""Makes a function that needs a stack a command that finds it and fails in a line."""

import inspect
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import Parameter
from typing import Annotated, Any, Final, NoReturn

import typer
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from ticketctl.cli.errors import OutputError, Status, ToolError
from ticketctl.system.aws_errors import explained
from ticketctl.system.stack import DEFAULT_STACK, find_stack

_AWS: Final = "Which system"

_OPTIONS: Final = {
    "stack_name": (
        Annotated[
            str,
            typer.Option(
                "--stack",
                envvar="TICKETCTL_STACK",
                help="The stack's name.",
                rich_help_panel=_AWS,
            ),
        ],
        DEFAULT_STACK,
    ),
    "region": (
        Annotated[
            str | None,
            typer.Option(
                help="AWS Region; else as the AWS CLI finds it.", rich_help_panel=_AWS
            ),
        ],
        None,
    ),
    "profile": (
        Annotated[
            str | None,
            typer.Option(
                help="AWS profile; else as the AWS CLI finds it.", rich_help_panel=_AWS
            ),
        ],
        None,
    ),
}

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]

Function = Callable[..., None]


def stack_command(
    app: typer.Typer, name: str, *, examples: tuple[str, ...], panel: str | None = None
) -> Callable[[Function], Function]:
    """Register a function as a command that gets the stack as its first argument.

    Args:
        app: What the command belongs to.
        name: What it is called.
        examples: Command lines, for its help.
        panel: Under which heading the help lists it.
    """

    def register(function: Function) -> Function:
        @wraps(function)
        def command(
            *arguments: Any,
            stack_name: str,
            region: str | None,
            profile: str | None,
            **options: Any,
        ) -> None:
            with errors_in_a_line():
                stack = find_stack(stack_name, region, profile)
                function(stack, *arguments, **options)

        # Typer reads the signature: in place of the stack, how to find it.
        signature = inspect.signature(function, eval_str=True)
        [_, *own] = signature.parameters.values()
        options = [
            Parameter(option, Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            for option, (kind, default) in _OPTIONS.items()
        ]
        shown: Any = command
        shown.__signature__ = signature.replace(parameters=[*own, *options])
        shown.__annotations__ = {each.name: each.annotation for each in own + options}
        app.command(name, epilog=example_lines(*examples), rich_help_panel=panel)(
            command
        )
        return function

    return register


def example_lines(*examples: str) -> str:
    """Return command lines as the end of a help shows them."""
    return "Examples:\n\n" + "\n\n".join(f"$ {each}" for each in examples)


@contextmanager
def errors_in_a_line() -> Iterator[None]:
    """End the program with one line where the work fails, and its status.

    Raises:
        Exit: It failed in a way that is not a bug of ours, or was interrupted.
    """
    try:
        yield
    except ToolError as error:
        fail(error)
    except (BotoCoreError, ClientError, ResponseParserError) as error:
        fail(explained(error))
    except KeyboardInterrupt:
        raise typer.Exit(Status.INTERRUPTED) from None
    except BrokenPipeError:
        # Whoever reads has enough (`| head`); Python must not complain once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(Status.FOUND) from None
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        fail(OutputError(f"{where}{error.strerror or error}"))


def fail(error: ToolError) -> NoReturn:
    """Say why in one line, and end with the error's status.

    Raises:
        Exit: Always.
    """
    print(f"error: {error}", file=sys.stderr)  # noqa: T201 - the one line it takes.
    raise typer.Exit(error.status) from error
