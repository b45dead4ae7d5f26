"""The AWS CLI's calls, as the SDK describes the services behind them."""

from argparse import ArgumentParser, BooleanOptionalAction
from functools import cache
from typing import Any, Final

import botocore.session
import jmespath  # type: ignore[import-untyped]
from botocore import xform_name

# The AWS CLI's own, which no service has.
CLI_COMMANDS: Final = {("cloudformation", "deploy")}
CLI_SERVICES: Final = {"s3api": "s3"}
CLI_OPTIONS: Final = ("endpoint-url", "max-items", "output", "profile", "region")
VALUES: Final[dict[str, dict[str, Any]]] = {
    "boolean": {"action": BooleanOptionalAction},
    "list": {"nargs": "+"},
    "map": {"nargs": "+"},
}


@cache
def sdk() -> botocore.session.Session:
    """Return the descriptions of AWS's services, without credentials or network."""
    return botocore.session.Session()


def called(words: tuple[str, ...]) -> tuple[str, str]:
    """Return the service and the operation that a call means."""
    cli_service, operation, *rest = words
    service = CLI_SERVICES.get(cli_service, cli_service)
    if operation == "wait":
        waiters = sdk().get_waiter_model(service)
        names = {xform_name(name, "-"): name for name in waiters.waiter_names}
        return service, waiters.get_waiter(names[rest[0]]).operation
    operations = sdk().get_service_model(service).operation_names
    return service, {xform_name(name, "-"): name for name in operations}[operation]


def check_aws(words: tuple[str, ...]) -> None:
    """Parse the options of a call, and exit as the AWS CLI does if they are wrong."""
    if words[:2] in CLI_COMMANDS:
        return
    service, name = called(words)
    shape = sdk().get_service_model(service).operation_model(name).input_shape
    assert shape is not None
    parser = ArgumentParser(conflict_handler="resolve", allow_abbrev=False)
    for option in CLI_OPTIONS:
        parser.add_argument(f"--{option}")
    parser.add_argument("--query", type=jmespath.compile)
    for member, kind in shape.members.items():
        option = xform_name(member, "-")
        is_required = member in shape.required_members
        value = VALUES.get(kind.type_name, {})
        parser.add_argument(f"--{option}", required=is_required, **value)
    parser.parse_args(words[3 if words[1] == "wait" else 2 :])
