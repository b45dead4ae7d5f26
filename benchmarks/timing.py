"""Times the invocations of a handler, on whatever clock there is."""

from collections.abc import Callable
from typing import Any

from benchmarks.site import Handler
from benchmarks.tally import Tally


def timed(handler: Handler, clock: Callable[[], float], tally: Tally) -> Handler:
    """Return the handler, whose times and failures are counted."""

    def handle(event: dict[str, Any], context: Any) -> Any:
        start = clock()
        answer = handler(event, context)
        tally.batches.append(clock() - start)
        tally.failed += len(answer["batchItemFailures"])
        return answer

    return handle
