"""Measures the function as it ships: start, processor time a record, memory.

`PYTHONPATH=lab python -m benchmarks.function --python P`; it reaches no network but to
install the function's packages, and needs no account.

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
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any, Final

MAX_START_RATIO: Final = 1.6
MAX_MICROSECONDS: Final = 250
MAX_MEGABYTES: Final = 128

STARTS: Final = 15
BATCHES: Final = 200

ROOT: Final = Path(__file__).resolve().parents[2]
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
    "EVENT_SOURCE": "/ticket-numbering/a-stack",
    "POWERTOOLS_SERVICE_NAME": "benchmark",
    "POWERTOOLS_METRICS_NAMESPACE": "TicketNumbering",
}
"""Names of nothing that exists."""


def main() -> None:
    """Measure, and print each target with its verdict."""
    parser = argparse.ArgumentParser(description="Measure the function as it ships.")
    parser.add_argument("--python", default=sys.executable, help="what runs it")
    python = parser.parse_args().python
    packages = installed(python)

    def probe(what: str) -> float:
        return run_probe(python, packages, what)

    targets = {
        "start, by boto3 and the same clients": (MAX_START_RATIO, start_ratio(probe)),
        "own microseconds a record, batch of 10": (MAX_MICROSECONDS, probe("own")),
        "peak MB, batches of 10": (MAX_MEGABYTES, probe("typical")),
        "peak MB, the largest batch": (MAX_MEGABYTES, probe("largest")),
    }
    for name, (bound, measured) in targets.items():
        verdict = "met" if measured <= bound else "NOT MET"
        line = f"{name:40} at most {bound:<5g} measured {measured:<7.3g} {verdict}"
        print(line)  # noqa: T201 - it is a report.


def installed(python: str) -> Path:
    """Install the function's pinned packages for an interpreter, trimmed, once."""
    asked = "import sys; print(sys.implementation.cache_tag)"
    command = [python, "-I", "-c", asked]
    tag = subprocess.check_output(command, text=True).strip()  # noqa: S603 - fixed.
    directory = ROOT / ".build" / "function" / tag
    if not directory.exists():
        uv = Path(sys.executable).with_name("uv")
        install: list[str | Path] = [uv, "pip", "install", "--quiet"]
        install += ["--require-hashes", "--only-binary", ":all:", "--python", python]
        install += ["--target", directory, "--requirement", SOURCE / "requirements.txt"]
        subprocess.run(install, check=True)  # noqa: S603 - fixed.
        import_module("ticketctl.local.trim").trim(directory)
    return directory


def run_probe(python: str, packages: Path, what: str) -> float:
    """Return the figure of a probe, in a fresh interpreter."""
    # -S: packages that the interpreter happens to have would replace the function's.
    command = [python, "-I", "-S", __file__, "probe", str(SOURCE), str(packages), what]
    return float(subprocess.check_output(command, env=ENVIRONMENT))  # noqa: S603 - fixed.


def start_ratio(probe: Callable[[str], float]) -> float:
    """Start both kinds in turn, so that a load hits both; compare their medians."""
    kinds = "clients", "function"
    for kind in kinds:  # The first start compiles, the others do not.
        probe(kind)
    starts = [[probe(kind) for kind in kinds] for _ in range(STARTS)]
    clients, function = (median(column) for column in zip(*starts, strict=True))
    return float(function / clients)


# The probe.


def run_as_probe(paths: list[str], what: str) -> None:
    """Measure one thing, and print it."""
    sys.path[:0] = paths
    probes: dict[str, Callable[[], float]] = {
        "clients": lambda: start_seconds(load_clients),
        "function": lambda: start_seconds(load_function),
        "own": own_microseconds,
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
    """Load what every function with these clients must."""
    for service in ("dynamodb", "sns", "sqs"):
        import_module("boto3").client(service)


def load_function() -> Any:
    """Load the function, and return its handler."""
    return import_module("ticket_numbering.function.lambda_function").lambda_handler


def own_microseconds() -> float:
    """Return the processor time a record, without botocore's."""
    client: Any = import_module("botocore.client").BaseClient
    client._make_api_call = lambda _, name, request: answer(  # noqa: SLF001 - as moto does.
        name, [entry["Id"] for entry in request.get("PublishBatchRequestEntries", ())]
    )
    taken = [batch_seconds(typical_ticket, 10, serial) for serial in range(BATCHES)]
    # The first batches find nothing imported or cached.
    return median(taken[BATCHES // 10 :]) / 10 * 1e6


def peak_megabytes(ticket: Callable[[], dict[str, Any]], size: int) -> float:
    """Return the peak memory, with real clients that do everything but send."""
    boto3: Any = import_module("boto3")
    boto3.setup_default_session()
    boto3.DEFAULT_SESSION.events.register("before-call", answer_request)
    for serial in range(10):
        batch_seconds(ticket, size, serial)
    # Linux counts the process that started this one into ru_maxrss.
    status = Path("/proc/self/status").read_text("ascii")
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) * 1024 / 1e6


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
    return SimpleNamespace(status_code=200), answer(model.name, ids)


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
    if sys.argv[1:2] == ["probe"]:
        run_as_probe(sys.argv[2:4], sys.argv[4])
    else:
        main()
