"""A worker that takes no messages for a while."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from ticketctl.aws.stack import StackAccess

_PATIENCE_SECONDS: Final = 300
"""On AWS a mapping changes within a minute."""


@contextmanager
def paused_worker(stack: StackAccess) -> Iterator[None]:
    """Leave messages on the queue."""
    api, queue = stack.client("lambda"), stack.outputs["CreateTicketQueueArn"]
    mappings = api.list_event_source_mappings(EventSourceArn=queue)
    [mapping] = mappings["EventSourceMappings"]
    _switch(api, mapping["UUID"], "Disabled")
    try:
        yield
    finally:
        _switch(api, mapping["UUID"], "Enabled")


def _switch(api: Any, mapping_id: str, state: str) -> None:
    """Switch a mapping, and wait until it is: Lambda rejects a change meanwhile."""
    api.update_event_source_mapping(UUID=mapping_id, Enabled=state == "Enabled")
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while api.get_event_source_mapping(UUID=mapping_id)["State"] != state:
        if time.monotonic() > deadline:
            raise TimeoutError(f"the event source mapping is not {state}")
        time.sleep(1)


@contextmanager
def throttled_worker(stack: StackAccess) -> Iterator[None]:
    """Let Lambda reject every invocation."""
    api, name = stack.client("lambda"), stack.outputs["WorkerFunctionName"]
    api.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=0)
    try:
        yield
    finally:
        api.delete_function_concurrency(FunctionName=name)
