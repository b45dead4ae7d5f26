"""One contract for every ticket store: the fake, and the adapter on each DynamoDB."""

from typing import Any, Final

import pytest

from tests.support.backends import Backend
from tests.support.builders import (
    create_ticket,
    create_tickets,
    unchained_block,
)
from tests.support.cases import cases
from tests.support.sample_messages import FULL
from ticket_numbering.allocation.block import Block
from ticket_numbering.allocation.head import Head
from ticket_numbering.allocation.store import (
    BlockRefused,
    Cancelled,
    Committed,
    Reason,
    Slot,
    TicketStore,
)
from ticket_numbering.contract.messages import Assignment, CreateTicket

LONG_AGO: Final = "2020-11-21T06:00:00.000Z"
EARLIER: Final = "2026-11-20T18:30:00.123Z"
NOW: Final = "2026-11-21T06:00:00.000Z"

EXISTS: Final = Reason.CONDITION_FAILED
FREE: Final = Slot()


def block(first: int, *requests: CreateTicket, assigned_at: str = NOW) -> Block:
    """Return requests of one project as a block without a chain."""
    return unchained_block(requests, first, assigned_at)


def write(
    store: TicketStore, first: int, *requests: CreateTicket, assigned_at: str = NOW
) -> Committed | Cancelled | BlockRefused:
    """Write requests of one project as a block."""
    return store.write_block(block(first, *requests, assigned_at=assigned_at))


def fill(store: TicketStore, count: int, project_id: str = "PROJ") -> None:
    """Give a project this number of tickets."""
    assert write(store, 1, *create_tickets(count, project_id)) == Committed()


def assigned(request: CreateTicket, number: int, at: str = NOW) -> Assignment:
    """Return a store's record of a request."""
    return Assignment(number, request.fingerprint, at)


def replay(request: CreateTicket, number: int, at: str = NOW) -> Slot:
    """Return the slot of a request that has a number, at a number that is free."""
    return Slot(key=EXISTS, recorded=assigned(request, number, at))


def taken(number: int, at: str = NOW, by: Assignment | None = None) -> Slot:
    """Return the slot of a number that is taken, and of its own ticket if given."""
    head = Head(number, at)
    return Slot(EXISTS, EXISTS if by else Reason.NONE, by, taken_by=head)


class TestLastNumber:
    """A project's last number is its highest sort key."""

    def test_last_number_is_the_project_s_highest_when_others_resemble_it(
        self, store: TicketStore
    ) -> None:
        numbers = {"PROJ": 11, "PROJ-1": 2, "proj": 1, "PRO": 0, "PROJ-": 0}
        for project_id, count in numbers.items():
            if count:
                fill(store, count, project_id)

        found = {project_id: store.head(project_id).number for project_id in numbers}

        assert found == numbers


class TestCommit:
    """A block is written whole, tickets and keys together."""

    @pytest.mark.parametrize("length", [1, 50])
    def test_write_block_commits_every_ticket_and_key_when_numbers_are_free(
        self, store: TicketStore, length: int
    ) -> None:
        fill(store, 3)
        new = block(4, *create_tickets(length))

        answer = store.write_block(new)

        assert answer == Committed()
        assert store.head("PROJ").number == 3 + length
        assert store.read_keys([request.key for request in new.requests]) == {
            request.key: assigned(request, number)
            for number, request in enumerate(new.requests, 4)
        }
        assert store.read_keys(new.assignments()) == new.assignments()

    def test_write_block_commits_every_field_when_a_ticket_has_all(
        self, store: TicketStore
    ) -> None:
        odd: dict[str, Any] = {
            "project_id": "A.b_c-1",
            "idempotency_key": "!\"#$%&'()*+,/:;<=>?@[\\]^`{|}~",
            "title": "Caf\u00e9 \U0001f469\u200d\U0001f467",
            "description": "",
            "labels": ["b", "a", "b"],
            "attributes": {"floor": "0", "\u0627": ""},
        }
        request = create_ticket(**FULL | odd)

        answer = write(store, 1, request)

        assert answer == Committed()
        assert store.read_keys([request.key]) == {request.key: assigned(request, 1)}


class TestCancellation:
    """One failed condition anywhere, and nothing of the block is written."""

    @pytest.mark.parametrize("is_taken", [False, True], ids=["free", "taken"])
    @pytest.mark.parametrize("known", [False, True], ids=["new", "recorded"])
    def test_write_block_answers_when_a_number_or_a_request_exists(
        self, store: TicketStore, *, is_taken: bool, known: bool
    ) -> None:
        fill(store, 3)
        request, other = create_tickets(2)
        if is_taken or known:
            write(store, 4, request if known else other, assigned_at=EARLIER)
        last = store.head("PROJ").number

        answer = write(store, 4 if is_taken else last + 1, request)

        answers: dict[tuple[bool, bool], Committed | Cancelled] = {
            (False, False): Committed(),
            (True, False): Cancelled([taken(4, EARLIER)]),
            (False, True): Cancelled([replay(request, 4, EARLIER)]),
            (True, True): Cancelled([taken(4, EARLIER, assigned(request, 4, EARLIER))]),
        }
        assert answer == answers[is_taken, known]
        assert store.head("PROJ").number == last + (answer == Committed())

    @pytest.mark.parametrize("position", [0, 1, 2])
    def test_write_block_writes_nothing_when_one_request_is_a_replay(
        self, store: TicketStore, position: int
    ) -> None:
        old, *fresh = create_tickets(3)
        write(store, 1, old)
        requests, slots = [*fresh], [FREE, FREE]
        requests.insert(position, old)
        slots.insert(position, replay(old, 1))

        answer = write(store, 2, *requests)

        assert answer == Cancelled(slots)
        assert store.head("PROJ").number == 1
        assert store.read_keys([request.key for request in fresh]) == {}

    @pytest.mark.parametrize("run", [1, 2, 3])
    def test_write_block_reports_the_taken_numbers_when_it_comes_too_late(
        self, store: TicketStore, run: int
    ) -> None:
        fill(store, 5 + run)
        requests = create_tickets(3)

        answer = write(store, 6, *requests)

        assert answer == Cancelled(
            [*map(taken, range(6, 6 + run)), *[FREE] * (3 - run)]
        )
        assert store.head("PROJ").number == 5 + run
        assert store.read_keys([request.key for request in requests]) == {}

    def test_write_block_reports_numbers_from_elsewhere_when_they_are_taken(
        self, seeded_store: TicketStore
    ) -> None:
        """Reserved or imported: the sequence does not go on right after them."""
        fill(seeded_store, 2)

        answer = write(seeded_store, 2, *create_tickets(4))

        elsewhere = Slot(EXISTS, taken_by=None)
        assert answer == Cancelled([taken(2), elsewhere, elsewhere, FREE])
        assert seeded_store.head("PROJ").number == 4

    def test_write_block_reports_each_position_when_reasons_are_mixed(
        self, store: TicketStore
    ) -> None:
        old, older = create_tickets(2)
        write(store, 1, older, old, assigned_at=EARLIER)
        fresh = create_tickets(2)

        answer = write(store, 1, fresh[0], old, older, fresh[1])

        numbered = taken(2, EARLIER, assigned(old, 2, EARLIER))
        first = taken(1, EARLIER)
        assert answer == Cancelled([first, numbered, replay(older, 1, EARLIER), FREE])

    def test_write_block_shows_the_first_request_when_its_key_is_used_again(
        self, store: TicketStore
    ) -> None:
        first = create_ticket("PROJ", "order-7", title="Door")
        other = create_ticket("PROJ", "order-7", title="Window")
        write(store, 1, first)

        answer = write(store, 2, other)

        assert answer == Cancelled([replay(first, 1)])
        assert first.fingerprint != other.fingerprint

    def test_write_block_gives_the_numbers_again_when_it_is_repeated(
        self, store: TicketStore
    ) -> None:
        """The answer to a committed block was lost, for example."""
        requests = create_tickets(3)
        write(store, 1, *requests)

        answer = write(store, 1, *requests)

        assert answer == Cancelled(
            [
                taken(number, by=assigned(request, number))
                for number, request in enumerate(requests, 1)
            ]
        )
        assert store.head("PROJ").number == 3


@pytest.mark.parametrize("certain", [False, True], ids=["alone", "in a transaction"])
class TestLookup:
    """Both lookups find the existing records, and nothing else."""

    def test_lookup_finds_each_project_s_own_when_they_share_a_key(
        self, store: TicketStore, *, certain: bool
    ) -> None:
        fill(store, 1, "B")
        one, other, unknown = (create_ticket(project, "order-7") for project in "ABC")

        answers = [write(store, 1, one), write(store, 2, other)]

        assert answers == [Committed(), Committed()]
        lookup = store.read_keys_in_transaction if certain else store.read_keys
        found = lookup([one.key, other.key, unknown.key])
        assert found == {one.key: assigned(one, 1), other.key: assigned(other, 2)}

    def test_lookup_finds_all_when_some_keys_of_many_have_a_record(
        self, store: TicketStore, *, certain: bool
    ) -> None:
        """25 are as many as moto reads in a transaction."""
        requests, missing = create_tickets(12), create_tickets(13)
        write(store, 1, *requests)

        lookup = store.read_keys_in_transaction if certain else store.read_keys
        found = lookup([request.key for request in [*missing, *requests]])

        assert found == {
            request.key: assigned(request, number)
            for number, request in enumerate(requests, 1)
        }

    @pytest.mark.parametrize(
        "key",
        cases(
            {
                "project": "OTHER",
                "project-and-number": "OTHER#2",
                "ticket-key": "OTHER-2",
                "number": "2",
                "another-key-s-id": "OTHER#order-7",
                "attribute": "project_id",
            }
        ),
    )
    def test_lookup_keeps_projects_apart_when_a_key_looks_like_another_s_data(
        self, store: TicketStore, key: str, *, certain: bool
    ) -> None:
        bystander, hostile = create_ticket("OTHER", "order-7"), create_ticket("A", key)
        write(store, 1, bystander)

        answer = write(store, 1, hostile)

        assert answer == Committed()
        assert [store.head(name).number for name in ("OTHER", "A")] == [1, 1]
        assert store.head(f"A#{key}").number == 0
        lookup = store.read_keys_in_transaction if certain else store.read_keys
        assert lookup([bystander.key, hostile.key]) == {
            bystander.key: assigned(bystander, 1),
            hostile.key: assigned(hostile, 1),
        }


class TestRefusal:
    """A block beyond a transaction's limits is refused, and nothing is written."""

    @pytest.mark.parametrize("title", ["Door", "Window"])
    def test_write_block_is_refused_when_two_requests_have_one_key(
        self, store: TicketStore, title: str
    ) -> None:
        one = create_ticket("PROJ", "order-7", title="Door")
        other = create_ticket("PROJ", "order-7", title=title)

        answer = write(store, 1, create_ticket(), one, other)

        assert isinstance(answer, BlockRefused)
        assert store.head("PROJ").number == 0
        assert store.read_keys([one.key]) == {}

    def test_write_block_is_refused_when_it_has_more_than_a_hundred_actions(
        self, store: TicketStore
    ) -> None:
        answer = write(store, 1, *create_tickets(51))

        assert isinstance(answer, BlockRefused)
        assert store.head("PROJ").number == 0

    def test_write_block_writes_nothing_when_no_item_can_hold_a_ticket(
        self, backend: Backend
    ) -> None:
        """AWS refuses the call, or names the offender: both split the block."""
        store = backend.store()
        large = create_ticket().model_copy(update={"description": "d" * 400 * 1024})

        answer = write(store, 1, create_ticket(), large)

        assert isinstance(answer, BlockRefused) or (
            answer == Cancelled([FREE, Slot(Reason.INVALID)])
        )
        assert store.head("PROJ").number == 0


def test_write_block_answers_alike_when_keys_expire(backend: Backend) -> None:
    store = backend.store(retention_days=90)
    request = create_ticket()

    answers = [write(store, 1, request), write(store, 2, request)]

    assert answers == [Committed(), Cancelled([replay(request, 1)])]


def test_write_block_answers_with_the_number_when_an_expired_key_is_still_there(
    backend: Backend,
) -> None:
    """DynamoDB deletes it days later; until then a repeat is a replay."""
    store = backend.store(retention_days=1)
    request = create_ticket()
    write(store, 1, request, assigned_at=LONG_AGO)

    answer = write(store, 2, request)

    assert answer == Cancelled([replay(request, 1, LONG_AGO)])
