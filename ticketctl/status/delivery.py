"""The way from the queue to the worker: the event source mapping, and the alias."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from botocore.exceptions import ClientError

from ticketctl.aws.aws_errors import is_not_there
from ticketctl.aws.stack import System
from ticketctl.status.alarms import MISSING

_ENABLED: Final = "Enabled"
"""The one state in which Lambda polls; API reference, GetEventSourceMapping."""


def mappings_of(stack: System, ids: Iterable[str]) -> list[dict[str, Any]]:
    """Return the state of each mapping, and the function that it invokes."""
    get = stack.client("lambda").get_event_source_mapping
    found = [_found(get, UUID=mapping_id) for mapping_id in ids]
    return [
        {"state": one.get("State", MISSING), "function_arn": one.get("FunctionArn")}
        for one in found
    ]


def aliases_of(stack: System, arns: Iterable[str]) -> list[dict[str, Any]]:
    """Return the version of each alias, and the weights of others in a canary."""
    get = stack.client("lambda").get_alias
    names = [arn.rpartition(":")[2] for arn in arns]
    function = stack.outputs["WorkerFunctionName"]
    found = {name: _found(get, FunctionName=function, Name=name) for name in names}
    return [
        {
            "name": name,
            "arn": alias.get("AliasArn"),
            "version": alias.get("FunctionVersion"),
            "weights": alias.get("RoutingConfig", {}).get(
                "AdditionalVersionWeights", {}
            ),
        }
        for name, alias in found.items()
    ]


def delivery_problems(
    mappings: Sequence[Mapping[str, Any]] | None,
    aliases: Sequence[Mapping[str, Any]] | None,
) -> Iterator[str]:
    """Yield a line for each reason why messages do not reach the worker's alias.

    The mappings or aliases are None if they are unknown.
    """
    arns = {alias["arn"] for alias in aliases or ()} - {None}
    if mappings == []:
        yield "the stack has no event source mapping: nothing feeds the worker"
    for mapping in mappings or ():
        if mapping["state"] != _ENABLED:
            yield f"the worker is stopped: its mapping is {mapping['state']}"
        elif aliases is not None and mapping["function_arn"] not in arns:
            leads_to = mapping["function_arn"]
            yield f"the alias receives nothing: the mapping leads to {leads_to}"


def routing(alias: Mapping[str, Any]) -> str:
    """Return the alias's versions: `live is version 7, 10% go to version 8`."""
    others = [
        f", {share:.0%} go to version {version}"
        for version, share in alias["weights"].items()
    ]
    return f"{alias['name']} is version {alias['version']}{''.join(others)}"


def _found(get: Callable[..., Any], **names: str) -> dict[str, Any]:
    """Return an answer of Lambda; an empty one if its resource is missing."""
    try:
        answer: dict[str, Any] = get(**names)
    except ClientError as error:
        if not is_not_there(error):
            raise
        return {}
    return answer
