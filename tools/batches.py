"""Numbers batches with the worker on Python's path, in a function's environment.

    python tools/batches.py NAME

`tools.beside` runs it with the code of two releases, so it imports nothing else.
"""

import sys
import time
from types import SimpleNamespace
from typing import Any, Final
from uuid import uuid4

from ticket_numbering.function.lambda_function import lambda_handler

BATCHES: Final = 20
BATCH: Final = 10
SHARED: Final = 4
"""The requests of a batch whose keys all workers share."""
MILLISECONDS: Final = 30_000
"""The duration of an invocation."""


def record(key: str) -> dict[str, Any]:
    """Return a request as a record of a Lambda event."""
    body = f'{{"project_id": "BESIDE", "idempotency_key": "{key}", "title": "{key}"}}'
    sent = str(int(time.time() * 1000))
    attributes = {"ApproximateReceiveCount": "1", "SentTimestamp": sent}
    return {
        "messageId": str(uuid4()),
        "receiptHandle": "-",
        "body": body,
        "attributes": attributes,
        "messageAttributes": {},
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:eu-west-1:123456789012:create-ticket",
        "awsRegion": "eu-west-1",
    }


def number(records: list[dict[str, Any]]) -> None:
    """Invoke the worker until it has answered every record."""
    context: Any = SimpleNamespace(
        function_name="worker",
        memory_limit_in_mb=512,
        invoked_function_arn="arn:aws:lambda:eu-west-1:123456789012:function:worker",
        aws_request_id="-",
        get_remaining_time_in_millis=lambda: MILLISECONDS,
    )
    while records:
        answer = lambda_handler({"Records": records}, context)
        failed = {failure["itemIdentifier"] for failure in answer["batchItemFailures"]}
        records = [left for left in records if left["messageId"] in failed]


if __name__ == "__main__":
    for batch in range(BATCHES):
        names = ["all"] * SHARED + [sys.argv[1]] * (BATCH - SHARED)
        number([record(f"{name}-{batch}-{n}") for n, name in enumerate(names)])
