"""Takes out of an artifact what the worker never opens: other services' descriptions.

botocore describes every AWS service in files of its own, most of an artifact's size.
"""

import shutil
import sys
from pathlib import Path

SERVICES = frozenset({"dynamodb", "sns", "sqs", "sts"})
"""What the worker calls, and the service that can give it credentials."""


def trim(artifact: Path) -> None:
    """Remove the descriptions of all other services; general files stay."""
    for path in artifact.glob("botocore/data/*"):
        if path.is_dir() and path.name not in SERVICES:
            shutil.rmtree(path)
    # Commands of packages, and what the build leaves behind.
    shutil.rmtree(artifact / "bin", ignore_errors=True)
    for name in (".lock", "requirements.txt"):
        (artifact / name).unlink(missing_ok=True)


if __name__ == "__main__":
    trim(Path(sys.argv[1]))
