"""Lets this worker and that of another release number one project together.

    python -m tools.beside RELEASE

The release is a tag or a commit. On the local system workers of both number requests,
some with the same keys; then the audit of each must have no finding.
"""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from ticketctl.local.artifact import ROOT
from ticketctl.local.connection_files import variables
from ticketctl.local.stack import LocalStack, local_stack

WORKERS: Final = 2
"""The workers of each release."""


def start(code: Path, *words: str | Path, **more: str) -> "subprocess.Popen[str]":
    """Start Python with the code of a release, without this shell's variables."""
    is_worker = words[0] != "-m"  # Its metrics are for CloudWatch.
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{code}:{code / 'src'}"}
    return subprocess.Popen(  # noqa: S603 - the project's own programs.
        [sys.executable, *words],
        cwd=code,
        env=environment | more,
        stdout=subprocess.DEVNULL if is_worker else None,
        text=True,
    )


def problems(stack: LocalStack, *releases: Path) -> list[str]:
    """Let the releases number together; return the failures."""
    configuration: Any = stack.client("lambda").get_function_configuration(
        FunctionName=stack.function_name
    )
    shell = variables(stack)
    of_worker = configuration["Environment"]["Variables"] | shell
    quiet = of_worker | {"POWERTOOLS_LOG_LEVEL": "ERROR"}
    workers = [
        start(code, ROOT / "tools" / "batches.py", f"{code.name}-{number}", **quiet)
        for code in releases
        for number in range(WORKERS)
    ]
    statuses = [worker.wait() for worker in workers]
    audits = [start(code, "-m", "ticketctl", "audit", **shell) for code in releases]
    statuses += [audit.wait() for audit in audits]
    return [
        f"a worker or an audit ended with {status}" for status in statuses if status
    ]


def main(release: str) -> None:
    """Check a release beside this checkout."""
    git = ["git", "-C", str(ROOT), "archive", release, "src", "ticketctl"]
    archive = subprocess.run(git, check=False, stdout=subprocess.PIPE)  # noqa: S603
    if archive.returncode:
        sys.exit("name the tag or the commit of a release: make beside RELEASE=v0.1.0")
    with TemporaryDirectory() as folder, local_stack() as stack:
        before = Path(folder) / "before"
        before.mkdir()
        unpack = ["tar", "-x", "-C", str(before)]
        subprocess.run(unpack, input=archive.stdout, check=True)  # noqa: S603
        sys.exit("\n".join(problems(stack, ROOT, before)) or None)


if __name__ == "__main__":
    main(*sys.argv[1:])
