"""AWS as a backend: three tables of one run, which deletes them again."""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from secrets import token_hex
from typing import Any, Final

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from benchmarks.costs import PRICES
from conformance.backends import Backend, create_table
from conformance.contention import BATCH, Contention
from conformance.facts import contradictions, seen_of
from conformance.suite import FACTS
from induction.axioms import AXIOMS
from simulation.aws.tables import KEYS, LINES, SCHEMA, TICKETS
from ticket_numbering.function.bootstrap import CLIENT_CONFIG
from ticket_numbering.function.settings import Settings
from ticketctl import __version__
from ticketctl.cli.output import print_note

PREFIX: Final = "numbering-check-"
WORKERS: Final = 10
CASES_UNITS: Final = 30_000
"""The suite's largest transactions have 3.5 MB, at 2 units a KB, and are deleted."""
UNITS_A_TICKET: Final = 4
"""Two items of up to 1 KB in a transaction; guide, "Read and write operations"."""
WRITE_UNIT_DOLLARS: Final = PRICES["write units"][0] / 1_000_000
_WAIT: Final = {"Delay": 2, "MaxAttempts": 90}
"""The polls within three minutes; a table takes seconds."""

CANNOT_SHOW: Final = (  # An emulator.
    "conflicts, half-seen blocks, stale reads: it makes one call after the other",
    "throttling, and a subset of the reasons",
    "a transactional read that a pending transaction cancels",
)


def client() -> Any:
    """Return a client of DynamoDB as the function's, but for its patience."""
    # boto3 does not look at the variable that the AWS CLI looks at first.
    region = os.environ.get("AWS_REGION")
    config = CLIENT_CONFIG | {
        "parameter_validation": True,
        "max_pool_connections": WORKERS + 1,
        "read_timeout": 30,  # The suite sends transactions of 4 MB.
    }
    return boto3.client("dynamodb", region_name=region, config=Config(**config))


def is_aws(client: Any) -> bool:
    """Tell whether a client talks to AWS itself."""
    return ".amazonaws.com" in client.meta.endpoint_url


def table_names() -> Mapping[str, str]:
    """Return new names of the tables."""
    run = token_hex(4)
    return {table: f"{PREFIX}{run}-{table}" for table in SCHEMA}


def plan(client: Any, names: Mapping[str, str], batches: int) -> str:
    """Return the resources, the duration and the maximal cost of a run."""
    # Fails without credentials, before anything is created.
    sts = boto3.client("sts", region_name=client.meta.region_name)
    account = sts.get_caller_identity()["Account"]
    attempts = Settings.model_fields["max_attempts"].default
    units = CASES_UNITS + WORKERS * batches * attempts * BATCH * UNITS_A_TICKET
    return (
        f"creates {len(names)} on-demand tables, {', '.join(names.values())}, in "
        f"{client.meta.region_name} of the account {account} "
        f"({client.meta.endpoint_url}), works on them for some 3 minutes, and deletes "
        f"them; costs less than ${units * WRITE_UNIT_DOLLARS:.2f} of write units at "
        f"list prices ({PRICES['write units'][1]})"
    )


@contextmanager
def temporary_tables(client: Any, names: Mapping[str, str]) -> Iterator[Backend]:
    """Create tables on demand, and delete them however the block ends."""
    with ExitStack() as exits:
        for table, name in names.items():
            # Before the call: its answer may be lost, or Ctrl-C come first.
            exits.callback(_delete, client, name)
            create_table(client, name, **SCHEMA[table])
        for name in names.values():
            waiter = client.get_waiter("table_exists")
            waiter.wait(TableName=name, WaiterConfig=_WAIT)
        kind = "aws" if is_aws(client) else "emulator"
        yield Backend(
            kind,
            client,
            tickets=names[TICKETS],
            keys=names[KEYS],
            lines=names[LINES],
        )


def _delete(client: Any, name: str) -> None:
    try:
        with suppress(client.exceptions.ResourceNotFoundException):
            while True:
                try:
                    client.delete_table(TableName=name)
                except client.exceptions.ResourceInUseException:
                    time.sleep(_WAIT["Delay"])
                else:
                    return
    except BaseException:
        print_note(f"if it is there: aws dynamodb delete-table --table-name {name}")
        raise


def checked(backend: Backend, batches: int) -> dict[str, Any]:
    """Ask for every fact, and return the report."""
    print_note(f"{len(FACTS)} cases of the conformance suite")
    different = [*_differences(backend)]
    print_note(f"{WORKERS} workers that contend for a project, and a reader")
    contention = Contention(backend)
    contention.run(WORKERS, batches)
    facts = [
        {"axiom": axiom.text, "seen": seen, "contradicted": lines}
        for axiom, seen, lines in zip(
            AXIOMS, seen_of(contention), contradictions(contention), strict=True
        )
        if seen
    ]
    lines = [line for fact in facts for line in fact["contradicted"]]
    return {
        "release": __version__,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "region": backend.dynamodb.meta.region_name,
        "endpoint": backend.dynamodb.meta.endpoint_url,
        "cases": len(FACTS),
        "axioms": facts,
        "counts": dict(sorted(contention.counts.items())),
        "cannot_show": [] if is_aws(backend.dynamodb) else CANNOT_SHOW,
        "contradicted": [*different, *lines],
    }


def _differences(backend: Backend) -> Iterator[str]:
    """Yield the cases in which the backend differs from AWS as we know it.

    Without the known differences of an emulator, whose items may not be deletable.
    """
    for case in FACTS:
        if backend.name in case.instead:
            continue
        try:
            seen = case.outcome(backend)
        except ClientError as error:
            seen = error
        if seen != case.aws:
            yield f"{case.name}: {seen}, and not {case.aws}"
        _empty(backend)


def _empty(backend: Backend) -> None:
    """Delete all items."""
    names = backend.tickets, backend.keys, backend.lines
    for table, name in zip((TICKETS, KEYS, LINES), names, strict=True):
        pages = backend.dynamodb.get_paginator("scan")
        for page in pages.paginate(TableName=name, ConsistentRead=True):
            for item in page["Items"]:
                key = {attribute: item[attribute] for attribute in SCHEMA[table]}
                backend.dynamodb.delete_item(TableName=name, Key=key)
