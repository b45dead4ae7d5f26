"""Writes the Lambda SQS events below `events/`, as SQS delivers them.

For `sam local invoke`, the console's test events and the tests.
By default the files never change; `--fresh` gives messages that no table knows yet.
"""

import argparse
import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from tools import generated
from tools.poison import POISON
from tools.sqs_records import Message, Records

DIRECTORY: Final = Path(__file__).resolve().parents[1] / "events"

# As sent, one a second; three projects take turns.
_BATCH: Final = (
    ("WEB", "Login page flickers in dark mode"),
    ("API", "Pagination skips the last page"),
    ("DOCS", "Tutorial skips the first step"),
    ("WEB", "Search forgets its filters"),
    ("API", "Dates lack a time zone"),
    ("DOCS", "Screenshots show the old logo"),
    ("WEB", "Basket loses items after a refresh"),
    ("API", "Webhooks are not signed"),
    ("WEB", "Footer links to last year's terms"),
)
# A standard queue delivers in any order: API's second message overtakes its first.
_DELIVERED: Final = (0, 2, 4, 1, 3, 5, 6, 7, 8)


@dataclass(frozen=True)
class _Events:
    """Makes events of its records."""

    records: Records

    def all(self) -> dict[str, list[Message]]:
        """Return the messages of every event, by the event's name."""
        first = self._request("create-ticket", "PROJ", "Invoice shows the wrong total")
        return {
            "create-ticket": [first],
            "redelivery": [replace(first, receive_count=2)],
            "batch": self._batch(),
            "poison-reused-key": [
                self._request("reused-key", "PROJ", "Printer is on fire"),
                self._request("reused-key", "PROJ", "Printer is out of paper", 1),
            ],
        } | {f"poison-{kind}": [self._poison(kind)] for kind in POISON}

    def _batch(self) -> list[Message]:
        sent = [
            self._request(f"batch-{second}", project_id, title, second)
            for second, (project_id, title) in enumerate(_BATCH)
        ]
        delivered = [sent[position] for position in _DELIVERED]
        # Unsure whether it arrived, the first one's producer sent it again.
        again = replace(sent[0], name="batch-again", sent_after=len(sent) * 1000)
        return [*delivered[:-1], again, delivered[-1]]

    def _request(
        self, key: str, project_id: str, title: str, second: int = 0
    ) -> Message:
        body = json.dumps(self._ticket(key, project_id, title))
        return Message(f"{key}-{second}", body, second * 1000, project_id)

    def _poison(self, kind: str) -> Message:
        ticket = self._ticket(kind, "PROJ", f"Poison: {kind}")
        return Message(kind, POISON[kind](ticket))

    def _ticket(self, key: str, project_id: str, title: str) -> dict[str, Any]:
        return {
            "project_id": project_id,
            "idempotency_key": self.records.uuid("key", key),
            "title": title,
        }


def event_files(salt: str = "events") -> dict[str, str]:
    """Return the text of every event, by file name; another salt gives other ids."""
    records = Records(salt)
    return {
        f"{name}.json": generated.as_json(
            {"Records": [records.record(message) for message in messages]}
        )
        for name, messages in _Events(records).all().items()
    }


def drift(directory: Path = DIRECTORY) -> list[Path]:
    """Return the events in the directory that are not what the generator makes."""
    return generated.drift(event_files(), directory)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the events."""
    parser = argparse.ArgumentParser("python -m tools.events")
    parser.add_argument("directory", nargs="?", type=Path, default=DIRECTORY)
    parser.add_argument(
        "--fresh", action="store_true", help="new message ids and idempotency keys"
    )
    given = parser.parse_args(arguments)
    files = event_files(uuid.uuid4().hex) if given.fresh else event_files()
    generated.write(files, given.directory)


if __name__ == "__main__":
    main()
