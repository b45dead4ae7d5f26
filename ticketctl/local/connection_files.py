"""Writes the files that connect a shell and `sam local invoke` to the local system.

`samconfig.toml` names those of `sam local invoke`.
"""

import fcntl
import json
import platform
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from samtranslator.yaml_helper import yaml_parse

from ticketctl.cli.errors import ToolError
from ticketctl.local.artifact import ROOT
from ticketctl.local.clients import OWNER
from ticketctl.local.deployment import FUNCTION
from ticketctl.local.stack import TEMPLATE, LocalStack
from ticketctl.status.variables import exports

DIRECTORY: Final = ROOT / ".build" / "local"
SHELL_FILE: Final = DIRECTORY / "env"
FUNCTION_FILE: Final = DIRECTORY / "written-by-make-up.json"
"""The function's variables; without the file the SAM CLI's error has this name."""
TEMPLATE_FILE: Final = DIRECTORY / "template.json"
BUILD: Final = ROOT / ".aws-sam" / "build"
"""The folder in which the SAM CLI builds the function."""
ENDPOINT: Final = "AWS_ENDPOINT_URL"

# Programs read one of them, and the emulator is behind no proxy.
_NO_PROXY: Final = ("NO_PROXY", "no_proxy")

# The name of this machine in a container.
_HOST: Final = "host.docker.internal"


@contextmanager
def lock() -> Iterator[None]:
    """Lock the files for one system at a time; remove them at its end.

    Raises:
        ToolError: Another system has the lock.
    """
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    with (DIRECTORY / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ToolError("`make up` runs already in this checkout") from None
        try:
            yield
        finally:
            for written in (SHELL_FILE, FUNCTION_FILE, TEMPLATE_FILE):
                written.unlink(missing_ok=True)


def variables(stack: LocalStack) -> dict[str, str]:
    """Return the environment that connects AWS tools to the local system."""
    return {
        ENDPOINT: stack.endpoint_url,
        "AWS_ACCESS_KEY_ID": OWNER.access_key,
        "AWS_SECRET_ACCESS_KEY": OWNER.secret_key,
        "AWS_REGION": stack.region,
        "AWS_DEFAULT_REGION": stack.region,
        "AWS_PAGER": "",
        "TICKETCTL_STACK": stack.name,
    }


def write_shell_file(stack: LocalStack) -> None:
    """Write a file to `source`, inside `lock`.

    Variables of a real account are unset.
    """
    directory = shlex.quote(str(Path(sys.executable).parent))
    lines = [
        "unset AWS_PROFILE AWS_DEFAULT_PROFILE AWS_SESSION_TOKEN",
        *exports(variables(stack)),
        *(f'export {name}="127.0.0.1${{{name}:+,${name}}}"' for name in _NO_PROXY),
        f'export PATH={directory}:"$PATH"',
    ]
    SHELL_FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_function_file(stack: LocalStack, file: Path = FUNCTION_FILE) -> None:
    """Write the function's variables, with an address that a container can reach."""
    configuration = stack.client("lambda").get_function_configuration(
        FunctionName=stack.function_name
    )
    endpoint_url = f"http://{_HOST}:{stack.emulator.port}"
    own = configuration["Environment"]["Variables"] | {ENDPOINT: endpoint_url}
    file.write_text(json.dumps({FUNCTION: own}, indent=2) + "\n", encoding="utf-8")


def write_local_template(file: Path = TEMPLATE_FILE) -> None:
    """Write a copy of the template, so that `sam local` runs the build of `sam build`.

    The SAM CLI passes only declared variables to the function, and the template that
    is deployed must not declare the address of an emulator.
    """
    document = yaml_parse(TEMPLATE.read_text(encoding="utf-8"))
    function = document["Resources"][FUNCTION]["Properties"]
    function["CodeUri"] = str(BUILD / FUNCTION)
    function["Environment"]["Variables"][ENDPOINT] = ""
    document["Parameters"]["Architecture"]["Default"] = architecture()
    # YAML reads an unquoted policy version as a date.
    file.write_text(json.dumps(document, default=str), encoding="utf-8")


def architecture() -> str:
    """Return this machine's processor as a value of the template's parameter."""
    return "arm64" if platform.machine() in {"arm64", "aarch64"} else "x86_64"
