"""An emulator of AWS: a process on loopback, with its own port.

It sees neither the user's environment nor their files, credentials or containers,
and ends, with all its files, together with its starter.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from botocore.exceptions import BotoCoreError

from ticketctl.cli.errors import ToolError
from ticketctl.local import emulator_launcher
from ticketctl.local.artifact import EMULATOR_PYTHON
from ticketctl.local.clients import REGION, Clients

HOST: Final = "127.0.0.1"
_LOG_TAIL_LINES: Final = 15


@dataclass(frozen=True)
class Emulator:
    """A running emulator; its process group runs the function."""

    process: subprocess.Popen[bytes]
    port: int
    home: Path
    ca_bundle: str | None = None
    """The certificate to trust, if its settings enable TLS."""

    @property
    def endpoint_url(self) -> str:
        """The address of every service."""
        return f"{'https' if self.ca_bundle else 'http'}://{HOST}:{self.port}"


@contextmanager
def running_emulator(
    python: Path = EMULATOR_PYTHON, *, settings: Mapping[str, str] | None = None
) -> Iterator[Emulator]:
    """Start an emulator, and stop it at the end of the `with` block.

    The settings are environment variables, in addition to the usual ones.

    Raises:
        ToolError: The emulator is not installed, ended at once, or died meanwhile.
    """
    if not python.exists():
        raise ToolError(f"The emulator is not installed ({python}): run `make setup`.")
    with tempfile.TemporaryDirectory(
        prefix="ticket-numbering-", ignore_cleanup_errors=True
    ) as directory:
        emulator = _start(python, Path(directory), settings or {})
        try:
            _wait_until_ready(emulator)
            yield emulator
        except BotoCoreError as error:
            if not _has_ended(emulator.process):
                raise
            raise ToolError(
                "The emulator died, and all tickets with it; start the system again. "
                f"It said:\n{_last_words(emulator)}"
            ) from error
        finally:
            _stop(emulator.process)


def _start(python: Path, home: Path, settings: Mapping[str, str]) -> Emulator:
    function_python = _bare_interpreter(python, home / "function")
    # Bound here and passed on, so that no other process can take the port.
    with (
        socket.create_server((HOST, 0)) as listener,
        (home / "emulator.log").open("wb") as log,
    ):
        port: int = listener.getsockname()[1]
        command: list[str | Path] = [python, "-I", emulator_launcher.__file__]
        process = subprocess.Popen(  # noqa: S603 - no shell, no argument from outside.
            [*command, function_python, home, str(listener.fileno())],
            cwd=home,
            env={**_environment(port, home), **settings},
            pass_fds=[listener.fileno()],
            # Nothing is written to it: it closes when this process ends.
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            # Ctrl-C in the terminal is for this process, which ends the whole group.
            start_new_session=True,
        )
    return Emulator(process, port, home, settings.get("AWS_CA_BUNDLE"))


def _environment(port: int, home: Path) -> dict[str, str]:
    """Return the environment of the emulator, and so of the function."""
    return {
        "PATH": os.defpath,
        "HOME": str(home),
        "TMPDIR": str(home),
        # As on AWS: UTC, UTF-8, and code that cannot be written to.
        "TZ": "UTC",
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "GATEWAY_PORT": str(port),
        "MINISTACK_HOST": HOST,
        "MINISTACK_REGION": REGION,
        # Would listen on every interface.
        "IOT_MTLS_ENABLED": "0",
        # A missing socket: the emulator removes containers that look like its own.
        "DOCKER_HOST": f"unix://{home}/no-docker",
        # Some installations of Python find their own library by it.
        **{name: os.environ[name] for name in os.environ if name == "LD_LIBRARY_PATH"},
    }


def _bare_interpreter(python: Path, directory: Path) -> Path:
    """Create a virtual environment without packages: the function brings its own."""
    bare = directory / "bin" / "python"
    bare.parent.mkdir(parents=True)
    bare.symlink_to(python)
    shutil.copy(python.parent.parent / "pyvenv.cfg", directory)
    return bare


def _wait_until_ready(emulator: Emulator) -> None:
    """Make a call, which waits for the start and fails if the emulator ends."""
    with Clients(emulator.endpoint_url, ca_bundle=emulator.ca_bundle) as clients:
        try:
            clients.client("sts").get_caller_identity()
        except BotoCoreError as error:
            raise ToolError(
                f"The emulator does not answer. It said:\n{_last_words(emulator)}"
            ) from error


def _last_words(emulator: Emulator) -> str:
    log = (emulator.home / "emulator.log").read_text(errors="replace")
    return "\n".join(log.splitlines()[-_LOG_TAIL_LINES:])


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    with suppress(subprocess.TimeoutExpired):
        # Its connections end a moment before it does.
        process.wait(timeout=1)
    return process.returncode is not None


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Kill the emulator and the function, which have nothing to save."""
    # macOS answers "not permitted" when the whole group has ended.
    with process, suppress(ProcessLookupError, PermissionError):
        # Once its end was seen, the number may name the group of another process.
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
