"""The rights that a command has by the page, and those that a call needs."""

from collections.abc import Mapping
from typing import Any

from tools.rights import tasks


def granted(command: str) -> set[str]:
    """Return the rights of a command, and that which every command needs."""
    [task] = [task for task in tasks() if command in task.commands]
    own = {right for grant in task.rights for right in grant.allow}
    return own.union({"cloudformation:DescribeStacks"}, *map(granted, task.like))


def needed(service: str, operation: str, request: Mapping[str, Any]) -> set[str]:
    """Return the rights that a call needs; the caller's identity needs none."""
    if operation == "GetCallerIdentity":
        return set()
    if "TransactItems" in request:
        actions = {name for action in request["TransactItems"] for name in action}
        return {f"{service}:{action}Item" for action in actions}
    return {f"{service}:{operation.removesuffix('Batch')}"}
