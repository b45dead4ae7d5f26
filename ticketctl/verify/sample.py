"""Sample messages: valid ones, repeats, a reused key, a reached cap, and poison."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, cycle, islice
from pathlib import Path
from typing import Final

from ticket_numbering.contract.errors import PoisonMessageError
from ticket_numbering.contract.limits import Limits
from ticket_numbering.contract.messages import CreateTicket
from ticket_numbering.contract.values import Priority
from ticketctl import PROGRAM
from ticketctl.aws.request_fields import Fields, body_of
from ticketctl.cli.errors import InputError
from ticketctl.files.json_lines import open_lines
from ticketctl.files.lines import shown_name

_TITLES: Final = (
    "Login page flickers in dark mode",
    "429 without Retry-After",
    "Rotate the staging certificates",
    "Tutorial skips the first step",
    "Search forgets its filters",
    "Pagination skips the last page",
    "Disk alarm fires at 3 a.m. for nothing",
    "Glossary lacks “redrive”",
    "Basket loses items after a refresh",
    "PATCH ignores null",
    "Backups are never test-restored",
    "Explain idempotency keys 🔑",
)
_PRIORITIES: Final[tuple[Priority, ...]] = ("low", "medium", "high", "urgent")
"""The priorities of version 1: the deployed worker can be older than this command."""
_PROJECTS: Final = ("WEB", "API", "OPS", "DOCS")
_FEW: Final = _PROJECTS[:2]  # The output of `run` fits a terminal's 24 rows.
_REPEATS: Final = 2


@dataclass(frozen=True)
class Messages:
    """Message bodies in the order to send them."""

    first: Sequence[str]
    later: Sequence[str] = ()
    """Sent after the first got their numbers: repeats, a reused key, a reached cap."""

    def refusals(self, limits: Limits) -> Iterator[PoisonMessageError]:
        """Yield the refusals of valid requests by a stack's limits."""
        for body in (*self.first, *self.later):
            try:
                request = CreateTicket.parse(body)
            except PoisonMessageError:
                continue
            if refusal := limits.refusal(request):
                yield refusal


def sample_messages(number: int = 4, projects: Sequence[str] = _FEW) -> Messages:
    """Return requests of alternating projects, with repeats and requests to refuse."""
    tickets = [*islice(_tickets(projects), number)]
    reused = tickets[-1] | {"title": "Something else altogether"}
    late = _ticket(projects[0], number, "One seat too many")
    late |= {"idempotency_key": "late", "max_number": 1}
    later = [*tickets[:_REPEATS], reused, late]
    first = [*map(body_of, tickets), *_poison(projects[0])]
    return Messages(first, [*map(body_of, later)])


def many_messages(number: int, poison: int = 0) -> Iterator[str]:
    """Yield message bodies, with the poison evenly distributed."""
    good, bad = _tickets(_PROJECTS), _mistakes()
    positions = {(serial + 1) * number // (poison + 1) for serial in range(poison)}
    for position in range(number):
        yield body_of(next(bad) if position in positions else next(good))


def read_messages(path: Path) -> list[str]:
    """Return the messages of a file, valid or not.

    Raises:
        InputError: The file cannot be read, is empty, or a line is no JSON object.
    """
    with open_lines(str(path), f"{PROGRAM} run") as read:
        lines = [*read]
    for line in lines:
        if line.problem:
            raise InputError(f"{shown_name(str(path))}:{line.number}: {line.problem}")
    if not lines:
        raise InputError(f"{shown_name(str(path))}: holds no message")
    return [body_of(line.fields) for line in lines]


def _tickets(projects: Sequence[str]) -> Iterator[Fields]:
    titles = cycle(_TITLES)
    for serial in count(1):
        for project_id in projects:
            yield _ticket(project_id, serial, next(titles))


def _ticket(project_id: str, serial: int, title: str) -> Fields:
    return {
        "project_id": project_id,
        "idempotency_key": f"{project_id.lower()}-form-{serial:04}",
        "title": title,
        "priority": _PRIORITIES[serial % len(_PRIORITIES)],
        "reporter": "sample@example.com",
    }


def _mistakes() -> Iterator[Fields]:
    """Yield invalid requests, each with one mistake."""
    for serial in count(1):
        fields = _ticket("WEB", serial, "Buttons overlap on small screens")
        yield fields | {"idempotency_key": f"web-a-{serial}", "priority": "whenever"}
        # The key of the first valid ticket.
        yield fields | {"idempotency_key": "web-form-0001"}
        yield fields | {"idempotency_key": f"web-b-{serial}", "title": ""}


def _poison(project_id: str) -> list[str]:
    valid = {"project_id": project_id, "idempotency_key": "poison", "title": "Poison"}
    return [
        body_of(valid)[:-10],
        body_of({"project_id": project_id, "title": "No idempotency key"}),
        body_of(valid | {"project_id": f"{project_id}#1"}),
        body_of(valid | {"priority": "whenever"}),
        body_of(valid | {"description": "x" * 300_000}),
    ]
