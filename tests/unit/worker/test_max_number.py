"""A request's cap on its number, over the fake store."""

from typing import Any

import pytest

from tests.support.builders import (
    block_of,
    create_ticket,
    create_tickets,
    plenty,
    queue_record,
)
from tests.support.fakes import FakeTicketStore, key_of
from tests.support.worker_on_fakes import WorkerOnFakes
from ticket_numbering.allocation.allocation import Allocator
from ticket_numbering.allocation.block import Block
from ticket_numbering.allocation.store import MAX_KEYS_PER_READ
from ticket_numbering.contract.errors import (
    DamagedKeyRecordError,
    IdempotencyMismatchError,
    SequenceFullError,
    StoreUnavailableError,
)
from ticket_numbering.contract.messages import Assignment, CreateTicket
from ticket_numbering.worker.results import Poison, Refused, Replayed, Result, Retry


def capped(max_number: int, key: str | None = None) -> CreateTicket:
    """Return a request with a cap."""
    return create_ticket(idempotency_key=key, max_number=max_number)


def allocate(
    store: FakeTicketStore, *requests: CreateTicket
) -> list[int | type[Exception]]:
    """Return the number, or the kind of error, of each request."""
    allocator = Allocator(store, max_attempts=25, deadline_reserve=0, jitter=min)
    allocation = allocator.start("PROJ", requests)
    while allocator.advance(allocation, plenty) is not None:
        pass
    return [
        answer.number if isinstance(answer, Assignment) else type(answer)
        for answer in map(allocation.answer_to, requests)
    ]


def handle(store: FakeTicketStore, *requests: CreateTicket) -> list[Result]:
    """Return the results of a batch."""
    return [*WorkerOnFakes(store).report(*map(queue_record, requests)).results]


class TestGapless:
    """A refused request takes no number, and leaves its neighbours alone."""

    def test_requests_are_refused_after_one_read_when_the_cap_is_reached(self) -> None:
        store = FakeTicketStore().fill(1)

        answers = allocate(store, *[capped(2) for _ in range(3)])

        assert answers == [2, SequenceFullError, SequenceFullError]
        assert store.calls == ["head", "write_block", "read_keys"]

    def test_caps_differ_when_requests_of_one_block_differ(self) -> None:
        requests = [capped(3), capped(1), capped(2), capped(3), create_ticket()]

        answers = allocate(FakeTicketStore(), *requests)

        assert answers == [1, SequenceFullError, 2, 3, 4]

    def test_request_gets_the_last_number_when_an_earlier_one_is_a_replay(self) -> None:
        store, replay = FakeTicketStore(), create_ticket()
        allocate(store, replay)

        # In a block of both it would have number 3.
        assert allocate(store, replay, capped(2)) == [1, 2]


class TestRivals:
    """Different requests of one key: refusing the first leaves the next its chance."""

    @pytest.mark.parametrize(
        ("order", "numbered"),
        [
            (["full", "rival", "a", "b"], ["rival", "a", "b"]),
            (["a", "full", "b", "rival"], ["a", "b", "rival"]),
            (["full", "also full", "a", "rival"], ["a", "rival"]),
        ],
    )
    def test_rival_is_numbered_at_its_own_place_when_the_first_is_refused(
        self, order: list[str], numbered: list[str]
    ) -> None:
        store = FakeTicketStore().fill(1)
        fields: dict[str, dict[str, Any]] = {
            "full": {"idempotency_key": "mine", "max_number": 1},
            "also full": {"idempotency_key": "mine", "max_number": 1},
            "rival": {"idempotency_key": "mine", "max_number": len(numbered) + 1},
        }
        requests = [create_ticket(title=one, **fields.get(one, {})) for one in order]

        answers = allocate(store, *requests)

        titles = [ticket.title for ticket in store.tickets["PROJ"].values()]
        assert titles[1:] == numbered
        refused = [title not in numbered for title in order]
        assert [answer is SequenceFullError for answer in answers] == refused
        # One read serves all requests of the key that are refused.
        assert store.calls.count("read_keys") == 1

    def test_rival_behind_an_accepted_request_is_no_refusal_at_its_cap(self) -> None:
        """Its key belongs to the other ticket, whatever its cap."""
        store = FakeTicketStore().fill(1)
        accepted = create_ticket(idempotency_key="mine", title="A")
        behind = create_ticket(idempotency_key="mine", title="B", max_number=1)

        first, second = handle(store, accepted, behind)

        assert key_of(first) == "PROJ-2"
        assert isinstance(second, Poison)
        assert isinstance(second.error, IdempotencyMismatchError)
        # One of a key in a block, or DynamoDB would refuse it as a whole.
        assert [len(block.requests) for block in store.blocks] == [1]

    def test_number_of_an_equal_request_beats_the_refusal_when_it_comes_meanwhile(
        self,
    ) -> None:
        store = FakeTicketStore().fill(1)
        full = create_ticket(idempotency_key="mine", title="A", max_number=1)
        rival = create_ticket(idempotency_key="mine", title="B")

        def another_worker_numbers_it(_: Block) -> None:
            uncapped = create_ticket(idempotency_key="mine", title="A")
            store.put(block_of([uncapped], 2))

        store.faults.append(another_worker_numbers_it)

        replayed, mismatch = handle(store, full, rival)

        assert isinstance(replayed, Replayed)
        assert key_of(replayed) == "PROJ-2"
        assert isinstance(mismatch, Poison)
        assert isinstance(mismatch.error, IdempotencyMismatchError)


class TestOncePerKey:
    """The cap is a condition, and no part of the ticket."""

    def test_replay_keeps_its_number_when_it_names_a_lower_cap(self) -> None:
        store = FakeTicketStore()
        allocate(store, *create_tickets(2), create_ticket(idempotency_key="mine"))

        title = "Ticket mine"
        repeat = create_ticket(idempotency_key="mine", title=title, max_number=1)

        assert allocate(store, repeat) == [3]

    def test_keys_are_read_again_when_the_first_read_fails(self) -> None:
        store = FakeTicketStore()
        [number] = allocate(store, capped(1, "mine"))
        store.transactional_read_errors.append(StoreUnavailableError("no answer"))

        assert allocate(store, capped(1, "mine")) == [number]

    def test_request_waits_when_the_record_of_its_key_is_damaged(self) -> None:
        """Whether it has a number is unknown."""
        store, request = FakeTicketStore().fill(1), capped(1)
        store.damaged.add(request.key)

        assert allocate(store, request) == [DamagedKeyRecordError]

    def test_every_key_is_read_when_more_are_refused_than_one_read_takes(self) -> None:
        store = FakeTicketStore().fill(1)
        requests = [capped(1) for _ in range(MAX_KEYS_PER_READ + 1)]

        answers = allocate(store, *requests, create_ticket())

        assert answers == [*[SequenceFullError] * len(requests), 2]

    def test_highest_cap_counts_when_a_batch_holds_a_request_with_several(
        self,
    ) -> None:
        """Else later messages on a FIFO queue would overtake the higher one."""
        store = FakeTicketStore().fill(1)
        doubles = capped(1, "mine"), create_ticket(idempotency_key="mine")

        lower, higher, last = handle(store, *doubles, create_ticket())

        assert [key_of(lower), key_of(higher), key_of(last)] == [
            *("PROJ-2", "PROJ-2", "PROJ-3")
        ]
        assert isinstance(lower, Replayed)


class TestOneBadMessage:
    """The outcomes of the records."""

    def test_refused_request_names_the_field_and_the_cap(self) -> None:
        store = FakeTicketStore()

        assigned, refused = handle(store, capped(1), capped(1))

        assert key_of(assigned) == "PROJ-1"
        assert isinstance(refused, Refused)
        assert refused.error.field == "max_number"
        assert str(refused.error) == "max_number: PROJ has reached 1"

    def test_neighbours_are_numbered_when_no_key_can_be_read(self) -> None:
        store = FakeTicketStore().fill(1)
        store.transactional_read_errors += [StoreUnavailableError("no answer")] * 100

        full, other = handle(store, capped(1), create_ticket())

        assert isinstance(full, Retry)
        assert key_of(other) == "PROJ-2"
