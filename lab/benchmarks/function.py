"""Measures the shipped function: start, processor time, memory.

`PYTHONPATH=lab python -m benchmarks.function --python P`; it reaches no network but to
install the function's packages, and needs no account.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks import function_probe
from benchmarks.function_probe import ROOT
from ticketctl.local.artifact import install_packages, trim

MAX_START_RATIO: Final = 1.6
MAX_OWN_RATIO: Final = 2.5
MAX_MEGABYTES: Final = 128

STARTS: Final = 15

SOURCE: Final = ROOT / "src"
PROBE: Final = function_probe.__file__
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
"""Names of missing resources."""


def main() -> None:
    """Measure, and print each target with its result."""
    parser = argparse.ArgumentParser(description="Measure the function as it ships.")
    parser.add_argument("--python", default=sys.executable, help="the interpreter")
    python = parser.parse_args().python
    packages = installed(python)

    def probe(what: str) -> float:
        return run_probe(python, packages, what)

    targets = {
        "start, by boto3 and the same clients": (MAX_START_RATIO, start_ratio(probe)),
        "own time, by boto3's in a batch of 10": (MAX_OWN_RATIO, probe("own")),
        "peak MB, batches of 10": (MAX_MEGABYTES, probe("typical")),
        "peak MB, the largest batch": (MAX_MEGABYTES, probe("largest")),
    }
    for name, (bound, measured) in targets.items():
        result = "met" if measured <= bound else "NOT MET"
        line = f"{name:40} at most {bound:<5g} measured {measured:<7.3g} {result}"
        print(line)  # noqa: T201 - it is a report.


def installed(python: str) -> Path:
    """Install the function's pinned packages for an interpreter, trimmed, once."""
    asked = "import sys; print(sys.implementation.cache_tag)"
    command = [python, "-I", "-c", asked]
    tag = subprocess.check_output(command, text=True).strip()  # noqa: S603 - fixed.
    directory = ROOT / ".build" / "function" / tag
    if not directory.exists():
        install_packages(SOURCE / "requirements.txt", directory, Path(python))
        trim(directory)
    return directory


def run_probe(python: str, packages: Path, what: str) -> float:
    """Return the figure of a probe, in a fresh interpreter."""
    # -S: packages that the interpreter happens to have would replace the function's.
    command = [python, "-I", "-S", PROBE, str(SOURCE), str(packages), what]
    return float(subprocess.check_output(command, env=ENVIRONMENT))  # noqa: S603 - fixed.


def start_ratio(probe: Callable[[str], float]) -> float:
    """Start both kinds in turn, so that a load hits both; compare their medians."""
    kinds = "clients", "function"
    for kind in kinds:  # The first start compiles, the others do not.
        probe(kind)
    starts = [[probe(kind) for kind in kinds] for _ in range(STARTS)]
    clients, function = (median(column) for column in zip(*starts, strict=True))
    return float(function / clients)


if __name__ == "__main__":
    main()
