"""Audits of the tables of a stage, and sequences that lack numbers."""

from collections.abc import Iterable
from typing import Any

import pytest

from tests.support.seed_items import Item, reserved_item, sequence
from tests.support.stage import Stage
from tests.support.steps import Steps
from ticket_numbering.contract.dynamodb_items import EXTERNAL
from ticketctl.audit.audit import AuditReport, ProjectAudit, audit_tables
from ticketctl.audit.reading import AuditPlan
from ticketctl.aws.table_reader import TableReader
from ticketctl.ledger.findings import FindingKind

BOTH_WAYS = pytest.mark.parametrize("projects", [(), ("A",)], ids=["all", "single"])
"""Of everything, and of the project A alone."""


def audited(stage: Stage | Steps, *projects: str, **plan: Any) -> AuditReport:
    return audit_tables(reader_of(stage), AuditPlan(projects, **plan))


def reader_of(stage: Stage | Steps, *pace: Any) -> TableReader:
    return TableReader(stage.services.dynamodb, "tickets", "keys", *pace)


def findings_of(
    stage: Stage | Steps, *projects: str, **plan: Any
) -> list[tuple[Any, ...]]:
    """Return the kinds and the numbers of an audit's findings."""
    findings = audited(stage, *projects, **plan).findings
    return [(finding.kind, *finding.numbers) for finding in findings]


def only(report: AuditReport) -> ProjectAudit:
    [project] = report.projects
    return project


def numbers_of(project: ProjectAudit) -> tuple[int, ...]:
    """Return the numbers of a project that has all from the first to the last."""
    first, last = project.first, project.last
    numbers = tuple(range(first, last + 1)) if project.tickets else ()
    assert len(numbers) == project.tickets
    return numbers


def disorder(stage: Stage | Steps) -> None:
    """Let a scan have another order: DynamoDB promises that of a query alone."""
    dynamodb = stage.services.dynamodb
    dynamodb.page, scan = 100, dynamodb.scan

    def unordered(**request: Any) -> Any:
        answer = scan(**request)
        return answer | {"Items": answer["Items"][::-1]}

    dynamodb.scan = unordered


def seeded(*numbers: int, seeds: Iterable[tuple[int, int]]) -> list[Item]:
    """Return tickets of the project A, and numbers that seeds up to others reserved."""
    return [*sequence("A", *numbers), *(reserved_item("A", *seed) for seed in seeds)]


MISSING: dict[str, tuple[list[Item], list[tuple[FindingKind, int, int]]]] = {
    "nothing": (sequence("A", 1, 2, 3), []),
    "the first": (sequence("A", 2), [(FindingKind.GAP, 1, 1)]),
    "many": (
        sequence("A", 4, 1, 999),
        [(FindingKind.GAP, 2, 3), (FindingKind.GAP, 5, 998)],
    ),
    "behind a seed": (
        seeded(1, 2, 12, seeds=[(3, 10), (10, 10)]),
        [(FindingKind.GAP, 11, 11)],
    ),
    "the end of a seed": (
        seeded(1, 2, 12, seeds=[(3, 10)]),
        [(FindingKind.GAP, 4, 11)],
    ),
    "a seed's end, behind the last": (
        seeded(1, 2, seeds=[(3, 10)]),
        [(FindingKind.UNFINISHED_SEED, 3, 3)],
    ),
    "right before a seed": (
        seeded(1, 2, seeds=[(4, 10), (10, 10)]),
        [(FindingKind.GAP, 3, 3)],
    ),
    "a seed's first step, new": (
        seeded(seeds=[(10, 10)]),
        [(FindingKind.UNFINISHED_SEED, 1, 9)],
    ),
    "a seed's first step": (
        seeded(1, 2, seeds=[(10, 10)]),
        [(FindingKind.UNFINISHED_SEED, 3, 9)],
    ),
    "between two seeds": (
        seeded(seeds=[(1, 4), (4, 4), (9, 9)]),
        [(FindingKind.UNFINISHED_SEED, 5, 8)],
    ),
    "an interrupted import": (
        [*sequence("A", 1), *sequence("A", 10, origin=EXTERNAL)],
        [(FindingKind.UNFINISHED_SEED, 2, 9)],
    ),
}
"""Items, and the missing numbers: the kind, the first and the last."""
