"""Messages to try a system with: good ones, repeats, a reused key, and poison."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, cycle, islice
from typing import Final

_TITLES: Final = (
    "Login page flickers in dark mode",
    "429 without Retry-After",
    "Disk alarm fires at 3 a.m. for nothing",
    "Tutorial skips the first step",
    "Search forgets its filters",
    "Pagination skips the last page",
    "Rotate the staging certificates",
    "Glossary lacks “redrive”",
    "Basket loses items after a refresh",
    "PATCH ignores null",
    "Backups are never test-restored",
    "Explain idempotency keys 🔑",
)
_PRIORITIES: Final = ("low", "medium", "high", "urgent")
_PROJECTS: Final = ("WEB", "API", "OPS", "DOCS")
_REPEATS: Final = 4


@dataclass(frozen=True)
class Messages:
    """Message bodies in the order to send them."""

    first: Sequence[str]
    later: Sequence[str] = ()
    """Sent once the first have their numbers: repeats, and a key that is used again."""


def sample_messages(number: int = 24, projects: Sequence[str] = _PROJECTS) -> Messages:
    """Return so many tickets of the projects, and what else a queue sees.

    Args:
        number: How many tickets, at least one.
        projects: Their projects, which take turns.
    """
    tickets = [*islice(_tickets(projects), number)]
    reused = json.loads(tickets[-1]) | {"title": "Something else altogether"}
    return Messages(
        [*tickets, *_poison(projects[0])], [*tickets[:_REPEATS], json.dumps(reused)]
    )


def many_messages(number: int, poison: int = 0) -> Iterator[str]:
    """Give so many message bodies, the poison evenly among the good ones."""
    good = _tickets(_PROJECTS)
    bad = _mendable_poison()
    places = {(serial + 1) * number // (poison + 1) for serial in range(poison)}
    for place in range(number):
        yield next(bad) if place in places else next(good)


def _tickets(projects: Sequence[str]) -> Iterator[str]:
    titles = cycle(_TITLES)
    for serial in count(1):
        for project_id in projects:
            yield _ticket(project_id, serial, next(titles))


def _ticket(project_id: str, serial: int, title: str) -> str:
    return json.dumps(
        {
            "project_id": project_id,
            "idempotency_key": f"{project_id.lower()}-form-{serial:04}",
            "title": title,
            "priority": _PRIORITIES[serial % len(_PRIORITIES)],
            "reporter": "sample@example.com",
        },
        ensure_ascii=False,
    )


def _mendable_poison() -> Iterator[str]:
    """Give what a form with a mistake would send; each can be fixed by hand."""
    for serial in count(1):
        fields = json.loads(_ticket("WEB", serial, "Buttons overlap on small screens"))
        fields["idempotency_key"] = f"web-old-form-{serial:04}"
        yield json.dumps(fields | {"priority": "whenever"})
        # The key is that of the first good ticket.
        yield json.dumps(fields | {"idempotency_key": "web-form-0001"})
        # A key of its own, for the first one's is taken once that is fixed.
        fields["idempotency_key"] = f"web-untitled-{serial:04}"
        del fields["title"]
        yield json.dumps(fields)


def _poison(project_id: str) -> list[str]:
    valid = {
        "project_id": project_id,
        "idempotency_key": "poison",
        "title": "Poison",
    }
    return [
        json.dumps(valid)[:-10],
        json.dumps({"project_id": project_id, "title": "No idempotency key"}),
        json.dumps(valid | {"project_id": f"{project_id}#1"}),
        json.dumps(valid | {"priority": "whenever"}),
        json.dumps(valid | {"description": "x" * 300_000}),
    ]
