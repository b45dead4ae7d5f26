"""What a batch costs in the warm function: processor time a record, and memory."""

import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from benchmarks.function_init import Sample
from benchmarks.function_site import Site
from tools.events import Events, Message

Event = dict[str, Any]

MAX_EVENT_BYTES = 6_000_000
"""Lambda takes 6 MB of an event; its quotas."""

WARM_UP = 20
"""Batches that are not counted: the first one finds nothing imported or cached."""

RUNS = 3

_MICROSECONDS = 1e6
_MEGABYTE = 1e6


@dataclass(frozen=True)
class Handled:
    """What handling a number of batches took."""

    microseconds: Sample
    """Processor time a record."""
    peak_megabytes: float


def typical(serial: int) -> dict[str, Any]:
    """Return the fields of a ticket as people write them: half a kilobyte."""
    return {
        "project_id": "PROJ",
        "idempotency_key": f"form-{serial:08}",
        "title": f"Login page flickers in dark mode, report {serial}",
        "description": "It flickers when the page is scrolled quickly. " * 5,
        "reporter": "jane.roe@example.com",
        "labels": ["frontend", "regression"],
    }


def largest(serial: int) -> dict[str, Any]:
    """Return the fields of a ticket near the bound of a body, 256 KiB."""
    return typical(serial) | {
        # A bound counts characters, and a body bytes: three to each of these.
        "description": "\u7968" * 65_536,
        "attributes": {f"attribute-{each}": "x" * 1024 for each in range(50)},
    }


def events(size: int, batches: int) -> Iterator[Event]:
    """Yield batches of typical tickets, no key twice."""
    for first in range(0, size * batches, size):
        yield _event(typical(first + offset) for offset in range(size))


def largest_event() -> Event:
    """Return a batch of the largest tickets, as many as Lambda takes."""
    one = len(json.dumps(_event([largest(0)]), ensure_ascii=False).encode())
    return _event(largest(each) for each in range(MAX_EVENT_BYTES // one))


def _event(tickets: Iterable[dict[str, Any]]) -> Event:
    return {"Records": [_record(ticket) for ticket in tickets]}


def _record(ticket: dict[str, Any]) -> dict[str, Any]:
    body = json.dumps(ticket, ensure_ascii=False)
    return Events("benchmark").record(Message(ticket["idempotency_key"], body))


def handle(site: Site, batches: Iterable[Event], mode: str) -> Handled:
    """Handle the batches in a fresh interpreter, and again; keep the faster run.

    Args:
        site: The function.
        batches: They may differ in size.
        mode: `stub` leaves botocore out, `wire` leaves only the connection out.

    Raises:
        MeasurementError: The function failed.
    """
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, "events.jsonl")
        with file.open("w", encoding="utf-8") as lines:
            sizes = [_write(event, lines) for event in batches]
        # What a run needs more than another one is the machine's, not the function's.
        runs = [_run(site, file, mode, sizes) for _ in range(RUNS)]
    return min(runs, key=lambda run: run.microseconds.median)


def _write(event: Event, lines: TextIO) -> int:
    lines.write(json.dumps(event, ensure_ascii=False) + "\n")
    return len(event["Records"])


def _run(site: Site, file: Path, mode: str, sizes: Sequence[int]) -> Handled:
    result = json.loads(site.run("probe_batches.py", file, mode).stdout)
    each = [
        seconds / size * _MICROSECONDS
        for seconds, size in zip(result["seconds"], sizes, strict=True)
    ]
    warm = each[WARM_UP:] or each
    return Handled(Sample.of(warm), result["peak_bytes"] / _MEGABYTE)
