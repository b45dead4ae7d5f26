"""What every command stands on: the stack, its errors, its output, its help."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import boto3
import pytest
import typer
from botocore import exceptions as sdk
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError
from botocore.stub import Stubber
from typer.testing import CliRunner

from ticketctl.cli.app import main, stack_of
from ticketctl.cli.errors import (
    CloudError,
    InputError,
    NotThereError,
    Status,
    ToolError,
)
from ticketctl.cli.output import print_json, print_json_line, visible
from ticketctl.commands import app
from ticketctl.system.aws_errors import error_code, explained
from ticketctl.system.stack import NEEDED_OUTPUTS, Stack, find_stack

ROOT = Path(__file__).parents[3]

FINDS_US = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}

Answer = Callable[[Stubber], None]

_Boto3Session = boto3.Session  # Before a test puts its own in place.


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let nothing of this machine be found: no profile, no Region, no credentials."""
    for name in [each for each in os.environ if each.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "absent"))


@dataclass
class Answered:
    """Gives sessions whose CloudFormation answers as a test says."""

    answer: Answer

    def session(self, profile_name: str | None, region_name: str | None) -> Any:
        """Return what takes the place of a boto3 session."""
        real = _Boto3Session(
            aws_access_key_id="x",
            aws_secret_access_key="x",
            profile_name=profile_name,
            region_name=region_name,
        )
        return _Session(real, self.answer)


@dataclass
class _Session:
    real: boto3.Session
    answer: Answer

    def client(self, service_name: str, **options: Any) -> Any:
        """Return a client that answers once."""
        create: Any = self.real.client
        client = create(service_name, **options)
        stub = Stubber(client)
        self.answer(stub)
        stub.activate()
        return client


def found(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> Stack:
    """Find a stack in an account that answers so."""
    monkeypatch.setattr(boto3, "Session", Answered(answer).session)
    return find_stack("mine", "eu-west-1", None)


def answer_of(*outputs: str, status: str = "CREATE_COMPLETE") -> Answer:
    """Let CloudFormation know a stack of these outputs."""
    stack = {
        "StackName": "mine",
        "CreationTime": "2026-11-21T05:53:00Z",
        "StackStatus": status,
        "Outputs": [
            {"OutputKey": each, "OutputValue": f"the {each}"} for each in outputs
        ],
        "Parameters": [
            {"ParameterKey": "IdempotencyRetentionDays", "ParameterValue": "30"}
        ],
    }
    return lambda stub: stub.add_response("describe_stacks", {"Stacks": [stack]})


def refusal(code: str, message: str = "said\nso") -> ClientError:
    """Return an error as boto3 raises it."""
    said = {"Error": {"Code": code, "Message": message}}
    return ClientError(said, "DescribeStacks")  # type: ignore[arg-type]


class TestStack:
    """A stack is found by its name, or the reason is told."""

    def test_stack_has_outputs_parameters_and_clients(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """One client for each service."""
        stack = found(answer_of(*NEEDED_OUTPUTS), monkeypatch)

        assert stack.region == "eu-west-1"
        assert stack.outputs["TicketsTableName"] == "the TicketsTableName"
        assert stack.parameters["IdempotencyRetentionDays"] == "30"
        assert stack.session is not None

    def test_stack_is_told_by_name_when_there_is_none(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """With the Region, which is wrong most often."""
        with pytest.raises(ToolError, match="no stack mine in eu-west-1") as error:
            found(
                lambda stub: stub.add_client_error(
                    "describe_stacks", "ValidationError"
                ),
                monkeypatch,
            )

        assert error.value.status == Status.CLOUD

    @pytest.mark.parametrize("missing", NEEDED_OUTPUTS)
    def test_stack_is_refused_when_an_output_is_missing(
        self, monkeypatch: pytest.MonkeyPatch, missing: str
    ) -> None:
        """Foreign, or not complete: it says which it may be."""
        outputs = [each for each in NEEDED_OUTPUTS if each != missing]
        answer = answer_of(*outputs, status="CREATE_IN_PROGRESS")

        with pytest.raises(ToolError, match=r"CREATE_IN_PROGRESS.*no output") as error:
            found(answer, monkeypatch)

        assert missing in str(error.value)

    def test_stack_is_refused_when_it_has_no_outputs(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A stack of something else."""
        with pytest.raises(ToolError, match="not one of ticket numbering"):
            found(answer_of(), monkeypatch)

    def test_other_refusals_stay_what_they_are(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The command turns them into a line."""
        with pytest.raises(ClientError, match="AccessDenied"):
            found(
                lambda stub: stub.add_client_error("describe_stacks", "AccessDenied"),
                monkeypatch,
            )

    @pytest.mark.parametrize(
        ("region", "profile", "error"),
        [
            (None, None, sdk.NoRegionError),
            ("eu-west-1", None, sdk.NoCredentialsError),
            ("eu-west-1", "absent", sdk.ProfileNotFound),
        ],
    )
    def test_nothing_is_asked_when_the_place_is_not_known(
        self, region: str | None, profile: str | None, error: type[BotoCoreError]
    ) -> None:
        """No Region, no credentials, no such profile: no request leaves."""
        with pytest.raises(error):
            find_stack("mine", region, profile)


class TestPlace:
    """The Region is found as the AWS CLI finds it, an address as the SDK does."""

    @pytest.mark.parametrize(
        ("given", "variables", "expected"),
        [
            ("eu-north-1", {"AWS_REGION": "eu-west-2"}, "eu-north-1"),
            (
                None,
                {"AWS_REGION": "eu-west-2", "AWS_DEFAULT_REGION": "eu-west-3"},
                "eu-west-2",
            ),
            (None, {"AWS_DEFAULT_REGION": "eu-west-3"}, "eu-west-3"),
        ],
    )
    def test_region_is_the_first_that_is_named(
        self,
        monkeypatch: pytest.MonkeyPatch,
        given: str | None,
        variables: dict[str, str],
        expected: str,
    ) -> None:
        """By the option, then by either variable."""
        for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        # Refused before anything is asked, in the words of the Region's own address.
        monkeypatch.setenv("AWS_ENDPOINT_URL", "garbage")
        sessions: list[str | None] = []
        make = boto3.Session

        def session(**options: Any) -> boto3.Session:
            made = make(**options)
            sessions.append(made.region_name)
            return made

        monkeypatch.setattr(boto3, "Session", session)
        with pytest.raises(CloudError, match="AWS_ENDPOINT_URL"):
            find_stack("mine", given, None)
        assert sessions == [expected]

    @pytest.mark.parametrize("address", ["http://127.0.0.1:99999", "http://h:x", "h"])
    def test_address_is_refused_in_one_line_when_it_is_none(
        self, monkeypatch: pytest.MonkeyPatch, address: str
    ) -> None:
        """Before anything is asked."""
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)

        with pytest.raises(CloudError, match="AWS_ENDPOINT_URL"):
            find_stack("mine", "eu-west-1", None)


class TestErrors:
    """Whatever AWS or its SDK says becomes one line that says what to do."""

    @pytest.mark.parametrize(
        ("error", "said"),
        [
            (refusal("ExpiredToken"), "aws sso login"),
            (refusal("UnrecognizedClientException"), "--profile"),
            (refusal("AccessDenied"), "you may not DescribeStacks here"),
            (refusal("AuthorizationError"), "you may not DescribeStacks here"),
            (refusal("Throttling"), "DescribeStacks failed: Throttling: said so"),
            (sdk.NoCredentialsError(), "no credentials"),
            (sdk.PartialCredentialsError(provider="env", cred_var="x"), "credentials"),
            (sdk.CredentialRetrievalError(provider="p", error_msg="x"), "credentials"),
            (sdk.TokenRetrievalError(provider="p", error_msg="x"), "aws sso login"),
            (sdk.UnauthorizedSSOTokenError(), "aws sso login"),
            (sdk.ProfileNotFound(profile="mine"), "aws configure list-profiles"),
            (sdk.NoRegionError(), "--region"),
            (sdk.EndpointConnectionError(endpoint_url="http://x"), "AWS_ENDPOINT_URL"),
            (sdk.ConnectTimeoutError(endpoint_url="http://x"), "AWS_ENDPOINT_URL"),
            (sdk.ReadTimeoutError(endpoint_url="http://x"), "http://x"),
            (sdk.ParamValidationError(report="a\nb"), "a b"),
            (ResponseParserError("not XML"), "AWS_ENDPOINT_URL"),
        ],
        ids=lambda each: each if isinstance(each, str) else type(each).__name__,
    )
    def test_error_is_one_line(
        self, error: BotoCoreError | ClientError | ResponseParserError, said: str
    ) -> None:
        """With what helps, and status 3."""
        line = explained(error)

        assert said in str(line)
        assert "\n" not in str(line)
        assert line.status == Status.CLOUD

    @pytest.mark.parametrize(
        "code",
        ["NoSuch", "AWS.SimpleQueueService.NoSuch", "com.amazonaws.sqs#NoSuch"],
    )
    def test_code_is_the_same_in_each_protocol(self, code: str) -> None:
        """SQS has changed its own."""
        assert error_code(refusal(code)) == "NoSuch"


@contextmanager
def command(function: Callable[..., None]) -> Iterator[None]:
    """Let the application have one more command, `look`."""
    app.command("look")(function)
    try:
        yield
    finally:
        app.registered_commands.pop()


def status_of(*arguments: str) -> int:
    """Run a command and return its exit status."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return int(ended.value.code or 0)


def failing(error: BaseException | None) -> Callable[[], None]:
    """Return a command that ends so."""

    def look() -> None:
        if error:
            raise error

    return look


class TestCommand:
    """A command ends with a line and a status, never with a traceback."""

    @pytest.mark.parametrize(
        ("error", "status"),
        [
            (None, 0),
            (NotThereError("why"), 1),
            (InputError("why"), 2),
            (refusal("Throttling", "why"), 3),
            (sdk.NoRegionError(), 3),
            (OSError(28, "No space left on device"), 1),
        ],
    )
    def test_status_says_how_it_ended(
        self,
        capsys: pytest.CaptureFixture[str],
        error: Exception | None,
        status: int,
    ) -> None:
        """And one line says why."""
        with command(failing(error)):
            assert status_of("look") == status

        assert capsys.readouterr().err.count("\n") == (1 if error else 0)

    def test_interrupt_ends_silently_with_130(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """As a shell expects it."""
        with command(failing(KeyboardInterrupt())):
            assert status_of("look") == Status.INTERRUPTED

        assert capsys.readouterr().err == ""

    @pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGHUP])
    def test_other_signals_end_it_as_ctrl_c_does(self, kind: signal.Signals) -> None:
        """So that what is temporary goes."""
        before = signal.signal(kind, signal.SIG_DFL)
        try:
            with command(lambda: signal.raise_signal(kind)):
                assert status_of("look") == Status.INTERRUPTED
        finally:
            signal.signal(kind, before)

    def test_bug_stays_a_bug(self) -> None:
        """An error that nobody foresaw is not dressed up."""
        with command(failing(ZeroDivisionError())), pytest.raises(ZeroDivisionError):
            main(["look"])

    def test_reader_that_has_enough_is_no_error(self) -> None:
        """`ticketctl ... | head` must not complain."""
        script = (
            "from ticketctl.cli.app import app, main\n"
            "from ticketctl.cli.output import print_json_line\n"
            "@app.command()\n"
            "def many() -> None:\n"
            "    for number in range(100_000):\n"
            "        print_json_line(number)\n"
            "main(['many'])\n"
        )
        with subprocess.Popen(  # noqa: S603 - no shell, and nothing from outside.
            [sys.executable, "-c", script],
            cwd=ROOT,
            env=FINDS_US,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.readline()
            process.stdout.close()
            said = process.stderr.read()
            process.wait(30)

        assert said == b""

    def test_command_gets_the_stack_that_the_options_name(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """They stand before it, for they are the application's."""
        got: list[tuple[str, str]] = []

        def look(ctx: typer.Context) -> None:
            stack = stack_of(ctx)
            got.append((stack.name, stack.region))

        monkeypatch.setattr(
            boto3, "Session", Answered(answer_of(*NEEDED_OUTPUTS)).session
        )
        with command(look):
            status = status_of("--stack", "mine", "--region", "eu-north-1", "look")

        assert (status, got) == (0, [("mine", "eu-north-1")])


def commands() -> Iterator[tuple[str, ...]]:
    """Return the words of each command."""
    group: Any = typer.main.get_command(app)
    yield from _below(group, ())


def _below(group: Any, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _below(command, (*words, name))
        else:
            yield (*words, name)


class TestHelp:
    """Nobody need read the source."""

    @pytest.mark.parametrize("words", [*commands()], ids=" ".join)
    def test_command_says_what_it_does(self, words: tuple[str, ...]) -> None:
        """With an example."""
        result = CliRunner().invoke(
            app, [*words, "--help"], env={"COLUMNS": "200", "NO_COLOR": "1"}
        )

        assert result.exit_code == 0
        assert f"$ ticketctl {' '.join(words)}" in result.stdout

    def test_shell_completion_can_be_had(self) -> None:
        """For bash, as its users install it."""
        result = subprocess.run(
            [sys.executable, "-m", "ticketctl"],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
            env=FINDS_US | {"_TICKETCTL_COMPLETE": "source_bash"},
        )

        assert "complete -o default -F _ticketctl_completion ticketctl" in result.stdout

    def test_command_line_loads_when_only_its_own_requirements_are_installed(
        self,
    ) -> None:
        """A person's machine has no Powertools, and no plots to draw."""
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        brought = brought_by(project["dependencies"])
        absent = [
            module
            for module, names in metadata.packages_distributions().items()
            if brought.isdisjoint(names)
        ]
        script = (
            "import sys\n"
            "sys.modules.update(dict.fromkeys(sys.argv[1:]))\n"
            "import ticketctl.commands"
        )

        subprocess.run(  # noqa: S603 - no shell, and nothing from outside.
            [sys.executable, "-P", "-c", script, *absent],
            check=True,
            env=FINDS_US,
        )

        assert "aws_lambda_powertools" in absent


def brought_by(requirements: Iterable[str]) -> set[str]:
    """Return what is installed with these distributions."""
    found: set[str] = set()
    pending = [*requirements]
    while pending:
        requirement = pending.pop()
        name = re.split(r"[^\w.-]", requirement)[0]
        if "extra ==" not in requirement and name not in found:
            found |= {name, name.replace("-", "_")}
            with suppress(metadata.PackageNotFoundError):  # Of another platform.
                pending += metadata.requires(name) or ()
    return found


class TestOutput:
    """What others wrote is shown, and never obeyed."""

    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("a\x1b[2Jb", "a\ufffd[2Jb"),
            ("a\u202eb\x07", "a\ufffdb\ufffd"),
            ("a\n\tb  c", "a b c"),
            ("\ud800", "\ufffd"),
            ("Café ✓", "Café ✓"),
        ],
    )
    def test_text_is_made_visible(self, text: str, shown: str) -> None:
        """On one line."""
        assert visible(text) == shown

    def test_text_is_cut_to_a_width(self) -> None:
        """And it shows."""
        assert (visible("abcdef", 3), visible("abc", 3)) == ("abc...", "abc")

    def test_json_is_printed_when_a_text_is_broken(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A lone surrogate, from a broken producer."""
        print_json({"a": "\ud800"})
        print_json_line({"a": "é\ud800"})

        first, last = capsys.readouterr().out.rsplit("\n", 2)[:2]
        assert json.loads(first) == {"a": "?"}
        assert json.loads(last) == {"a": "é?"}

    def test_json_lines_are_seen_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Somebody may be waiting at the other end of a pipe."""
        out = io.TextIOWrapper(written := io.BytesIO(), write_through=False)
        monkeypatch.setattr(sys, "stdout", out)

        print_json_line([1])

        assert written.getvalue() == b"[1]\n"
