"""Builders of the benchmark's figures; every argument has a sensible default."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.cells import EMULATOR, Cell, all_cells
from benchmarks.contenders import OURS, TEXTBOOK
from benchmarks.measurement import Measurement
from benchmarks.store import Results
from benchmarks.tally import percentiles
from benchmarks.workload import Workload

Figures = Mapping[Cell, Measurement]


def cell(contender: str = OURS, workers: int = 1, **members: Any) -> Cell:
    """Return a cell of one hot project."""
    return Cell("workers", contender, Workload(workers), **members)


def measurement(**members: Any) -> Measurement:
    """Return what ours comes to on a good day: three requests for ten tickets."""
    good: dict[str, Any] = {
        "seconds": 10.0,
        "tickets": 4500,
        "gaps": 0,
        "duplicates": 0,
        "requests": requests(1, 1, 1, tickets=4500),
        "write_units": 4.0 * 4500,
        "read_units": 450.0,
        "failed": 0,
        "redelivered": 0,
        "timeouts": 0,
        "attempts": percentiles([1.0]),
        "waits": percentiles([0.02]),
        "batches": percentiles([0.02]),
    }
    return Measurement(**good | members)


def requests(
    queries: int, writes: int, publishes: int, tickets: int, lookups: int = 0
) -> dict[str, int]:
    """Return so many requests for each ten tickets."""
    batches = tickets // 10
    return {
        "query": queries * batches,
        "transact_write_items": writes * batches,
        "publish_batch": publishes * batches,
        "batch_get_item": lookups * batches,
    }


def figures() -> dict[Cell, Measurement]:
    """Return a figure for every cell; ours meets every target."""
    return {each: _figure(each) for each in all_cells()}


def _figure(of: Cell) -> Measurement:
    good = measurement()
    if of.contender == TEXTBOOK:
        writes = 5 * (of.workload.workers + 1)
        numbered = requests(10, writes, 10, tickets=4500)
        return replace(good, requests=numbered, write_units=450.0 * writes)
    if of.place == EMULATOR:
        return replace(good, tickets=100, requests={"Query": 10})
    if of.workload.redelivered == 1.0:
        twice = requests(1, 1, 2, tickets=4500, lookups=1)
        return replace(good, requests=twice, redelivered=4500)
    return good


def results_of(directory: Path, found: Figures) -> Results:
    """Return results that were measured before."""
    results = Results.load(directory, "measured-before")
    for each, figure in found.items():
        results.put(each, figure)
    return results
