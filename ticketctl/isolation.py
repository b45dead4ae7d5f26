"""What the emulator and the function may see, on whatever machine they run."""

import os
import subprocess
from pathlib import Path

from ticketctl.clients import REGION
from ticketctl.errors import EmulatorError

HOST = "127.0.0.1"

# How some installations of Python find their own library.
_INHERITED = ("LD_LIBRARY_PATH",)


def isolated_environment(port: int, home: Path) -> dict[str, str]:
    """Return all that the emulator, and so the function, sees."""
    return {
        "PATH": os.defpath,
        "HOME": str(home),
        "TMPDIR": str(home),
        # As in the cloud: UTC, UTF-8, and code that cannot be written to.
        "TZ": "UTC",
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "GATEWAY_PORT": str(port),
        "BIND_HOST": HOST,
        "MINISTACK_HOST": HOST,
        "MINISTACK_REGION": REGION,
        # Shown by the health check: how we know our emulator from another's.
        "MINISTACK_EDITION": home.name,
        # Would listen on every interface.
        "IOT_MTLS_ENABLED": "0",
        # A socket that does not exist: the emulator removes containers it thinks its.
        "DOCKER_HOST": f"unix://{home}/no-docker",
        **{name: os.environ[name] for name in _INHERITED if name in os.environ},
    }


def create_bare_interpreter(python: Path, directory: Path) -> Path:
    """Create an environment without packages: the function brings its own.

    Args:
        python: Interpreter to be the same version as.
        directory: Where the environment is created.

    Raises:
        EmulatorError: There is no such interpreter, or it cannot.
    """
    if not python.exists():
        message = f"The emulator is not installed ({python}): run `make setup`."
        raise EmulatorError(message)
    command: list[str | Path] = [python, "-I", "-m", "venv", "--without-pip", directory]
    result = subprocess.run(  # noqa: S603 - no shell, and no argument from outside.
        command, check=False, capture_output=True, text=True
    )
    if result.returncode:
        message = f"{python} cannot create an environment: {result.stderr.strip()}"
        raise EmulatorError(message)
    return directory / "bin" / "python"
