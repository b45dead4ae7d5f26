"""One emulator of the cloud's services: a process on loopback, on a port of its own.

It sees neither the user's environment nor their files, credentials or containers,
and it is gone, with all that it wrote, when its starter is.
"""

import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from ticketctl.cli.errors import ToolError
from ticketctl.local import emulator_launcher
from ticketctl.local.artifact import EMULATOR_PYTHON
from ticketctl.local.isolation import (
    HOST,
    Certificate,
    create_bare_interpreter,
    create_certificate,
    isolated_environment,
)

# A cold start on a busy machine took 1.2 s.
_START_SECONDS = 30
_POLL_SECONDS = 0.02
# Another process can take the port between our look and the emulator's bind.
_PORT_ATTEMPTS = 5
_LOG_TAIL_LINES = 15


@dataclass(frozen=True)
class Emulator:
    """A running emulator."""

    process: subprocess.Popen[bytes]
    port: int
    home: Path
    certificate: Certificate | None = None
    """Its own, if it controls access; it then speaks TLS alone."""

    @property
    def pid(self) -> int:
        """The process that answers for every service."""
        return self.process.pid

    @property
    def endpoint_url(self) -> str:
        """The address of every service."""
        scheme = "https" if self.certificate else "http"
        return f"{scheme}://{HOST}:{self.port}"

    @property
    def ca_bundle(self) -> Path | None:
        """The file that its callers trust; none if it does not speak TLS."""
        return self.certificate.path if self.certificate else None

    @property
    def log_path(self) -> Path:
        """The file that the emulator itself logs to."""
        return self.home / "emulator.log"

    def workers(self) -> list[psutil.Process]:
        """Return the processes that run the function at this moment."""
        return psutil.Process(self.pid).children()


def free_port() -> int:
    """Return a port that nobody listens on at this moment."""
    with closing(socket.socket()) as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def running_emulator(
    python: Path = EMULATOR_PYTHON,
    *,
    find_port: Callable[[], int] = free_port,
    access_control: bool = False,
) -> Iterator[Emulator]:
    """Start an emulator, and stop it at the end of the `with` block.

    Args:
        python: Interpreter of the environment that the emulator is installed in.
        find_port: Gives a port to try, and another if that one is lost.
        access_control: Whether callers need TLS, and the right to what they ask for.

    Raises:
        ToolError: The emulator is not installed, ended at once or stayed silent.
    """
    with (
        tempfile.TemporaryDirectory(
            prefix="ticket-numbering-", ignore_cleanup_errors=True
        ) as directory,
        ExitStack() as processes,
    ):
        home = Path(directory)
        function_python = create_bare_interpreter(python, home / "function")
        certificate = create_certificate(home) if access_control else None
        for _ in range(_PORT_ATTEMPTS):
            emulator = _spawn(python, function_python, find_port(), home, certificate)
            processes.callback(_stop, emulator.process)
            if _becomes_ready(emulator):
                break
        else:
            message = f"Other processes took all of {_PORT_ATTEMPTS} free ports."
            raise ToolError(message)
        yield emulator


def _spawn(
    python: Path,
    function_python: Path,
    port: int,
    home: Path,
    certificate: Certificate | None,
) -> Emulator:
    with (home / "emulator.log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 - no shell, no argument from outside.
            [python, "-I", emulator_launcher.__file__, function_python, home],
            cwd=home,
            env=isolated_environment(port, home, certificate),
            # Never written to: it closes when this process ends.
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            # Ctrl-C in the terminal is for us, and we end the whole group.
            start_new_session=True,
        )
    return Emulator(process, port, home, certificate)


def _becomes_ready(emulator: Emulator) -> bool:
    """Wait for the emulator; false if another process has its port.

    Raises:
        ToolError: It ended for another reason, or does not answer.
    """
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        ended = emulator.process.poll() is not None
        edition = _edition(emulator)
        if edition == emulator.home.name:
            return True
        if ended and edition is not None:
            return False
        if ended:
            message = f"The emulator ended at once. It said:\n{_log_tail(emulator)}"
            raise ToolError(message)
        time.sleep(_POLL_SECONDS)
    message = f"The emulator does not answer. It said:\n{_log_tail(emulator)}"
    raise ToolError(message)


def _edition(emulator: Emulator) -> str | None:
    """Return what the server on its port calls itself; none if there is no server."""
    with closing(_connection(emulator)) as connection:
        try:
            connection.request("GET", "/_ministack/health")
            return str(json.load(connection.getresponse()).get("edition"))
        except ConnectionRefusedError:
            return None
        except (OSError, http.client.HTTPException, ValueError, AttributeError):
            return "something else"


def _connection(emulator: Emulator) -> http.client.HTTPConnection:
    if emulator.ca_bundle is None:
        return http.client.HTTPConnection(HOST, emulator.port, timeout=1)
    trusted = ssl.create_default_context(cafile=emulator.ca_bundle)
    return http.client.HTTPSConnection(HOST, emulator.port, timeout=1, context=trusted)


def _log_tail(emulator: Emulator) -> str:
    lines = emulator.log_path.read_text(errors="replace").splitlines()
    return "\n".join(lines[-_LOG_TAIL_LINES:])


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Kill the emulator and the function: nothing that they hold is worth a wait."""
    # macOS answers "not permitted" when all that is left of the group has ended.
    with process, suppress(ProcessLookupError, PermissionError):
        # Once its end was seen, the number may name somebody else's group.
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
