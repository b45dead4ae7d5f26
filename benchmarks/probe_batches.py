"""Runs by itself on the function's packages: handles batches and prints their cost.

Arguments: the paths to import from, a file with an event a line, and where requests
end: `stub`, at clients that answer at once, or `wire`, where botocore would open a
connection. It prints, as JSON, the processor time of each batch and the peak memory.
"""

import json
import os
import re
import resource
import sys
import time
from collections.abc import Callable
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

LAST_NUMBER = {"Items": [{"number": {"N": "1041"}}]}
KILOBYTE = 1024


class NullSink:
    """Takes the log and the metrics, formatted, and drops them."""

    def write(self, text: str) -> int:
        """Drop the text."""
        return len(text)

    def flush(self) -> None:
        """Have nothing to flush."""


class Context:
    """What Lambda says of an invocation."""

    function_name = "numbering-worker"
    memory_limit_in_mb = 512
    invoked_function_arn = "arn:aws:lambda:eu-west-1:123456789012:function:worker"
    aws_request_id = "7f3a0000-0000-4000-8000-000000000000"

    def get_remaining_time_in_millis(self) -> int:
        """Return what is left: always enough."""
        return 30_000


class StubClient:
    """Answers at once what the three services answer when all is well."""

    class exceptions:  # noqa: N801 - as botocore has it.
        """The errors that an adapter asks the client for."""

        class TransactionCanceledException(Exception):  # noqa: N818 - likewise.
            """Never raised."""

    def query(self, **_: Any) -> dict[str, Any]:
        """Return a last number."""
        return LAST_NUMBER

    def transact_write_items(self, **_: Any) -> dict[str, Any]:
        """Commit."""
        return {}

    def publish_batch(self, **request: Any) -> dict[str, Any]:
        """Take every entry."""
        entries = request["PublishBatchRequestEntries"]
        return {"Successful": [{"Id": entry["Id"]} for entry in entries]}


def stubbed(*_: Any, **__: Any) -> StubClient:
    """Stand where botocore makes a client."""
    return StubClient()


def published(body: str) -> bytes:
    """Return SNS's answer to PublishBatch, which takes every entry."""
    ids = re.findall(r"member\.\d+\.Id=(\d+)", body)
    members = "".join(f"<member><Id>{each}</Id></member>" for each in ids)
    return (
        "<PublishBatchResponse><PublishBatchResult><Failed/><Successful>"
        f"{members}</Successful></PublishBatchResult></PublishBatchResponse>"
    ).encode()


def answered(request: Any, event_name: str, **_: Any) -> Any:
    """Stand where botocore opens a connection."""
    answers: dict[str, Callable[[], bytes]] = {
        "Query": json.dumps(LAST_NUMBER).encode,
        "TransactWriteItems": lambda: b"{}",
        "PublishBatch": lambda: published(request.body),
    }
    body = BytesIO(answers[event_name.rpartition(".")[2]]())
    raw = import_module("urllib3").HTTPResponse(body, preload_content=False)
    headers = import_module("botocore.compat").HTTPHeaders()
    response = import_module("botocore.awsrequest").AWSResponse
    return response(request.url, 200, headers, raw)


def wired(create: Callable[..., Any]) -> Callable[..., Any]:
    """Let botocore make clients that do everything but send."""

    def create_client(*arguments: Any, **options: Any) -> Any:
        client = create(*arguments, **options)
        client.meta.events.register("before-send.*.*", answered)
        return client

    return create_client


def seconds(handler: Any, line: bytes) -> float:
    """Return the processor time of a batch; as in Lambda, it is gone afterwards."""
    event = json.loads(line)
    start = time.process_time()
    response = handler(event, Context())
    taken = time.process_time() - start
    if response != {"batchItemFailures": []}:
        sys.exit(f"records failed: {response}")
    return taken


def peak_bytes() -> int:
    """Return the most memory that this interpreter has had."""
    status = Path("/proc/self/status")
    if status.exists():
        # Linux counts the process that started this one into ru_maxrss.
        (kilobytes,) = re.findall(r"VmHWM:\s+(\d+) kB", status.read_text("ascii"))
        return int(kilobytes) * KILOBYTE
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * KILOBYTE


def main() -> None:
    """Do what the arguments say."""
    paths, events, mode = sys.argv[1:]
    sys.path[:0] = paths.split(os.pathsep)
    session: Any = import_module("botocore.session").Session
    create = session.create_client
    session.create_client = stubbed if mode == "stub" else wired(create)
    sys.stdout = NullSink()  # The logger keeps it.
    handler = import_module("ticket_numbering.handler").lambda_handler
    with Path(events).open("rb") as lines:
        batches = [seconds(handler, line) for line in lines]
    result = {"seconds": batches, "peak_bytes": peak_bytes()}
    print(json.dumps(result), file=sys.__stdout__)


if __name__ == "__main__":
    main()
