"""Each kind of tampering of `docs/evidence.md` is found as the page says, or is not."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Final

import pytest

from tests.support.audits import audited
from tests.support.builders import block_of, create_ticket
from tests.support.evidence import chain_after, erase, tamperings, verifier
from tests.support.seed_items import (
    block_items,
    imported_items,
    key_item,
    reserved_item,
    ticket_item,
)
from tests.support.stage import Stage
from tests.support.steps import Steps
from ticket_numbering.contract.dynamodb_items import CHAIN, EXTERNAL, RESERVED, VOIDED
from ticket_numbering.contract.dynamodb_items import SALT as SALT_NAME
from ticket_numbering.contract.messages import stored_fingerprint
from ticketctl.audit.audit import AuditReport
from ticketctl.aws.items import plain, serialized
from ticketctl.ledger.chain import ERASED_TITLE
from ticketctl.ledger.findings import Finding, FindingKind

LAST: Final = 6
EARLY: Final = "2020-01-01T00:00:00.000Z"


@dataclass(frozen=True)
class Sequence:
    """A project on a stage, and an attacker who can write all its items."""

    steps: Steps
    project: str

    def key_of(self, number: int) -> str:
        return str(self.steps.read(self.project, number)["idempotency_key"]["S"])

    def change(self, *numbers: int, **texts: Any) -> None:
        """Set texts of tickets, or remove attributes."""
        for number in numbers:
            self.steps.changes(self.project, number, **texts)

    def change_key(self, number: int, **texts: Any) -> None:
        """Do so with the record of a ticket's key."""
        self.steps.changes_key(self.project, self.key_of(number), **texts)

    def remove(self, *numbers: int) -> None:
        for number in numbers:
            self.steps.loses_key(self.project, self.key_of(number))
            self.steps.loses(self.project, number)

    def lose(self, *numbers: int) -> None:
        """Put a reserved item in place of tickets, whose keys keep the numbers."""
        for number in numbers:
            self.steps.loses_text(self.project, number)

    def append(self, number: int) -> None:
        self.steps.ticket(self.project, f"k-{number}")

    def rewrite(self, *numbers: int, previous: str | None = None) -> None:
        """Change the first text, and compute the hashes of these again."""
        self.change(numbers[0], title="Changed")
        self.relink(*numbers, previous=previous)

    def relink(self, *numbers: int, previous: str | None = None) -> None:
        """Compute fingerprints and hashes of these again, in both tables."""
        if previous is None:
            previous = self.steps.read(self.project, numbers[0] - 1)[CHAIN]["S"]
        for number in numbers:
            fields = plain(self.steps.read(self.project, number))
            previous = chain_after(fields | {"number": number}, previous)
            dated = {"assigned_at": fields["assigned_at"], CHAIN: previous}
            self.change(number, **dated)
            self.change_key(number, fingerprint=stored_fingerprint(fields), **dated)

    def erase(self, number: int, title: str) -> None:
        record = self.steps.read(self.project, self.key_of(number))
        erase(self.steps.read(self.project, number), record, title)


def chained(sequence: Sequence, count: int = LAST) -> None:
    sequence.steps.numbers(sequence.project, count)


def seeded(sequence: Sequence) -> None:
    """Number 1 to 4, seed up to 10, and number 11."""
    chained(sequence, 4)
    project = sequence.project
    sequence.steps.put(*(reserved_item(project, number, 10) for number in (5, 10)))
    sequence.steps.put(*block_items(block_of([create_ticket(project)], 11)))


def imported(sequence: Sequence) -> None:
    """Do so, with 7 external."""
    seeded(sequence)
    ticket = ticket_item(sequence.project, 7, "old", origin=EXTERNAL)
    sequence.steps.put(ticket, key_item(sequence.project, 7, "old"))


def with_loss(sequence: Sequence) -> None:
    """Number six tickets, of whose fourth only the hash is left."""
    chained(sequence)
    sequence.lose(4)


def all_imported(sequence: Sequence) -> None:
    requests = [create_ticket(sequence.project) for _ in range(LAST)]
    sequence.steps.put(*imported_items(requests))


def date(sequence: Sequence) -> None:
    moment = {"assigned_at": "2026-11-21T06:00:00.001Z"}
    sequence.change_key(3, **moment)
    sequence.change(3, **moment)


def key(sequence: Sequence) -> None:
    steps, project = sequence.steps, sequence.project
    moved = {"id": f"{project}#other", "idempotency_key": "other"}
    steps.put(steps.read(project, "k-3") | serialized(moved))
    steps.loses_key(project, "k-3")
    sequence.change(3, idempotency_key="other")


def swapped(sequence: Sequence) -> None:
    steps, project = sequence.steps, sequence.project
    tickets = [steps.read(project, number) for number in (3, 4)]
    for ticket, number in zip(tickets, (4, 3), strict=True):
        steps.put(ticket | {"number": {"N": str(number)}})
        sequence.steps.changes_key(project, sequence.key_of(number), number=number)


def inserted(sequence: Sequence) -> None:
    steps, project = sequence.steps, sequence.project
    previous = steps.read(project, 2)[CHAIN]["S"]
    sequence.remove(3)
    block = block_of([create_ticket(project)], 3, previous=previous)
    steps.put(*block_items(block))


def dated_back(sequence: Sequence) -> None:
    sequence.change(5, 6, assigned_at=EARLY)
    sequence.relink(5, 6)


def stripped(sequence: Sequence) -> None:
    sequence.rewrite(3, 4, 5, 6)
    for number in range(1, LAST + 1):
        for change in (sequence.change_key, sequence.change):
            change(number, **{CHAIN: None, SALT_NAME: None})


def neighbours_of_losses(sequence: Sequence) -> None:
    sequence.lose(2, 4)
    sequence.remove(3)


def forged_loss(sequence: Sequence) -> None:
    sequence.lose(4)
    sequence.rewrite(2, 3)


def after_the_head(sequence: Sequence) -> None:
    """Of 5 and 6, which came after the head, one is written again and one cut off."""
    sequence.append(5)
    sequence.append(6)
    sequence.rewrite(5)
    sequence.remove(6)


def no_head(sequence: Sequence) -> None:
    sequence.change(3, title="Changed")
    fields = plain(sequence.steps.read(sequence.project, 3))
    sequence.change_key(3, fingerprint=stored_fingerprint(fields))


def gone(sequence: Sequence) -> None:
    sequence.remove(*range(1, LAST + 1))


TAMPERINGS: Final[dict[str, Callable[[Sequence], None]]] = {
    "text": lambda sequence: sequence.change(3, title="Changed"),
    "date": date,
    "key": key,
    "swapped": swapped,
    "inserted": inserted,
    "removed": lambda sequence: sequence.remove(3),
    "removed-before-a-seed": lambda sequence: sequence.remove(4),
    "restarted": lambda sequence: sequence.rewrite(4, 5, 6, previous=""),
    "dated-back": dated_back,
    "disguised": lambda sequence: sequence.change(3, title="X", origin=EXTERNAL),
    "erased-with-text": lambda sequence: sequence.erase(3, "Other"),
    "added": lambda sequence: sequence.change(3, note="paid"),
    "beyond-us": lambda sequence: sequence.change(3, title="Changed", unheard_of="x"),
    "record": lambda sequence: sequence.change_key(3, fingerprint="v1:other"),
    "one-hash": lambda sequence: sequence.change(
        LAST, **{CHAIN: None, SALT_NAME: None}
    ),
    "recomputed": lambda sequence: sequence.rewrite(3, 4, 5, 6),
    "cut-off": lambda sequence: sequence.remove(5, 6),
    "stripped": stripped,
    "before-a-seed": lambda sequence: sequence.rewrite(2, 3, 4),
    "neighbours-of-losses": neighbours_of_losses,
    "reserved-with-text": lambda sequence: sequence.change(
        3, status=RESERVED, origin=EXTERNAL, title="Changed"
    ),
    "before-a-loss": lambda sequence: sequence.rewrite(2, 3),
    "project-removed": gone,
    "after-the-head": after_the_head,
    "no-head": no_head,
    "forged-loss": forged_loss,
    "imported-removed": lambda sequence: sequence.remove(7),
    "marks": lambda sequence: sequence.change(3, status=VOIDED, voided_by="another"),
    "destroyed": lambda sequence: sequence.erase(3, ERASED_TITLE),
    "appended": lambda sequence: sequence.append(7),
    "without-a-head": gone,
}

BESIDE: Final = {
    "date": [FindingKind.MISDATED],
    "disguised": [FindingKind.CHANGED],
}
"""The findings beside that of the page."""

ONE_WAY: Final = {
    "project-removed": {FindingKind.NO_TICKETS},
    "without-a-head": {FindingKind.NO_TICKETS},
}
"""The findings of an audit of everything alone, or of one that names the projects.

The latter looks for no keys without a ticket, and expects tickets of each project.
"""

ORIGINALS: Final[dict[str, Callable[[Sequence], None]]] = {
    "removed-before-a-seed": seeded,
    "before-a-seed": seeded,
    "before-a-loss": with_loss,
    "imported-removed": imported,
    "no-head": all_imported,
    "after-the-head": partial(chained, count=4),
}
"""The items before a tampering, unless they are six tickets of a chain."""


@dataclass(frozen=True)
class Results:
    """The findings before and after all tamperings, each in its own project."""

    clean: list[Finding]
    findings: dict[str, list[str]]
    """The kinds that an audit with heads has of each project."""
    found_alone: dict[str, list[str]]
    """Those of an audit that names the projects, and reads them one by one."""
    verified_before: list[str]
    verified: dict[str, str]
    """The verifier's needed input, as in the page's table."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Save heads, tamper with everything, and audit once."""
    verify = verifier()
    with pytest.MonkeyPatch.context() as patch:
        stage = Stage(tmp_path_factory.mktemp("stage"))
        stage.lead(patch)
        steps = Steps(stage)
        items = steps.services.tables.items
        for name in TAMPERINGS:
            ORIGINALS.get(name, chained)(Sequence(steps, name))
        clean = audited(steps)
        heads = [head for head in clean.heads() if head.project_id != "without-a-head"]
        verified_before = verify(items("tickets"))
        for name, tamper in TAMPERINGS.items():
            tamper(Sequence(steps, name))
        together = audited(steps, heads=heads)
        alone = audited(steps, *TAMPERINGS, heads=heads)
    verified = {}
    for name in TAMPERINGS:
        own = [item for item in items("tickets") if item["project_id"]["S"] == name]
        of_project = [asdict(head) for head in heads if head.project_id == name]
        problems, with_heads = verify(own), verify(own, of_project)
        verified[name] = "yes" if problems else "with heads" if with_heads else "no"
    kinds = kinds_of(together), kinds_of(alone)
    return Results(clean.findings, *kinds, verified_before, verified)


def kinds_of(report: AuditReport) -> dict[str, list[str]]:
    kinds = defaultdict[str, list[str]](list)
    for finding in report.findings:
        kinds[finding.project_id].append(str(finding.kind))
    return kinds


def test_page_has_exactly_the_tamperings_that_are_tested() -> None:
    assert tamperings().keys() == TAMPERINGS.keys()


def test_nothing_is_found_when_nobody_tampered(results: Results) -> None:
    assert results.clean == []
    assert results.verified_before == []


@pytest.mark.parametrize("name", TAMPERINGS)
def test_tampering_is_found_as_the_page_says(name: str, results: Results) -> None:
    """Without heads, damage that only heads reveal is clean."""
    expected = tamperings()[name].finding

    kinds = results.findings[name]

    if expected in {"", FindingKind.HEAD}:
        assert {*kinds} == {expected} - {""}
    else:
        assert {*kinds} - {FindingKind.HEAD} == {expected, *BESIDE.get(name, ())}
    assert len(kinds) == len({*kinds})
    assert {*kinds} ^ {*results.found_alone[name]} == ONE_WAY.get(name, set())
    assert results.verified[name] == tamperings()[name].verifier
