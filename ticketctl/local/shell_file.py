"""Writes what a shell needs to meet the local system, with any tool."""

import shlex
import sys
from pathlib import Path

from ticketctl.local.clients import OWNER
from ticketctl.local.sam_files import DIRECTORY
from ticketctl.local.stack import LocalStack

SHELL_FILE = DIRECTORY / "env"


def variables(stack: LocalStack) -> dict[str, str]:
    """Return what leads the tools to a local system, and what it asks of them."""
    return {
        "AWS_ENDPOINT_URL": stack.endpoint_url,
        "AWS_ACCESS_KEY_ID": OWNER.access_key_id,
        "AWS_SECRET_ACCESS_KEY": OWNER.secret_access_key,
        "AWS_REGION": stack.region,
        "AWS_DEFAULT_REGION": stack.region,
        "TICKETCTL_STACK": stack.name,
    }


def write_shell_file(stack: LocalStack, path: Path = SHELL_FILE) -> None:
    """Write a file to `source`; what would lead to a real account is unset."""
    path.parent.mkdir(parents=True, exist_ok=True)
    directory = shlex.quote(str(Path(sys.executable).parent))
    lines = [
        "unset AWS_PROFILE AWS_DEFAULT_PROFILE AWS_SESSION_TOKEN",
        *(
            f"export {name}={shlex.quote(value)}"
            for name, value in variables(stack).items()
        ),
        f'export PATH={directory}:"$PATH"',
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
