"""What Lambda gives a handler beside the event, and takes beside the answer."""

import time
from typing import Any, cast

from aws_lambda_powertools.utilities.typing import LambdaContext

MILLISECONDS = 1000


def context(seconds: float) -> LambdaContext:
    """Return the context of an invocation that begins now and has so much time."""
    deadline = time.monotonic() + seconds
    made: Any = LambdaContext()
    made._function_name = "benchmark"  # noqa: SLF001 - it has no other way in.
    made._memory_limit_in_mb = 512  # noqa: SLF001
    made._invoked_function_arn = "arn:aws:lambda:eu-west-1:0:function:benchmark"  # noqa: SLF001
    made._aws_request_id = "00000000-0000-4000-8000-000000000000"  # noqa: SLF001
    made.get_remaining_time_in_millis = lambda: max(
        0, int((deadline - time.monotonic()) * MILLISECONDS)
    )
    return cast("LambdaContext", made)
