"""`python -m tests.aws`: an account, minutes, and one report."""

import json
import platform
import signal
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from secrets import token_hex
from typing import Annotated, Any, Final

import boto3
import typer
from botocore.exceptions import BotoCoreError, ClientError

from benchmarks.costs import PRICES
from conformance.backends import Backend
from tests.aws.contention import BATCH, Contention
from tests.aws.findings import (
    CASES,
    contradictions,
    differences,
    of_axioms,
    of_contention,
    of_tables,
)
from tests.aws.meter import UNITS_A_PUT, Meter, dollars
from tests.aws.probe import Probe
from tests.aws.stack import temporary_stack
from tests.aws.tables import PREFIX, is_aws, items_of, table_names, temporary_tables
from tests.aws.trial import DOLLARS_A_MESSAGE, TOGETHER, trial
from ticketctl import __version__
from ticketctl.aws.aws_errors import explained
from ticketctl.cli.errors import Status, ToolError
from ticketctl.cli.output import remark
from ticketctl.cli.prompts import confirm

WORKERS: Final = 10
PROJECTS: Final = [f"MANY-{number}" for number in range(10)]
ALONE: Final = [f"ALONE-{number}" for number in range(10)]
"""In turn, so that each block reads first: a project's cache is over by then."""

FASTEST_BLOCK_SECONDS: Final = 0.02
"""The shortest measured: github.com/alexdebrie/dynamodb-performance-testing, 2020."""
CONFORMANCE_UNITS: Final = 30_000
"""The suite's largest transactions have 3.5 MB, at 2 units a KB, and are deleted."""

CANNOT_SHOW: Final = (  # An emulator.
    "conflicts, half-seen blocks, stale reads: it makes one call after the other",
    "throttling, and a subset of the reasons",
    "a transactional read that a pending transaction cancels",
    "times, units and costs",
)
CANNOT_DEPLOY: Final = (
    "that CloudFormation creates and deletes each resource as the template has it",
    "the function's processor, its cold starts, its throttled invocations",
    "that SQS redrives by itself, under new message ids",
)
IDLE_MONTH_DOLLARS: Final = 5
"""`docs/scaling.md`."""


app = typer.Typer(add_completion=False)


@app.command()
def main(
    *,
    report: Annotated[Path, typer.Option(help="Write the report here.")],
    seconds: Annotated[
        float, typer.Option(min=0.1, help="How long workers contend.")
    ] = 60,
    full: Annotated[
        Path | None, typer.Option(help="Also deploy this build, of `make package`.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Check the facts of the proof on two new tables, and delete them.

    In full, try a deployed stack too, with the commands of `ticketctl`.
    Ends with status 0 if nothing contradicts the proof, else with 1.
    """
    admin = Meter()
    client = admin.client()
    names = table_names()
    stack = f"{PREFIX}{token_hex(4)}"
    remark(_plan(client, names, seconds))
    if full:
        remark(_plan_in_full(stack, seconds))
    confirm("Go on?", yes=yes)
    with temporary_tables(client, names) as backend:
        found = _check(backend, admin, seconds)
    _write(report, found)
    if full:
        found = _in_full(found, stack, full, seconds)
        _write(report, found)
    for line in found["contradicted"]:
        remark(f"contradicts docs/proof.md: {line}")
    remark(f"report: {report}; cost: ${found['dollars']:.2f}")
    raise typer.Exit(Status.FOUND if found["contradicted"] else Status.OK)


def _write(report: Path, found: Mapping[str, Any]) -> None:
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _plan(client: Any, names: Mapping[str, str], seconds: float) -> str:
    """Return what the run creates, and the most that it can cost."""
    # Fails without credentials, before anything is created.
    sts = boto3.client("sts", region_name=client.meta.region_name)
    account = sts.get_caller_identity()["Account"]
    blocks = (seconds * WORKERS + seconds / 3) / FASTEST_BLOCK_SECONDS
    units = CONFORMANCE_UNITS + blocks * BATCH * 2 * UNITS_A_PUT
    most = dollars(units)
    return (
        f"creates two on-demand tables, {' and '.join(names.values())}, in "
        f"{client.meta.region_name} of the account {account} "
        f"({client.meta.endpoint_url}), works on them for about "
        f"{round(seconds * 4 / 3 + 60)} seconds, and deletes them; costs less than "
        f"${most:.2f} of write units at list prices ({PRICES['write units'][1]})"
    )


def _plan_in_full(name: str, seconds: float) -> str:
    # Without an answer a sending takes a second; a switch takes up to two minutes.
    most = DOLLARS_A_MESSAGE * 2 * TOGETHER * (seconds + 300) + IDLE_MONTH_DOLLARS
    return (
        f"then creates the bucket and the stack {name} (two tables, two queues, a "
        "topic, a function with its role and log, alarms, a dashboard), sends messages "
        "for some minutes, and deletes all of it; takes about 15 minutes; costs less "
        f"than ${most:.2f} more at list prices, of which ${IDLE_MONTH_DOLLARS} are a "
        "month of the idle stack, whose hours AWS counts"
    )


def _in_full(
    found: Mapping[str, Any], name: str, build: Path, seconds: float
) -> dict[str, Any]:
    """Deploy a build, try it, and return the report."""
    remark(f"creating the stack {name}")
    with temporary_stack(name, build) as stack:
        whole = {**found, "stack": trial(stack, seconds)}
        remark(f"deleting the stack {name}")
    return whole | {
        "axioms": of_axioms(whole),
        "dollars": round(found["dollars"] + whole["stack"]["dollars_at_most"], 4),
        "cannot_show": found["cannot_show"] and [*CANNOT_SHOW, *CANNOT_DEPLOY],
        "contradicted": [*contradictions(whole)],
    }


def _check(backend: Backend, admin: Meter, seconds: float) -> dict[str, Any]:
    """Run all parts, and return the report."""
    remark(f"{len(CASES)} cases of the conformance suite")
    different = [*differences(backend)]
    alone = Contention(backend, ALONE, 1)
    one = Contention(backend, ["ONE"], WORKERS)
    ten = Contention(backend, PROJECTS, WORKERS)
    probe = Probe(Contention(backend, ["PROBE"], 1))
    for part, share in ((alone, 1 / 6), (one, 1 / 2), (ten, 1 / 2)):
        remark(f"workers: {part.workers}, projects: {len(part.projects)}")
        part.run(seconds * share, part.reader.look)
    remark("transactional reads of tickets that are about to be created")
    probe.writer.run(seconds / 6, probe.look)
    remark("audit")
    items = items_of(backend)
    contention = {"alone": alone, "one_project": one, "ten_projects": ten}
    found: dict[str, Any] = _about(backend) | {
        "latencies_ms": probe.writer.reading.latencies_ms()
        | alone.meter.latencies_ms(),
        "conformance": {"cases": len(CASES), "contradictions": different},
        "contention": {
            name: of_contention(part, items) for name, part in contention.items()
        },
        "transactional_read": probe.report(),
        "tables": of_tables(backend, items),
    }
    parts = (*contention.values(), probe.writer)
    found |= _cost([admin, *(meter for part in parts for meter in part.meters)])
    return found | {"contradicted": [*contradictions(found)]}


def _about(backend: Backend) -> dict[str, Any]:
    meta = backend.dynamodb.meta
    return {
        "release": __version__,
        "boto3": version("boto3"),
        "python": platform.python_version(),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "region": meta.region_name,
        "endpoint": meta.endpoint_url,
        "cannot_show": [] if is_aws(backend.dynamodb) else CANNOT_SHOW,
    }


def _cost(meters: Sequence[Meter]) -> dict[str, Any]:
    units = sum((Counter(meter.units()) for meter in meters), Counter[str]())
    return {
        "units": dict(units),
        "dollars": round(sum(meter.dollars() for meter in meters), 4),
        "prices": {name: PRICES[name] for name in ("write units", "read units")},
    }


if __name__ == "__main__":
    # Both end the run as Ctrl-C does, so that the tables go.
    for kind in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(kind, signal.default_int_handler)
    try:
        app()
    except ToolError as error:
        sys.exit(f"error: {error}")
    except (BotoCoreError, ClientError) as error:
        sys.exit(f"error: {explained(error)}")
