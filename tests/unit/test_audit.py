"""The audit and the verdict: what is wrong shows, and what is right does not."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from ticketctl.audit import ProjectAudit, audit
from ticketctl.run import Verdict


@dataclass
class Tables:
    """A DynamoDB client that has two tables to scan, a page an item."""

    tickets: list[tuple[str, int, str]]
    keys: list[tuple[str, int, str]]

    def get_paginator(self, operation: str) -> "Tables":
        """Return what pages a scan."""
        assert operation == "scan"
        return self

    def paginate(self, **request: Any) -> Iterator[dict[str, Any]]:
        """Return the pages of a table, read consistently."""
        assert request["ConsistentRead"]
        for project_id, number, key in getattr(self, request["TableName"]):
            yield {
                "Items": [
                    {
                        "project_id": {"S": project_id},
                        "number": {"N": str(number)},
                        "idempotency_key": {"S": key},
                    }
                ]
            }


def audited(
    tickets: list[tuple[str, int, str]], keys: list[tuple[str, int, str]] | None = None
) -> list[ProjectAudit]:
    """Audit tables of these rows; the keys are those of the tickets if not given."""
    rows = tickets if keys is None else keys
    return audit(Tables(tickets, rows), "tickets", "keys")


class TestAudit:
    """Each way in which a promise can be broken is found and named."""

    def test_audit_is_clean_when_numbers_are_one_to_n(self) -> None:
        """Projects are told apart, whatever the order of the rows."""
        first, second = audited([("B", 1, "x"), ("A", 2, "y"), ("A", 1, "x")])

        assert (first.project_id, first.numbers) == ("A", (1, 2))
        assert (second.first, second.last) == (1, 1)
        assert first.is_clean
        assert second.is_clean

    def test_audit_sorts_numbers_as_numbers(self) -> None:
        """Ten follows nine."""
        [project] = audited([("A", number, str(number)) for number in range(1, 12)])

        assert (project.last, project.is_clean) == (11, True)

    @pytest.mark.parametrize(
        ("numbers", "gaps"),
        [
            ([2], ((1, 1),)),
            ([1, 3], ((2, 2),)),
            ([4, 1, 9], ((2, 3), (5, 8))),
        ],
    )
    def test_audit_finds_gaps_as_ranges(
        self, numbers: list[int], gaps: tuple[tuple[int, int], ...]
    ) -> None:
        """A sequence that does not start at one has a gap, too."""
        [project] = audited([("A", number, str(number)) for number in numbers])

        assert project.gaps == gaps
        assert not project.is_clean

    def test_audit_finds_two_tickets_of_one_key(self) -> None:
        """The key itself can name only one of them."""
        [project] = audited([("A", 1, "x"), ("A", 2, "x")], [("A", 2, "x")])

        assert project.duplicates == ("x",)
        assert not project.is_clean

    @pytest.mark.parametrize(
        ("tickets", "keys"),
        [
            ([("A", 1, "x")], []),
            ([], [("A", 1, "x")]),
            ([("A", 1, "x")], [("A", 2, "x")]),
            ([("A", 1, "x")], [("B", 1, "x")]),
        ],
        ids=["no key", "no ticket", "another number", "another project"],
    )
    def test_audit_finds_keys_and_tickets_that_do_not_match(
        self, tickets: list[tuple[str, int, str]], keys: list[tuple[str, int, str]]
    ) -> None:
        """Each must name the other."""
        projects = audited(tickets, keys)

        assert not any(project.is_clean for project in projects)
        assert projects[0].mismatches == ("x",)


class TestVerdict:
    """One flaw anywhere, and the verdict is not clean."""

    def test_verdict_is_clean_when_nothing_is_wrong(self) -> None:
        """A whole sequence, and every message accounted for."""
        assert verdict().is_clean

    @pytest.mark.parametrize(
        "flaw",
        [
            {"unaccounted": ("{}",)},
            {"unannounced": ("A-2",)},
            {"waiting": 1},
            {"projects": (ProjectAudit("A", (1, 3), ((2, 2),), (), ()),)},
        ],
        ids=["unaccounted", "unannounced", "waiting", "gap"],
    )
    def test_verdict_is_not_clean_when_anything_is_wrong(
        self, flaw: dict[str, Any]
    ) -> None:
        """The exit status hangs on this."""
        assert not verdict(**flaw).is_clean


def verdict(**flaw: Any) -> Verdict:
    """Return a clean verdict, but for a flaw."""
    clean: dict[str, Any] = {
        "sent": 1,
        "events": 1,
        "replays": 0,
        "dead_letters": 0,
        "unaccounted": (),
        "unannounced": (),
        "waiting": 0,
        "projects": (ProjectAudit("A", (1,), (), (), ()),),
    }
    return Verdict(**clean | flaw)
