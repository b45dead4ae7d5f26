"""The worker alone beside the worker in line, on the same workloads."""

from dataclasses import replace
from typing import Final

from benchmarks import cells
from benchmarks.cells import hot
from benchmarks.claims import Claim
from benchmarks.contenders import LINE, OURS, QUEUEING
from benchmarks.costs import SUM
from benchmarks.workloads import FAIR, FIFO, Workload

_BOTH: Final = (OURS, LINE)
_COLUMNS: Final = (
    "tickets a second",
    "bound",
    "write units",
    "read units",
    "requests",
    "p50, s",
    "mean, s",
    "p99, s",
    "starved",
    SUM,
)

CLAIMS_OF_THE_LINE: Final = (
    Claim(
        "One hot project",
        _COLUMNS,
        {f"N = {workers}": hot(workers) for workers in (1, 2, 5, 10, 30, 100)},
        _BOTH,
    ),
    Claim(
        "Calls that fail, invocations that are killed, requests without a number",
        _COLUMNS,
        {
            "1 % of calls fail": Workload(faults=0.01),
            "... or kill the worker": Workload(faults=0.01, has_deaths=True),
            "1 % of invocations killed": Workload(killed=0.01),
            "behind 1,000 dead numbers": Workload(dead=1_000),
            "2 % come again": Workload(redelivered=0.02),
            "10 % come again": Workload(redelivered=0.1),
            "5 % beyond their caps": Workload(capped=0.05),
        },
        _BOTH,
    ),
    Claim(
        "One project now and then",
        _COLUMNS,
        {
            "single messages, 100/s": Workload(batch_size=1, rate=100.0),
            "two workers, 60/s": Workload(2, rate=60.0, sent_together=10),
            "3,000 at once": Workload(burst=3_000),
            "ten cold batches": cells.COLD_BURST,
            "N = 2, BatchSize=35, window 1": cells.RECOMMENDED,
        },
        _BOTH,
    ),
    Claim(
        "Half of the workers in line, N = 10",
        _COLUMNS,
        {"": hot(10)},
        tuple(QUEUEING),
    ),
    Claim(
        "Many projects, N = 10",
        (*_COLUMNS, "of the quiet, s"),
        {
            "in turn": cells.MANY_PROJECTS,
            "by Zipf": cells.ZIPF_PROJECTS,
            "by Zipf, fair": replace(cells.ZIPF_PROJECTS, queue=FAIR),
            "by Zipf, FIFO": replace(cells.ZIPF_PROJECTS, queue=FIFO),
            "hot beside quiet": cells.BESIDE_HOT,
        },
        _BOTH,
    ),
    Claim(
        "Longer tickets, N = 10",
        _COLUMNS,
        {
            "as in Jira": Workload(has_real_texts=True),
            "1 KB": Workload(text=800),
            "10 KB": Workload(text=10_000),
            "50 KB": Workload(text=50_000),
        },
        _BOTH,
    ),
)
