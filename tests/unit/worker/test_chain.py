"""The hash chain: its form, the part that it covers, and the values it follows."""

import hashlib
from base64 import urlsafe_b64encode
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.builders import SALT, block_of, create_ticket, create_tickets
from tests.support.cases import cases
from ticket_numbering.allocation.block import Block
from ticket_numbering.contract.chain import (
    chain_of,
    commitment_of,
    new_salt,
    valid_chain,
)
from ticket_numbering.contract.dynamodb_items import ticket_item
from ticket_numbering.contract.head import Head

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
OWN = "2026-11-22T12:00:00.000Z"
COVERED: dict[str, Any] = {
    "previous": "v1:" + "a" * 43,
    "project_id": "PROJ",
    "number": 2,
    "idempotency_key": 'key-"2"/\\',
    "commitment": "0" * 64,
    "assigned_at": OWN,
}


class TestForm:
    """A reader of the page alone computes the same hashes."""

    def test_chain_is_the_digest_of_a_json_array_without_blanks(self) -> None:
        array = (
            f'["v1:{"a" * 43}","PROJ",2,"key-\\"2\\"/\\\\","{"0" * 64}",'
            '"2026-11-22T12:00:00.000Z"]'
        )

        digest = hashlib.sha256(array.encode()).digest()

        assert chain_of(**COVERED) == "v1:" + urlsafe_b64encode(digest).decode().rstrip(
            "="
        )

    def test_chain_of_any_version_is_valid_and_nothing_else(self) -> None:
        for chain in (chain_of(**COVERED), "v12:a_-", "v1:" + "a" * 86):
            assert valid_chain(chain) == chain
        for other in ("chain", "v1:" + "a" * 87, chain_of(**COVERED) + "\n", None, 1):
            assert valid_chain(other) == ""

    def test_salt_is_128_random_bits(self) -> None:
        salts = {new_salt() for _ in range(100)}

        assert len(salts) == 100
        assert {len(salt) for salt in salts} == {22}


class TestBlock:
    """Each ticket of a block covers the one before it."""

    def test_block_chains_each_ticket_to_its_predecessor(self) -> None:
        requests = create_tickets(3)
        previous = "v7:of-a-later-release"

        block = block_of(requests, 5, previous=previous)

        for number, ticket in enumerate(block.tickets, 5):
            previous = chain_of(
                previous,
                project_id="PROJ",
                number=number,
                idempotency_key=ticket.request.idempotency_key,
                commitment=commitment_of(SALT, ticket.request.fingerprint),
                assigned_at=ticket.assignment.assigned_at,
            )
            assert ticket.assignment.chain == previous
        assert block.last == Head(7, block.tickets[-1].assignment.assigned_at, previous)

    def test_ticket_without_a_chain_has_no_salt(self) -> None:
        [(request, assignment, salt)] = block_of([create_ticket()]).tickets

        item = ticket_item(request, replace(assignment, chain=None), salt)

        assert not {"chain", "salt"} & item.keys()

    def test_each_ticket_of_a_block_has_a_salt_of_its_own(self) -> None:
        """The salt of a neighbour would stay when one ticket is erased."""
        block = Block.of(Head(), create_tickets(3), OWN, new_salt)

        assert len({ticket.salt for ticket in block.tickets}) == 3


DATES = cases(
    {
        "earlier": ("2026-11-22T11:59:59.999Z", OWN, True),
        "idle-for-days": ("2026-11-01T12:00:00.000Z", OWN, True),
        "later": ("2026-11-22T12:00:00.001Z", "2026-11-22T12:00:00.001Z", True),
        "a-day-ahead": ("2026-11-23T12:00:00.000Z", "2026-11-23T12:00:00.000Z", True),
        "over-a-day-ahead": ("2026-11-23T12:00:00.001Z", OWN, False),
        "far": ("2099-01-01T00:00:00.000Z", OWN, False),
        "the-last-moment": ("9999-12-31T23:59:59.999Z", OWN, False),
        "no-date": ("zzz", OWN, False),
        "missing": ("", OWN, False),
        "no-hour": ("2026-11-22T99:00:00.000Z", OWN, False),
        "without-milliseconds": ("2026-11-22T13:00:00Z", OWN, False),
        "another-time-zone": ("2026-11-22T13:00:00.000+00:00", OWN, False),
        "without-a-time-zone": ("2026-11-22T13:00:00.000", OWN, False),
        "before-the-first-year": ("0001-01-01T00:00:00.000+14:00", OWN, False),
        "after-the-last-year": ("9999-12-31T23:59:59.999-14:00", OWN, False),
        "external": (None, OWN, True),
    }
)


class TestDates:
    """Dates do not run against numbers, and no date stops a project."""

    @pytest.mark.parametrize(("date", "expected", "can_be_followed"), DATES)
    def test_date_follows_the_last_ticket_when_that_is_a_date_of_ours(
        self, date: str | None, expected: str, *, can_be_followed: bool
    ) -> None:
        head = Head(1, date)

        assert head.date_after(NOON) == expected
        assert head.can_be_followed(NOON) == can_be_followed

    def test_date_is_utc_when_the_machine_is_elsewhere(self) -> None:
        local = NOON.astimezone() + timedelta(microseconds=999)

        assert local.utcoffset()
        assert Head().date_after(local) == OWN
