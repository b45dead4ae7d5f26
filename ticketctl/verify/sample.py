"""A sample of what a queue sees: good messages, repeats, a reused key, and poison."""

import json
from collections.abc import Iterator
from itertools import chain, count, zip_longest

_WORK = {
    "WEB": [
        "Login page flickers in dark mode",
        "Search forgets its filters",
        "Basket loses items after a refresh",
        "Footer links to last year's terms",
        "Image upload stops at 99 %",
        "Password reset mail arrives twice",
        "Keyboard focus is lost in dialogs",
        "Prices show three decimals",
    ],
    "API": [
        "429 without Retry-After",
        "Pagination skips the last page",
        "PATCH ignores null",
        "Webhooks are not signed",
        "ETag changes on every read",
        "Dates lack a time zone",
    ],
    "OPS": [
        "Disk alarm fires at 3 a.m. for nothing",
        "Rotate the staging certificates",
        "Backups are never test-restored",
        "Deploys need two clicks too many",
        "Log retention differs by region",
        "Document the on-call handover",
        "Runbook for a full dead-letter queue",
    ],
    "DOCS": [
        "Tutorial skips the first step",
        "Glossary lacks “redrive”",
        "Screenshots show the old logo",
        "Explain idempotency keys 🔑",
    ],
}
_PRIORITIES = ["low", "medium", "high", "urgent"]


def sample_messages() -> list[str]:
    """Return message bodies in the order to send them."""
    tickets = _tickets()
    repeats = [tickets[0], tickets[3], tickets[9], tickets[0]]
    reused = json.dumps(json.loads(tickets[1]) | {"title": "Something else altogether"})
    return [*tickets, *repeats, reused, *_poison()]


def many_messages(number: int, poison: int = 0) -> Iterator[str]:
    """Give so many message bodies, the poison evenly among the good ones."""
    good = _endless_tickets()
    bad = _endless_poison()
    places = {(each + 1) * number // (poison + 1) for each in range(poison)}
    for place in range(number):
        yield next(bad) if place in places else next(good)


def _endless_tickets() -> Iterator[str]:
    for serial in count():
        for project, titles in _WORK.items():
            yield _ticket(project, serial + 1, titles[serial % len(titles)])


def _endless_poison() -> Iterator[str]:
    """Give what a form with a mistake would send; each can be mended by hand."""
    for serial in count(1):
        fields = json.loads(_ticket("WEB", serial, "Buttons overlap on small screens"))
        fields["idempotency_key"] = f"web-old-form-{serial:04}"
        yield json.dumps(fields | {"priority": "whenever"})
        # The key is that of the first good ticket.
        yield json.dumps(fields | {"idempotency_key": "web-form-0001"})
        # A key of its own, for the first one's is taken once that is mended.
        fields["idempotency_key"] = f"web-untitled-{serial:04}"
        del fields["title"]
        yield json.dumps(fields)


def _tickets() -> list[str]:
    """Interleave the projects, as their producers would."""
    by_project = [
        [_ticket(project, number, title) for number, title in enumerate(titles, 1)]
        for project, titles in _WORK.items()
    ]
    return [each for each in chain(*zip_longest(*by_project)) if each]


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


def _poison() -> list[str]:
    valid = {"project_id": "WEB", "idempotency_key": "poison", "title": "Poison"}
    return [
        '{"project_id": "WEB", "title": "Cut off in the',
        json.dumps({"project_id": "WEB", "title": "No idempotency key"}),
        json.dumps(valid | {"project_id": "WEB#1"}),
        json.dumps(valid | {"priority": "whenever"}),
        json.dumps(valid | {"description": "x" * 300_000}),
    ]
