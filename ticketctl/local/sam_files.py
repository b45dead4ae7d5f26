"""Writes what `sam local invoke` needs to know of the local system."""

import json
import platform

from ticketctl.local.artifact import ROOT
from ticketctl.local.stack import LocalStack

DIRECTORY = ROOT / ".build" / "local"
ENVIRONMENT_FILE = DIRECTORY / "env.json"
BUILT_TEMPLATE = ROOT / ".build" / "sam" / "template.yaml"
CONFIG_FILE = DIRECTORY / "samconfig.toml"

# How a container names the machine that it runs on.
_HOST = "host.docker.internal"
_FUNCTION = "NumberingWorker"


def write_sam_files(stack: LocalStack) -> None:
    """Write the function's variables, and a configuration that names them."""
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    endpoint_url = f"http://{_HOST}:{stack.emulator.port}"
    configuration = stack.client("lambda").get_function_configuration(
        FunctionName=stack.function_name
    )
    variables = configuration["Environment"]["Variables"]
    environment = {_FUNCTION: variables | {"AWS_ENDPOINT_URL": endpoint_url}}
    ENVIRONMENT_FILE.write_text(json.dumps(environment, indent=2) + "\n")
    parameters = f"EndpointUrl={endpoint_url} Architecture={architecture()}"
    lines = [
        "version = 0.1",
        "[default.local_invoke.parameters]",
        f"template_file = {json.dumps(str(BUILT_TEMPLATE))}",
        f"env_vars = {json.dumps(str(ENVIRONMENT_FILE))}",
        f"region = {json.dumps(stack.region)}",
        f'add_host = "{_HOST}:host-gateway"',
        # Declares the variable: SAM drops from the file what is not declared.
        f"parameter_overrides = {json.dumps(parameters)}",
    ]
    CONFIG_FILE.write_text("\n".join(lines) + "\n")


def architecture() -> str:
    """Return this machine's processor as the template's parameter names it."""
    return "arm64" if platform.machine() in {"arm64", "aarch64"} else "x86_64"
