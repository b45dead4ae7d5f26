"""Checks arguments that name a project or a request, by the contract's rules."""

from collections.abc import Iterable

from ticket_numbering.contract.field_types import (
    IDEMPOTENCY_KEY_RULE,
    PROJECT_ID_RULE,
    is_idempotency_key,
    is_project_id,
)
from ticket_numbering.contract.messages import RequestKey
from ticketctl.cli.errors import InputError


def checked_project(project_id: str) -> str:
    """Return a project id.

    Raises:
        InputError: It is invalid.
    """
    if not is_project_id(project_id):
        raise InputError(f"no project id: {project_id!r}; it {PROJECT_ID_RULE}")
    return project_id


def checked_projects(project_ids: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct project ids.

    Raises:
        InputError: One is invalid.
    """
    return tuple(dict.fromkeys(map(checked_project, project_ids)))


def request_key(project_id: str, idempotency_key: str) -> RequestKey:
    """Return the identity of a request.

    Raises:
        InputError: The project or the key is invalid.
    """
    if not is_idempotency_key(idempotency_key):
        raise InputError(
            f"no idempotency key: {idempotency_key!r}; it {IDEMPOTENCY_KEY_RULE}"
        )
    return RequestKey(checked_project(project_id), idempotency_key)
