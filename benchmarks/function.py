"""Measures the function as it ships: start, processor time a record, memory.

`python -m benchmarks.function --python P`; it reaches no network but to install the
function's packages, and needs no account.

The same file runs, as a probe, in fresh interpreters that see the function and its
packages alone: so it imports nothing else at its top.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from io import BytesIO
from pathlib import Path
from statistics import median
from typing import Any, Final

MAX_START_RATIO: Final = 1.6
MAX_MICROSECONDS: Final = 250
MAX_MEGABYTES: Final = 128

BATCH: Final = 10
LARGEST: Final = 24
"""Tickets of 249 KB: Lambda takes 6 MB of an event."""
WARM_UP: Final = 20
"""Batches that are not counted: the first ones find nothing imported or cached."""
RUNS: Final = 3

ROOT: Final = Path(__file__).resolve().parents[1]
SOURCE: Final = ROOT / "src"
ENVIRONMENT: Final = {
    "PATH": os.defpath,
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "eu-west-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "TICKETS_TABLE": "tickets",
    "IDEMPOTENCY_KEYS_TABLE": "idempotency-keys",
    "ASSIGNMENTS_TOPIC_ARN": "arn:aws:sns:eu-west-1:123456789012:assignments",
    "DEAD_LETTER_QUEUE_URL": "https://sqs.eu-west-1.amazonaws.com/123456789012/dead",
    "POWERTOOLS_SERVICE_NAME": "benchmark",
    "POWERTOOLS_METRICS_NAMESPACE": "TicketNumbering",
}
"""Names of nothing that exists."""


def main() -> None:
    """Measure, and print each target with its verdict."""
    parser = argparse.ArgumentParser(description="Measure the function as it ships.")
    parser.add_argument("--python", default=sys.executable, help="what runs it")
    parser.add_argument("--starts", type=int, default=15, help="starts of each kind")
    parser.add_argument("--batches", type=int, default=200, help="batches of ten")
    options = parser.parse_args()
    packages = installed(options.python)

    def probe(*arguments: str) -> Any:
        return run_probe(options.python, packages, *arguments)

    ten = [probe("own", str(options.batches)) for _ in range(RUNS)]
    rows = [
        (
            "start by boto3's and its clients'",
            MAX_START_RATIO,
            start_ratio(probe, options.starts),
        ),
        # What a run needs more than another one is the machine's, not the function's.
        ("own microseconds a record, batch of 10", MAX_MICROSECONDS, min(ten)),
        (
            "peak MB, batches of 10",
            MAX_MEGABYTES,
            probe("memory", str(options.batches)),
        ),
        ("peak MB, largest batches", MAX_MEGABYTES, probe("memory", "0")),
    ]
    for name, bound, measured in rows:
        print(verdict(name, bound, measured))  # noqa: T201 - it is a report.


def verdict(name: str, bound: float, measured: float) -> str:
    """Return a target in a line."""
    met = "met" if measured <= bound else "NOT MET"
    return f"{name:40} at most {bound:<5g} measured {measured:<7.3g} {met}"


def installed(python: str) -> Path:
    """Install the function's pinned packages for an interpreter, trimmed, once."""
    asked = "import sys; print(sys.implementation.cache_tag)"
    command = [python, "-I", "-c", asked]
    tag = subprocess.check_output(command, text=True).strip()  # noqa: S603 - ours.
    directory = ROOT / ".build" / "function" / tag
    if not directory.exists():
        uv = Path(sys.executable).with_name("uv")
        install: list[str | Path] = [
            uv,
            "pip",
            "install",
            "--quiet",
            "--require-hashes",
            "--only-binary",
        ]
        install += [":all:", "--python", python, "--target", directory]
        install += ["--requirement", SOURCE / "requirements.txt"]
        subprocess.run(install, check=True)  # noqa: S603 - ours.
        import_module("tools.trim").trim(directory)
    return directory


def run_probe(python: str, packages: Path, *arguments: str) -> Any:
    """Return what a probe prints, in a fresh interpreter."""
    # -S: packages that the interpreter happens to have would stand in for ours.
    command: list[str | Path] = [python, "-I", "-S", __file__, "probe"]
    command += [SOURCE, packages, *arguments]
    output = subprocess.check_output(command, env=ENVIRONMENT)  # noqa: S603 - ours.
    return json.loads(output)


def start_ratio(probe: Callable[..., Any], pairs: int) -> float:
    """Start both kinds in turn, so that a load hits both; compare their medians."""
    kinds = "boto3", "function"
    for kind in kinds:  # What the first start compiles is no part of the others.
        probe("start", kind)
    found = [[probe("start", kind) for kind in kinds] for _ in range(pairs)]
    baseline, function = (median(column) for column in zip(*found, strict=True))
    return float(function / baseline)


# The probe.


def run_as_probe(paths: list[str], what: str, argument: str) -> None:
    """Measure one thing, and print it as JSON."""
    sys.path[:0] = paths
    probes: dict[str, Callable[[str], float]] = {
        "start": start_seconds,
        "own": own_microseconds,
        "memory": peak_megabytes,
    }
    output, sys.stdout = sys.stdout, open(os.devnull, "w")  # noqa: PTH123, SIM115
    json.dump(probes[what](argument), output)


def start_seconds(kind: str) -> float:
    """Return the processor time of a start of the function, or of boto3's part."""
    before = time.process_time()
    if kind == "function":
        import_module("ticket_numbering.lambda_function")
    else:
        boto3 = import_module("boto3")
        for service in ("dynamodb", "sns", "sqs"):
            boto3.client(service)
    return time.process_time() - before


def own_microseconds(batches: str) -> float:
    """Return the processor time a record, with clients that answer at once."""
    session: Any = import_module("botocore.session").Session
    session.create_client = lambda *_, **__: StubClient()
    taken = [batch_seconds(batch(typical, BATCH, at)) for at in range(int(batches))]
    return median(taken[WARM_UP:] or taken) / BATCH * 1e6


def peak_megabytes(batches: str) -> float:
    """Return the peak memory, with real clients that do everything but send."""
    session: Any = import_module("botocore.session").Session
    create = session.create_client

    def wired(*arguments: Any, **options: Any) -> Any:
        client = create(*arguments, **options)
        client.meta.events.register("before-send.*.*", answered)
        return client

    session.create_client = wired
    events: Iterator[Any] = (batch(typical, BATCH, at) for at in range(int(batches)))
    for event in events if int(batches) else (batch(largest, LARGEST, 0),) * 5:
        batch_seconds(event)
    # Linux counts the process that started this one into ru_maxrss.
    status = Path("/proc/self/status").read_text("ascii")
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) * 1024 / 1e6


def batch_seconds(event: Any) -> float:
    """Return the processor time of handling an event."""
    handler = import_module("ticket_numbering.lambda_function").lambda_handler
    before = time.process_time()
    response = handler(event, Context())
    taken = time.process_time() - before
    if response != {"batchItemFailures": []}:
        sys.exit(f"records failed: {response}")
    return taken


def batch(ticket: Callable[[str], dict[str, Any]], size: int, serial: int) -> Any:
    """Return an event of tickets with keys of their own."""
    keys = [f"form-{serial:06}-{number:02}" for number in range(size)]
    return {"Records": [record(ticket(key)) for key in keys]}


def record(ticket: dict[str, Any]) -> dict[str, Any]:
    """Return the record of a message, with the members that are read."""
    return {
        "messageId": ticket["idempotency_key"],
        "receiptHandle": "-",
        "body": json.dumps(ticket, ensure_ascii=False),
        "attributes": {
            "ApproximateReceiveCount": "1",
            "SentTimestamp": "1795000000000",
        },
        "messageAttributes": {},
        "eventSourceARN": "arn:aws:sqs:eu-west-1:123456789012:create-ticket",
    }


def typical(key: str) -> dict[str, Any]:
    """Return the fields of a ticket as people write them: half a kilobyte."""
    return {
        "project_id": "PROJ",
        "idempotency_key": key,
        "title": f"Login page flickers in dark mode, report {key}",
        "description": "It flickers when the page is scrolled quickly. " * 5,
        "reporter": "jane.roe@example.com",
        "labels": ["frontend", "regression"],
    }


def largest(key: str) -> dict[str, Any]:
    """Return the fields of a ticket near the bound of a body, 256 KiB."""
    return typical(key) | {
        # A bound counts characters, and a body bytes: three to each of these.
        "description": "\u7968" * 65_536,
        "attributes": {f"attribute-{number}": "x" * 1024 for number in range(50)},
    }


class Context:
    """What Lambda says of an invocation."""

    function_name = "numbering-worker"
    memory_limit_in_mb = 512
    invoked_function_arn = "arn:aws:lambda:eu-west-1:123456789012:function:worker"
    aws_request_id = "7f3a0000-0000-4000-8000-000000000000"

    def get_remaining_time_in_millis(self) -> int:
        """Return what is left: always enough."""
        return 30_000


LAST_NUMBER: Final = {"Items": [{"number": {"N": "1041"}}]}


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


def answered(request: Any, event_name: str, **_: Any) -> Any:
    """Stand where botocore opens a connection."""
    bodies: dict[str, Callable[[], bytes]] = {
        "Query": json.dumps(LAST_NUMBER).encode,
        "TransactWriteItems": lambda: b"{}",
        "PublishBatch": lambda: published(request.body),
    }
    body = BytesIO(bodies[event_name.rpartition(".")[2]]())
    raw = import_module("urllib3").HTTPResponse(body, preload_content=False)
    headers = import_module("botocore.compat").HTTPHeaders()
    response = import_module("botocore.awsrequest").AWSResponse
    return response(request.url, 200, headers, raw)


def published(body: str) -> bytes:
    """Return SNS's answer to PublishBatch, which takes every entry."""
    ids = re.findall(r"member\.\d+\.Id=(\d+)", body)
    members = "".join(f"<member><Id>{name}</Id></member>" for name in ids)
    return (
        "<PublishBatchResponse><PublishBatchResult><Failed/><Successful>"
        f"{members}</Successful></PublishBatchResult></PublishBatchResponse>"
    ).encode()


if __name__ == "__main__":
    if sys.argv[1:2] == ["probe"]:
        run_as_probe(sys.argv[2:4], *sys.argv[4:])
    else:
        main()
