"""The local system: what it isolates, how it fails, and what it leaves behind.

A function and a template of its own keep these tests apart from the real worker.
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from ticketctl.cli.errors import ToolError
from ticketctl.local.artifact import EMULATOR_PYTHON, ROOT, build_artifact
from ticketctl.local.clients import Clients
from ticketctl.local.emulator import running_emulator
from ticketctl.local.stack import LocalStack, local_stack

pytestmark = pytest.mark.emulator

_TIMEOUT_SECONDS = 10

# Says what it sees, and imports what it is told to.
_HANDLER = """
import importlib, json, os, sys

def handler(event, context):
    for record in event["Records"]:
        body = record["body"]
        print(json.dumps({"body": body, "environment": sorted(os.environ)}))
        if body.startswith("import "):
            importlib.import_module(body.removeprefix("import "))
"""

_TEMPLATE = """
AWSTemplateFormatVersion: "2010-09-09"
Transform: AWS::Serverless-2016-10-31
Parameters:
  VisibilityTimeout:
    Type: Number
    Default: 30
Resources:
  Queue:
    Type: AWS::SQS::Queue
    Properties:
      VisibilityTimeout: !Ref VisibilityTimeout
  Echo:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: nowhere/
      Handler: echo.handler
      Runtime: python3.13
      Events:
        Messages:
          Type: SQS
          Properties:
            Queue: !GetAtt Queue.Arn
            FunctionResponseTypes: [ReportBatchItemFailures]
"""

_OUTPUTS = """
Outputs:
  QueueUrl:
    Value: !Ref Queue
"""


def _wait_for(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"not in time: {what}"
        time.sleep(0.05)


def _write_source(directory: Path, requirements: str = "") -> Path:
    directory.mkdir()
    (directory / "requirements.txt").write_text(requirements)
    (directory / "echo.py").write_text(_HANDLER)
    return directory


def _write_wheel(directory: Path) -> Path:
    wheel = directory / "greeting-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("greeting.py", "HELLO = 1\n")
        archive.writestr(
            "greeting-1.0.dist-info/METADATA",
            "Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n",
        )
        archive.writestr(
            "greeting-1.0.dist-info/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr("greeting-1.0.dist-info/RECORD", "")
    return wheel


def _requirement(wheel: Path, digest: str) -> str:
    return f"greeting @ {wheel.as_uri()} --hash=sha256:{digest}\n"


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The function that echoes, packed as the real one is."""
    directory = tmp_path_factory.mktemp("artifact")
    source = _write_source(directory / "src")
    return build_artifact(source=source, build_directory=directory / "build")


@pytest.fixture
def write_template(tmp_path: Path) -> Callable[[str], Path]:
    """Write a text to a template file of this test."""

    def write(text: str) -> Path:
        template = tmp_path / "template.yaml"
        template.write_text(text)
        return template

    return write


@pytest.fixture(scope="module")
def stack(
    artifact: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LocalStack]:
    """The function that echoes, started from a shell full of configuration."""
    template = tmp_path_factory.mktemp("template") / "template.yaml"
    template.write_text(_TEMPLATE + _OUTPUTS)
    with pytest.MonkeyPatch.context() as users_shell:
        users_shell.setenv("AWS_PROFILE", "does-not-exist")
        users_shell.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
        users_shell.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        with local_stack(
            {"VisibilityTimeout": "42"}, template=template, artifact=artifact
        ) as running:
            yield running


def _send(stack: LocalStack, body: str) -> None:
    stack.client("sqs").send_message(
        QueueUrl=stack.outputs["QueueUrl"], MessageBody=body
    )


class TestArtifact:
    """The zip file holds what ships, the same bytes for the same input."""

    def test_artifact_holds_pinned_packages_beside_the_code(
        self, tmp_path: Path
    ) -> None:
        wheel = _write_wheel(tmp_path)
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        source = _write_source(tmp_path / "src", _requirement(wheel, digest))

        artifact = build_artifact(source=source, build_directory=tmp_path / "build")

        with zipfile.ZipFile(artifact) as archive:
            names = archive.namelist()
        assert {"echo.py", "greeting.py"} <= set(names)
        assert not [name for name in names if "__pycache__" in name]

    def test_artifact_is_refused_when_a_package_does_not_match_its_hash(
        self, tmp_path: Path
    ) -> None:
        wheel = _write_wheel(tmp_path)
        source = _write_source(tmp_path / "src", _requirement(wheel, "0" * 64))

        with pytest.raises(ToolError) as caught:
            build_artifact(source=source, build_directory=tmp_path / "build")

        message = str(caught.value)
        assert message.startswith(f"pip could not install {source}/requirements.txt: ")
        assert "DO NOT MATCH THE HASHES" in message
        assert "\n" not in message
        assert "Expected sha256" in (tmp_path / "build" / "pip.log").read_text()

    def test_artifact_has_the_same_bytes_when_built_twice(self, tmp_path: Path) -> None:
        """Neither the time nor the place of a build changes the zip file."""
        first = _write_source(tmp_path / "first")
        second = _write_source(tmp_path / "second")
        os.utime(second / "echo.py", (0, 0))

        digests = {
            hashlib.sha256(
                build_artifact(
                    source=source, build_directory=tmp_path / "build" / source.name
                ).read_bytes()
            ).digest()
            for source in (first, second)
        }

        assert len(digests) == 1

    def test_artifact_is_refused_when_the_interpreter_is_missing(
        self, tmp_path: Path
    ) -> None:
        with pytest.raises(ToolError, match="make setup"):
            build_artifact(build_directory=tmp_path, python=tmp_path / "python")


class TestDelivery:
    """Messages reach the function; what it says can be read."""

    def test_function_receives_message_when_it_is_sent_to_the_queue(
        self, stack: LocalStack
    ) -> None:
        _send(stack, "hello")

        _wait_for(
            lambda: any('"body": "hello"' in line for line in stack.function_logs()),
            "the log line of the function",
        )
        assert stack.emulator.workers()

    def test_parameters_reach_the_template(self, stack: LocalStack) -> None:
        answer = stack.client("sqs").get_queue_attributes(
            QueueUrl=stack.outputs["QueueUrl"], AttributeNames=["VisibilityTimeout"]
        )

        assert answer["Attributes"] == {"VisibilityTimeout": "42"}


class TestIsolation:
    """Nothing of the machine reaches the system, and nobody reaches it."""

    def test_emulator_listens_on_loopback_only(self, stack: LocalStack) -> None:
        emulator = psutil.Process(stack.emulator.pid)

        addresses = {
            (connection.laddr.ip, connection.laddr.port)
            for process in (emulator, *emulator.children(recursive=True))
            for connection in process.net_connections()
            if connection.status == psutil.CONN_LISTEN
        }

        assert addresses == {("127.0.0.1", stack.emulator.port)}

    def test_function_sees_nothing_of_the_users_shell(self, stack: LocalStack) -> None:
        """A variable that a machine happens to have cannot make the function work."""
        _send(stack, "environment")

        _wait_for(lambda: bool(self._environment(stack)), "the function's answer")
        environment = self._environment(stack)
        assert {"AWS_REGION", "AWS_ENDPOINT_URL"} <= environment
        assert not {"AWS_PROFILE", "HTTP_PROXY", "PYTHONPATH"} & environment

    @staticmethod
    def _environment(stack: LocalStack) -> set[str]:
        for line in stack.function_logs():
            if line.startswith('{"body": "environment"'):
                return set(json.loads(line)["environment"])
        return set()

    def test_function_fails_when_only_the_emulator_has_a_package(
        self, stack: LocalStack
    ) -> None:
        subprocess.run(  # noqa: S603 - fixed arguments.
            [EMULATOR_PYTHON, "-I", "-c", "import botocore"], check=True
        )

        _send(stack, "import botocore")

        _wait_for(
            lambda: any(
                "No module named 'botocore'" in line for line in stack.function_logs()
            ),
            "the function's import error",
        )

    def test_clients_ignore_the_users_profile(
        self, stack: LocalStack, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AWS_PROFILE", "does-not-exist")
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
        monkeypatch.setenv("AWS_USE_FIPS_ENDPOINT", "true")
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")

        with Clients(stack.endpoint_url) as clients:
            identity = clients.client("sts").get_caller_identity()

        assert identity["Account"] == "000000000000"


class TestFailure:
    """What goes wrong says what and where."""

    def test_deployment_names_resource_and_reason_when_one_cannot_be_created(
        self, artifact: Path, write_template: Callable[[str], Path]
    ) -> None:
        template = write_template(
            _TEMPLATE
            + """
  Broken:
    Type: AWS::KMS::Alias
    Properties:
      AliasName: without-prefix
      TargetKeyId: any
"""
        )

        with (
            pytest.raises(ToolError, match=r"Broken \(AWS::KMS::.*without-pr"),
            local_stack(template=template, artifact=artifact),
        ):
            pytest.fail("deployed")

    def test_deployment_is_refused_when_a_parameter_is_unknown(
        self, artifact: Path, write_template: Callable[[str], Path]
    ) -> None:
        with (
            pytest.raises(ToolError, match="Misspelt"),
            local_stack(
                {"Misspelt": "1"}, template=write_template(_TEMPLATE), artifact=artifact
            ),
        ):
            pytest.fail("deployed")

    def test_emulator_reports_its_log_when_it_ends_at_once(self) -> None:
        without_emulator = Path(sys.executable)

        with (
            pytest.raises(ToolError, match="No module named 'ministack'"),
            running_emulator(without_emulator),
        ):
            pytest.fail("started")

    def test_emulator_names_set_up_step_when_it_is_not_installed(
        self, tmp_path: Path
    ) -> None:
        with (
            pytest.raises(ToolError, match="make setup"),
            running_emulator(tmp_path / "python"),
        ):
            pytest.fail("started")


class TestStop:
    """Nothing outlives the process that asked for the emulator."""

    def test_stop_leaves_no_process_and_no_file_when_the_block_fails(
        self, artifact: Path, write_template: Callable[[str], Path]
    ) -> None:
        template = write_template(_TEMPLATE + _OUTPUTS)

        processes: list[psutil.Process] = []
        homes: list[Path] = []

        def interrupt_at_work() -> None:
            with local_stack(template=template, artifact=artifact) as stack:
                _send(stack, "hello")
                _wait_for(lambda: bool(stack.emulator.workers()), "the function")
                processes.append(psutil.Process(stack.emulator.pid))
                processes.extend(stack.emulator.workers())
                homes.append(stack.emulator.home)
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupt_at_work()

        _wait_for(lambda: not any(map(_is_alive, processes)), "the end of all")
        assert len(processes) == 2
        assert not homes[0].exists()

    def test_emulator_ends_when_its_starter_is_killed(self) -> None:
        code = """
            from ticketctl.local.emulator import running_emulator
            with running_emulator() as emulator:
                print(emulator.pid, emulator.home, flush=True)
                input()
        """
        with subprocess.Popen(  # noqa: S603 - fixed arguments.
            [sys.executable, "-c", textwrap.dedent(code)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as starter:
            assert starter.stdout
            pid, home = starter.stdout.readline().split()
            emulator = psutil.Process(int(pid))
            starter.send_signal(signal.SIGKILL)

        _wait_for(lambda: not _is_alive(emulator), "the end of the emulator")
        _wait_for(lambda: not Path(home).exists(), "the removal of its files")


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
