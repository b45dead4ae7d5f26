"""The delivery from the queue to the worker: event source mapping and alias."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ticket_numbering.contract import aws_codes
from ticketctl.aws.aws_errors import Suppressed
from ticketctl.aws.stack import StackAccess
from ticketctl.aws.worker_state import DISABLED, ENABLED, WorkerState


def aliases_of(stack: StackAccess, arns: Iterable[str]) -> list[dict[str, Any]]:
    """Return the version of each alias, and the weights of a canary's versions."""
    get = stack.client("lambda").get_alias
    names = [arn.rpartition(":")[2] for arn in arns]
    function = stack.outputs["WorkerFunctionName"]
    aliases = {name: _found(get, FunctionName=function, Name=name) for name in names}
    return [
        {
            "name": name,
            "arn": alias.get("AliasArn"),
            "version": alias.get("FunctionVersion"),
            "weights": alias.get("RoutingConfig", {}).get(
                "AdditionalVersionWeights", {}
            ),
        }
        for name, alias in aliases.items()
    ]


def delivery_problems(
    state: WorkerState | None, aliases: Sequence[Mapping[str, Any]] | None
) -> Iterator[str]:
    """Yield a line for each reason why messages do not reach the worker's alias.

    The state or the aliases are None if they are unknown.
    """
    sources = state.sources if state else ()
    off = [source for source in sources if source.state != ENABLED]
    if state and not sources:
        yield "the stack has no event source mapping: nothing feeds the worker"
    elif state and len(off) == len(sources):
        are = "its mapping is" if len(off) == 1 else f"its {len(off)} mappings are"
        if state.is_stopped:
            yield f"the worker is stopped: {are} {DISABLED}"
        else:
            yield f"the worker is stopping: {'; '.join(state.obstacles())}"
    else:
        for source in off:
            yield (
                f"messages of {source.queue_name} wait: their mapping is "
                f"{source.state}, while the worker runs"
            )
    arns = {alias["arn"] for alias in aliases or ()} - {None}
    for source in sources:
        is_other = source.state == ENABLED and source.function_arn not in arns
        if is_other and aliases is not None:
            of_queue = "" if len(sources) == 1 else f" of {source.queue_name}"
            target = source.function_arn
            yield f"the alias receives nothing{of_queue}: the mapping leads to {target}"


def routing(alias: Mapping[str, Any]) -> str:
    """Return the alias's versions: `live is version 7, 10% go to version 8`."""
    others = [
        f", {share:.0%} go to version {version}"
        for version, share in alias["weights"].items()
    ]
    return f"{alias['name']} is version {alias['version']}{''.join(others)}"


def _found(get: Callable[..., Any], **names: str) -> dict[str, Any]:
    """Return a response of Lambda; an empty one if its resource is missing."""
    with Suppressed(aws_codes.NOT_THERE):
        answer: dict[str, Any] = get(**names)
        return answer
    return {}
