"""Somebody has enough of the benchmark: it ends at once, and says no more than that."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil

from ticketctl.local.artifact import ROOT

SECONDS_TO_END = 20
INTERRUPTED = 130

# The first tells that the processes are at work; the others take for ever.
MEASURE = """
import sys
from pathlib import Path
from benchmarks.cells import Cell
from benchmarks.runner import run
from benchmarks.store import Results
from benchmarks.workload import Limits, Workload

if __name__ == "__main__":
    endless = Limits(warm_up=1e6)
    cells = [Cell("", "ours", Workload(n), endless) for n in (2, 3, 4, 5)]
    cells.append(Cell("", "ours", Workload(1), Limits(2e6, 10, seconds=0.1)))
    results = Results.load(Path(sys.argv[1]), "x")
    try:
        run(cells, results, lambda _: print("measured", flush=True))
    except KeyboardInterrupt:
        sys.exit(130)
"""


class TestInterrupt:
    """Ctrl-C reaches every process of the group, as a terminal sends it."""

    def test_run_ends_at_once_when_it_is_interrupted(self, tmp_path: Path) -> None:
        """No process is left, no traceback is shown, and the first figure is kept."""
        script = tmp_path / "measure.py"
        script.write_text(MEASURE)
        with subprocess.Popen(  # noqa: S603 - our own script.
            [sys.executable, script, tmp_path],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"},
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"measured\n"
            workers = psutil.Process(process.pid).children(recursive=True)
            os.killpg(process.pid, signal.SIGINT)
            _, errors = process.communicate(timeout=SECONDS_TO_END)

        assert process.returncode == INTERRUPTED
        assert b"Traceback" not in errors
        _, alive = psutil.wait_procs(workers, timeout=SECONDS_TO_END)
        assert not alive
        assert (tmp_path / "x.jsonl").read_text().count("\n") >= 1
