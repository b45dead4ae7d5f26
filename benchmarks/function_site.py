"""The function's files as they ship, and fresh interpreters that see nothing else."""

import os
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ticketctl.cli.errors import ToolError
from ticketctl.local.artifact import (
    BUILD_DIRECTORY,
    EMULATOR_PYTHON,
    ROOT,
    build_artifact,
)

PROBES = Path(__file__).parent

# Names of nothing that exists: the function is built here, but reaches no network.
ENVIRONMENT = {
    "PATH": os.defpath,
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "eu-west-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "TICKETS_TABLE": "tickets",
    "IDEMPOTENCY_KEYS_TABLE": "idempotency-keys",
    "ASSIGNMENTS_TOPIC_ARN": "arn:aws:sns:eu-west-1:123456789012:assignments",
    "DEAD_LETTER_QUEUE_URL": "https://sqs.eu-west-1.amazonaws.com/123456789012/dead",
    "POWERTOOLS_SERVICE_NAME": "benchmark",
    "POWERTOOLS_METRICS_NAMESPACE": "TicketNumbering",
    "POWERTOOLS_LOG_LEVEL": "INFO",
}


class MeasurementError(ToolError):
    """Something could not be measured."""


@dataclass(frozen=True)
class Site:
    """An interpreter, and where it finds the function and its packages."""

    python: Path
    paths: tuple[Path, ...]

    def run(
        self, probe: str, *arguments: str | Path, options: tuple[str, ...] = ()
    ) -> subprocess.CompletedProcess[str]:
        """Run one of the probes in a fresh interpreter.

        Raises:
            MeasurementError: The probe failed.
        """
        paths = os.pathsep.join(map(str, self.paths))
        # -S: packages that the interpreter happens to have would stand in for ours.
        flags = ("-I", "-S", *options)
        result = subprocess.run(  # noqa: S603 - no shell, and all of it is ours.
            [self.python, *flags, PROBES / probe, paths, *arguments],
            env=ENVIRONMENT,
            check=False,
            capture_output=True,
            text=True,
        )
        if result.returncode:
            message = f"{probe} failed: {result.stderr.strip().splitlines()[-1:]}"
            raise MeasurementError(message)
        return result


@contextmanager
def shipped(python: Path = EMULATOR_PYTHON, *, compiled: bool = True) -> Iterator[Site]:
    """Unpack the artifact, trimmed and pinned as the local system runs it.

    Args:
        python: The interpreter, with pip, to build the artifact for and to run it.
        compiled: Whether the modules are compiled beforehand.

    Raises:
        ToolError: The artifact cannot be built.
    """
    # The local system's directory holds an artifact for its own interpreter.
    ours = BUILD_DIRECTORY if python == EMULATOR_PYTHON else ROOT / ".build" / "bench"
    artifact = build_artifact(build_directory=ours, python=python)
    with tempfile.TemporaryDirectory() as directory:
        with zipfile.ZipFile(artifact) as packed:
            packed.extractall(directory)
        if compiled:
            subprocess.run(  # noqa: S603 - no shell, and all of it is ours.
                [python, "-I", "-m", "compileall", "-q", directory], check=True
            )
        yield Site(python, (Path(directory),))
