"""Removes the descriptions of services that the worker does not use from an artifact.

botocore describes every AWS service in files of its own, most of an artifact's size.
"""

import shutil
import sys
from pathlib import Path

SERVICES = frozenset({"dynamodb", "sns", "sqs", "sts"})
"""The services that the worker calls, and the one that can give it credentials."""


def trim(artifact: Path) -> None:
    """Remove the descriptions of all other services; general files stay."""
    for path in artifact.glob("botocore/data/*"):
        if path.is_dir() and path.name not in SERVICES:
            shutil.rmtree(path)
    # Commands of packages, and leftovers of the build.
    shutil.rmtree(artifact / "bin", ignore_errors=True)
    for name in (".lock", "requirements.txt"):
        (artifact / name).unlink(missing_ok=True)


if __name__ == "__main__":
    trim(Path(sys.argv[1]))
