"""The rights of roles, commands and runbooks, from `docs/rights.toml`."""

import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

FILE: Final = Path(__file__).resolve().parents[1] / "docs" / "rights.toml"

ALL: Final = "all"
"""The resource of rights that are not limited to one."""

_BOTH_TABLES: Final = ("the tickets", "the keys")


class Grant(BaseModel, frozen=True, extra="forbid"):
    """Rights to some resources."""

    allow: tuple[str, ...]
    on: tuple[str, ...] = ()
    when: str = ""
    note: str = ""

    def allows(self, right: str, resource: str | None = None) -> bool:
        """Tell whether it grants a right, optionally on a resource."""
        is_there = resource is None or bool({resource, ALL} & {*self.on})
        return right in self.allow and is_there

    def __str__(self) -> str:
        """Return the grant in the form of the page."""
        on = ["on", _listed(self.on)] if self.on else []
        return " ".join(filter(None, [self.when, codes(self.allow), *on, self.note]))


class Role(BaseModel, frozen=True, extra="forbid"):
    """A role of the stack, and the rights that it has."""

    role: str
    holder: str
    rights: tuple[Grant, ...]


class Task(BaseModel, frozen=True, extra="forbid"):
    """Commands or runbooks, and the rights that they need."""

    title: str = ""
    commands: tuple[str, ...] = ()
    runbooks: dict[str, str] = {}
    """The names of runbooks, by page and anchor of their section."""
    like: tuple[str, ...] = ()
    rights: tuple[Grant, ...]
    also: str = ""

    def allows(self, right: str, resource: str | None = None) -> bool:
        """Tell whether its own grants include a right, optionally on a resource."""
        return any(grant.allows(right, resource) for grant in self.rights)

    def row(self) -> tuple[str, str]:
        """Return the task's row of the page."""
        names = [
            *([self.title] if self.title else []),
            *map(_command, self.commands),
            *(f"[{name}]({at})" for at, name in self.runbooks.items()),
        ]
        like = (f"those of {_command(name)}" for name in self.like)
        rights = [*like, *map(str, self.rights), *filter(None, [self.also])]
        return ", ".join(names), "; ".join(rights)


def roles() -> list[Role]:
    """Read the roles."""
    return [Role.model_validate(role) for role in _document()["role"]]


def tasks() -> list[Task]:
    """Read the tasks."""
    return [Task.model_validate(task) for task in _document()["task"]]


def rows_of_roles() -> Iterator[Sequence[str]]:
    """Yield the table of `SECURITY.md`."""
    yield "role", "resource", "rights"
    for role in roles():
        for grant in role.rights:
            yield role.holder, _listed(grant.on), codes(grant.allow)


def rows_of_tasks() -> Iterator[Sequence[str]]:
    """Yield the table of `rights.md`."""
    yield "task", "rights"
    for task in tasks():
        yield task.row()


def _document() -> dict[str, Any]:
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def codes(names: Iterable[str]) -> str:
    """Return names as a list of code in Markdown."""
    return ", ".join(f"`{name}`" for name in names)


def _command(name: str) -> str:
    return f"`ticketctl {name}`"


def _listed(resources: tuple[str, ...]) -> str:
    if resources[:2] == _BOTH_TABLES:
        resources = ("both tables", *resources[2:])
    *others, last = resources
    return " and ".join([*filter(None, [", ".join(others)]), last])
