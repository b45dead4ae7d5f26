"""The application without its commands: options of the stack, declaration, help."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from ticketctl import PROGRAM, __version__
from ticketctl.cli.pages import docs

if TYPE_CHECKING:
    from ticketctl.aws.stack import Stack

Function = TypeVar("Function", bound=Callable[..., object])

TICKETS: Final = "Tickets"
SEQUENCES: Final = "Number sequences"
OPERATIONS: Final = "The running system"
LOCAL: Final = "On this machine, without an AWS account"

_PLACE: Final = ("stack", "region", "profile", "outputs")
"""The options that name a stack; they precede the command."""

_STATUSES: Final = """
| Exit status | Meaning |
| --- | --- |
| 0 | done |
| 1 | done, but something was wrong or not found; or the reader of a pipe has gone |
| 2 | not done: a wrong option or file, or something is missing on this machine |
| 3 | not done: AWS cannot be reached, or rejects the call |
| 130 | interrupted; commands such as `watch` end with Ctrl-C and status 0 |
"""


def _parsed(command: Any, ctx: Any, parse: Callable[..., Any], args: list[str]) -> Any:
    """Parse a command line; reject a repeated option, and a ticket key in two words.

    Otherwise the last option would count silently.
    """
    try:
        values, rest, given = parse(args)
    except Exception as error:
        _explain(command, ctx, getattr(error, "option_name", ""))
        raise
    for option, number in Counter(given).items():
        if number > 1 and not (option.multiple or option.is_flag):
            ctx.fail(f"{option.opts[0]} is given {number} times, and takes one value")
    if rest and "ticket_key" in values:
        ctx.fail(f"write {values['ticket_key']}-{rest[0]}: a ticket is one word")
    return values, rest, given


def _explain(command: Any, ctx: Any, option: str) -> None:
    """Explain an unknown option: it precedes the command, or is an argument."""
    name = option.removeprefix("--")
    program, _, words = ctx.command_path.partition(" ")
    if words and name in _PLACE:
        right = f"{program} {option} {name.upper()} {words}"
        ctx.fail(f"put {option} before the command: {right}")
    arguments = [
        parameter
        for parameter in command.params
        if parameter.param_type_name == "argument"
    ]
    if name.upper() in {argument.metavar for argument in arguments}:
        ctx.fail(f"write {name.upper()} without {option}")


class _Strict:
    """Mixes into a class of Typer; rejects a repeated option."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters; flags have no negative form, and no type in help."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "is_flag", False):
                parameter.metavar, parameter.secondary_opts = "", []
            if ctx.resilient_parsing:  # For completion Typer would load pydantic.
                parameter.process_value = lambda _, value: value
        return parameters

    def make_parser(self, ctx: Any) -> Any:
        """Return the parser of a command line; that of a completion is not strict."""
        parser: Any = super().make_parser(ctx)  # type: ignore[misc]
        if not ctx.resilient_parsing:
            parser.parse_args = partial(_parsed, self, ctx, parser.parse_args)
        return parser


class Command(_Strict, TyperCommand):
    """A command; its help has the addresses of the pages."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Show the help."""
        self.help = str(self.help).replace("docs/", docs())
        super().format_help(ctx, formatter)


class Group(_Strict, TyperGroup):
    """A group of commands."""


app = typer.Typer(
    name="ticketctl",
    cls=Group,
    rich_markup_mode="markdown",  # It wraps paragraphs at every width.
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_STATUSES,
)


def _show_version(wanted: bool) -> None:  # noqa: FBT001 - as Typer calls it.
    if wanted:
        typer.echo(f"ticketctl {__version__}")
        raise typer.Exit


@app.callback()
def ticketctl(
    ctx: typer.Context,
    *,
    stack: Annotated[
        str, typer.Option(envvar="TICKETCTL_STACK", help="The stack's name.")
    ] = "ticket-numbering",
    region: Annotated[
        str | None, typer.Option(help="AWS Region; default: that of the AWS CLI.")
    ] = None,
    profile: Annotated[
        str | None, typer.Option(help="AWS profile; default: that of the AWS CLI.")
    ] = None,
    outputs: Annotated[
        Path | None,
        typer.Option(
            envvar="TICKETCTL_OUTPUTS",
            metavar="FILE",
            help="The saved output of `aws cloudformation describe-stacks`, used if "
            "CloudFormation does not answer.",
        ),
    ] = None,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version."
        ),
    ] = False,
) -> None:
    """Send tickets, watch their numbers, and operate the system that assigns them.

    Put --stack, --region, --profile and --outputs before the command.
    Region, profile and credentials are those of the AWS CLI;
    `AWS_ENDPOINT_URL` selects the local system.
    """
    ctx.obj = lambda find: find(stack, region, profile, outputs, program_of(ctx))


def finder(ctx: typer.Context) -> Callable[[], "Stack"]:
    """Return a function to find the stack, for work that first checks its arguments."""
    return lambda: stack_of(ctx)


def stack_of(ctx: typer.Context) -> "Stack":
    """Find the stack that the application's options name."""
    from ticketctl.aws.stack import find_stack

    stack: Stack = ctx.obj(find_stack)
    return stack


def program_of(ctx: typer.Context) -> str:
    """Return this program with its options before a command, quoted for a shell."""
    root: Any = ctx.find_root()
    sources: Any = {name: root.get_parameter_source(name) for name in _PLACE}
    given = [name for name in _PLACE if sources[name].name != "DEFAULT"]
    options = [f"--{name} {quote(str(root.params[name]))}" for name in given]
    return " ".join([PROGRAM, *options])


def command(where: str | typer.Typer, *examples: str) -> Callable[[Function], Function]:
    """Declare a command, named after its function, in a panel of the help or a group.

    The command's own help ends with the examples.
    """
    of, panel = (app, where) if isinstance(where, str) else (where, None)
    shown = "Examples:\n\n" + "\n\n".join(f"$ {line}" for line in examples)

    def declared(function: Function) -> Function:
        name = function.__name__.strip("_").replace("_", "-")
        declare = of.command(name, cls=Command, rich_help_panel=panel, epilog=shown)
        return declare(function)

    return declared
