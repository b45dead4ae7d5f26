"""A worker that takes no messages for a while."""

from collections.abc import Iterator
from contextlib import contextmanager

from ticketctl.local.stack import LocalStack


@contextmanager
def paused_worker(stack: LocalStack) -> Iterator[None]:
    """Leave messages on the queue."""
    api = stack.client("lambda")
    [mapping] = api.list_event_source_mappings()["EventSourceMappings"]
    api.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
    try:
        yield
    finally:
        api.update_event_source_mapping(UUID=mapping["UUID"], Enabled=True)
