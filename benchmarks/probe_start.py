"""Runs by itself on the function's packages: starts something and prints its cost.

Arguments: the paths to import from, and what to start; the clients' configuration for
the baseline, or what to look for among the modules.
It imports next to nothing before the clock starts.
"""

import os
import sys
import time
from collections.abc import Callable
from importlib import import_module

SERVICES = ("dynamodb", "sns", "sqs")


def baseline() -> None:
    """Import boto3 and make the function's three clients, and nothing else."""
    boto3 = import_module("boto3")
    settings = import_module("json").loads(sys.argv[3])
    config = import_module("botocore.config").Config(**settings)
    for service in SERVICES:
        boto3.client(service, config=config)


def function() -> None:
    """Import the function, which makes its clients."""
    # Python times what is imported in this way, and not what import_module imports.
    __import__("ticket_numbering.handler")


def cost(start: Callable[[], None]) -> str:
    """Return the seconds that it takes: on the clock, and of the processor."""
    clock, processor = time.perf_counter(), time.process_time()
    start()
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
    return f"{clock} {processor}"


def client_config() -> str:
    """Return the function's configuration of its clients, as JSON."""
    config = import_module("ticket_numbering.bootstrap").CLIENT_CONFIG
    return str(import_module("json").dumps(config))


def modules() -> str:
    """Return the names of all modules that are loaded once the function is."""
    function()
    return " ".join(sorted(sys.modules))


def main() -> None:
    """Do what the arguments say."""
    sys.path[:0] = sys.argv[1].split(os.pathsep)
    answers = {
        "baseline": lambda: cost(baseline),
        "function": lambda: cost(function),
        "client-config": client_config,
        "modules": modules,
    }
    sys.stdout.write(answers[sys.argv[2]]() + "\n")


if __name__ == "__main__":
    main()
