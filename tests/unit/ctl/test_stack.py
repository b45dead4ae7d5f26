"""What every command stands on: the stack, its errors, its output, its help."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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

from ticketctl.__main__ import app as whole_app
from ticketctl.cli.command import errors_in_a_line, stack_command
from ticketctl.cli.errors import (
    CloudError,
    InputError,
    NotThereError,
    Status,
    ToolError,
)
from ticketctl.cli.output import print_json, print_json_line, visible
from ticketctl.system.aws_errors import error_code, explained
from ticketctl.system.stack import NEEDED_OUTPUTS, Stack, find_stack

ROOT = Path(__file__).parents[3]

# Commands that look after a deployed system; the others start one of their own.
LOCAL = {"run", "up", "sample", "bench"}

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


def stack_of(*outputs: str, status: str = "CREATE_COMPLETE") -> Answer:
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
        stack = found(stack_of(*NEEDED_OUTPUTS), monkeypatch)

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
        answer = stack_of(*outputs, status="CREATE_IN_PROGRESS")

        with pytest.raises(ToolError, match=r"CREATE_IN_PROGRESS.*no output") as error:
            found(answer, monkeypatch)

        assert missing in str(error.value)

    def test_stack_is_refused_when_it_has_no_outputs(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A stack of something else."""
        with pytest.raises(ToolError, match="not one of ticket numbering"):
            found(stack_of(), monkeypatch)

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


def ended(error: BaseException | None) -> tuple[int, str]:
    """Run a command that ends so; return its status and what it says."""
    app = typer.Typer()

    @app.command()
    def command() -> None:
        with errors_in_a_line():
            if error:
                raise error

    result = CliRunner().invoke(app, [])
    return result.exit_code, result.stderr


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
        self, error: Exception | None, status: int
    ) -> None:
        """And one line says why."""
        code, said = ended(error)

        assert code == status
        assert said.count("\n") == (1 if error else 0)

    def test_interrupt_ends_silently_with_130(self) -> None:
        """As a shell expects it."""
        assert ended(KeyboardInterrupt()) == (130, "")

    def test_bug_stays_a_bug(self) -> None:
        """An error that nobody foresaw is not dressed up."""
        with pytest.raises(ZeroDivisionError), errors_in_a_line():
            _ = 1 / 0

    def test_reader_that_has_enough_is_no_error(self) -> None:
        """`ticketctl ... | head` must not complain."""
        script = (
            "from ticketctl.cli.command import errors_in_a_line\n"
            "from ticketctl.cli.output import print_json_line\n"
            "import typer\n"
            "app = typer.Typer()\n"
            "@app.command()\n"
            "def many() -> None:\n"
            "    with errors_in_a_line():\n"
            "        for each in range(100_000):\n"
            "            print_json_line(each)\n"
            "app()\n"
        )
        with subprocess.Popen(  # noqa: S603 - no shell, and nothing from outside.
            [sys.executable, "-c", script],
            cwd=ROOT,
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

    def test_function_gets_the_stack_that_was_found(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """By the options, which every such command has."""
        app, got = typer.Typer(), []

        @stack_command(app, "look", examples=("ticketctl look --stack mine",))
        def look(stack: Stack, word: str) -> None:
            """Look."""
            got.append((stack.name, stack.region, word))

        monkeypatch.setattr(
            boto3, "Session", Answered(stack_of(*NEEDED_OUTPUTS)).session
        )
        arn = "arn:aws:cloudformation:eu-north-1:123456789012:stack/mine/7"
        options = ["--stack", arn, "--region", "eu-north-1", "now"]
        result = CliRunner().invoke(app, options)

        assert (result.exit_code, got) == (0, [("mine", "eu-north-1", "now")])


def commands() -> Iterator[tuple[str, ...]]:
    """Return the words of each command."""
    group: Any = typer.main.get_command(whole_app)
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
        """With an example, and how to name the system."""
        result = CliRunner().invoke(
            whole_app, [*words, "--help"], env={"COLUMNS": "200", "NO_COLOR": "1"}
        )

        assert result.exit_code == 0
        assert f"$ ticketctl {' '.join(words)}" in result.stdout
        if words[0] not in LOCAL:
            for option in ("--stack", "--region", "--profile"):
                assert option in result.stdout

    def test_shell_completion_can_be_had(self) -> None:
        """For bash, as its users install it."""
        result = subprocess.run(
            [sys.executable, "-m", "ticketctl"],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
            env={
                "_TICKETCTL_COMPLETE": "source_bash",
                "PATH": os.environ["PATH"],
                "PYTHONPATH": str(ROOT / "src"),
            },
        )

        assert "complete -o default -F _ticketctl_completion ticketctl" in result.stdout

    def test_command_line_needs_the_workers_contract_alone(self) -> None:
        """A person's machine has no Powertools, and no plots to draw."""
        script = (
            "import sys, ticketctl.__main__\n"
            "wrong = 'ticket_numbering.worker', 'aws_lambda_powertools', 'matplotlib'\n"
            "print([each for each in wrong if each in sys.modules])"
        )
        result = subprocess.run(  # noqa: S603 - no shell, and nothing from outside.
            [sys.executable, "-P", "-c", script],
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
            env={"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"},
        )

        assert result.stdout == "[]\n"


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
