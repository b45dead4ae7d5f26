"""The stack, errors, statuses, output and help of every command."""

import io
import json
import os
import pty
import re
import signal
import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from errno import ENOSPC
from hashlib import sha1
from importlib import metadata
from pathlib import Path
from typing import Any

import boto3
import pytest
import typer
from botocore import exceptions as sdk
from botocore.credentials import RefreshableCredentials
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError
from botocore.stub import Stubber

from tests.support.builders import CALLER, ticket_fields
from tests.support.canned_aws import client_error, failing, unreachable
from tests.support.ctl_process import Ctl, registered
from tests.support.paths import ROOT
from tests.support.sample_messages import VERSION_1
from tests.support.template_loader import source
from ticketctl.__main__ import main
from ticketctl.aws.aws_errors import error_code, explained, is_no_answer
from ticketctl.aws.outputs import LATER_OUTPUTS, NEEDED_OUTPUTS
from ticketctl.aws.stack import Stack, find_stack
from ticketctl.cli.errors import CloudError, Status
from ticketctl.cli.output import (
    console,
    print_json,
    print_json_line,
    print_note,
    sanitized,
)
from ticketctl.cli.prompts import confirm
from ticketctl.commands import app
from ticketctl.commands.application import stack_of

ctl = Ctl({})

FINDS_US = {
    "PATH": os.environ["PATH"],
    "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}:{ROOT / 'lab'}",
}


def run(*words: str, **options: Any) -> "subprocess.CompletedProcess[str]":
    """Run Python in a process that finds our code, and nothing of this machine."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    options = {"env": FINDS_US, **streams, **options}
    return subprocess.run(  # noqa: S603 - our own commands.
        [sys.executable, *words], check=False, text=True, **options
    )


Answer = Callable[[Stubber], None]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let nothing of this machine be found: no profile, no Region, no credentials."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "absent"))


def account(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every client answer so."""

    class Session(boto3.Session):
        def client(self, *names: Any, **options: Any) -> Any:
            create: Any = super().client
            stub = Stubber(create(*names, **options))
            stub.activate()
            answer(stub)
            return stub.client

    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    monkeypatch.setattr(boto3, "Session", Session)


def stack_in(
    answer: Answer, monkeypatch: pytest.MonkeyPatch, region: str | None = "eu-west-1"
) -> Stack:
    """Find a stack in an account that answers so."""
    account(answer, monkeypatch)
    return find_stack("mine", region, None)


def described(*outputs: str, status: str = "CREATE_COMPLETE") -> dict[str, Any]:
    """Return the description of a stack of these outputs."""
    return {
        "StackName": "mine",
        "CreationTime": "2026-11-21T05:53:00Z",
        "StackStatus": status,
        "Outputs": [
            {"OutputKey": name, "OutputValue": f"the {name}"} for name in outputs
        ],
    }


def answer_of(*outputs: str, status: str = "CREATE_COMPLETE") -> Answer:
    """Let CloudFormation know a stack of these outputs."""
    answer = {"Stacks": [described(*outputs, status=status)]}
    return lambda stub: stub.add_response("describe_stacks", answer)


def only_sts(account_id: str | None, *, refuses: bool = False) -> Answer:
    """Let STS alone answer, if the caller's account is given; or refuse."""

    def answer(stub: Stubber) -> None:
        if stub.client.meta.service_model.service_name != "sts" or not account_id:
            stub.deactivate()
            unreachable(stub.client)
        elif refuses:
            stub.add_client_error("get_caller_identity", "ExpiredToken")
        else:
            stub.add_response("get_caller_identity", {"Account": account_id})

    return answer


ARN = "arn:aws:cloudformation:eu-west-1:123456789012:stack/mine/5a1c"
SAVED = json.dumps(
    {"Stacks": [described(*NEEDED_OUTPUTS) | {"StackName": "mine", "StackId": ARN}]}
)


@pytest.fixture
def prod(tmp_path: Path) -> Path:
    """Return the file of a saved answer."""
    path = tmp_path / "prod.json"
    path.write_text(SAVED)
    return path


class TestSavedAnswer:
    """A saved answer is read on the day when CloudFormation does not answer."""

    @pytest.mark.parametrize("name", ["mine", ARN])
    def test_outputs_are_those_of_the_file_when_it_is_of_the_stack(
        self, monkeypatch: pytest.MonkeyPatch, prod: Path, name: str
    ) -> None:
        account(only_sts("123456789012"), monkeypatch)

        stack = find_stack(name, "eu-west-1", None, prod)

        assert (stack.name, stack.region) == ("mine", "eu-west-1")
        assert stack.outputs == {output: f"the {output}" for output in NEEDED_OUTPUTS}

    def test_file_is_read_when_sts_does_not_answer_either(
        self,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        prod: Path,
    ) -> None:
        account(only_sts(None), monkeypatch)

        find_stack("mine", "eu-west-1", None, prod)

        line = f"CloudFormation does not answer: the outputs are those of {prod}, whose"
        assert f"{line} account could not be checked (" in capsys.readouterr().err

    def test_file_is_not_read_when_cloudformation_answers(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        account(answer_of(*NEEDED_OUTPUTS), monkeypatch)

        stack = find_stack("mine", "eu-west-1", None, tmp_path / "absent")

        assert stack.name == "mine"

    @pytest.mark.parametrize(
        ("place", "account_id", "why"),
        [
            ("b in eu-west-1", None, "is of mine in eu-west-1, not of b"),
            ("mine in eu-north-1", None, "in eu-west-1, not of mine in eu-north-1"),
            ("mine in eu-west-1", "999", "stack/mine/5a1c is of another account"),
        ],
    )
    def test_file_is_refused_when_it_is_of_another_stack(
        self,
        monkeypatch: pytest.MonkeyPatch,
        prod: Path,
        *,
        place: str,
        account_id: str | None,
        why: str,
    ) -> None:
        name, region = place.split(" in ")
        account(only_sts(account_id), monkeypatch)

        with pytest.raises(CloudError, match=why):
            find_stack(name, region, None, prod)

    @pytest.mark.parametrize("text", ["x", "[]", '{"Stacks": []}', '{"Stacks": [0]}'])
    def test_file_is_refused_when_it_has_no_answer(
        self, monkeypatch: pytest.MonkeyPatch, prod: Path, text: str
    ) -> None:
        prod.write_text(text)
        account(only_sts(None), monkeypatch)

        with pytest.raises(CloudError, match=r"prod.json has not one answer of `aws"):
            find_stack("mine", "eu-west-1", None, prod)

    def test_credentials_are_named_when_the_account_cannot_be_checked_with_them(
        self, monkeypatch: pytest.MonkeyPatch, prod: Path
    ) -> None:
        account(only_sts("999", refuses=True), monkeypatch)

        with pytest.raises(ClientError, match="ExpiredToken"):
            find_stack("mine", "eu-west-1", None, prod)


class TestStack:
    """A stack is found by its name, or the error names the cause."""

    def test_needed_outputs_are_those_of_version_1(self) -> None:
        """A stack of an earlier release lacks a later output."""
        released = {*VERSION_1["names"]["outputs"]}

        assert {*NEEDED_OUTPUTS} == released - {*LATER_OUTPUTS}
        assert {*LATER_OUTPUTS} <= source()["Outputs"].keys()

    @pytest.mark.parametrize("missing", NEEDED_OUTPUTS)
    def test_stack_is_refused_when_an_output_is_missing(
        self, monkeypatch: pytest.MonkeyPatch, missing: str
    ) -> None:
        """Foreign, or not complete: it says which it may be."""
        outputs = [name for name in NEEDED_OUTPUTS if name != missing]
        answer = answer_of(*outputs, status="CREATE_IN_PROGRESS")

        why = f"not one of.*CREATE_IN_PROGRESS.*no output {missing}"
        with pytest.raises(CloudError, match=why):
            stack_in(answer, monkeypatch)

    @pytest.mark.parametrize(
        ("region", "profile", "error"),
        [
            (None, None, sdk.NoRegionError),
            ("eu-west-1", None, sdk.NoCredentialsError),
            ("eu-west-1", "absent", sdk.ProfileNotFound),
        ],
    )
    def test_no_request_leaves_when_region_or_credentials_are_unknown(
        self, region: str | None, profile: str | None, error: type[BotoCoreError]
    ) -> None:
        with pytest.raises(error):
            find_stack("mine", region, profile)

    @pytest.mark.parametrize(
        ("option", "variables", "expected"),
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
        option: str | None,
        variables: dict[str, str],
        expected: str,
    ) -> None:
        """By the option, then by either variable, as the AWS CLI finds it."""
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        answer = answer_of(*NEEDED_OUTPUTS)

        assert stack_in(answer, monkeypatch, option).region == expected

    @pytest.mark.parametrize("address", ["http://127.0.0.1:99999", "http://h:x", "h"])
    def test_address_is_refused_in_one_line_when_it_is_none(
        self, monkeypatch: pytest.MonkeyPatch, address: str
    ) -> None:
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)

        with pytest.raises(CloudError, match="AWS_ENDPOINT_URL"):
            find_stack("mine", "eu-west-1", None)


class TestErrors:
    """An error of AWS or its SDK becomes one line with a remedy."""

    @pytest.mark.parametrize(
        ("error", "said"),
        [
            (client_error("ExpiredToken"), "aws sso login"),
            (client_error("UnrecognizedClientException"), "--profile"),
            (client_error("AccessDenied"), "(AccessDenied) when calling the Query"),
            (client_error("Throttling", message="said\nso"), "said so"),
            (sdk.NoCredentialsError(), "aws sso login"),
            (sdk.PartialCredentialsError(provider="env", cred_var="x"), "--profile"),
            (sdk.CredentialRetrievalError(provider="p", error_msg="x"), "--profile"),
            (sdk.TokenRetrievalError(provider="p", error_msg="x"), "aws sso login"),
            (sdk.UnauthorizedSSOTokenError(), "--profile"),
            (sdk.ProfileNotFound(profile="mine"), "aws configure list-profiles"),
            (sdk.NoRegionError(), "--region"),
            (sdk.EndpointConnectionError(endpoint_url="http://x"), "AWS_ENDPOINT_URL"),
            (sdk.ConnectTimeoutError(endpoint_url="http://x"), "AWS_ENDPOINT_URL"),
            (sdk.ReadTimeoutError(endpoint_url="http://x"), "http://x"),
            (sdk.ParamValidationError(report="a\nb"), "a b"),
            (ResponseParserError("not XML"), "AWS_ENDPOINT_URL"),
        ],
        ids=lambda case: case if isinstance(case, str) else type(case).__name__,
    )
    def test_error_is_one_line_that_says_what_to_do(
        self, error: BotoCoreError | ClientError | ResponseParserError, said: str
    ) -> None:
        line = explained(error)

        assert said in str(line)
        assert "\n" not in str(line)
        assert line.status == Status.CLOUD

    @pytest.mark.parametrize(
        ("error", "expected"),
        [
            (sdk.EndpointConnectionError(endpoint_url="http://x"), True),
            (sdk.ReadTimeoutError(endpoint_url="http://x"), True),
            (client_error("Throttling"), True),
            (client_error("503", status=503), True),
            (client_error("AccessDenied", status=403), False),
            (client_error("SlowDown"), True),
            (client_error("ExpiredToken"), False),
            # The worker's next attempt may pass, but a person has a wrong secret.
            (client_error("SignatureDoesNotMatch"), False),
            (sdk.NoCredentialsError(), False),
        ],
    )
    def test_error_is_an_answer_unless_another_try_can_help(
        self, error: BotoCoreError | ClientError, *, expected: bool
    ) -> None:
        assert is_no_answer(error) is expected

    @pytest.mark.parametrize(
        "code", ["NoSuch", "AWS.SimpleQueueService.NoSuch", "com.amazonaws.sqs#NoSuch"]
    )
    def test_code_is_the_same_in_each_protocol_of_sqs(self, code: str) -> None:
        assert error_code(client_error(code)) == "NoSuch"


@contextmanager
def command(function: Callable[..., None]) -> Iterator[None]:
    """Let the application have one more command, `look`."""
    app.command("look")(function)
    try:
        yield
    finally:
        app.registered_commands.pop()


def written(stream: io.TextIOWrapper) -> list[str]:
    """Return the lines of a stream that writes to memory."""
    stream.seek(0)
    return stream.read().splitlines()


PAST = "2020-01-01T00:00:00Z"
KEYS = {"AccessKeyId": "a", "SecretAccessKey": "b", "SessionToken": "c"}
OWN_KEYS = """source_profile = q
[profile q]
aws_access_key_id = a
aws_secret_access_key = b"""
SSO = """sso_session = x
sso_account_id = 123456789012
sso_role_name = r
[sso-session x]
sso_start_url = https://example.com
sso_region = eu-west-1"""


def helper(said: str) -> str:
    """Return a profile whose program says something."""
    return f"credential_process = printf '{said}'"


def expire() -> None:
    """Refresh credentials in the middle of a run, when they are expired already."""
    old = {"access_key": "a", "secret_key": "b", "token": "c", "expiry_time": PAST}
    create: Any = RefreshableCredentials.create_from_metadata
    create(old, lambda: old, "custom-process").get_frozen_credentials()


class TestCredentials:
    """A person reads one line about credentials of any kind."""

    # Of Python, where no terminal is asked for an MFA code.
    @pytest.mark.filterwarnings("ignore::getpass.GetPassWarning")
    @pytest.mark.parametrize(
        "profile",
        [
            *(helper(said) for said in ("", "text", "[1]", r"\377")),
            *(
                helper(json.dumps(KEYS | {"Version": 1, "Expiration": date}))
                for date in (PAST, "never")
            ),
            helper(json.dumps(KEYS | {"Version": 1, "AccessKeyId": 5})),
            helper(json.dumps(KEYS | {"Version": 1, "SessionToken": 5})),
            "credential_process = /nowhere/helper",
            f"web_identity_token_file = /nowhere\nrole_arn = {CALLER}",
            f"role_arn = {CALLER}\nmfa_serial = {CALLER}\n{OWN_KEYS}",
        ],
    )
    def test_remedy_is_credentials_when_they_cannot_be_read(
        self, profile: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A program, a file that is not there, no terminal to ask."""
        config = tmp_path / "config"
        config.write_text(f"[profile p]\n{profile}\n")
        monkeypatch.setenv("AWS_CONFIG_FILE", str(config))

        ended = ctl("--profile", "p", "--region", "eu-west-1", "status")

        assert (ended.status, ended.out) == (Status.CLOUD, "")
        assert "error: no usable credentials: " in ended.err
        assert "sign in with `aws login`" in ended.err.splitlines()[-1]

    def test_login_is_asked_again_when_its_token_is_gone(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Without awscrt botocore reads no credentials of `aws login`."""
        config = tmp_path / "config"
        config.write_text(f"[profile p]\nlogin_session = {CALLER}\n")
        monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
        monkeypatch.setenv("AWS_LOGIN_CACHE_DIRECTORY", str(tmp_path))

        ended = ctl("--profile", "p", "--region", "eu-west-1", "status")

        assert ended.status == Status.CLOUD
        assert "Please reauthenticate with 'aws login'" in ended.err

    def test_remedy_is_credentials_when_a_token_is_torn(self, tmp_path: Path) -> None:
        """Two tools may refresh it at once; the first call reads it."""
        tokens = tmp_path / ".aws" / "sso" / "cache"
        tokens.mkdir(parents=True)
        (tokens / f"{sha1(b'x').hexdigest()}.json").write_text('{"access')  # noqa: S324
        (tmp_path / ".aws" / "config").write_text(f"[default]\n{SSO}\n")

        home = FINDS_US | {"HOME": str(tmp_path)}
        ended = run("-m", "ticketctl", "--region", "eu-west-1", "status", env=home)

        assert ended.returncode == Status.CLOUD
        assert ended.stderr.startswith("error: no usable credentials: KeyError: ")

    def test_remedy_is_credentials_when_they_expire_in_the_middle(self) -> None:
        with command(expire):
            ended = ctl("look")

        assert ended.status == Status.CLOUD
        assert "no usable credentials: RuntimeError: " in ended.err


class TestCommand:
    """A command ends with a line and a status, never with a traceback."""

    @pytest.mark.parametrize(
        "error",
        [
            OSError(ENOSPC, "No space left on device"),
            OSError(ENOSPC, "No space left on device", "file"),
            sqlite3.OperationalError("database or disk is full"),
        ],
        ids=["output", "file", "temporary file"],
    )
    def test_one_line_says_what_the_machine_refuses(self, error: Exception) -> None:
        """A full disk has not the status of findings, even after an action."""
        with command(failing(error)):
            ended = ctl("look")

        assert (ended.status, ended.out) == (Status.USAGE, "")
        assert re.fullmatch("error: .+\n", ended.err)

    @pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGHUP])
    def test_other_signals_end_it_as_ctrl_c_does(self, kind: signal.Signals) -> None:
        """So that temporary resources are removed."""
        before = signal.signal(kind, signal.SIG_DFL)
        try:
            with command(lambda: signal.raise_signal(kind)):
                assert ctl("look").status == Status.INTERRUPTED
        finally:
            signal.signal(kind, before)

    def test_answer_counts_only_when_the_question_was_there(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        person, terminal = pty.openpty()

        class Screen(io.StringIO):
            def write(self, text: str) -> int:
                os.write(person, b"n\n")
                return len(text)

        os.write(person, b"y\n")
        monkeypatch.setattr(sys, "stderr", Screen())
        with os.fdopen(terminal) as keyboard:
            monkeypatch.setattr(sys, "stdin", keyboard)
            with pytest.raises(typer.Exit):
                confirm("Go on?", yes=False)
        os.close(person)

    def test_character_is_spelled_when_the_output_has_no_code_for_it(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The JSON stays JSON."""
        text = "é \U0001f511"

        def look() -> None:
            console().print(text)
            print_note(text)
            print_json_line(text)

        out, err = (io.TextIOWrapper(io.BytesIO(), "latin-1") for _ in range(2))
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        with command(look), pytest.raises(SystemExit):
            main(["look"])

        shown, document = written(out)
        assert (shown, written(err)) == ("é \\U0001f511", [shown])
        assert document.startswith('"é')
        assert json.loads(document) == text

    def test_bug_stays_a_bug(self) -> None:
        with command(failing(ZeroDivisionError())), pytest.raises(ZeroDivisionError):
            main(["look"])

    @pytest.mark.parametrize(
        "line",
        [
            "ticketctl --help",
            "ticketctl sample 9999",
            "ticketctl send-file tickets.jsonl --dry-run",
            "ticketctl send-file tickets.jsonl --dry-run --json",
            "simulation seed 1",
        ],
    )
    def test_status_is_the_same_when_nobody_reads_the_output(
        self, line: str, tmp_path: Path
    ) -> None:
        """However a command prints: it must not look as if all of it was read."""
        ticket = json.dumps(ticket_fields("PROJ"))
        (tmp_path / "tickets.jsonl").write_text(f"{ticket}\n")
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "wb") as closed:
            ended = run("-m", *line.split(), cwd=tmp_path, stdout=closed)

        assert ended.returncode == Status.PROBLEM
        assert ended.stderr == ""

    def test_command_gets_the_stack_that_the_options_name(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """They stand before it, for they are the application's."""

        def look(ctx: typer.Context) -> None:
            stack = stack_of(ctx)
            print_json({"name": stack.name, "region": stack.region})

        account(answer_of(*NEEDED_OUTPUTS), monkeypatch)
        with command(look):
            ended = ctl("--stack", "mine", "--region", "eu-north-1", "look")

        assert ended.json == {"name": "mine", "region": "eu-north-1"}


class TestInstalled:
    """A person needs neither the source nor the worker's packages."""

    @pytest.mark.parametrize("words", [*registered()], ids=" ".join)
    def test_help_has_an_example_of_each_command(self, words: tuple[str, ...]) -> None:
        ended = Ctl({"COLUMNS": "200", "NO_COLOR": "1"})(*words, "--help")

        assert ended.status == 0
        assert f"$ ticketctl {' '.join(words)}" in ended.out

    @pytest.mark.parametrize("words", [(), ("verify",), ("dead-letters", "redrive")])
    def test_help_shows_no_type_of_a_flag_because_it_takes_no_value(
        self, words: tuple[str, ...]
    ) -> None:
        ended = Ctl({"COLUMNS": "200", "NO_COLOR": "1"})(*words, "--help")

        assert "--help" in ended.out
        assert "bool" not in ended.out
        assert "<str>" in ended.out or "<int" in ended.out

    def test_command_line_loads_nothing_of_the_developers_tools(self) -> None:
        """An installation has neither them nor the worker's packages."""
        script = (
            "import importlib, pkgutil, sys, ticketctl\n"
            "for module in pkgutil.walk_packages(ticketctl.__path__, 'ticketctl.'):\n"
            "    '.local.' in module.name or importlib.import_module(module.name)\n"
            "print(*sys.modules)"
        )
        ended = run("-P", "-c", script)

        assert ended.stderr == ""
        own = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        asked = (ROOT / "requirements/dev.in").read_text().splitlines()
        asked += (ROOT / "requirements/runtime.in").read_text().splitlines()
        tools = distributions(asked) - distributions(own["dependencies"])
        loaded = {module.partition(".")[0] for module in ended.stdout.split()}
        of = metadata.packages_distributions()
        assert {"aws-lambda-powertools", "moto"} <= tools
        assert tools.isdisjoint(
            name for module in loaded for name in of.get(module, ())
        )


def distributions(requirements: Iterable[str]) -> set[str]:
    """Return the names that stand at the start of requirements."""
    return {
        match[0]
        for requirement in requirements
        if (match := re.match(r"[a-z][\w-]*", requirement))
    }


class TestOutput:
    """Others' text is shown, and never obeyed."""

    @pytest.mark.parametrize(
        ("text", "width", "shown"),
        [
            ("a\x1b[2Jb", None, "a\ufffd[2Jb"),
            ("a\u202eb\x07", None, "a\ufffdb\ufffd"),
            ("a\n\tb  c", None, "a b c"),
            ("\ud800", None, "\ufffd"),
            ("Café ✓", 6, "Café ✓"),
            ("abcdef", 3, "abc..."),
        ],
    )
    def test_text_is_one_visible_line(
        self, text: str, width: int | None, shown: str
    ) -> None:
        assert sanitized(text, width) == shown

    def test_json_lines_are_seen_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A program may wait at the other end of a pipe."""
        out = io.TextIOWrapper(written := io.BytesIO(), write_through=False)
        monkeypatch.setattr(sys, "stdout", out)

        print_json_line([1])

        assert written.getvalue() == b"[1]\n"
