"""Writes the files that lead a shell and `sam local invoke` to the local system."""

import fcntl
import json
import platform
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ticketctl.cli.errors import ToolError
from ticketctl.local.artifact import ROOT
from ticketctl.local.clients import OWNER
from ticketctl.local.deployment import FUNCTION
from ticketctl.local.sam_template import ENDPOINT, LOCAL_TEMPLATE
from ticketctl.local.stack import LocalStack
from ticketctl.status.variables import exports

DIRECTORY: Final = ROOT / ".build" / "local"
SHELL_FILE: Final = DIRECTORY / "env"

# How a container names the machine that it runs on.
_HOST: Final = "host.docker.internal"


@contextmanager
def lock() -> Iterator[None]:
    """Let one system at a time have the files, which the next would overwrite.

    Raises:
        ToolError: Another one has them.
    """
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    with (DIRECTORY / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ToolError("`make up` runs already in this checkout") from None
        yield


def variables(stack: LocalStack) -> dict[str, str]:
    """Return the environment in which every AWS tool finds the local system."""
    return {
        ENDPOINT: stack.endpoint_url,
        "AWS_ACCESS_KEY_ID": OWNER.access_key_id,
        "AWS_SECRET_ACCESS_KEY": OWNER.secret_access_key,
        "AWS_REGION": stack.region,
        "AWS_DEFAULT_REGION": stack.region,
        "TICKETCTL_STACK": stack.name,
    }


def write_shell_file(stack: LocalStack) -> None:
    """Write a file to `source`, inside `lock`.

    Variables that lead to a real account are unset.
    """
    directory = shlex.quote(str(Path(sys.executable).parent))
    lines = [
        "unset AWS_PROFILE AWS_DEFAULT_PROFILE AWS_SESSION_TOKEN",
        *exports(variables(stack)),
        f'export PATH={directory}:"$PATH"',
    ]
    SHELL_FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_sam_files(stack: LocalStack, directory: Path = DIRECTORY) -> Path:
    """Write the function's variables, and return a SAM configuration of them."""
    directory.mkdir(parents=True, exist_ok=True)
    environment_file, config_file = directory / "env.json", directory / "samconfig.toml"
    endpoint_url = f"http://{_HOST}:{stack.emulator.port}"
    configuration = stack.client("lambda").get_function_configuration(
        FunctionName=stack.function_name
    )
    own = configuration["Environment"]["Variables"] | {ENDPOINT: endpoint_url}
    environment_file.write_text(json.dumps({FUNCTION: own}, indent=2) + "\n")
    lines = [
        "version = 0.1",
        "[default.local_invoke.parameters]",
        f"template_file = {json.dumps(str(LOCAL_TEMPLATE))}",
        f"env_vars = {json.dumps(str(environment_file))}",
        f"region = {json.dumps(stack.region)}",
        f'add_host = "{_HOST}:host-gateway"',
        f'parameter_overrides = "Architecture={architecture()}"',
    ]
    config_file.write_text("\n".join(lines) + "\n")
    return config_file


def architecture() -> str:
    """Return this machine's processor as the template's parameter names it."""
    return "arm64" if platform.machine() in {"arm64", "aarch64"} else "x86_64"
