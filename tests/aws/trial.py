"""The commands, and messages to a disturbed worker, on a stack of the run's own."""

import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from threading import Event
from typing import Any, Final

from tests.support.ctl_process import Ctl, Ended
from tests.support.evidence import VERIFIER
from tests.support.paused_worker import paused_worker, throttled_worker
from ticketctl.aws.queues import MAX_ENTRIES, take
from ticketctl.aws.stack import Stack
from ticketctl.cli.errors import CloudError, Status
from ticketctl.cli.output import remark
from ticketctl.commands.verify import PATIENCE_SECONDS
from ticketctl.verify.report import run_json
from ticketctl.verify.run import Run
from ticketctl.verify.sample import Messages, many_messages
from ticketctl.watch.watching import temporary_queue

TOGETHER: Final = 50
"""Tickets that are sent together, twice each, in a second at least."""
MOST_TICKETS: Final = 1_000_000
DOLLARS_A_MESSAGE: Final = 50 / 1_000_000
"""At most: eight times the cost of a ticket in `docs/scaling.md`."""


def trial(stack: Stack, seconds: float) -> dict[str, Any]:
    """Return what the commands and the messages showed."""
    remark("ticketctl verify")
    verified = _command(stack, "verify", "--yes", "--json").json
    load = _load(stack, seconds)
    remark("ticketctl audit, ticketctl export, docs/examples/verify.py")
    audit = _command(stack, "audit", "--json").json
    tickets = sum(_count(run) for run in (verified, load))
    return {
        "tickets": tickets,
        "verify": verified | _contradictions(verified["missing"] + verified["wrong"]),
        "load": load | _contradictions(load["missing"] + load["wrong"]),
        "audit": _contradictions(one["message"] for one in audit["findings"]),
        "export": _contradictions(_export_problems(stack, tickets)),
        "dollars_at_most": DOLLARS_A_MESSAGE * (verified["sent"] + load["sent"]),
    }


def _count(run: dict[str, Any]) -> int:
    return sum(run["tickets_left_behind"].values())


def _contradictions(lines: Iterable[str]) -> dict[str, list[str]]:
    return {"contradictions": [*lines]}


def _command(stack: Stack, *arguments: str) -> Ended:
    """Call a command that may find something wrong, but not fail."""
    ended = Ctl({"TICKETCTL_STACK": stack.name, "AWS_REGION": stack.region})(*arguments)
    if ended.status == Status.INTERRUPTED:
        raise KeyboardInterrupt
    if ended.status not in {Status.OK, Status.FOUND}:
        raise CloudError(f"ticketctl {' '.join(arguments)}: {ended.err}")
    return ended


def _export_problems(stack: Stack, tickets: int) -> list[str]:
    """Return the verifier's verdict, unless it finds every ticket and no problem."""
    checked = subprocess.run(  # noqa: S603 - the project's own program.
        [sys.executable, "-I", str(VERIFIER)],
        input=_command(stack, "export").out,
        text=True,
        capture_output=True,
        check=False,
    )
    said = checked.stdout.splitlines()
    return [] if said == [f"{tickets} items, 0 heads, 0 problems"] else said[-1:]


def _load(stack: Stack, seconds: float) -> dict[str, Any]:
    """Send messages twice while the worker is disturbed; some go by a redrive first."""
    bodies, over = many_messages(MOST_TICKETS), Event()
    with temporary_queue(stack) as queue_url, ThreadPoolExecutor(1) as pool:
        run = Run(stack, queue_url)
        # A new subscription may miss the first.
        run.probe(next(bodies), PATIENCE_SECONDS)
        redriven = _redrive(stack, run, [*islice(bodies, MAX_ENTRIES)])
        remark("messages sent twice; the worker is stopped, started and throttled")
        disturbing = pool.submit(_disturb, stack, seconds / 4, over)
        try:
            while not disturbing.done():
                some = [*islice(bodies, TOGETHER)]
                run.follow(Messages([*some, *reversed(some)]), 0)
            disturbing.result()
            verdict = run.follow(Messages(()), PATIENCE_SECONDS)
        finally:
            over.set()
    return run_json(run, verdict) | {"redriven": redriven}


def _redrive(stack: Stack, run: Run, bodies: Sequence[str]) -> int:
    """Let a redrive alone number messages; return how many."""
    remark("ticketctl dead-letters redrive")
    with paused_worker(stack):
        run.follow(Messages(bodies), 0)
        parked = _park(stack)
        _command(stack, "dead-letters", "redrive", "--all", "--yes")
    run.follow(Messages(()), PATIENCE_SECONDS)
    return parked


def _park(stack: Stack) -> int:
    """Move the waiting messages to the dead-letter queue, which gives no way back."""
    parked, outputs = 0, stack.outputs
    while found := take(stack, outputs["CreateTicketQueueUrl"], 2):
        parked += len(found)
        stack.client("sqs").send_message_batch(
            QueueUrl=outputs["DeadLetterQueueUrl"],
            Entries=[{"Id": one.message_id, "MessageBody": one.body} for one in found],
        )
    return parked


def _disturb(stack: Stack, seconds: float, over: Event) -> None:
    """Stop the worker for a time, then let it be throttled for as long."""
    for disturbance in (paused_worker, throttled_worker):
        over.wait(seconds)
        with disturbance(stack):
            over.wait(seconds)
