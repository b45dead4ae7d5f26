"""SNS, as far as the worker relies on it."""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from simulation.aws.batches import UNAVAILABLE, entries_of, take
from simulation.aws.errors import ServiceError
from simulation.engine.choices import Choices

MAX_PUBLISH_BYTES: Final = 256 * 1024


@dataclass
class Topic:
    """A topic and every message published to it."""

    choices: Choices
    published: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Messages by the ids of their events."""
    refusals_fail: bool = False
    """Whether it takes no refusal."""
    on_publish: Callable[[Any], None] = lambda _: None
    """Called with an event before a subscriber receives it."""

    def serve(
        self, operation: str, request: Mapping[str, Any], *, partly: bool
    ) -> dict[str, Any]:
        """Publish a batch.

        Raises:
            ServiceError: The whole request is rejected.
        """
        assert operation == "publish_batch", operation
        entries = request["PublishBatchRequestEntries"]
        return take(
            entries_of("", entries, MAX_PUBLISH_BYTES, "Message"),
            self._publish,
            self.choices,
            partly=partly,
        )

    def _publish(self, entry: Mapping[str, Any]) -> Mapping[str, Any]:
        event = json.loads(entry["Message"])
        if self.refusals_fail and "number" not in event["data"]:
            raise ServiceError("InternalError", status=UNAVAILABLE)
        self.on_publish(event)
        event_id = event["id"]
        self.published[event_id].append(entry["Message"])
        # No serial number: it would reveal how often the event was published before.
        return {"MessageId": event_id}
