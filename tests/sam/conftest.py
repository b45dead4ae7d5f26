"""The SAM CLI, and the local system that the function's container meets."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.e2e.conftest import System
from tests.support.paths import ROOT
from ticketctl.aws.topic import subscribe
from ticketctl.local.bridge import bridge
from ticketctl.local.clients import REGION
from ticketctl.local.connection_files import (
    BUILD,
    architecture,
    write_function_file,
    write_local_template,
)
from ticketctl.local.stack import LocalStack, local_stack

SAM = ROOT / ".venv-sam" / "bin" / "sam"
IMAGE = f"public.ecr.aws/lambda/python:3.13-{architecture()}"
"""The image in which the SAM CLI runs the function."""

NO_ENGINE_STATUS = 3
NO_ENGINE = (
    "no container engine answers `docker info`, and `sam local invoke` needs one"
)
ENGINE_SECONDS = 60
COMMAND_SECONDS = 1000

_serial = count(1)


def pytest_collection_finish(session: pytest.Session) -> None:
    """End before the first test if any of them needs an engine and none answers."""
    needing = (
        item
        for item in session.items
        if isinstance(item, pytest.Function) and "invoke" in item.fixturenames
    )
    if any(needing) and not docker("info"):
        pytest.exit(NO_ENGINE, returncode=NO_ENGINE_STATUS)


def docker(*arguments: str) -> bool:
    """Tell whether the engine's client is there, and a command of it succeeds."""
    client = shutil.which("docker")
    try:
        subprocess.run(  # noqa: S603 - no shell, no argument from outside.
            [client or "docker", *arguments],
            check=True,
            capture_output=True,
            timeout=ENGINE_SECONDS,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return True


def run_sam(
    *arguments: str | Path, cwd: Path = ROOT, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run the SAM CLI without anybody's profile and credentials.

    So nothing that it is asked to do here can reach a real account; with any
    credentials at all, even an invoke would first ask AWS whose they are.
    """
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith("AWS_")
    }
    environment = inherited | {
        # The SAM CLI calls uv by name.
        "PATH": f"{SAM.parent}{os.pathsep}{os.environ['PATH']}",
        "SAM_CLI_TELEMETRY": "0",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "NO_PROXY": "127.0.0.1,localhost",
    }
    result = subprocess.run(  # noqa: S603 - no shell, no argument from outside.
        [SAM, *arguments],
        check=False,
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment | variables,
        stdin=subprocess.DEVNULL,
        timeout=COMMAND_SECONDS,
    )
    if result.returncode:
        words = " ".join(map(str, arguments))
        pytest.fail(f"sam {words}:\n{result.stdout}\n{result.stderr}")
    return result


def built_template() -> Path:
    template = BUILD / "template-of-make-build.yaml"
    if not template.exists():
        pytest.fail(f"There is no {template}: `make build` makes it.")
    return template


class Invocation(NamedTuple):
    """The output of `sam local invoke`."""

    response: Any
    text: str

    @property
    def outcomes(self) -> dict[str, str]:
        """The outcome of each record that the log tells of, by message id."""
        lines = [
            json.loads(line) for line in self.text.splitlines() if '"outcome":' in line
        ]
        outcomes = {line["message_id"]: line["outcome"] for line in lines}
        assert len(outcomes) == len(lines), "a record has more than one outcome line"
        return outcomes


@pytest.fixture(scope="session")
def local_system(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[LocalStack, Path]]:
    """Start the system as `make up` does; return it with the folder of its files.

    It is of the tests: a system that is up keeps its own.
    """
    folder = tmp_path_factory.mktemp("local")
    with local_stack() as stack, bridge(stack.emulator.port):
        write_local_template(folder / "template.json")
        write_function_file(stack, folder / "env.json")
        yield stack, folder


@pytest.fixture(scope="session")
def invoke(local_system: tuple[LocalStack, Path]) -> Callable[[Path], Invocation]:
    # Only if the image exists: otherwise the SAM CLI pulls it.
    options = ["--skip-pull-image"] if docker("image", "inspect", IMAGE) else []

    def run(event: Path) -> Invocation:
        folder = local_system[1]
        # The SAM CLI looks for its settings beside the template.
        settings = "--config-file", ROOT / "samconfig.toml"
        files = *settings, "--template-file", folder / "template.json"
        variables = "--env-vars", folder / "env.json"
        command = "local", "invoke", "--event", event, *files, *variables
        result = run_sam(*command, *options)
        return Invocation(json.loads(result.stdout or "null"), result.stderr)

    return run


@pytest.fixture
def system(local_system: tuple[LocalStack, Path]) -> System:
    """Return the local system without tickets and messages."""
    stack, _ = local_system
    for table, key in (
        ("TicketsTableName", ("project_id", "number")),
        ("IdempotencyKeysTableName", ("id",)),
    ):
        place, dynamodb = {"TableName": stack.outputs[table]}, stack.client("dynamodb")
        for item in dynamodb.scan(**place)["Items"]:
            dynamodb.delete_item(**place, Key={name: item[name] for name in key})
    return System(stack, subscribe(stack, f"invoked-{next(_serial)}"))
