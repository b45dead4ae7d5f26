"""The whole system on this machine: no cloud account and no containers.

The template runs as it is and the function from its real artifact, which meets the
queue, the tables and the topic over HTTP.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ticketctl import PROGRAM
from ticketctl.local.artifact import ROOT, build_artifact
from ticketctl.local.clients import REGION, Clients
from ticketctl.local.deployment import STACK, deploy
from ticketctl.local.emulator import Emulator, running_emulator

TEMPLATE = ROOT / "template.yaml"


@dataclass(frozen=True)
class LocalStack:
    """The deployed template, ready for messages."""

    emulator: Emulator
    clients: Clients
    outputs: Mapping[str, str]
    name: ClassVar[str] = STACK
    region: ClassVar[str] = REGION
    program: ClassVar[str] = PROGRAM

    @property
    def endpoint_url(self) -> str:
        """The address of every service."""
        return self.emulator.endpoint_url

    @property
    def function_name(self) -> str:
        """The function's name."""
        return self.outputs["WorkerFunctionName"]

    def client(self, service_name: str) -> Any:
        """Return the boto3 client of a service, such as `sqs`."""
        return self.clients.client(service_name)


@contextmanager
def local_stack(
    parameters: Mapping[str, str] | None = None,
    *,
    artifact: Path | None = None,
    settings: Mapping[str, str] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Iterator[LocalStack]:
    """Deploy the template to a new emulator, and stop that at the end of the block.

    The artifact is built from `src/` if it is not given; the settings are further
    variables of the emulator's environment.

    Raises:
        ToolError: The artifact cannot be built, the emulator not be started, or the
            template not be deployed.
    """
    if artifact is None:
        progress("building the function")
        artifact = build_artifact()
    progress("starting the emulator")
    with (
        running_emulator(settings=settings) as emulator,
        Clients(emulator.endpoint_url, ca_bundle=emulator.ca_bundle) as clients,
    ):
        progress(f"deploying {TEMPLATE.name}")
        outputs = deploy(clients, TEMPLATE, artifact, parameters or {})
        yield LocalStack(emulator, clients, outputs)
