"""Each kind of tampering of `docs/evidence.md` is found as the page says, or is not."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Final

import pytest

from tests.support.audit_tables import Tables, audited
from tests.support.builders import (
    block_of,
    create_ticket,
    create_tickets,
)
from tests.support.evidence import chain_after, change, erase, tamperings, verifier
from tests.support.seed_items import (
    Item,
    block_items,
    imported_items,
    key_item,
    ticket_item,
)
from ticket_numbering.contract.dynamodb_items import (
    CHAIN,
    EXTERNAL,
    RESERVED,
    RESERVED_UP_TO,
    VOIDED,
)
from ticket_numbering.contract.dynamodb_items import (
    SALT as SALT_NAME,
)
from ticket_numbering.contract.messages import stored_fingerprint
from ticketctl.audit.audit import AuditReport
from ticketctl.aws.items import plain
from ticketctl.evidence.chain import ERASED_TITLE
from ticketctl.evidence.findings import Finding, Kind

LAST: Final = 6
EARLY: Final = "2020-01-01T00:00:00.000Z"


@dataclass
class Sequence:
    """The items of a project, and somebody who can write them all."""

    tickets: dict[int, Item]
    keys: dict[int, Item]

    @classmethod
    def of(cls, items: list[Item]) -> "Sequence":
        tables: tuple[dict[int, Item], dict[int, Item]] = ({}, {})
        for item in items:
            tables["id" in item][int(item["number"]["N"])] = item
        return cls(*tables)

    def items(self) -> list[Item]:
        return [*self.tickets.values(), *self.keys.values()]

    def change(self, number: int, **texts: str | None) -> None:
        """Set texts of a ticket, or remove attributes."""
        change(self.tickets[number], **texts)

    def remove(self, *numbers: int) -> None:
        for number in numbers:
            del self.tickets[number], self.keys[number]

    def relink(self, *numbers: int, previous: str | None = None) -> None:
        """Compute fingerprints and hashes of these again, in both tables."""
        if previous is None:
            before = self.tickets.get(numbers[0] - 1, {})
            previous = before.get(CHAIN, {"S": ""})["S"]
        for number in numbers:
            fields = plain(self.tickets[number])
            previous = chain_after(fields | {"number": number}, previous)
            dated = {"assigned_at": fields["assigned_at"], CHAIN: previous}
            change(self.tickets[number], **dated)
            fingerprint = stored_fingerprint(fields)
            change(self.keys[number], fingerprint=fingerprint, **dated)

    def erase(self, number: int, title: str) -> None:
        erase(self.tickets[number], self.keys[number], title)


def chained(project: str, count: int = LAST) -> list[Item]:
    return block_items(block_of(create_tickets(count, project)))


def seeded(project: str) -> list[Item]:
    """Return 1 to 4, a seed up to 10, and 11."""
    marks = {"status": RESERVED, "origin": EXTERNAL}
    seed = [ticket_item(project, number, None, **marks) for number in (5, 10)]
    for item in seed:
        item[RESERVED_UP_TO] = {"N": "10"}
    later = block_items(block_of(create_tickets(1, project), 11))
    return [*chained(project, 4), *seed, *later]


def imported(project: str) -> list[Item]:
    """Return these, with 7 external."""
    key = key_item(project, 7, "old")
    return [*seeded(project), ticket_item(project, 7, "old", origin=EXTERNAL), key]


def with_loss(project: str) -> list[Item]:
    """Return six tickets, of whose fourth only the hash is left."""
    sequence = Sequence.of(chained(project))
    lose(sequence, 4)
    return sequence.items()


def lose(sequence: Sequence, number: int) -> None:
    """Put a reserved item in place of a ticket, whose key keeps its number."""
    project = sequence.tickets[number]["project_id"]["S"]
    lost = sequence.tickets[number][CHAIN]["S"]
    marks = {"status": RESERVED, "origin": EXTERNAL, CHAIN: lost}
    sequence.tickets[number] = ticket_item(project, number, None, **marks)


def all_imported(project: str) -> list[Item]:
    return imported_items(create_tickets(LAST, project))


def date(sequence: Sequence) -> None:
    for table in (sequence.tickets, sequence.keys):
        change(table[3], assigned_at="2026-11-21T06:00:00.001Z")


def key(sequence: Sequence) -> None:
    project = sequence.tickets[3]["project_id"]["S"]
    sequence.change(3, idempotency_key="other")
    change(sequence.keys[3], idempotency_key="other", id=f"{project}#other")


def swapped(sequence: Sequence) -> None:
    for table in (sequence.tickets, sequence.keys):
        table[3], table[4] = table[4], table[3]
        for number in (3, 4):
            table[number]["number"] = {"N": str(number)}


def inserted(sequence: Sequence) -> None:
    project = sequence.tickets[3]["project_id"]["S"]
    previous = sequence.tickets[2][CHAIN]["S"]
    block = block_of([create_ticket(project)], 3, previous=previous)
    sequence.tickets[3], sequence.keys[3] = block_items(block)


def restarted(sequence: Sequence) -> None:
    sequence.change(4, title="Changed")
    sequence.relink(4, 5, 6, previous="")


def dated_back(sequence: Sequence) -> None:
    sequence.change(5, assigned_at=EARLY)
    sequence.change(6, assigned_at=EARLY)
    sequence.relink(5, 6)


def one_hash(sequence: Sequence) -> None:
    sequence.change(LAST, **{CHAIN: None, SALT_NAME: None})


def recomputed(sequence: Sequence) -> None:
    sequence.change(3, title="Changed")
    sequence.relink(3, 4, 5, 6)


def stripped(sequence: Sequence) -> None:
    recomputed(sequence)
    for item in sequence.items():
        change(item, **{CHAIN: None, SALT_NAME: None})


def before_a_seed(sequence: Sequence) -> None:
    sequence.change(2, title="Changed")
    sequence.relink(2, 3, 4)


def neighbours_of_losses(sequence: Sequence) -> None:
    lose(sequence, 2)
    lose(sequence, 4)
    sequence.remove(3)


def reserved_with_text(sequence: Sequence) -> None:
    sequence.change(3, status=RESERVED, origin=EXTERNAL, title="Changed")


def before_a_loss(sequence: Sequence) -> None:
    sequence.change(2, title="Changed")
    sequence.relink(2, 3)


def forged_loss(sequence: Sequence) -> None:
    lose(sequence, 4)
    before_a_loss(sequence)


def after_the_head(sequence: Sequence) -> None:
    """Of 5 and 6, which came after the head, one is written again and one cut off."""
    appended(sequence)
    appended(sequence)
    sequence.change(5, title="Changed")
    sequence.relink(5)
    sequence.remove(6)


def no_head(sequence: Sequence) -> None:
    sequence.change(3, title="Changed")
    fields = plain(sequence.tickets[3])
    change(sequence.keys[3], fingerprint=stored_fingerprint(fields))


def appended(sequence: Sequence) -> None:
    last = max(sequence.tickets)
    project = sequence.tickets[last]["project_id"]["S"]
    previous = sequence.tickets[last][CHAIN]["S"]
    block = block_of([create_ticket(project)], last + 1, previous=previous)
    sequence.tickets[last + 1], sequence.keys[last + 1] = block_items(block)


def gone(sequence: Sequence) -> None:
    sequence.remove(*sequence.tickets.copy())


TAMPERINGS: Final[dict[str, Callable[[Sequence], None]]] = {
    "text": lambda sequence: sequence.change(3, title="Changed"),
    "date": date,
    "key": key,
    "swapped": swapped,
    "inserted": inserted,
    "removed": lambda sequence: sequence.remove(3),
    "removed-before-a-seed": lambda sequence: sequence.remove(4),
    "restarted": restarted,
    "dated-back": dated_back,
    "disguised": lambda sequence: sequence.change(3, title="X", origin=EXTERNAL),
    "erased-with-text": lambda sequence: sequence.erase(3, "Other"),
    "beyond-us": lambda sequence: sequence.change(3, title="Changed", unheard_of="x"),
    "record": lambda sequence: change(sequence.keys[3], fingerprint="v1:other"),
    "one-hash": one_hash,
    "recomputed": recomputed,
    "cut-off": lambda sequence: sequence.remove(5, 6),
    "stripped": stripped,
    "before-a-seed": before_a_seed,
    "neighbours-of-losses": neighbours_of_losses,
    "reserved-with-text": reserved_with_text,
    "before-a-loss": before_a_loss,
    "project-removed": gone,
    "after-the-head": after_the_head,
    "no-head": no_head,
    "forged-loss": forged_loss,
    "imported-removed": lambda sequence: sequence.remove(7),
    "marks": lambda sequence: sequence.change(3, status=VOIDED, voided_by="somebody"),
    "destroyed": lambda sequence: sequence.erase(3, ERASED_TITLE),
    "appended": appended,
    "nobody-knew": gone,
}

BESIDE: Final = {
    "date": [Kind.MISDATED],
    "disguised": [Kind.CHANGED],
    "reserved-with-text": [Kind.DIFFERING],
}
"""The findings beside that of the page."""

ONE_WAY: Final = {
    "reserved-with-text": {Kind.DIFFERING},
    "project-removed": {Kind.NO_TICKETS},
    "nobody-knew": {Kind.NO_TICKETS},
}
"""The findings of an audit of everything alone, or of one that names the projects.

The latter looks for no keys without a ticket, and expects tickets of each project.
"""

ORIGINALS: Final[dict[str, Callable[[str], list[Item]]]] = {
    "removed-before-a-seed": seeded,
    "before-a-seed": seeded,
    "before-a-loss": with_loss,
    "imported-removed": imported,
    "no-head": all_imported,
    "after-the-head": lambda project: chained(project, 4),
}
"""The items before the tampering, where they are not six tickets of a chain."""


@dataclass(frozen=True)
class Results:
    """What is found before and after all tamperings, each in a project of its own."""

    clean: list[Finding]
    findings: dict[str, list[str]]
    """The kinds that an audit with heads has of each project."""
    found_alone: dict[str, list[str]]
    """Those of an audit that names the projects, and reads them one by one."""
    verified_before: dict[str, list[str]]
    verified: dict[str, str]
    """What the verifier needs to find it, as in the page's table."""


@pytest.fixture(scope="module")
def results() -> Results:
    """Save heads, tamper with everything, and audit once."""
    sequences = {
        name: Sequence.of(ORIGINALS.get(name, chained)(name)) for name in TAMPERINGS
    }
    verify = verifier()
    clean = audited(tables_of(sequences))
    heads = [head for head in clean.heads() if head.project_id != "nobody-knew"]
    verified_before = {
        name: verify([*sequence.tickets.values()])
        for name, sequence in sequences.items()
    }
    for name, tamper in TAMPERINGS.items():
        tamper(sequences[name])
    tables = tables_of(sequences)
    together = audited(tables, heads=heads)
    alone = audited(tables, *TAMPERINGS, heads=heads)
    verified = {}
    for name, sequence in sequences.items():
        items = [*sequence.tickets.values()]
        of_project = [asdict(head) for head in heads if head.project_id == name]
        found, with_heads = verify(items), verify(items, of_project)
        verified[name] = "yes" if found else "with heads" if with_heads else "no"
    kinds = kinds_of(together), kinds_of(alone)
    return Results(clean.findings, *kinds, verified_before, verified)


def kinds_of(report: AuditReport) -> dict[str, list[str]]:
    kinds = defaultdict[str, list[str]](list)
    for finding in report.findings:
        kinds[finding.project_id].append(str(finding.kind))
    return kinds


def tables_of(sequences: Mapping[str, Sequence]) -> Tables:
    tables = Tables(page=100)
    tables.put(*chain(*(sequence.items() for sequence in sequences.values())))
    return tables


def test_page_has_exactly_the_tamperings_that_are_tested() -> None:
    assert tamperings().keys() == TAMPERINGS.keys()


def test_nothing_is_found_when_nobody_tampered(results: Results) -> None:
    assert results.clean == []
    assert not any(results.verified_before.values())


@pytest.mark.parametrize("name", TAMPERINGS)
def test_tampering_is_found_as_the_page_says(name: str, results: Results) -> None:
    """What heads alone find is clean without them."""
    expected = tamperings()[name].finding

    found = results.findings[name]

    if expected in {"", Kind.HEAD}:
        assert {*found} == {expected} - {""}
    else:
        assert {*found} - {Kind.HEAD} == {expected, *BESIDE.get(name, ())}
    assert len(found) == len({*found})
    assert {*found} ^ {*results.found_alone[name]} == ONE_WAY.get(name, set())
    assert results.verified[name] == tamperings()[name].verifier
