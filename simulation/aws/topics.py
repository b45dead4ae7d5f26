"""SNS, as far as the worker relies on it: it remembers what was published."""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from simulation.aws.batches import entries_of, take
from simulation.engine.choices import Choices

MAX_PUBLISH_BYTES: Final = 256 * 1024


@dataclass
class Topic:
    """One topic and all that was published to it."""

    choices: Choices
    published: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Messages by the id of their event."""
    on_publish: Callable[[Any], None] = lambda _: None
    """Sees an event before anybody hears of it."""

    def serve(
        self, operation: str, request: Mapping[str, Any], *, partly: bool
    ) -> dict[str, Any]:
        """Publish a batch.

        Raises:
            ServiceError: It is refused as a whole.
        """
        assert operation == "publish_batch", operation
        entries = request["PublishBatchRequestEntries"]
        return take(
            entries_of("", entries, MAX_PUBLISH_BYTES, "Message"),
            self._publish,
            self.choices,
            partly=partly,
        )

    def _publish(self, entry: Mapping[str, Any]) -> str:
        event = json.loads(entry["Message"])
        self.on_publish(event)
        event_id = event["id"]
        self.published[event_id].append(entry["Message"])
        # No serial number: it would tell the caller how often the event came before.
        return str(event_id)
