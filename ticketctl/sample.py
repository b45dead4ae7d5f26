"""A sample of what a queue sees: good messages, repeats, a reused key, and poison."""

import json
from itertools import chain, zip_longest

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
