"""Writes the events below `events/` under new message ids and idempotency keys.

The files there are Lambda SQS events as SQS delivers them, for `sam local invoke`, the
console's test events and the tests; tables that have their keys lack the new ones.
`python -m tools.events [DIRECTORY]` takes `.build/events` by default.
"""

import hashlib
import json
import re
import sys
import uuid
from collections import defaultdict
from pathlib import Path
from typing import Final

from tools import generated

DIRECTORY: Final = Path(__file__).resolve().parents[1] / "events"

_ID: Final = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def fresh_events() -> dict[str, str]:
    """Return the text of every event by file name; equal ids stay equal."""
    ids: defaultdict[str, str] = defaultdict(lambda: str(uuid.uuid4()))
    files = {}
    for path in sorted(DIRECTORY.iterdir()):
        text = path.read_text("utf-8")
        event = json.loads(_ID.sub(lambda known: ids[known.group()], text))
        for record in event["Records"]:
            # Not for security: SQS uses it as a checksum of the body.
            md5 = hashlib.md5(record["body"].encode(), usedforsecurity=False)
            record["md5OfBody"] = md5.hexdigest()
        files[path.name] = generated.as_json(event)
    return files


if __name__ == "__main__":
    generated.write(fresh_events(), Path(*sys.argv[1:2] or [".build/events"]))
