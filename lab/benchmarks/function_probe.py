"""Measures one figure of the function, in a fresh interpreter that `function` starts.

It sees the function and its packages alone: so it imports nothing else at its top.
"""

import json
import os
import re
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any, Final

BATCHES: Final = 200

ROOT: Final = Path(__file__).resolve().parents[2]


def main(paths: list[str], what: str) -> None:
    """Measure one thing, and print it."""
    sys.path[:0] = paths
    probes: dict[str, Callable[[], float]] = {
        "clients": lambda: start_seconds(load_clients),
        "function": lambda: start_seconds(load_function),
        "own": own_ratio,
        "typical": lambda: peak_megabytes(typical_ticket, 10),
        "largest": lambda: peak_megabytes(largest_ticket, 24),
    }
    output, sys.stdout = sys.stdout, open(os.devnull, "w")  # noqa: PTH123, SIM115
    output.write(str(probes[what]()))


def start_seconds(load: Callable[[], Any]) -> float:
    """Return the processor time of loading something."""
    before = time.process_time()
    load()
    return time.process_time() - before


def load_clients() -> None:
    """Load the part that every function with these clients needs."""
    for service in ("dynamodb", "sns", "sqs"):
        import_module("boto3").client(service)


def load_function() -> Any:
    """Load the function, and return its handler."""
    return import_module("ticket_numbering.function.lambda_function").lambda_handler


def own_ratio() -> float:
    """Return the function's own processor time by boto3's for the same requests."""
    answer_without_sending()
    client: Any = import_module("botocore.client").BaseClient
    real = client._make_api_call  # noqa: SLF001 - as moto does.

    def skipped(_: Any, name: str, request: Any) -> dict[str, Any]:
        entries = request.get("PublishBatchRequestEntries", ())
        return answer(name, [entry["Id"] for entry in entries])

    own: list[float] = []
    whole: list[float] = []
    for serial in range(BATCHES):  # In turn, so that a load hits both.
        for taken, method in (own, skipped), (whole, real):
            client._make_api_call = method  # noqa: SLF001 - as moto does.
            taken.append(batch_seconds(typical_ticket, 10, serial))
    # The first batches find nothing imported or cached.
    alone, with_boto3 = (median(taken[BATCHES // 10 :]) for taken in (own, whole))
    return alone / (with_boto3 - alone)


def peak_megabytes(ticket: Callable[[], dict[str, Any]], size: int) -> float:
    """Return the peak memory, with real clients that do everything but send."""
    answer_without_sending()
    for serial in range(10):
        batch_seconds(ticket, size, serial)
    # Linux counts the process that started this one into ru_maxrss.
    status = Path("/proc/self/status").read_text("ascii")
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) * 1024 / 1e6


def answer_without_sending() -> None:
    """Let the clients do everything but send."""
    boto3: Any = import_module("boto3")
    boto3.setup_default_session()
    boto3.DEFAULT_SESSION.events.register("before-call", answer_request)


def batch_seconds(
    ticket: Callable[[], dict[str, Any]], size: int, serial: int
) -> float:
    """Return the processor time of handling a batch."""
    handler, event = load_function(), batch_of([ticket() for _ in range(size)], serial)
    before = time.process_time()
    response = handler(event, CONTEXT)
    taken = time.process_time() - before
    if response != {"batchItemFailures": []}:
        sys.exit(f"records failed: {response}")
    return taken


def answer_request(model: Any, params: Any, **_: Any) -> tuple[Any, dict[str, Any]]:
    """Answer where botocore would sign and send a request."""
    body = params["body"] if model.name == "PublishBatch" else {}
    ids = [body[name] for name in body if name.endswith(".Id")]
    response = SimpleNamespace(status_code=200, headers={}, content=b"{}")
    return response, answer(model.name, ids)


def answer(operation: str, ids: list[str]) -> dict[str, Any]:
    """Return an answer of success."""
    answers: dict[str, dict[str, Any]] = {
        "Query": {"Items": [{"number": {"N": "1041"}}]},
        "TransactWriteItems": {},
        "PublishBatch": {"Successful": [{"Id": entry_id} for entry_id in ids]},
    }
    return answers[operation]


CONTEXT: Final = SimpleNamespace(
    function_name="numbering-worker",
    memory_limit_in_mb=512,
    invoked_function_arn="arn:aws:lambda:eu-west-1:123456789012:function:worker",
    aws_request_id="7f3a0000-0000-4000-8000-000000000000",
    get_remaining_time_in_millis=lambda: 30_000,
)


def typical_ticket() -> dict[str, Any]:
    """Return a ticket as people write them: half a kilobyte."""
    return {
        "project_id": "PROJ",
        "title": "Login page flickers in dark mode",
        "description": "It flickers when the page is scrolled quickly. " * 5,
        "reporter": "jane.roe@example.com",
        "labels": ["frontend", "regression"],
    }


def largest_ticket() -> dict[str, Any]:
    """Return a ticket of 249 KB; Lambda takes 6 MB of an event, 24 of them."""
    return typical_ticket() | {
        # A bound counts characters, and a body bytes: three to each of these.
        "description": "\u7968" * 65_536,
        "attributes": {f"attribute-{number}": "x" * 1024 for number in range(50)},
    }


def batch_of(tickets: list[dict[str, Any]], serial: int) -> dict[str, Any]:
    """Return an event of tickets, with keys of their own."""
    [record] = json.loads((ROOT / "events/create-ticket.json").read_bytes())["Records"]
    records = []
    for number, ticket in enumerate(tickets):
        key = f"form-{serial:06}-{number:02}"
        body = json.dumps(ticket | {"idempotency_key": key}, ensure_ascii=False)
        records.append(record | {"messageId": key, "body": body})
    return {"Records": records}


if __name__ == "__main__":
    main(sys.argv[1:3], sys.argv[3])
