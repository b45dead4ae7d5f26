"""The stack of a restore: its worker runs or is stopped."""

from collections.abc import Mapping
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, ClassVar, Final

from operators.seeded_world import SimulatedStack

LONG_AGO: Final = datetime(2020, 1, 1, tzinfo=UTC)
FUNCTION: Final = "arn:aws:lambda:eu-west-1:123456789012:function:worker"


class RestoredStack(SimulatedStack):
    """What a restore needs of a stack, too."""

    region = "eu-west-1"
    outputs: ClassVar[Mapping[str, str]] = {
        **SimulatedStack.outputs,
        "WorkerFunctionName": "worker",
    }
    is_running = False
    """Whether the worker runs."""

    def client(self, service_name: str) -> Any:
        """Return the client; Lambda has a mapping, and nothing is on its way."""
        if service_name != "lambda":
            return super().client(service_name)
        mapping = {
            "UUID": "mapping",
            "State": "Enabled" if self.is_running else "Disabled",
            "FunctionArn": FUNCTION,
            "LastModified": LONG_AGO,
        }
        pages = SimpleNamespace(paginate=lambda: [{"EventSourceMappings": [mapping]}])
        return SimpleNamespace(
            get_paginator=lambda _: pages,
            get_function_configuration=lambda **_: {"Timeout": 30},
            tag_resource=lambda **_: None,
            untag_resource=lambda **_: None,
        )
